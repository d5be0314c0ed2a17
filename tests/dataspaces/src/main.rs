//! Operations of the protocol `dataspace`, and memory that lasts: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod attached;
mod count;
mod file_copies;
mod operations;

use alloc::vec::Vec;
use nacre_rt::Arguments;
use nacre_rt::stream::print;

nacre_rt::entry!(dataspaces);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Status of a command line that cannot be read.
const USAGE: i32 = 2;

fn number(word: Option<&&[u8]>) -> Option<u64> {
    core::str::from_utf8(word?).ok()?.parse().ok()
}

fn dataspaces(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    let done = match words[..] {
        [b"files", path, manager, other] => Some(file_copies::run(path, manager, other)),
        [b"operations", manager, other] => Some(operations::run(manager, other)),
        [b"count", name, ..] => number(words.get(2)).zip(number(words.get(3))).map(|(pages, rounds)| match count::run(name, pages, rounds) {
            Ok(()) => 0,
            Err(text) => {
                print(1, format_args!("not ok {text}\n"));
                1
            }
        }),
        _ => None,
    };
    done.unwrap_or_else(|| {
        print(2, format_args!("Usage: dataspace-test operations MANAGER OTHER | dataspace-test files PATH MANAGER OTHER | dataspace-test count NAME PAGES ROUNDS\n"));
        USAGE
    })
}
