//! Faults survived: threads of environments are destroyed at random moments, and what is to follow must follow.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod neighbour;
mod roles;
mod victim;

use alloc::format;
use alloc::string::String;
use nacre_nest::Services;
use nacre_nest::host::KILLED;
use nacre_rt::{Arguments, stream};
use victim::{Random, Stage};

nacre_rt::entry!(survive);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// How often each environment is killed, if nobody says.
const ROUNDS: u64 = 25;

const WORK: [&[u8]; 2] = [roles::PATH, b"work"];
const TRACE: [&[u8]; 4] = [b"/bin/trace", b"-q", roles::PATH, b"work"];
const TRACE_TWICE: [&[u8]; 6] = [b"/bin/trace", b"-q", b"/bin/trace", b"-q", roles::PATH, b"work"];
const GUARD: [&[u8]; 10] =
    [b"/bin/guard", b"--allow", b"memory", b"--allow", b"clock", b"--allow", b"read /**", b"--", roles::PATH, b"work"];

/// Environments that are killed: an id, a sentence, and the command.
const VICTIMS: [(&str, &str, &[&[u8]]); 4] = [
    ("SRV0001", "a program of which a thread is destroyed has ended, and all comes back", &WORK),
    ("SRV0002", "so has a tracer with its child", &TRACE),
    ("SRV0003", "so has a guard with its child", &GUARD),
    ("SRV0004", "so has a tracer with a tracer in it", &TRACE_TWICE),
];

/// Environments that come to an end themselves: an id, a sentence, the command, and the status.
const ENDS: [(&str, &str, &[&[u8]], u64); 4] = [
    ("SRV0005", "a program that destroys its last thread has ended", &[roles::PATH, b"give-up"], KILLED),
    ("SRV0006", "a tracer ends as its child did, of which nothing was left", &[b"/bin/trace", b"-q", roles::PATH, b"give-up"], KILLED),
    ("SRV0007", "so does a guard", &[b"/bin/guard", b"--allow", b"memory", b"--", roles::PATH, b"give-up"], KILLED),
    ("SRV0008", "threads that a program ends itself are its own affair", &[roles::PATH, b"threads"], roles::RIGHT),
];

/// What tests print.
struct Lines {
    count: usize,
    failed: bool,
}

impl Lines {
    fn tell(&mut self, id: &str, sentence: &str, result: Result<(), String>) {
        let line = match result {
            Ok(()) => format!("ok {id} {sentence}\n"),
            Err(why) => {
                self.failed = true;
                format!("not ok {id} {sentence}: {why}\n")
            }
        };
        self.count += 1;
        // A line that does not arrive is missing, and so noticed.
        let _ = stream::write(stream::OUTPUT, line.as_bytes());
    }
}

fn kill(stage: &mut Stage, command: &[&[u8]], rounds: u64, random: &mut Random) -> Result<(), String> {
    for round in 0..rounds {
        stage.kill(command, random).map_err(|why| format!("round {round}: {why}"))?;
    }
    Ok(())
}

fn parent(rounds: u64, seed: u64) -> Result<i32, String> {
    let mut lines = Lines { count: 0, failed: false };
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let beside = neighbour::start()?;
    let mut stage = Stage::new(Services::find().map_err(|refusal| format!("{refusal}"))?)?;
    for (id, sentence, command) in VICTIMS {
        lines.tell(id, sentence, kill(&mut stage, command, rounds, &mut random));
    }
    for (id, sentence, command, status) in ENDS {
        lines.tell(id, sentence, stage.run(command, status));
    }
    lines.tell("SRV0009", "an environment beside them notices nothing", neighbour::stop(beside));
    let _ = stream::write(stream::OUTPUT, format!("end {}\n", lines.count).as_bytes());
    Ok(i32::from(lines.failed))
}

/// The number behind an option.
fn number(arguments: &Arguments, option: &[u8], default: u64) -> u64 {
    let value = arguments.iter().skip_while(|word| *word != option).nth(1);
    value.and_then(|word| String::from_utf8_lossy(word).parse().ok()).unwrap_or(default)
}

fn survive(arguments: &Arguments) -> i32 {
    if let Some(status) = roles::play(arguments.get(1).unwrap_or_default()) {
        return status;
    }
    parent(number(arguments, b"--rounds", ROUNDS), number(arguments, b"--seed", 1)).unwrap_or_else(|why| {
        let _ = stream::write(stream::MESSAGES, format!("survive: {why}\n").as_bytes());
        125
    })
}
