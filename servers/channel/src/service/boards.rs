//! Boards: each holds the numbers of those files of a process that have changed since it asked. So
//! one message tells of all files that it watches.

use super::{ANY_CHANGE, Service, Teller, Watcher};
use alloc::collections::{BTreeMap, VecDeque};
use nacre_proto::channel::{board, enroll, told};
use nacre_proto::flags::{POLLERR, POLLHUP};
use nacre_proto::{Errno, Request};
use nacre_sys::{OwnedReference, ipc};

/// Maximum of numbers on a board. With more to tell, it says that all may have changed.
const MAX_TOLD: usize = 8192;
/// Numbers in an answer.
const IN_ANSWER: usize = 5;

/// One board.
struct Board {
    /// Destination of notifications, and their bits.
    port: OwnedReference,
    bits: u64,
    told: VecDeque<u64>,
    /// Set if numbers were lost.
    is_cut: bool,
    /// Set from a notification until all numbers were fetched.
    is_notified: bool,
}

/// All boards, by the words of their processes' accounts.
pub(super) struct Boards {
    all: BTreeMap<u64, Board>,
    /// Number that makes the boards of this service others than those of any other one.
    salt: u64,
}

impl Boards {
    /// A record without boards.
    pub(super) fn new() -> Boards {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        Boards { all: BTreeMap::new(), salt: nacre_sys::clock::ticks().wrapping_mul(ODD) }
    }

    fn make(&mut self, account: u64, port: OwnedReference, bits: u64) -> u64 {
        self.all.insert(account, Board { port, bits, told: VecDeque::new(), is_cut: false, is_notified: false });
        account ^ self.salt
    }

    fn has(&self, number: u64) -> bool {
        self.all.contains_key(&(number ^ self.salt))
    }

    pub(super) fn remove(&mut self, account: u64) {
        self.all.remove(&account);
    }

    /// Puts a number on a board, and notifies its process if that has fetched all others.
    pub(super) fn tell(&mut self, number: u64, id: u64) {
        let Some(board) = self.all.get_mut(&(number ^ self.salt)) else { return };
        if board.told.len() < MAX_TOLD && board.told.try_reserve(1).is_ok() {
            board.told.push_back(id);
        } else {
            board.is_cut = true;
        }
        if !core::mem::replace(&mut board.is_notified, true) {
            // One that has gone need not hear of it.
            let _ = ipc::notify(board.port.handle(), board.bits);
        }
    }

    /// Takes the next numbers from an account's board.
    fn take(&mut self, account: u64) -> Result<told::Output, Errno> {
        let board = self.all.get_mut(&account).ok_or(Errno::ENODEV)?;
        let count = if board.is_cut { u64::MAX } else { board.told.len() as u64 };
        if core::mem::take(&mut board.is_cut) {
            board.told.clear();
        }
        let [first, second, third, fourth, fifth] = core::array::from_fn::<_, IN_ANSWER, _>(|_| board.told.pop_front().unwrap_or(0));
        board.is_notified = !board.told.is_empty();
        Ok(told::Output { count, first, second, third, fourth, fifth })
    }
}

impl Service {
    pub(super) fn make_board(&mut self, request: &mut Request<'_>, bits: u64) -> Result<board::Output, Errno> {
        if !self.accounts.contains_key(&request.word()) {
            return Err(Errno::ENODEV);
        }
        let port = request.keep(0)?;
        Ok(board::Output { board: self.boards.make(request.word(), port, bits) })
    }

    pub(super) fn fetch_told(&mut self, request: &Request<'_>) -> Result<told::Output, Errno> {
        self.boards.take(request.word())
    }

    pub(super) fn enroll_end(&mut self, key: u64, (number, id): (u64, u64), events: u64, before: [u64; 2]) -> Result<enroll::Output, Errno> {
        if !self.boards.has(number) {
            return Err(Errno::ENODEV);
        }
        self.hub.want(key);
        let ready = self.hub.events(key)? & (events | POLLERR | POLLHUP);
        let changes = self.hub.changes(key)?;
        let is_level = before == [u64::MAX; 2];
        if if is_level { ready == 0 } else { changes == before } {
            let events = if is_level { events & !(1 << 63) } else { ANY_CHANGE };
            self.watch(key, Watcher { events, teller: Teller::Board(number, id) })?;
        }
        let [arrivals, departures] = changes;
        Ok(enroll::Output { events: ready, arrivals, departures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_sys::Reference;

    fn numbers(output: told::Output) -> [u64; 6] {
        [output.count, output.first, output.second, output.third, output.fourth, output.fifth]
    }

    #[test]
    fn a_board_gives_what_it_was_told_in_pieces() {
        let (mut boards, mut other) = (Boards::new(), Boards::new());
        let board = boards.make(7, OwnedReference::adopt(Reference(0)), 1);
        boards.all.get_mut(&7).unwrap().is_notified = true;
        other.tell(board ^ 1, 3);
        assert!(boards.has(board) && !boards.has(board ^ 1));
        (1..=7).for_each(|id| boards.tell(board, id));
        assert_eq!(boards.take(7).map(numbers), Ok([7, 1, 2, 3, 4, 5]));
        assert!(boards.all[&7].is_notified);
        assert_eq!(boards.take(7).map(numbers), Ok([2, 6, 7, 0, 0, 0]));
        assert_eq!(boards.take(7).map(numbers), Ok([0; 6]));
        assert!(!boards.all[&7].is_notified);
        assert_eq!(boards.take(8).map(numbers), Err(Errno::ENODEV));
        boards.all.get_mut(&7).unwrap().is_notified = true;
        (0..=MAX_TOLD as u64).for_each(|id| boards.tell(board, id));
        assert_eq!(boards.take(7).map(numbers), Ok([u64::MAX, 0, 0, 0, 0, 0]), "too many");
        assert_eq!(boards.take(7).map(numbers), Ok([0; 6]));
        core::mem::forget(boards.all.remove(&7).map(|board| board.port));
    }
}
