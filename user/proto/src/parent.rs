//! Protocol 1, `parent`: what every program can ask of whoever made it.

use crate::flags::{REPORTS, SERVICES};

crate::protocol! {
    /// Questions of a program to its parent, through the reference that it was born with. A monitor
    /// answers them for its child, and passes on those that it does not care about.
    parent = 1;

    /// Finds a service. `ENOENT`: the environment has none of this kind.
    1 find(service: Choice(SERVICES)) -> (; references found: Found(Service));
    /// The initial stream with this number: 0 input, 1 output, 2 messages. `ENOENT`: there is none
    /// with this number.
    2 stream(number: Number) -> (; references file: Found(Stream));
    /// The program has ended, with a status as Linux's: 0 to 255, or 256 and the number of a
    /// signal. There is no answer: the parent takes everything back.
    3 exit(status: Status) -> ();
    /// A line for whoever runs the system. `EINVAL`: the kind is not known.
    4 report(kind: Choice(REPORTS); bytes text: Text) -> ();
    /// Exceptions of the caller's space go to this port from now on, and no more to the maker of
    /// the space. The maker then learns no more that a thread was destroyed from outside. The
    /// reference needs `REFERENCE_CONTROL`. `EACCES`: it has less.
    5 keep(; references keeper: Keeper) -> ();
    /// Returns the number of processors on which the program's threads can run at a time. A monitor
    /// that hides the number answers 1.
    6 processors() -> (count: Number);
}

/// The signal that an ill-formed status counts as.
const KILL: u64 = 9;
/// Flag in the status of a program that a signal has ended: a core was dumped.
const DUMPED: u64 = 0x80;

/// A status of `exit` that is what the protocol allows: 0 to 255, or 256 and a signal from 1 to 64,
/// with or without [`DUMPED`]. Any other one, which those who wait might read as that of a process
/// that is stopped, counts as an end by SIGKILL.
pub fn checked_status(status: u64) -> u64 {
    let is_signal = status & !(DUMPED | 0x7f) == 256 && (1..=64).contains(&(status & 0x7f));
    if status < 256 || is_signal { status } else { 256 + KILL }
}

#[cfg(test)]
mod tests {
    use super::checked_status;

    #[test]
    fn no_status_looks_like_a_stop() {
        for status in [0, 1, 255, 256 + 9, 256 + 11 + 128, 256 + 64] {
            assert_eq!(checked_status(status), status);
        }
        for status in [256, 256 + 127, 256 + 255, 256 + 65, 512, 512 + 9, u64::MAX] {
            assert_eq!(checked_status(status), 256 + 9);
        }
    }
}
