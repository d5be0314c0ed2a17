//! The end of the command when nobody reads its output any more, as in `nacre lint | head`.
//!
//! The signal for that stays ignored, as Rust's library has it: the command writes to sockets of
//! machines that may end, too. So a failed `println!` is looked for.

use std::panic::{self, PanicHookInfo};

/// Status of a command that was ended by the signal for broken pipes, as shells tell it.
const STATUS: i32 = 141;

fn is_closed_output(info: &PanicHookInfo<'_>) -> bool {
    info.payload_as_str().is_some_and(|message| message.starts_with("failed printing to stdout") && message.contains("Broken pipe"))
}

/// Lets the command end with [`STATUS`], and without a word, when it prints and nobody reads that.
pub fn watch() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if is_closed_output(info) {
            std::process::exit(STATUS);
        }
        usual(info);
    }));
}
