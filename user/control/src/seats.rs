//! Those who attend, and the commands that are on their way to them.
//!
//! A command goes to one seat after the other, in the order in which they were taken. A list is
//! asked of all; every other command ends with the first who knows how. A seat that is left counts
//! as one that does not know how.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::COMMAND_LIST;

/// Maximum number of seats.
const MAX_SEATS: usize = 64;
/// Maximum number of commands on their way.
const MAX_COMMANDS: usize = 128;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Number by which its answers are told apart.
    pub number: u64,
    /// Number of the operation that is asked for.
    pub operation: u64,
    /// Flags of the operation.
    pub flags: u64,
    /// Number that nobody else can guess, which brings files as parts of the answer.
    pub ticket: u64,
    /// Argument of the operation.
    pub text: Vec<u8>,
}

/// Somebody who is told that a command has come.
pub trait Bell {
    /// Tells him.
    fn ring(&self);
}

/// A command on its way.
struct Passing {
    command: Command,
    /// Seats that have not been asked.
    left: VecDeque<u64>,
    /// The seat that is asked.
    at: u64,
    is_taken: bool,
    result: Errno,
}

/// Seats, by the numbers that their owner gives them.
pub struct Seats<B> {
    bells: Vec<(u64, B)>,
    passing: BTreeMap<u64, Passing>,
}

impl<B> Default for Seats<B> {
    fn default() -> Seats<B> {
        Seats { bells: Vec::new(), passing: BTreeMap::new() }
    }
}

impl<B: Bell> Seats<B> {
    /// Takes a seat; whoever had this number before has left. `EAGAIN`: there are too many. The
    /// commands that ended by that.
    pub fn sit(&mut self, seat: u64, bell: B) -> Result<Vec<(u64, Errno)>, Errno> {
        let ended = self.leave(seat);
        if self.bells.len() >= MAX_SEATS || self.bells.try_reserve(1).is_err() {
            return Err(Errno::EAGAIN);
        }
        self.bells.push((seat, bell));
        Ok(ended)
    }

    /// Returns everybody who attends.
    pub fn bells(&self) -> impl Iterator<Item = (u64, &B)> {
        self.bells.iter().map(|(seat, bell)| (*seat, bell))
    }

    /// Leaves a seat: the commands that ended by that, and how.
    pub fn leave(&mut self, seat: u64) -> Vec<(u64, Errno)> {
        self.bells.retain(|(number, _)| *number != seat);
        let asked: Vec<u64> = self.passing.iter().filter(|(_, passing)| passing.at == seat).map(|(number, _)| *number).collect();
        asked.into_iter().filter_map(|number| Some((number, self.go_on(number, Errno::ENOSYS)?))).collect()
    }

    /// Sends a command on its way. Its result, if it is over already.
    pub fn post(&mut self, command: Command) -> Option<Errno> {
        if self.passing.len() >= MAX_COMMANDS || self.passing.contains_key(&command.number) {
            return Some(Errno::EAGAIN);
        }
        let number = command.number;
        let left = self.bells.iter().map(|(seat, _)| *seat).collect();
        self.passing.insert(number, Passing { command, left, at: u64::MAX, is_taken: false, result: Errno::ENOSYS });
        self.go_on(number, Errno::ENOSYS)
    }

    /// Takes a command back. Answers that still come find nobody.
    pub fn cancel(&mut self, number: u64) {
        self.passing.remove(&number);
    }

    /// The next command for a seat, which takes it.
    pub fn next(&mut self, seat: u64) -> Option<&Command> {
        let passing = self.passing.values_mut().find(|passing| passing.at == seat && !passing.is_taken)?;
        passing.is_taken = true;
        Some(&passing.command)
    }

    /// Returns the operation that a seat has taken with this command. `ESRCH`: it has not, or has
    /// done it.
    pub fn taken(&self, seat: u64, number: u64) -> Result<u64, Errno> {
        let passing = self.passing.get(&number).filter(|passing| passing.at == seat && passing.is_taken);
        passing.map(|passing| passing.command.operation).ok_or(Errno::ESRCH)
    }

    /// The command that has this ticket.
    pub fn ticket(&self, ticket: u64) -> Option<u64> {
        self.passing.values().find(|passing| passing.command.ticket == ticket).map(|passing| passing.command.number)
    }

    /// A seat has done a command. The command's result, if it is over.
    pub fn done(&mut self, seat: u64, number: u64, result: Errno) -> Result<Option<Errno>, Errno> {
        self.taken(seat, number)?;
        Ok(self.go_on(number, result))
    }

