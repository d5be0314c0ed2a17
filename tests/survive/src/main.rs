//! Faults survived: threads of environments are destroyed at random moments, and what is to follow
//! must follow.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod hostile_program;
mod neighbour;
mod roles;
mod victim;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_nest::{Services, command};
use nacre_nest::host::KILLED;
use nacre_rt::{Arguments, stream};
use victim::{Random, Stage};

nacre_rt::entry!(survive);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Number of moves of a hostile program.
const MOVES: u64 = 60;
/// Default number of kills of each environment.
const ROUNDS: u64 = 24;

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

/// Monitors above a hostile program: an id, and the command before it.
const STACKS: [(&str, &[&[u8]]); 11] = [
    ("SRV0010", &[b"/bin/trace", b"-q"]),
    ("SRV0011", &[b"/bin/trace"]),
    ("SRV0012", &[b"/bin/guard", b"--allow", b"memory", b"--allow", b"clock", b"--allow", b"read /**", b"--allow", b"parent.find", b"--audit", b"/dev/null"]),
    ("SRV0013", &[b"/bin/guard", b"--allow", b"*"]),
    ("SRV0014", &[b"/bin/share-cpu"]),
    ("SRV0015", &[b"/bin/trace", b"-q", b"/bin/trace", b"-c"]),
    ("SRV0016", &[b"/bin/guard", b"--allow", b"*", b"--deny", b"file.write /**", b"/bin/trace", b"-q"]),
    ("SRV0017", &[b"/bin/trace", b"-q", b"/bin/share-cpu", b"/bin/guard", b"--allow", b"*", b"--deny", b"file.write /**"]),
    ("SRV0018", &[b"/bin/process"]),
    ("SRV0019", &[b"/bin/process", b"/bin/guard", b"--allow", b"*", b"--deny", b"file.write /**"]),
    ("SRV0020", &[b"/bin/trace", b"-q", b"/bin/process", b"/bin/share-cpu", b"/bin/trace", b"-q"]),
];

/// Output of the tests.
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

/// Runs the hostile program below a stack, with one seed after the other.
fn endure(stage: &mut Stage, above: &[&[u8]], seeds: core::ops::Range<u64>, moves: u64) -> Result<(), String> {
    for seed in seeds {
        let (seed_text, moves_text) = (format!("{seed}"), format!("{moves}"));
        let child: [&[u8]; 6] = [roles::PATH, b"mischief", b"--seed", seed_text.as_bytes(), b"--moves", moves_text.as_bytes()];
        let command = [above, &child].concat();
        stage.run(&command, hostile_program::end_of(seed), true).map_err(|why| format!("seed {seed}: {why}"))?;
    }
    Ok(())
}

fn parent(rounds: u64, seed: u64, moves: u64, only: &[u8]) -> Result<i32, String> {
    let mut lines = Lines { count: 0, failed: false };
    let mut random = Random::new(seed);
    let wants = |id: &str| id.as_bytes().starts_with(only);
    let beside = neighbour::start()?;
    let mut stage = Stage::new(Services::find().map_err(|refusal| format!("{refusal}"))?)?;
    for (id, sentence, command) in VICTIMS.into_iter().filter(|one| wants(one.0)) {
        lines.tell(id, sentence, kill(&mut stage, command, rounds, &mut random));
    }
    for (id, sentence, command, status) in ENDS.into_iter().filter(|one| wants(one.0)) {
        lines.tell(id, sentence, stage.run(command, status, true));
    }
    for (id, above) in STACKS.into_iter().filter(|one| wants(one.0)) {
        let names: Vec<_> = above.iter().map(|word| String::from_utf8_lossy(word)).collect();
        let sentence = format!("a hostile program ends as it would without {}", names.join(" "));
        lines.tell(id, &sentence, endure(&mut stage, above, seed..seed + rounds.div_ceil(8), moves));
    }
    lines.tell("SRV0009", "an environment beside them notices nothing", neighbour::stop(beside));
    let _ = stream::write(stream::OUTPUT, format!("end {}\n", lines.count).as_bytes());
    Ok(i32::from(lines.failed))
}

/// Returns the value of an option.
fn value(arguments: &Arguments, option: &[u8]) -> Option<&'static [u8]> {
    arguments.iter().skip_while(|word| *word != option).nth(1)
}

fn number(arguments: &Arguments, option: &[u8], default: u64) -> u64 {
    value(arguments, option).and_then(command::number).unwrap_or(default)
}

/// `survive [--rounds N] [--seed S] [--moves N] [--only ID]`; with any other word first, the
/// program that is killed.
fn survive(arguments: &Arguments) -> i32 {
    match arguments.get(1) {
        Some(b"mischief") => return hostile_program::run(number(arguments, b"--seed", 1), number(arguments, b"--moves", MOVES)),
        role => if let Some(status) = roles::play(role.unwrap_or_default()) {
            return status;
        }
    }
    let only = value(arguments, b"--only").unwrap_or_default();
    parent(number(arguments, b"--rounds", ROUNDS), number(arguments, b"--seed", 1), number(arguments, b"--moves", MOVES), only).unwrap_or_else(|why| {
        let _ = stream::write(stream::MESSAGES, format!("survive: {why}\n").as_bytes());
        125
    })
}
