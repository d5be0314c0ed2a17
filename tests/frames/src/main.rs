//! Frames of guests at their worst: see the README of this folder.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod campaign;
mod curve;
mod meddle;
mod scene;
mod share;
mod starve;
mod words;

use alloc::format;
use alloc::string::String;
use nacre_rt::{Arguments, stream};

nacre_rt::entry!(frames);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Ticks of the processor's counter that count as a second.
const SECOND: u64 = 1_000_000_000;

fn say(line: String) {
    let _ = stream::write(stream::OUTPUT, line.as_bytes());
}

fn option(arguments: &Arguments, name: &str, default: u64) -> u64 {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == name.as_bytes() {
            let text = words.next().and_then(|value| core::str::from_utf8(value).ok());
            return text.and_then(|value| value.parse().ok()).unwrap_or(default);
        }
    }
    default
}

/// Returns true if the word is among the arguments.
fn has(arguments: &Arguments, name: &str) -> bool {
    arguments.iter().any(|word| word == name.as_bytes())
}

/// The word behind this one.
fn behind<'a>(arguments: &'a Arguments, name: &str) -> &'a [u8] {
    arguments.iter().skip_while(|word| *word != name.as_bytes()).nth(1).unwrap_or_default()
}

fn run(arguments: &Arguments, seed: u64) -> Result<String, String> {
    scene::map(has(arguments, "--paged")).map_err(|errno| format!("no memory: {errno:?}"))?;
    scene::build()?;
    if has(arguments, "--curves") {
        return curve::run();
    }
    if has(arguments, "--starve") {
        return starve::run();
    }
    if has(arguments, "--count") {
        return Ok(share::count(option(arguments, "--count", 1) * SECOND));
    }
    if has(arguments, "--busy") {
        return share::busy(behind(arguments, "--busy"), option(arguments, "--seconds", 1) * SECOND);
    }
    let churned = if has(arguments, "--paged") { scene::CHURN_PAGES } else { 0 };
    campaign::run(seed, option(arguments, "--frames", 20_000), option(arguments, "--meddlers", 1), churned)
}

fn frames(arguments: &Arguments) -> i32 {
    let seed = option(arguments, "--seed", 1);
    match run(arguments, seed) {
        Ok(told) => {
            say(format!("{told}\n"));
            0
        }
        Err(why) => {
            say(format!("{why} (seed {seed})\n"));
            1
        }
    }
}
