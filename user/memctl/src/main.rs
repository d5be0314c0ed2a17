//! `memctl PID --to MANAGER`: moves the memory of a running process to another manager.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_proto::flags::ASK_MANAGER;
use nacre_proto::{Errno, process};
use nacre_rt::{Arguments, stream};
use nacre_sys::Reference;

nacre_rt::entry!(memctl);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Status of a command line that cannot be read.
const USAGE: i32 = 2;
/// Capabilities of the caller, as far as the question says: all, so that the user alone decides.
const ALL: u64 = u64::MAX;

fn say(file: usize, line: &str) {
    // Without a reader the status tells.
    let _ = stream::write(file as _, line.as_bytes());
}

/// Reads the command line: a process and a manager.
fn parse<'a>(words: &[&'a [u8]]) -> Option<(u64, &'a [u8])> {
    let (pid, manager) = match *words {
        [pid, b"--to", manager] | [b"--to", manager, pid] => (pid, manager),
        _ => return None,
    };
    let pid = core::str::from_utf8(pid).ok()?.parse().ok()?;
    (pid != 0 && !manager.is_empty()).then_some((pid, manager))
}

/// Says why memory was not moved.
fn failure(pid: u64, manager: &[u8], errno: Errno) -> String {
    let manager = String::from_utf8_lossy(manager);
    match errno {
        Errno::ESRCH => format!("memctl: there is no process {pid}\n"),
        Errno::ENOENT => format!("memctl: there is no manager {manager}\n"),
        Errno::ENOMEM => format!("memctl: {manager} cannot promise as much; memory that was moved before stays there\n"),
        Errno::ENOSYS => format!("memctl: memory of process {pid} has no managers; run it below dataspace\n"),
        errno => format!("memctl: process {pid}: {errno}\n"),
    }
}

fn memctl(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    let Some((pid, manager)) = parse(&words) else {
        say(2, "Usage: memctl PID --to MANAGER\n");
        return USAGE;
    };
    match process::ask(Reference::PARENT, pid, ASK_MANAGER, 0, 0, ALL, manager, &mut [0; 8][..]) {
        Ok(moved) => {
            say(1, &format!("memctl: process {pid}: {} dataspaces, {} KiB\n", moved.first, moved.second >> 10));
            0
        }
        Err(errno) => {
            say(2, &failure(pid, manager, errno));
            1
        }
    }
}
