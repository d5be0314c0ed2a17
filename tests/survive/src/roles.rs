//! Programs inside the environments.

use core::sync::atomic::{AtomicU64, Ordering};
use nacre_proto::flags::{O_RDONLY, SERVICE_CLOCK, SERVICE_FILES, SERVICE_MEMORY};
use nacre_proto::{Errno, clock, directory, file, memory, parent};
use nacre_rt::thread;
use nacre_sys::{OwnedReference, Reference, Thread};

/// Path of this program.
pub const PATH: &[u8] = b"/bin/survive";
/// Status of a program that found everything right.
pub const RIGHT: u64 = 42;

/// Plays a role: its status, `None` if there is no such role.
pub fn play(role: &[u8]) -> Option<i32> {
    Some(match role {
        b"work" => work(),
        b"count" => count(),
        b"give-up" => give_up(),
        b"threads" => threads(),
        _ => return None,
    })
}

/// A service of the parent's.
pub fn find(service: u64) -> Result<OwnedReference, Errno> {
    parent::find(Reference::PARENT, service).map(|reply| reply.found)
}

/// Asks for a little of everything; how many bytes of this program's file there were.
pub fn ask() -> Result<u64, Errno> {
    let files = find(SERVICE_FILES)?;
    let program = directory::open(files.handle(), O_RDONLY, 0, PATH)?.file;
    let mut bytes = [0; 512];
    let count = file::read(program.handle(), 0, 512, &mut bytes[..])?.data;
    clock::read(find(SERVICE_CLOCK)?.handle(), 0)?;
    let segment = memory::segment_create(find(SERVICE_MEMORY)?.handle(), 8192, 0)?;
    drop(segment);
    Ok(count as u64)
}

/// Works until it is taken back.
fn work() -> ! {
    loop {
        // A call fails here because the monitor that carries it is dying.
        let _ = ask();
    }
}

/// Works for a while, and says whether all was right.
fn count() -> i32 {
    let right = (0..50).all(|_| ask() == Ok(512));
    if right { RIGHT as i32 } else { 1 }
}

/// Destroys the thread that it is.
pub fn give_up() -> ! {
    loop {
        // The call does not come back.
        let _ = Thread::FIRST.destroy();
    }
}

static SUM: AtomicU64 = AtomicU64::new(0);

fn add(number: usize) {
    SUM.fetch_add(number as u64, Ordering::Relaxed);
}

/// Makes and ends threads.
fn threads() -> i32 {
    for number in [11, 13, 18] {
        match thread::spawn(add, number) {
            Ok(handle) => handle.join(),
            Err(_) => return 1,
        }
    }
    SUM.load(Ordering::Relaxed) as i32
}
