//! Attacks that must be refused or survived: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod attacks;
mod children;
mod innocent;
mod kept;
mod outcome;
mod tools;

use alloc::format;
use alloc::string::String;
use nacre_rt::{Arguments, stream};
use outcome::{ABSENT, BROKEN, THROUGH, UNKNOWN, Verdict, say};

nacre_rt::entry!(witness);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Carries out the attack `name`, then makes innocent calls; returns the status.
fn attack(name: &str, argument: &[u8]) -> i32 {
    let Some((_, _, function)) = attacks::ATTACKS.iter().find(|(known, ..)| *known == name) else {
        say(&format!("witness: there is no attack {name}\n"));
        return UNKNOWN;
    };
    let status = match function(argument) {
        Ok(Verdict::Refused) => 0,
        Ok(Verdict::Absent(service)) => {
            say(&format!("witness: {name}: there is no {service}\n"));
            ABSENT
        }
        Err(why) => {
            say(&format!("witness: {name}: {why}\n"));
            THROUGH
        }
    };
    match innocent::calls() {
        Ok(()) => status,
        Err(why) => {
            say(&format!("witness: after {name}: {why}\n"));
            BROKEN
        }
    }
}

fn list() -> i32 {
    for (name, sentence, _) in attacks::ATTACKS {
        let _ = stream::write(stream::OUTPUT, format!("{name}: {sentence}\n").as_bytes());
    }
    0
}

fn witness(arguments: &Arguments) -> i32 {
    match arguments.get(1) {
        None | Some(b"list") => list(),
        Some(b"play") => attacks::play(arguments.get(2).unwrap_or_default(), arguments.get(3).unwrap_or_default()),
        Some(_) => {
            let statuses = arguments.iter().skip(1).map(|word| {
                let text = String::from_utf8_lossy(word);
                let (name, argument) = text.split_once('=').unwrap_or((&text, ""));
                attack(name, argument.as_bytes())
            });
            statuses.max().unwrap_or(0)
        }
    }
}
