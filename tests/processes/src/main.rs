//! Processes and channels, by hand: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod cases;
mod make;
mod roles;

use alloc::format;
use nacre_rt::{Arguments, stream};

nacre_rt::entry!(processes);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

fn say(line: &str) {
    // A reader counts output that cannot be written as missing.
    let _ = stream::write(stream::OUTPUT, line.as_bytes());
}

fn try_all() -> i32 {
    let mut failed = 0;
    for (number, (sentence, case)) in cases::CASES.iter().enumerate() {
        match case() {
            Ok(()) => say(&format!("ok PRC{:04} {sentence}\n", number + 1)),
            Err(why) => {
                failed += 1;
                say(&format!("not ok PRC{:04} {sentence}: {why}\n", number + 1));
            }
        }
    }
    say(&format!("end {}\n", cases::CASES.len()));
    i32::from(failed > 0)
}

fn processes(arguments: &Arguments) -> i32 {
    match arguments.get(1) {
        Some(role) => roles::play(role, arguments.get(2).unwrap_or_default()),
        None => try_all(),
    }
}
