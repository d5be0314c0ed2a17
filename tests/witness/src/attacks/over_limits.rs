//! A guard had no limits: its child took files, contents and memory until there were none, and
//! whatever it had from outside was counted to others.

use crate::outcome::{Outcome, Verdict};
use crate::tools::{find, why};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_proto::flags::{LOCK_WRITE, O_CREAT, O_RDWR, SERVICE_FILES, SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::{Errno, directory, file, memory, parent};
use nacre_sys::{OwnedReference, Reference};

/// Bound on every loop: more than any limit allows.
const MANY: usize = 20_000;
/// Files that are filled, and the bytes of one write.
const FILES: usize = 8;
const PIECE: usize = 4096;
/// Bytes that a name costs at least.
const NAME: u64 = 768;
/// Bytes of a lock, and of all records beside an object.
const LOCK: u64 = 256;
const RECORDS: u64 = 5120;

/// Limits that the program runs under; 0 is none.
struct Limits {
    files: u64,
    storage: u64,
    memory: u64,
}

fn limits(argument: &[u8]) -> Option<Limits> {
    let mut numbers = core::str::from_utf8(argument).ok()?.split(',').map(|text| text.parse().ok());
    Some(Limits { files: numbers.next()??, storage: numbers.next()??, memory: numbers.next()?? })
}

/// Directories by which the program comes to files: the service, what it makes of that itself, and
/// standard input, if that is one.
fn ways() -> Result<Vec<OwnedReference>, String> {
    let root = find(SERVICE_FILES).map_err(why("files"))?;
    let mut ways = Vec::new();
    let at = root.handle();
    ways.extend([directory::share(at).ok().map(|reply| reply.directory), directory::limit(at, u64::MAX, u64::MAX).ok().map(|reply| reply.directory), directory::root(at, b"/tmp").ok().map(|reply| reply.directory)].into_iter().flatten());
    if let Ok(input) = parent::stream(Reference::PARENT, 0) {
        ways.extend(directory::open(input.file.handle(), 0, 0, b".").ok().map(|reply| reply.file));
        ways.extend(Some(input.file).filter(|file| directory::path(file.handle(), &mut [0; 256][..]).is_ok()));
    }
    ways.push(root);
    Ok(ways)
}

/// Takes objects of each kind until there are no more.
fn objects(way: Reference) -> Vec<OwnedReference> {
    let mut held = Vec::new();
    let mut take = |made: &dyn Fn() -> Result<OwnedReference, Errno>| held.extend((0..MANY).map_while(|_| made().ok()));
    take(&|| Ok(directory::open(way, 0, 0, b".")?.file));
    take(&|| Ok(directory::counter(way, 0, 0)?.file));
    take(&|| Ok(directory::memory(way, 0)?.file));
    take(&|| Ok(directory::share(way)?.directory));
    take(&|| Ok(directory::charge(way, way)?.file));
    take(&|| Ok(directory::watcher(way)?.file));
    held
}

fn check_files(most: u64) -> Result<(), String> {
    let ways = ways()?;
    let held: Vec<_> = ways.iter().flat_map(|way| objects(way.handle())).collect();
    let count = (held.len() + ways.len()) as u64;
    if count > most || count < most / 2 {
        return Err(format!("{count} objects, of {most}"));
    }
    drop(held);
    let way = ways.last().ok_or("no way")?.handle();
    let locked = directory::open(way, O_CREAT | O_RDWR, 0o600, b"/tmp/locked").map_err(why("a file again"))?.file;
    let locks = (0..MANY as u64).take_while(|at| file::lock(locked.handle(), LOCK_WRITE, 0, 4 * at, 4 * at + 1).is_ok()).count() as u64;
    if locks * LOCK > most * RECORDS { Err(format!("{locks} locks")) } else { Ok(()) }
}

/// Fills files through all ways; the bytes that found room.
fn fill(ways: &[OwnedReference]) -> u64 {
    let mut total = 0;
    for (number, way) in ways.iter().cycle().take(FILES).enumerate() {
        let path = format!("filled{number}");
        let Ok(opened) = directory::open(way.handle(), O_CREAT | O_RDWR, 0o600, format!("/tmp/{path}").as_bytes()).or_else(|_| directory::open(way.handle(), O_CREAT | O_RDWR, 0o600, path.as_bytes())) else { continue };
        // A hole costs nothing, and what is written there does.
        let _ = file::set_size(opened.file.handle(), 1 << 40);
        for at in 0..MANY as u64 {
            match file::write(opened.file.handle(), at * (1 << 20), &[7; PIECE]) {
                Ok(reply) => total += reply.count,
                Err(_) => break,
            }
        }
    }
    total
}

fn names(way: Reference) -> u64 {
    let made = (0..MANY).take_while(|number| directory::make_directory(way, 0o700, format!("/tmp/name{number}").as_bytes()).is_ok());
    made.count() as u64
}

fn check_storage(most: u64) -> Result<(), String> {
    let ways = ways()?;
    let root = ways.last().ok_or("no way")?.handle();
    let bytes = fill(&ways);
    if bytes > most || bytes < most / 4 {
        return Err(format!("{bytes} bytes of contents, of {most}"));
    }
    let count = names(root);
    if count * NAME + bytes > most {
        return Err(format!("{count} names beside {bytes} bytes of contents, of {most}"));
    }
    (0..FILES).for_each(|number| drop(directory::remove(root, 0, format!("/tmp/filled{number}").as_bytes())));
    let again = names(root);
    (0..MANY).take_while(|number| directory::remove(root, 1, format!("/tmp/name{number}").as_bytes()).is_ok()).for_each(drop);
    if (count + again) * NAME > most { Err(format!("{count} and {again} names")) } else { Ok(()) }
}

/// Takes segments of a pool, larger ones first; the bytes.
fn segments(pool: Reference, held: &mut Vec<OwnedReference>) -> u64 {
    let mut total = 0;
    for shift in (0..12).rev() {
        while let Ok(made) = memory::segment_create(pool, PAGE_SIZE << shift, 0) {
            total += made.size;
            held.extend([made.segment, made.region]);
        }
    }
    total
}

fn check_memory(most: u64) -> Result<(), String> {
    let (mut held, mut total) = (Vec::new(), 0);
    for service in [SERVICE_MEMORY, SERVICE_OBJECTS] {
        let Ok(pool) = find(service) else { continue };
        let status = memory::status(pool.handle()).map_err(why("the status of a pool"))?;
        if status.limit > most {
            return Err(format!("a pool of {} bytes, of {most}", status.limit));
        }
        if let Ok(inner) = memory::pool_create(pool.handle(), u64::MAX) {
            total += segments(inner.pool.handle(), &mut held);
            held.push(inner.pool);
        }
        total += segments(pool.handle(), &mut held);
    }
    if total > most { Err(format!("{total} bytes of memory, of {most}")) } else { Ok(()) }
}

/// Takes all that a guard's limits leave, by all ways: `FILES,STORAGE,MEMORY`.
pub fn attack(argument: &[u8]) -> Outcome {
    let limits = limits(argument).ok_or("say FILES,STORAGE,MEMORY")?;
    if limits.storage > 0 {
        check_storage(limits.storage)?;
    }
    if limits.files > 0 {
        check_files(limits.files)?;
    }
    if limits.memory > 0 {
        check_memory(limits.memory)?;
    }
    Ok(Verdict::Refused)
}
