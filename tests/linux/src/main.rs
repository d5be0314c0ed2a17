//! Runs Linux programs one after the other, each in an environment of its own and for no longer
//! than a minute, and tells where each begins and how it ends.
//!
//! `linux-tests [--under WORD]... [--alone] FILE NAME[@TEXT]... [FILE NAME...]`: a word with a
//! slash is a file, what follows are words that it is run with, one for each run. With
//! `--under process` each runs as `process FILE NAME`. In a WORD, `{}` stands for TEXT, and `{run}`
//! for a name of the run. With `--alone` the WORDs are the whole command.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::Code;
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::host::{Exception, Handler, ExceptionAction};
use nacre_nest::{Ports, Services, attend_within, search};
use nacre_proto::Errno;
use nacre_rt::{Arguments, stream};
use nacre_sys::{OwnedPort, OwnedReference, PortSet, clock};

nacre_rt::entry!(linux_tests);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Nanoseconds that a program may go on without a message to its parent. Those that do most take a
/// second, or ten below three pagers. The rest hang, and their waits take no time of this machine.
const PATIENCE: u64 = 60_000_000_000;
/// A status from which on it is a signal that ended a program.
const BY_SIGNAL: u64 = 256;

/// Leaves everything to this program's own parent.
struct Plain;

impl Handler for Plain {
    fn report(&mut self, _: u64, _: &[u8]) -> Result<(), Errno> {
        Ok(())
    }

    fn exception(&mut self, exception: &Exception, _: Option<&nacre_abi::state::ThreadState>, _: Option<OwnedReference>) -> ExceptionAction {
        ExceptionAction::End(exception.exit_status())
    }
}

/// Runs a command to its end: how it ended.
fn run(services: &mut Services, command: &[&[u8]], number: u64, arguments: &Arguments) -> Result<String, String> {
    let status = |status| format!("{status:?}");
    let port = OwnedPort::new(0, PortSet::NONE).map_err(status)?;
    let reference = port.new_reference(REFERENCE_USE).map_err(status)?;
    let ports = Ports { parent: reference.handle(), keeper: port.handle().as_keeper() };
    let child = search::spawn(services, command, number, arguments, ports).map_err(|refusal| format!("{refusal}"))?;
    child.start().map_err(|refusal| format!("{refusal}"))?;
    let ended = attend_within(port.handle(), &mut Plain, PATIENCE);
    child.destroy();
    match ended {
        Ok(status) if status >= BY_SIGNAL => Ok(format!("killed {}", (status - BY_SIGNAL) & 127)),
        Ok(status) => Ok(format!("exited {status}")),
        Err(status) if status.code() == Some(Code::TimedOut) => Ok(String::from("hangs")),
        Err(status) => Err(format!("{status:?}")),
    }
}

/// Returns a word of a prefix for one run.
fn filled(word: &[u8], text: &str, run: &str) -> String {
    String::from_utf8_lossy(word).replace("{run}", run).replace("{}", text)
}

fn tell(text: &str) {
    // A reader misses output that cannot be written.
    let _ = stream::write(stream::OUTPUT, text.as_bytes());
}

fn run_all(arguments: &Arguments) -> Result<(), String> {
    let mut services = Services::find().map_err(|refusal| format!("{refusal}"))?;
    let mut words = arguments.iter().skip(1).peekable();
    let mut prefix: Vec<&[u8]> = Vec::new();
    while words.next_if(|word| *word == b"--under").is_some() {
        prefix.extend(words.next());
    }
    let is_alone = words.next_if(|word| *word == b"--alone").is_some();
    let mut file: &[u8] = b"";
    for (number, word) in words.enumerate() {
        if word.contains(&b'/') {
            file = word;
            continue;
        }
        let (word, kind) = (String::from_utf8_lossy(word), String::from_utf8_lossy(file));
        let (name, text) = word.split_once('@').unwrap_or((&word, ""));
        let place = format!("{}-{name}", kind.rsplit('/').next().unwrap_or_default());
        let mut command: Vec<String> = prefix.iter().map(|word| filled(word, text, &place)).collect();
        if !is_alone {
            command.extend([String::from(&*kind), String::from(name)]);
        }
        let command: Vec<&[u8]> = command.iter().map(String::as_bytes).collect();
        tell(&format!("begin {name} {kind}\n"));
        let started = clock::ticks();
        let ended = run(&mut services, &command, number as u64, arguments).unwrap_or_else(|why| format!("refused: {why}"));
        tell(&format!("\nend {name} {kind} {ended}\ntook {name} {kind} {}\n", clock::ticks().saturating_sub(started)));
    }
    Ok(())
}

fn linux_tests(arguments: &Arguments) -> i32 {
    match run_all(arguments) {
        Ok(()) => 0,
        Err(why) => {
            tell(&format!("linux-tests: {why}\n"));
            125
        }
    }
}
