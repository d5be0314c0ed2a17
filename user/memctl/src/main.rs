//! `memctl PID`: moves the memory of a running process to another manager, or puts one below the
//! present one.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_proto::flags::{ASK_MANAGER, ASK_PRIVILEGED};
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

/// Question to the process. The process manager leaves the privilege to the superuser alone.
const QUESTION: u64 = ASK_MANAGER | ASK_PRIVILEGED;

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

MANAGER is anonymous, compressed or pinned, or one that the options of dataspace name: persistent
(--store), physical (--with), coloured (--colours).

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

/// Reads the command line: a process, and where its memory is to go. `Err`: the sentence that says
/// what is wrong with it.
fn parse(words: &[&[u8]]) -> Result<Wanted, String> {
    let (mut pids, mut managers, mut later) = (Vec::new(), Vec::new(), false);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (name, value) = match word.iter().position(|byte| *byte == b'=').filter(|_| word.starts_with(b"--")) {
            Some(at) => (&word[..at], Some(&word[at + 1..])),
            None => (*word, None),
        };
        let mut manager = || value.or_else(|| rest.next().copied()).filter(|value| !value.is_empty()).ok_or_else(|| format!("{} needs a manager", text(name)));
        match name {
            b"--to" => managers.push(manager()?.to_vec()),
            b"--under" => managers.push([b"/", manager()?].concat()),
            b"--out" => managers.push(b"/".to_vec()),
            b"--future" => later = true,
            option if option.starts_with(b"-") => return Err(format!("there is no option {}", text(option))),
            number => pids.push(text(number).parse().ok().filter(|pid| *pid != 0).ok_or_else(|| format!("{} is no number of a process", text(number)))?),
        }
    }
    let [pid] = pids[..] else { return Err("name one process by its number".into()) };
    let [manager] = &managers[..] else { return Err("say one of --to, --under and --out".into()) };
    Ok(Wanted { pid, manager: manager.clone(), later })
}

/// Bytes of the command line as text.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Says why memory was not moved.
fn failure(pid: u64, manager: &[u8], errno: Errno) -> String {
    let manager = String::from_utf8_lossy(manager);
    let manager = manager.trim_start_matches('/');
    match errno {
        Errno::ESRCH => format!("memctl: there is no process {pid}\n"),
        Errno::ENOENT => format!("memctl: there is no manager {manager}; -h says which there are\n"),
        Errno::EOPNOTSUPP => format!("memctl: memory of process {pid} cannot go to {manager}, which has none but its own\n"),
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
    let Wanted { pid, manager, later } = match parse(&words) {
        Ok(wanted) => wanted,
        Err(reason) => {
            say(2, &format!("memctl: {reason}\n{SYNTAX}"));
            return USAGE;
        }
    };
    match process::ask(Reference::PARENT, pid, QUESTION, later.into(), 0, ALL, &manager[..], &mut [0; 8][..]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(words: &[&str]) -> String {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        parse(&words).err().unwrap_or_default()
    }

    #[test]
    fn a_command_line_that_is_wrong_is_told_why() {
        assert_eq!(wrong(&["3", "--to=pinned"]), "");
        assert_eq!(wrong(&["3", "--under", "pinned", "--future"]), "");
        assert_eq!(wrong(&["3", "--to"]), "--to needs a manager");
        assert_eq!(wrong(&["3", "--to", "pinned", "--out"]), "say one of --to, --under and --out");
        assert_eq!(wrong(&["1", "2", "--out"]), "name one process by its number");
        assert_eq!(wrong(&["x", "--out"]), "x is no number of a process");
        assert_eq!(wrong(&["3", "--foo"]), "there is no option --foo");
    }
}
