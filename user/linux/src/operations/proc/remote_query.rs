//! Questions that the process asks others through the manager.

use crate::abi::errno::{EINTR, ENOSYS, EPERM, ERESTART, ESRCH, Errno};
use crate::operations::processors::NICE;
use crate::operations::sockets::ancillary_data::open_file;
use crate::process::Process;
use crate::state::capabilities::{OTHERS, RESOURCES};
use crate::state::files::open_file::OpenFile;
use nacre_proto::flags::{ASK_FILE, ASK_LIMIT, ASK_LIMIT_SET, ASK_PRIVILEGED, ASK_PROCESSORS, ASK_PROCESSORS_SET};
use nacre_proto::process::visit;
use nacre_proto::{process as manager, sender};
use nacre_sys::{Reference, SpanMut};
use nacre_sys::ipc::{Buffers, Message};

impl Process {
    /// Asks a process; how many bytes came, and two words.
    pub fn ask(&mut self, words: [u64; 6], data: &[u8], into: SpanMut<'_>) -> Result<(usize, [u64; 2]), Errno> {
        let message = Message::new(manager::ask::LABEL, words).with_bytes(data);
        let received = self.exchange(Reference::PARENT, &message, Buffers { bytes: into, slots: &[] }).map_err(failure)?;
        Ok((received.bytes(), [received.words[0], received.words[1]]))
    }
}

/// Asks about a path of a process's, for at most `limit` nanoseconds; how many bytes came.
pub fn ask_about(process: &mut Process, which: u64, (pid, path): (u64, &[u8]), first: u64, limit: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let permitted = process.identity.capabilities.permitted();
    let message = Message::new(manager::ask::LABEL, question(process, which, [first, 0, permitted], pid, OTHERS)).with_bytes(path);
    let received = process.exchange_until(limit, Reference::PARENT, &message, Buffers { bytes: SpanMut::from(into), slots: &[] }).map_err(failure)?;
    Ok(received.bytes())
}

/// The limit of a resource of another process, which becomes what is `new`.
pub fn ask_limit(process: &mut Process, pid: u64, resource: u64, new: Option<[u64; 2]>) -> Result<[u64; 2], Errno> {
    let which = if new.is_some() { ASK_LIMIT_SET } else { ASK_LIMIT };
    let [soft, hard] = new.unwrap_or(NO_LIMIT);
    let words = question(process, which, [resource, soft, hard], pid, RESOURCES);
    process.ask(words, &[], SpanMut::EMPTY).map(|(_, limit)| limit)
}

/// The processors of a thread of another process, which become those of a mask.
pub fn ask_processors(process: &mut Process, thread: u64, mask: Option<u64>) -> Result<u64, Errno> {
    let which = if mask.is_some() { ASK_PROCESSORS_SET } else { ASK_PROCESSORS };
    let words = question(process, which, [thread, mask.unwrap_or(0), 0], thread, NICE);
    process.ask(words, &[], SpanMut::EMPTY).map(|(_, [mask, _])| mask)
}

/// An open file of another process.
pub fn ask_file(process: &mut Process, pid: u64, descriptor: u64) -> Result<OpenFile, Errno> {
    let permitted = process.identity.capabilities.permitted();
    let words = question(process, ASK_FILE, [descriptor & 0xffff_ffff, 0, permitted], pid, OTHERS);
    let slot = nacre_sys::EmptySlot::<Reference>::new()?;
    let message = Message::new(manager::ask_file::LABEL, words);
    let received = process.exchange(Reference::PARENT, &message, Buffers { bytes: SpanMut::EMPTY, slots: &[slot.handle()] }).map_err(failure)?;
    Ok(open_file(slot.occupied(), &received.words[0].to_le_bytes()))
}

/// Checks that the caller may look into the process. Its own user may, unless the process has more
/// capabilities or is not dumpable. Privileged users may.
pub fn check_looked_at(process: &Process, asked: &visit::Reply) -> Result<(), Errno> {
    let owner = Owner::of(asked.question, asked.owner);
    let may_more = process.identity.capabilities.permitted() & !asked.third != 0;
    let is_open = owner.is_all(process.identity.owner()) && process.traits.dumpable == 1 && !may_more;
    if is_open || owner.is_privileged { Ok(()) } else { Err(EPERM) }
}

/// The words of a question; the capability lets a process that has it ask any other one. The
/// manager adds user and group.
pub fn question(process: &Process, question: u64, [first, second, third]: [u64; 3], pid: u64, capability: u64) -> [u64; 6] {
    let flag = if process.identity.may(capability) { ASK_PRIVILEGED } else { 0 };
    sender::words([pid, question | flag, first, second, third])
}

/// Without a limit that is set.
const NO_LIMIT: [u64; 2] = [0; 2];

/// User and group of a process that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub user: u32,
    group: u32,
    pub is_privileged: bool,
}

impl Owner {
    pub fn of(question: u64, owner: u64) -> Owner {
        Owner { user: owner as u32, group: (owner >> 32) as u32, is_privileged: question & ASK_PRIVILEGED != 0 }
    }

    /// Returns true if all user and group numbers of a process are the owner's: real, effective and
    /// saved.
    pub fn is_all(self, numbers: [u32; 6]) -> bool {
        numbers[..3] == [self.user; 3] && numbers[3..] == [self.group; 3]
    }
}

/// Translates an error of the query into the one that Linux returns.
fn failure(error: Errno) -> Errno {
    match error {
        EINTR => ERESTART,
        ENOSYS => ESRCH,
        Errno::EPROTO => EPERM,
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_must_be_all_that_a_process_is() {
        let owner = Owner::of(ASK_LIMIT, 5 | 7 << 32);
        assert!(owner.is_all([5, 5, 5, 7, 7, 7]));
        assert!(!owner.is_all([5, 5, 0, 7, 7, 7]) && !owner.is_all([5, 5, 5, 7, 7, 0]));
    }
}
