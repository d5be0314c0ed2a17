//! `guard --allow process` let its program write the memory of any process, by `process.ask`. So
//! its code ran outside the guard.

use crate::tools::why;
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use nacre_proto::{Errno, process};
use nacre_sys::Reference;

/// Greatest number of a process that is tried.
const MOST: u64 = 64;
/// Every question that the protocol knows, and one that it does not.
const QUESTIONS: u64 = 16;

/// Looks at, signals and asks every process but the caller's own, which has no children. Each must
/// be refused below a guard.
pub fn attack(_: &[u8]) -> Outcome {
    let own = match process::numbers(Reference::PARENT, 0) {
        Ok(reply) => reply.pid,
        Err(Errno::ENOSYS | Errno::EACCES) => return Ok(Verdict::Absent("process manager")),
        Err(errno) => return Err(why("its own number")(errno)),
    };
    let listed = process::list(Reference::PARENT, 1, &mut [0; 64][..]);
    if listed.is_ok_and(|reply| reply.pid != own) {
        return Err("it is shown other processes".into());
    }
    if process::reach(Reference::PARENT, own).is_ok() {
        return Err("it can reach itself, as only a tracer may".into());
    }
    for pid in (1..MOST).filter(|pid| *pid != own) {
        let is_asked = |question| process::ask(Reference::PARENT, pid, question, 0, 0, 0, &b"x"[..], &mut [0; 64][..]).is_ok();
        let through = [
            ("signalled", process::kill(Reference::PARENT, pid, 0, 0, 0, 0).is_ok()),
            ("looked at", process::look(Reference::PARENT, pid, &mut [0; 64][..]).is_ok()),
            ("asked", (0..QUESTIONS).any(is_asked)),
            ("slowed", process::priority_set(Reference::PARENT, 0, pid, 1).is_ok()),
            ("reached", process::reach(Reference::PARENT, pid).is_ok()),
        ];
        if let Some((what, _)) = through.iter().find(|(_, is_through)| *is_through) {
            return Err(format!("process {pid} can be {what}"));
        }
    }
    Ok(Verdict::Refused)
}
