//! Limits of the file server were those of the machine: one client took all locks, views, watchers,
//! files or segments, and the others got none.

use crate::tools::{find, moment, why};
use crate::outcome::{Outcome, Verdict};
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_proto::flags::{IN_MODIFY, LOCK_NONE, LOCK_WRITE, O_CREAT, O_RDWR, SERVICE_FILES, SERVICE_MEMORY, SHARE_WRITE};
use nacre_proto::{Errno, directory, file, memory};
use nacre_sys::{OwnedReference, Reference};

/// Files of the greedy client and of the other one.
const FILES: [&[u8]; 2] = [b"/tmp/greedy", b"/tmp/other"];
/// The largest view that is tried, as a power of two; the smallest is 1 GiB.
const LARGEST_VIEW: u32 = 46;
const SMALLEST_VIEW: u32 = 30;
/// Bound on each kind: more than the server may keep for all clients together.
const MANY: u64 = 40_000;

/// A file of many parts, how many of them are mapped at most, and accounts of the greedy client.
const PROGRAM: &[u8] = b"/bin/busybox";
const MANY_PARTS: usize = 8192;
const SHARES: usize = 8;
/// A file that is mapped after that.
const FRESH: &[u8] = b"/tmp/fresh";

/// A client of its own: a directory that is counted apart, and a file opened through it.
struct Client {
    files: OwnedReference,
    file: OwnedReference,
}

impl Client {
    fn new(shared: Reference, path: &[u8]) -> Result<Client, Errno> {
        let files = directory::share(shared)?.directory;
        let file = directory::open(files.handle(), O_CREAT | O_RDWR, 0o600, path)?.file;
        Ok(Client { files, file })
    }

    fn watcher(&self) -> Result<OwnedReference, Errno> {
        let watcher = directory::watcher(self.files.handle())?.file;
        directory::watch(self.files.handle(), IN_MODIFY, 0, b"/tmp", watcher.handle())?;
        Ok(watcher)
    }

    /// Takes as much of everything as there is.
    fn take_all(&self) -> Vec<OwnedReference> {
        let file = self.file.handle();
        let mut held = segments();
        for power in (SMALLEST_VIEW..=LARGEST_VIEW).rev() {
            while let Ok(view) = file::share(file, 1 << power, SHARE_WRITE) {
                held.extend([view.region, view.hold]);
            }
        }
        // A lock that touches no other one stays one of its own.
        let locked = (0..MANY).take_while(|at| file::lock(file, LOCK_WRITE, 0, 4 * at, 4 * at + 1).is_ok());
        locked.for_each(drop);
        held.extend((0..MANY).map_while(|_| self.watcher().ok()));
        held.extend((0..MANY).map_while(|_| directory::counter(self.files.handle(), 0, 0).ok().map(|reply| reply.file)));
        held.extend((0..MANY).map_while(|_| directory::open(self.files.handle(), O_RDWR, 0, FILES[0]).ok().map(|reply| reply.file)));
        held
    }

    /// Maps as many parts of a program as the server shows, for clients of its own, too.
    fn map_parts(&self) -> Option<()> {
        let shares: Vec<_> = (0..SHARES).map_while(|_| directory::share(self.files.handle()).ok()).collect();
        for shared in &shares {
            let program = directory::open(shared.directory.handle(), 0, 0, PROGRAM).ok()?.file;
            let pages = file::map(program.handle(), 0, u64::MAX).ok()?.size / PAGE_SIZE;
            let parts = (0..pages).flat_map(|first| (1..pages - first).map(move |count| [first, count].map(|pages| pages * PAGE_SIZE)));
            parts.take(MANY_PARTS).take_while(|[offset, size]| file::map(program.handle(), *offset, *size).is_ok()).for_each(drop);
        }
        Some(())
    }

    /// Maps a file that nobody has mapped.
    fn map(&self) -> Result<(), String> {
        let fresh = directory::open(self.files.handle(), O_CREAT | O_RDWR, 0o600, FRESH).map_err(why("a fresh file"))?.file;
        file::write(fresh.handle(), 0, b"fresh").map_err(why("writing it"))?;
        file::map(fresh.handle(), 0, u64::MAX).map(drop).map_err(why("mapping it"))
    }

    /// Does a little of everything, and gives back what it can.
    fn work(&self) -> Result<(), String> {
        let file = self.file.handle();
        file::lock(file, LOCK_WRITE, 0, 10, 19).map_err(why("a lock"))?;
        file::lock(file, LOCK_NONE, 0, 14, 14).map_err(why("unlocking the middle"))?;
        file::lock(file, LOCK_NONE, 0, 0, u64::MAX).map_err(why("unlocking"))?;
        file::set_size(file, 1 << 20).map_err(why("a size"))?;
        file::share(file, 1 << 20, SHARE_WRITE).map_err(why("a view"))?;
        self.watcher().map_err(why("a watcher"))?;
        directory::counter(self.files.handle(), 0, 0).map_err(why("a counter"))?;
        directory::open(self.files.handle(), O_RDWR, 0, FILES[1]).map_err(why("an open file"))?;
        Ok(())
    }
}

/// Takes as many segments as there are, or as much memory.
fn segments() -> Vec<OwnedReference> {
    let Ok(pool) = find(SERVICE_MEMORY) else { return Vec::new() };
    let segment = || memory::segment_create(pool.handle(), PAGE_SIZE, 0).ok();
    (0..MANY).map_while(|_| segment()).flat_map(|made| [made.segment, made.region]).collect()
}

/// Repeats a call for up to two seconds. A relay that has no memory for one more worker refuses
/// until the worker that has just answered is free again; who is kept out of a service stays out.
fn patiently(mut call: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    for _ in 0..100 {
        if call().is_ok() {
            return Ok(());
        }
        moment();
    }
    call()
}

/// One client takes all that it can get, and another works meanwhile.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(shared) = find(SERVICE_FILES) else { return Ok(Verdict::Absent("files")) };
    let client = |path| match Client::new(shared.handle(), path) {
        Err(Errno::ENOSYS | Errno::EACCES) => Ok(None),
        made => made.map(Some).map_err(why("a client")),
    };
    let (Some(greedy), Some(other)) = (client(FILES[0])?, client(FILES[1])?) else { return Ok(Verdict::Absent("files")) };
    greedy.map_parts();
    other.map()?;
    let held = greedy.take_all();
    patiently(|| other.work())?;
    // One at its limit gives back all the same.
    patiently(|| file::lock(greedy.file.handle(), LOCK_NONE, 0, 0, u64::MAX).map(drop).map_err(why("unlocking at the limit")))?;
    drop(held);
    Ok(Verdict::Refused)
}
