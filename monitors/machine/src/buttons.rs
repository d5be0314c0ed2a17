//! Commands of whoever runs the system: signals are the machine's buttons, where no world of
//! processes is around the machine that takes them (`signals`).

use crate::board::BOARD;
use crate::paging::{self, Paging};
use alloc::vec::Vec;
use nacre_control::{Command, Follower};
use nacre_machine_devices::Outcome;
use nacre_proto::Errno;
use nacre_proto::flags::COMMAND_KILL;
use nacre_sys::OwnedReference;

/// Signals that press the power button, and that cut the power off.
const TERMINATE: u64 = 15;
const POWER: u64 = 30;
const KILL: u64 = 9;
/// Signals that let the processor, or this monitor, translate the guest's addresses from now on.
const FIRST_USER: u64 = 10;
const SECOND_USER: u64 = 12;
/// Status of a machine whose power was cut off, as of a program that was killed.
const KILLED: u8 = 128 + KILL as u8;

/// The machine's buttons.
pub struct Buttons;

/// Chooses who translates the guest's addresses.
fn translate(translator: Paging) {
    paging::want(translator);
    BOARD.call();
}

/// Does what a signal says. Returns the command's result; 0: it is done.
fn press(text: &[u8]) -> Errno {
    match core::str::from_utf8(text).ok().and_then(|text| text.parse().ok()) {
        Some(TERMINATE | POWER) => BOARD.press_power(),
        Some(KILL) => BOARD.end(Ok(Some(Outcome::Exit(KILLED)))),
        Some(FIRST_USER) => translate(Paging::Nested),
        Some(SECOND_USER) => translate(Paging::Shadow),
        _ => return Errno::EINVAL,
    }
    Errno(0)
}

impl Follower for Buttons {
    fn begin(&self, command: &Command, _: OwnedReference) -> Option<Result<(), Errno>> {
        // A command with flags is about something else.
        let is_signal = command.operation == COMMAND_KILL && command.flags == 0;
        is_signal.then(|| Err(press(&command.text)))
    }

    fn take(&self) -> Option<(u64, Vec<u8>)> {
        None
    }

    fn current(&self) -> Option<u64> {
        None
    }

    fn end(&self, _: u64) {}
}
