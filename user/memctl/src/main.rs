//! `memctl PID`: moves the memory of a running process to another manager, or puts one below the
//! present one.
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

/// Usage line.
const SYNTAX: &str = "Usage: memctl PID --to MANAGER[/LOWER] | --under MANAGER | --out [--future]\n";
/// Help after the usage line.
const HELP: &str = "
Moves the memory of a running process between the managers of the dataspace monitor that it runs below.

  --to MANAGER[/LOWER]  MANAGER alone has all memory; pages that leave it go to LOWER
  --under MANAGER       pages that leave the present managers go to MANAGER
  --out                 take the manager below out: all pages come up
  --future              memory that the process takes later goes there, too
  -h, --help            show this

  dataspace compressed sh -c 'sleep 5 & memctl $! --to pinned'
";

/// A command line that was understood.
struct Wanted {
    pid: u64,
    /// Placement, as `dataspace.transfer` names it.
    manager: Vec<u8>,
    /// Memory that is taken later goes there, too.
    later: bool,
}

fn say(file: usize, line: &str) {
    // Without a reader the status tells.
    let _ = stream::write(file as _, line.as_bytes());
}

/// Reads the command line: a process, and where its memory is to go.
fn parse(words: &[&[u8]]) -> Option<Wanted> {
    let (mut pid, mut manager, mut later) = (None, None, false);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            b"--to" => manager = Some(rest.next()?.to_vec()),
            b"--under" => manager = Some([b"/", *rest.next()?].concat()),
            b"--out" => manager = Some(b"/".to_vec()),
            b"--future" => later = true,
            number => pid = Some(core::str::from_utf8(number).ok()?.parse().ok()?),
        }
    }
    let (pid, manager) = pid.zip(manager)?;
    (pid != 0 && !manager.is_empty()).then_some(Wanted { pid, manager, later })
}

/// Says why memory was not moved.
fn failure(pid: u64, manager: &[u8], errno: Errno) -> String {
    let manager = String::from_utf8_lossy(manager);
    let manager = manager.trim_start_matches('/');
    match errno {
        Errno::ESRCH => format!("memctl: there is no process {pid}\n"),
        Errno::ENOENT => format!("memctl: there is no manager {manager}\n"),
        Errno::EINVAL => format!("memctl: memory of process {pid} cannot go to {manager}: no manager stands below itself\n"),
        Errno::ENOMEM => format!("memctl: {manager} cannot promise as much; nothing was moved\n"),
        Errno::ENOSYS => format!("memctl: memory of process {pid} has no managers; run it below dataspace\n"),
        errno => format!("memctl: process {pid}: {errno}\n"),
    }
}

fn memctl(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    if words.iter().any(|word| matches!(*word, b"-h" | b"--help")) {
        say(1, &[SYNTAX, HELP].concat());
        return 0;
    }
    let Some(Wanted { pid, manager, later }) = parse(&words) else {
        say(2, SYNTAX);
        return USAGE;
    };
    match process::ask(Reference::PARENT, pid, ASK_MANAGER, later.into(), 0, ALL, &manager[..], &mut [0; 8][..]) {
        Ok(moved) => {
            say(1, &format!("memctl: process {pid}: {} dataspaces, {} KiB\n", moved.first, moved.second >> 10));
            0
        }
        Err(errno) => {
            say(2, &failure(pid, &manager, errno));
            1
        }
    }
}
