//! What processes ask each other: limits, memory and open files. The library of whoever is asked answers, by Linux's rules; a thread that the manager has made in its space
//! brings the questions. It has no place among the program's threads, and holds the lock while it answers.

use crate::abi::errno::{Answer, EFAULT, EINTR, EINVAL, ENOSYS, EPERM, ERESTART, ESRCH, Errno};
use crate::abi::registers::Frame;
use crate::calls::identity::capabilities::{OTHERS, RESOURCES};
use crate::calls::identity::processors::NICE;
use crate::entry::assembly;
use crate::operations::sockets::ancillary_data::{open_file, record};
use crate::process::Process;
use crate::state::files::descriptor_table::OpenFile;
use alloc::vec::Vec;
use core::sync::atomic::AtomicU64;
use nacre_abi::Rights;
use nacre_proto::flags::{ASK_FILE, ASK_LIMIT, ASK_LIMIT_SET, ASK_LINK, ASK_MANAGER, ASK_MEMORY, ASK_MEMORY_SET, ASK_NUMBERS};
use nacre_proto::flags::{ASK_PRIVILEGED, ASK_PROCESSORS, ASK_PROCESSORS_SET, ASK_TEXT};
use nacre_proto::process::visit;
use nacre_proto::process as manager;
use nacre_sys::{Reference, Span, SpanMut, Thread};
use nacre_sys::ipc::{Buffers, Message};

/// Most bytes of memory that one question is about.
const MOST: u64 = 4096;
/// Instead of a thread's place: a visitor's.
const NOBODY: usize = usize::MAX;
/// How long a visitor waits for a process that has not begun.
const SOON: u64 = 1_000_000;
/// Without a limit that is set.
const NO_LIMIT: [u64; 2] = [0; 2];

/// The stack of a visitor, of whom there is one at a time: whole words, which only its own instructions touch.
#[repr(C, align(4096))]
pub struct Stack([AtomicU64; 1024]);

/// That stack.
pub static STACK: Stack = Stack([const { AtomicU64::new(0) }; 1024]);

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    user: u32,
    group: u32,
    is_privileged: bool,
}

impl Owner {
    fn of(question: u64, owner: u64) -> Owner {
        Owner { user: owner as u32, group: (owner >> 32) as u32, is_privileged: question & ASK_PRIVILEGED != 0 }
    }

    /// Whether all numbers of a process are its own: real, effective and saved user, then group.
    fn is_all(self, numbers: [u32; 6]) -> bool {
        numbers[..3] == [self.user; 3] && numbers[3..] == [self.group; 3]
    }
}

/// What a visitor does: for as long as the process lives here.
pub fn serve() -> ! {
    while assembly::with_process(NOBODY, |_| ()).is_none() {
        let _ = Thread::sleep(SOON);
    }
    let mut data = Vec::new();
    data.resize(MOST as usize, 0);
    loop {
        // A manager that does not answer is asked again.
        match manager::visit(Reference::PARENT, &mut data[..]) {
            Ok(asked) => drop(assembly::with_process(NOBODY, |process| process.answer(&asked, &data[..asked.data.min(MOST as usize)]))),
            Err(_) => drop(Thread::sleep(SOON)),
        }
    }
}

