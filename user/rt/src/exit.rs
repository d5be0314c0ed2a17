//! The end of a program.

use nacre_proto::parent;
use nacre_sys::{FunctionCell, Reference, Thread};

/// Function that ends the program where no message to a parent does.
static ENDING: FunctionCell<fn(u64)> = FunctionCell::new();

/// Ends the program with a status: 0 to 255.
pub fn exit(status: i32) -> ! {
    end((status & 0xff) as u64)
}

/// A status from which on it is a signal that ended a program.
const BY_SIGNAL: u64 = 256;

/// Ends the program as a signal would that nobody handles.
pub fn exit_by_signal(signal: u64) -> ! {
    end(BY_SIGNAL + signal)
}

/// Returns the status of a program that ended as the caller is to end. Ends the caller at once if
/// that was by a signal.
pub fn as_child(status: u64) -> i32 {
    if status >= BY_SIGNAL {
        exit_by_signal(status - BY_SIGNAL);
    }
    status as i32
}

/// Sets the function that ends the system, for a program without a parent. It gets a status as in
/// the protocol.
pub fn set_ending(ending: fn(u64)) {
    ENDING.set(ending);
}

fn end(status: u64) -> ! {
    match ENDING.get() {
        Some(ending) => ending(status),
        // The parent takes the program back instead of answering; one that does answer has a
        // program that does nothing any more.
        None => drop(parent::exit(Reference::PARENT, status)),
    }
    loop {
        // However the wait ends, it begins again.
        let _ = Thread::sleep(u64::MAX);
    }
}
