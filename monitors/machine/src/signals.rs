//! Signals of a world of processes around the machine. `SIGPWR` presses the power button; all
//! others do to the machine what they do to any program. Without such a world there are none, and
//! buttons are pressed by commands (`buttons`).

use crate::board::BOARD;
use nacre_abi::Code;
use nacre_abi::rights::REFERENCE_NOTIFY;
use nacre_nest::attending;
use nacre_proto::{Event, ServerEndpoint, parent, process};
use nacre_rt::thread;
use nacre_sys::{FOREVER, OwnedPort, OwnedReference, PortSet, Reference};

/// Bit that says that signals have come.
const COME: u64 = 1;
/// Offset of a signal's number in the status of a program that it ends.
const BY_SIGNAL: u64 = 256;
const POWER: u64 = 30;
const CONTINUE: u64 = 18;

/// Effect of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    PressPower,
    Ignore,
    Stop,
    Continue,
    End,
}

fn effect(signal: u64) -> Effect {
    match signal {
        POWER => Effect::PressPower,
        // SIGCHLD, SIGURG and SIGWINCH.
        17 | 23 | 28 => Effect::Ignore,
        CONTINUE => Effect::Continue,
        19..=22 => Effect::Stop,
        _ => Effect::End,
    }
}

/// Starts the thread that receives signals, if there is a world of processes around.
pub fn begin() {
    let Some((port, reference)) = attach() else { return };
    // Both go on for as long as the program. Without memory for the thread signals are not heard.
    let (port, _) = (port.leak(), reference.leak());
    let _ = thread::spawn(serve, port.0 as usize).inspect(attending::count);
}

/// Asks the manager of the processes to tell of signals. `None`: there is none.
fn attach() -> Option<(OwnedPort, OwnedReference)> {
    let port = OwnedPort::new(0, PortSet::NONE).ok()?;
    let reference = port.new_reference(REFERENCE_NOTIFY).ok()?;
    process::attach(Reference::PARENT, COME, reference.handle()).ok()?;
    Some((port, reference))
}

fn serve(port: usize) {
    let Ok(mut endpoint) = ServerEndpoint::new(0) else { return };
    loop {
        match endpoint.next(port as u64, FOREVER) {
            Ok(Event::Notification { bits, .. }) if bits & COME != 0 => take_all(),
            Ok(_) => {}
            Err(status) if status.code() == Some(Code::Interrupted) => {}
            Err(_) => return,
        }
    }
}

fn take_all() {
    while let Ok(reply) = process::signal_take(Reference::PARENT)
        && reply.signal != 0
    {
        match effect(reply.signal) {
            Effect::PressPower => BOARD.press_power(),
            Effect::Ignore => {}
            // A group that has no shell any more is not stopped by keys.
            Effect::Stop => BOARD.hold(process::stopped(Reference::PARENT, reply.signal).is_ok()),
            Effect::Continue => {
                let _ = process::stopped(Reference::PARENT, 0);
                BOARD.hold(false);
            }
            Effect::End => drop(parent::exit(Reference::PARENT, BY_SIGNAL + reply.signal)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_effects() {
        assert_eq!([30, 28, 18, 20].map(effect), [Effect::PressPower, Effect::Ignore, Effect::Continue, Effect::Stop]);
        assert!([1, 2, 9, 15, 24, 29, 31, 34, 64].iter().all(|signal| effect(*signal) == Effect::End));
    }
}