impl Process {
    fn answer(&mut self, asked: &visit::Reply, data: &[u8]) {
        let shown;
        let answered = match asked.question & !ASK_PRIVILEGED {
            ASK_LIMIT | ASK_LIMIT_SET => self.answer_limit(asked).map(|limit| (limit, Span::EMPTY)),
            ASK_MEMORY => self.answer_memory(asked).map(|bytes| ([bytes.len() as u64, 0], Span::from(bytes))),
            ASK_MEMORY_SET => self.set_memory(asked, data).map(|count| ([count, 0], Span::EMPTY)),
            ASK_PROCESSORS => Ok(([self.processors_of(asked.first), 0], Span::EMPTY)),
            ASK_PROCESSORS_SET => self.answer_processors(asked).map(|()| ([asked.second, 0], Span::EMPTY)),
            ASK_TEXT | ASK_LINK | ASK_NUMBERS => match self.answer_shown(asked, data) {
                Ok(bytes) => {
                    shown = bytes;
                    Ok(([shown.len() as u64, 0], Span::from(&shown[..])))
                }
                Err(error) => Err(error),
            },
            ASK_MANAGER => self.answer_manager(asked, data).map(|moved| (moved, Span::EMPTY)),
            ASK_FILE => match self.answer_file(asked) {
                Ok(()) => return,
                Err(error) => Err(error),
            },
            _ => Err(EINVAL),
        };
        let refuse = |error: Errno| manager::answer(Reference::PARENT, error.0.into(), 0, 0, Span::EMPTY);
        let sent = match answered {
            Ok(([first, second], bytes)) => manager::answer(Reference::PARENT, 0, first, second, bytes).or_else(|_| refuse(EFAULT)),
            Err(error) => refuse(error),
        };
        // Who does not want to know does not care.
        drop(sent);
    }

    fn answer_limit(&mut self, asked: &visit::Reply) -> Result<[u64; 2], Errno> {
        let owner = Owner::of(asked.question, asked.owner);
        if !owner.is_privileged && !owner.is_all(self.identity.owner()) {
            return Err(EPERM);
        }
        let before = self.limits.get(asked.first)?;
        if asked.question & !ASK_PRIVILEGED == ASK_LIMIT_SET {
            self.set_limit(asked.first, [asked.second, asked.third], owner.is_privileged)?;
        }
        Ok(before)
    }

    /// The processors of a thread are set by the user whom the process belongs to.
    fn answer_processors(&mut self, asked: &visit::Reply) -> Result<(), Errno> {
        let owner = Owner::of(asked.question, asked.owner);
        let [real, effective, ..] = self.identity.owner();
        if !owner.is_privileged && ![real, effective].contains(&owner.user) {
            return Err(EPERM);
        }
        self.set_processors(asked.first, asked.second)
    }

    /// Who may look into the process: whom it belongs to, unless it can do more or is not to be looked at, and the privileged.
    pub fn check_looked_at(&self, asked: &visit::Reply) -> Result<(), Errno> {
        let owner = Owner::of(asked.question, asked.owner);
        let may_more = self.identity.capabilities.permitted() & !asked.third != 0;
        let is_open = owner.is_all(self.identity.owner()) && self.traits.dumpable == 1 && !may_more;
        if is_open || owner.is_privileged { Ok(()) } else { Err(EPERM) }
    }