    /// Passes a command on to the next seat, or ends it.
    fn go_on(&mut self, number: u64, result: Errno) -> Option<Errno> {
        let passing = self.passing.get_mut(&number)?;
        // A list is whole if anybody has told his part, and nobody failed.
        passing.result = if passing.result == Errno::ENOSYS || result != Errno::ENOSYS && result.0 != 0 { result } else { passing.result };
        let is_over = passing.command.operation != COMMAND_LIST && result != Errno::ENOSYS;
        while !is_over && let Some(seat) = passing.left.pop_front() {
            if let Some((_, bell)) = self.bells.iter().find(|(number, _)| *number == seat) {
                (passing.at, passing.is_taken) = (seat, false);
                bell.ring();
                return None;
            }
        }
        self.passing.remove(&number).map(|passing| passing.result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use nacre_proto::flags::COMMAND_FREEZE;

    struct Count<'a>(&'a Cell<u32>);

    impl Bell for Count<'_> {
        fn ring(&self) {
            self.0.set(self.0.get() + 1);
        }
    }

    const DONE: Errno = Errno(0);

    fn command(number: u64, operation: u64) -> Command {
        Command { number, operation, flags: 0, ticket: 100 + number, text: Vec::new() }
    }

    #[test]
    fn a_list_is_asked_of_all_and_a_freeze_of_the_first_who_can() {
        let rings = Cell::new(0);
        let mut seats = Seats::default();
        for seat in [7, 3, 9] {
            assert_eq!(seats.sit(seat, Count(&rings)), Ok(Vec::new()));
        }
        assert_eq!(seats.post(command(1, COMMAND_LIST)), None);
        assert_eq!((seats.next(3).is_some(), seats.next(7).map(|command| command.number), rings.get()), (false, Some(1), 1));
        assert_eq!(seats.done(3, 1, DONE), Err(Errno::ESRCH));
        assert_eq!(seats.done(7, 1, DONE), Ok(None));
        assert!(seats.next(3).is_some() && seats.next(3).is_none());
        assert_eq!(seats.done(3, 1, Errno::ENOSYS), Ok(None));
        assert!(seats.next(9).is_some());
        assert_eq!(seats.done(9, 1, DONE), Ok(Some(DONE)));
        assert_eq!(seats.post(command(2, COMMAND_FREEZE)), None);
        assert_eq!((seats.ticket(102), seats.ticket(101)), (Some(2), None));
        assert!(seats.next(7).is_some());
        assert_eq!(seats.done(7, 2, Errno::ENOSYS), Ok(None));
        assert!(seats.next(3).is_some());
        assert_eq!(seats.done(3, 2, Errno::EIO), Ok(Some(Errno::EIO)));
        assert_eq!((seats.next(9).is_some(), seats.done(9, 2, DONE)), (false, Err(Errno::ESRCH)));
    }

    #[test]
    fn who_leaves_holds_nothing_up() {
        let rings = Cell::new(0);
        let mut seats = Seats::default();
        assert_eq!(seats.post(command(1, COMMAND_LIST)), Some(Errno::ENOSYS));
        for seat in [1, 2] {
            assert_eq!(seats.sit(seat, Count(&rings)), Ok(Vec::new()));
        }
        assert_eq!(seats.post(command(1, COMMAND_LIST)), None);
        assert_eq!(seats.post(command(1, COMMAND_LIST)), Some(Errno::EAGAIN));
        assert_eq!(seats.leave(1), []);
        assert!(seats.next(2).is_some());
        assert_eq!(seats.sit(2, Count(&rings)), Ok(alloc::vec![(1, Errno::ENOSYS)]));
        assert_eq!(seats.post(command(2, COMMAND_LIST)), None);
        seats.cancel(2);
        assert_eq!((seats.next(2).is_some(), seats.done(2, 2, DONE)), (false, Err(Errno::ESRCH)));
    }

    #[test]
    fn there_are_bounds() {
        let rings = Cell::new(0);
        let mut seats = Seats::default();
        let sat = (0..100).filter(|seat| seats.sit(*seat, Count(&rings)).is_ok()).count();
        let posted = (0..1000).filter(|number| seats.post(command(*number, COMMAND_LIST)).is_none()).count();
        assert_eq!((sat, posted), (MAX_SEATS, MAX_COMMANDS));
    }
}
