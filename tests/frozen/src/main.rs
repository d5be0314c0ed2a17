//! Runs Linux programs as trees of processes that are destroyed and made anew while they run, and
//! tells where each begins and how it ends, as `linux-tests` does.
//!
//! `frozen [--under --without=PART] [--under PREFIX] FILE NAME... [FILE NAME...]`
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod loss;
mod memory;
mod server;
mod tree;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_rt::{Arguments, stream};
use loss::Losses;
use tree::Tree;

nacre_rt::entry!(frozen);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// A status from which on it is a signal that ended a program.
const BY_SIGNAL: u64 = 256;

fn tell(text: &str) {
    // A reader misses output that cannot be written.
    let _ = stream::write(stream::OUTPUT, text.as_bytes());
}

/// Runs a command to its end: how it ended. One that was never frozen has not been tested.
fn run(command: &[&[u8]], losses: &Losses, number: u64, arguments: &Arguments) -> Result<String, String> {
    let mut tree = Tree::new()?;
    tree.start(command, number, arguments)?;
    let (status, rebuilt) = tree.run(losses)?;
    // For people; the ring does not read it.
    let _ = stream::write(stream::MESSAGES, format!("frozen: {rebuilt} times, with up to {} objects\n", tree.most_objects()).as_bytes());
    Ok(match status {
        _ if rebuilt == 0 => String::from("was never frozen"),
        status if status >= BY_SIGNAL => format!("killed {}", (status - BY_SIGNAL) & 127),
        status => format!("exited {status}"),
    })
}

fn frozen(arguments: &Arguments) -> i32 {
    if let Err(errno) = memory::set_aside() {
        tell(&format!("frozen: no memory: {errno}\n"));
        return 125;
    }
    let mut words = arguments.iter().skip(1).peekable();
    let (mut prefix, mut losses) = (Vec::<&[u8]>::new(), Losses::default());
    while words.next_if(|word| *word == b"--under").is_some() {
        match words.next().map(|word| (word, word.strip_prefix(b"--without="))) {
            Some((_, Some(part))) if !losses.add(part) => tell("frozen: there is no such part\n"),
            Some((word, None)) => prefix.push(word),
            _ => {}
        }
    }
    let mut file: &[u8] = b"";
    for (number, word) in words.enumerate() {
        if word.contains(&b'/') {
            file = word;
            continue;
        }
        let command = [&prefix[..], &[file, word]].concat();
        let (name, kind) = (String::from_utf8_lossy(word), String::from_utf8_lossy(file));
        tell(&format!("begin {name} {kind}\n"));
        let ended = run(&command, &losses, number as u64, arguments).unwrap_or_else(|why| format!("refused: {why}"));
        tell(&format!("\nend {name} {kind} {ended}\n"));
    }
    0
}