    fn answer_memory(&mut self, asked: &visit::Reply) -> Result<&'static [u8], Errno> {
        self.check_looked_at(asked)?;
        let size = self.memory.map.extent(asked.first, asked.second.min(MOST), Rights::READ);
        if size == 0 { Err(EFAULT) } else { self.memory.readable(asked.first, size) }
    }

    fn set_memory(&mut self, asked: &visit::Reply, data: &[u8]) -> Result<u64, Errno> {
        self.check_looked_at(asked)?;
        let size = self.memory.map.extent(asked.first, data.len() as u64, Rights::WRITE);
        if size == 0 {
            return Err(EFAULT);
        }
        self.memory.write_bytes(asked.first, &data[..size as usize])?;
        Ok(size)
    }

    /// Who may look into the process may choose the manager of its memory.
    fn answer_manager(&mut self, asked: &visit::Reply, manager: &[u8]) -> Result<[u64; 2], Errno> {
        self.check_looked_at(asked)?;
        self.memory.transfer_all(manager)
    }

    fn answer_file(&mut self, asked: &visit::Reply) -> Result<(), Errno> {
        self.check_looked_at(asked)?;
        let file = self.descriptors.get(asked.first)?;
        let reference = match file.moved.get() {
            Some(moved) => moved.handle(),
            None => self.services.reference(&file).map_err(|_| EPERM)?,
        };
        manager::answer_file(Reference::PARENT, u64::from_le_bytes(record(&file)), 0, reference)?;
        Ok(())
    }

    /// The words of a question; the capability lets a process that has it ask any other one. The manager adds user and group.
    fn question(&self, question: u64, [first, second, third]: [u64; 3], pid: u64, capability: u64) -> [u64; 6] {
        let flag = if self.identity.may(capability) { ASK_PRIVILEGED } else { 0 };
        [pid, question | flag, first, second, third, 0]
    }

    /// Asks a process; how many bytes came, and two words.
    fn ask(&mut self, words: [u64; 6], data: &[u8], into: SpanMut<'_>) -> Result<(usize, [u64; 2]), Errno> {
        let message = Message::new(manager::ask::LABEL, words).with_bytes(data);
        let received = self.exchange(Reference::PARENT, &message, Buffers { bytes: into, slots: &[] }).map_err(failure)?;
        Ok((received.bytes(), [received.words[0], received.words[1]]))
    }

    /// Asks about a path of a process's, for at most `limit` nanoseconds; how many bytes came.
    pub fn ask_about(&mut self, question: u64, (pid, path): (u64, &[u8]), first: u64, limit: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let permitted = self.identity.capabilities.permitted();
        let message = Message::new(manager::ask::LABEL, self.question(question, [first, 0, permitted], pid, OTHERS)).with_bytes(path);
        let received = self.exchange_until(limit, Reference::PARENT, &message, Buffers { bytes: SpanMut::from(into), slots: &[] }).map_err(failure)?;
        Ok(received.bytes())
    }

    /// The limit of a resource of another process, which becomes what is `new`.
    pub fn ask_limit(&mut self, pid: u64, resource: u64, new: Option<[u64; 2]>) -> Result<[u64; 2], Errno> {
        let question = if new.is_some() { ASK_LIMIT_SET } else { ASK_LIMIT };
        let [soft, hard] = new.unwrap_or(NO_LIMIT);
        let words = self.question(question, [resource, soft, hard], pid, RESOURCES);
        self.ask(words, &[], SpanMut::EMPTY).map(|(_, limit)| limit)
    }

    /// The processors of a thread of another process, which become those of a mask.
    pub fn ask_processors(&mut self, thread: u64, mask: Option<u64>) -> Result<u64, Errno> {
        let question = if mask.is_some() { ASK_PROCESSORS_SET } else { ASK_PROCESSORS };
        let words = self.question(question, [thread, mask.unwrap_or(0), 0], thread, NICE);
        self.ask(words, &[], SpanMut::EMPTY).map(|(_, [mask, _])| mask)
    }

    /// An open file of another process.
    pub fn ask_file(&mut self, pid: u64, descriptor: u64) -> Result<OpenFile, Errno> {
        let permitted = self.identity.capabilities.permitted();
        let words = self.question(ASK_FILE, [descriptor & 0xffff_ffff, 0, permitted], pid, OTHERS);
        let slot = nacre_sys::Vacant::<Reference>::new()?;
        let message = Message::new(manager::ask_file::LABEL, words);
        let received = self.exchange(Reference::PARENT, &message, Buffers { bytes: SpanMut::EMPTY, slots: &[slot.handle()] }).map_err(failure)?;
        Ok(open_file(slot.occupied(), &received.words[0].to_le_bytes()))
    }

    /// Moves bytes between a process and this one, from `[there, here]`; how many.
    fn move_piece(&mut self, pid: u64, [there, here]: [u64; 2], size: u64, reads: bool) -> Answer {
        let usable = self.memory.map.extent(here, size, if reads { Rights::WRITE } else { Rights::READ });
        if usable == 0 {
            return Err(EFAULT);
        }
        let is_own = pid == self.pid() || self.threads.find(pid).is_some();
        if is_own {
            let (from, to) = if reads { (there, here) } else { (here, there) };
            let size = usable.min(self.memory.map.extent(there, size, if reads { Rights::READ } else { Rights::WRITE }));
            let bytes = if size == 0 { Err(EFAULT) } else { self.memory.readable(from, size) }?.to_vec();
            return self.memory.write_bytes(to, &bytes).map(|()| size);
        }
        let permitted = self.identity.capabilities.permitted();
        let words = self.question(if reads { ASK_MEMORY } else { ASK_MEMORY_SET }, [there, usable, permitted], pid, OTHERS);
        if reads {
            let into = self.memory.writable(here, usable)?;
            return self.ask(words, &[], SpanMut::from(into)).map(|(count, _)| count as u64);
        }
        let from = self.memory.readable(here, usable)?;
        self.ask(words, from, SpanMut::EMPTY).map(|(_, [count, _])| count.min(usable))
    }
}

