//! Conformance: what the manual says of every call, tried in the system. Each test has an id that
//! stays.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod behaviour;
mod fixture;
mod refusals;

use alloc::format;
use alloc::string::String;
use nacre_abi::Call;
use nacre_abi::manual::{CHAPTERS, Entry};
use nacre_rt::{Arguments, stream};

nacre_rt::entry!(conformance);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Prefixes of ids, chapter by chapter.
const PREFIXES: [&str; 6] = ["IPC", "MEM", "THR", "PRT", "LCK", "OWN"];

struct Run {
    count: u32,
    failed: u32,
}

impl Run {
    fn tell(&mut self, id: &str, sentence: &str, result: Result<(), String>) {
        self.count += 1;
        let line = match result {
            Ok(()) => format!("ok {id} {sentence}\n"),
            Err(why) => {
                self.failed += 1;
                format!("not ok {id} {sentence}: {why}\n")
            }
        };
        // A test that cannot be told of is counted as missing by whoever reads.
        let _ = stream::write(stream::OUTPUT, line.as_bytes());
    }

    fn refusals(&mut self, prefix: &str, entry: &Entry) {
        let id = format!("{prefix}{:04}", entry.call as u8);
        let sentence = format!("{} refuses what it should, and nothing changes", entry.call.name());
        let result = fixture::fresh()
            .map_err(|status| format!("the fixture cannot be made: {status:?}"))
            .and_then(|()| fixture::deep().map_err(|status| format!("the layers cannot be made: {status:?}")))
            .and_then(|()| refusals::check(entry));
        self.tell(&id, &sentence, result.map(|_| ()));
    }
}

fn conformance(arguments: &Arguments) -> i32 {
    let mut run = Run { count: 0, failed: 0 };
    let filter = arguments.iter().nth(1).unwrap_or_default();
    if !fixture::map_arena() {
        return 125;
    }
    if filter == b"kernel-half" {
        // The kernel's options decide this one, so whoever chooses them judges it.
        let seen = fixture::fresh().map_err(|status| format!("{status:?}")).and_then(|()| behaviour::kernel_half());
        return i32::from(stream::write(stream::OUTPUT, seen.unwrap_or_else(|why| why).as_bytes()).is_err());
    }
    for ((_, entries), prefix) in CHAPTERS.iter().zip(PREFIXES) {
        for entry in entries.iter().filter(|entry| entry.call != Call::Null && !entry.arguments.is_empty()) {
            if filter.is_empty() || entry.call.name().as_bytes() == filter {
                run.refusals(prefix, entry);
            }
        }
    }
    for test in behaviour::TESTS {
        if !filter.is_empty() && test.id.as_bytes() != filter {
            continue;
        }
        let ready = fixture::fresh().map_err(|status| format!("the fixture cannot be made: {status:?}"));
        run.tell(test.id, test.sentence, ready.and_then(|()| (test.function)()));
    }
    let _ = stream::write(stream::OUTPUT, format!("end {}\n", run.count).as_bytes());
    i32::from(run.failed != 0)
}
