//! A tracer beside the programs of a world, which the world's manager starts when somebody wants to
//! look. It stands between them and all else while somebody does.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use nacre_nest::interpose::stage;
use nacre_proto::process::{self, reach};
use nacre_sys::Reference;

/// Word of the command line that the manager starts such a tracer with.
pub const ATTACH: &[u8] = b"--attach";
/// Maximum number of bytes of a name and the words behind it.
const MAX_NAMES: usize = 4096;

/// Lists the processes that the world has now.
fn list() -> Vec<u64> {
    let mut name = vec![0; MAX_NAMES];
    let next = |last: &u64| process::list(Reference::PARENT, last + 1, &mut name[..]).ok().map(|found| found.pid);
    core::iter::successors(Some(0), next).skip(1).collect()
}

/// Acts on each process that the world has now but ourselves. One that begins meanwhile is left
/// out: where others begin all the time, to wait for the last one would never end.
fn each(mut act: impl FnMut(u64, &reach::Reply)) {
    let Ok(own) = process::numbers(Reference::PARENT, 0) else { return };
    for pid in list() {
        // One that has ended, or has not begun, has no space.
        if pid != own.pid
            && let Ok(reached) = process::reach(Reference::PARENT, pid)
        {
            act(pid, &reached);
        }
    }
}

/// Stands between all processes and all else. What one of them makes from now on is seen, too.
pub fn attach() {
    let mut known = BTreeSet::new();
    // One that others have made meanwhile is found by the second look.
    for _ in 0..2 {
        each(|pid, reached| {
            if known.insert(pid) {
                // A process that cannot be looked into is not shown.
                let _ = stage::adopt(reached.space.handle(), reached.thread.handle(), pid);
            }
        });
    }
}

/// Lets all processes go on without us, but for what others have of them by now.
pub fn detach() {
    each(|_, reached| {
        let _ = stage::release(reached.space.handle(), reached.thread.handle());
    });
}