/// What Linux says of a process that was not asked.
fn failure(error: Errno) -> Errno {
    match error {
        EINTR => ERESTART,
        ENOSYS => ESRCH,
        Errno::EPROTO => EPERM,
        error => error,
    }
}

/// Addresses and sizes, of which none may be a negative number.
fn pieces(process: &Process, address: u64, count: u64) -> Result<Vec<(u64, u64)>, Errno> {
    let pieces = process.memory.vectors(address, count)?;
    if pieces.iter().any(|(_, size)| (*size as i64) < 0) { Err(EINVAL) } else { Ok(pieces) }
}

/// The next part of two lists of pieces at once, of at most [`MOST`] bytes: both addresses, and its size.
fn next(there: &mut Vec<(u64, u64)>, here: &mut Vec<(u64, u64)>) -> Option<([u64; 2], u64)> {
    for list in [&mut *there, here] {
        while list.last().is_some_and(|(_, size)| *size == 0) {
            list.pop();
        }
    }
    let (there, here) = (there.last_mut()?, here.last_mut()?);
    let (size, addresses) = (there.1.min(here.1).min(MOST), [there.0, here.0]);
    for piece in [there, here] {
        *piece = (piece.0.wrapping_add(size), piece.1 - size);
    }
    Some((addresses, size))
}

fn transfer(process: &mut Process, frame: &Frame, reads: bool) -> Answer {
    let [pid, here, here_count, there, there_count, flags] = frame.arguments();
    if flags != 0 {
        return Err(EINVAL);
    }
    let mut here = pieces(process, here, here_count)?;
    if here.iter().all(|(_, size)| *size == 0) {
        return Ok(0);
    }
    let mut there = pieces(process, there, there_count)?;
    here.reverse();
    there.reverse();
    let mut total = 0;
    while let Some((addresses, size)) = next(&mut there, &mut here) {
        match process.move_piece(u64::from(pid as u32), addresses, size, reads) {
            Err(_) if total != 0 => break,
            moved => {
                let moved = moved?;
                total += moved;
                if moved < size {
                    break;
                }
            }
        }
    }
    Ok(total)
}

/// `process_vm_readv(process, here, count, there, count, flags)`.
pub fn process_vm_readv(process: &mut Process, frame: &mut Frame) -> Answer {
    transfer(process, frame, true)
}

/// `process_vm_writev(process, here, count, there, count, flags)`.
pub fn process_vm_writev(process: &mut Process, frame: &mut Frame) -> Answer {
    transfer(process, frame, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_met_in_parts_that_fit_both() {
        let (mut there, mut here) = (alloc::vec![(0x9000, 10), (0x5000, 5000)], alloc::vec![(0x100, 5002), (0x200, 0)]);
        assert_eq!(next(&mut there, &mut here), Some(([0x5000, 0x100], 4096)));
        assert_eq!(next(&mut there, &mut here), Some(([0x6000, 0x1100], 904)));
        assert_eq!(next(&mut there, &mut here), Some(([0x9000, 0x1488], 2)));
        assert_eq!(next(&mut there, &mut here), None);
    }

    #[test]
    fn who_asks_must_be_all_that_a_process_is() {
        let owner = Owner::of(ASK_LIMIT, 5 | 7 << 32);
        assert!(owner.is_all([5, 5, 5, 7, 7, 7]));
        assert!(!owner.is_all([5, 5, 0, 7, 7, 7]) && !owner.is_all([5, 5, 5, 7, 7, 0]));
    }
}
