//! `nacre bench --moves`: for how long an environment stands still while it is moved, by the memory
//! that it holds; and commands a second that start from a warmed program. Both by the wall.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use super::calls::compile_from;
use super::page::table;
use super::table::grouped;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::scratch::Folder;
use crate::tree::Tree;

/// Path of the program in the guest.
const PLACE: &str = "/bench/hold";
/// MiB that the program holds.
const SIZES: [u64; 3] = [1, 64, 256];
/// MiB that an environment has besides.
const MORE: u64 = 24;
/// Memory of a machine.
const MACHINE: &str = "2G";
/// Commands that a warmed program carries out in one run.
const WARM: usize = 20;
/// Machines that start for one command each.
const COLD: usize = 3;

/// A move of a program that holds so many MiB.
struct Row {
    mebibytes: u64,
    /// Milliseconds for which nothing ran when all was sent at once.
    still: u64,
    /// Milliseconds for which nothing ran when it was sent in rounds.
    pause: u64,
    /// Bytes of each round.
    rounds: Vec<u64>,
}

/// The tables.
pub struct Moves {
    rows: Vec<Row>,
    /// Milliseconds of a command that starts from a warmed program, and of one that boots.
    started: [f64; 2],
}

/// Measures the sizes that are at most `most` MiB.
pub fn measure(tree: &Tree, most: u64) -> Outcome<Moves> {
    let program = compile_from(tree, "bench/freeze", "hold.c", &["-static"], PLACE)?;
    let rows = SIZES.iter().filter(|size| **size <= most).map(|size| {
        let (still, _) = move_once(&program, *size, "0")?;
        let (pause, rounds) = move_once(&program, *size, "5")?;
        Ok(Row { mebibytes: *size, still, pause, rounds })
    });
    Ok(Moves { rows: rows.collect::<Outcome<_>>()?, started: started()? })
}

fn nacre(words: &[&str]) -> Outcome<Command> {
    let mut command = Command::new(std::env::current_exe().context(Class::Internal, || "cannot find this program".to_string())?);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

/// A command that ends with this value.
struct Running(Child);

impl Running {
    fn start(words: &[&str]) -> Outcome<Running> {
        nacre(words)?.spawn().map(Running).context(Class::Internal, || "cannot start this program again".to_string())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for a line with this text, and reads on in the background.
fn wait_for(from: Option<impl Read + Send + 'static>, text: &str) -> Outcome<()> {
    let mut lines = from.map(BufReader::new).into_iter().flat_map(BufRead::lines).map_while(Result::ok);
    if !lines.any(|line| line.contains(text)) {
        return Err(Failure::new(Class::Guest, format!("a machine did not say {text:?}")));
    }
    thread::spawn(move || lines.for_each(drop));
    Ok(())
}

/// The output of a command that has to end well.
fn output(words: &[&str]) -> Outcome<String> {
    let output = nacre(words)?.output().context(Class::Internal, || "cannot start this program again".to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Failure::new(Class::Guest, format!("nacre {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim()))),
    }
}

/// Moves a program, in so many rounds before the last one at most: the pause, and bytes of each.
fn move_once(program: &Path, mebibytes: u64, rounds: &str) -> Outcome<(u64, Vec<u64>)> {
    let folder = Folder::new("bench-moves")?;
    let name = format!("bench-moves-{}-{mebibytes}-{rounds}", std::process::id());
    let there = format!("{name}-there");
    let (file, memory, held) = (format!("{}:{PLACE}", program.display()), format!("{}M", mebibytes + MORE), mebibytes.to_string());
    let socket = folder.path().join("socket").to_string_lossy().into_owned();
    let mut source = Running::start(&["run", "--memory", MACHINE, "--name", &name, "--file", &file, "checkpoint", "-m", &memory, "process", PLACE, &held])?;
    wait_for(source.0.stdout.take(), "held")?;
    let mut target = Running::start(&["receive", "--memory", MACHINE, "--name", &there, "--file", &file, &socket])?;
    wait_for(target.0.stderr.take(), "waits for an environment")?;
    let told = output(&["move", "--json", "--rounds", rounds, &name, "--to", &socket]);
    // Either runs on if the move has failed.
    let _ = (output(&["kill", "--now", &there]), output(&["kill", "--now", &name]));
    let told = told?;
    figures(&told).ok_or_else(|| Failure::new(Class::Internal, format!("a move told no figures: {told}")))
}

/// Milliseconds of the pause, and bytes of each round, as a move tells them.
fn figures(told: &str) -> Option<(u64, Vec<u64>)> {
    let behind = |name: &str| told.split_once(&format!("\"{name}\":")).map(|(_, rest)| rest);
    let pause = behind("paused_ms")?.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()?;
    let rounds = behind("rounds")?.strip_prefix('[')?.split_once(']')?.0.split(',').map(|size| size.parse().ok());
    Some((pause, rounds.collect::<Option<_>>()?))
}

/// Milliseconds of a command that starts from a warmed program, and of one that boots a machine.
fn started() -> Outcome<[f64; 2]> {
    let folder = Folder::new("bench-warm")?;
    let image = folder.path().join("image").to_string_lossy().into_owned();
    let mut shell = nacre(&["run", "checkpoint", "-m", "32M", "--after", "1", "--end", "-o", &image, "process", "sh", "-c", "read line; eval \"$line\""])?;
    let mut shell = Running(shell.stdin(Stdio::piped()).spawn().context(Class::Internal, || "cannot start this program again".to_string())?);
    // It must not meet the end of its input before it is frozen.
    let input = shell.0.stdin.take();
    shell.0.wait().context(Class::Internal, || "cannot wait for a machine".to_string())?;
    drop(input);
    File::open(&image).context(Class::Guest, || "there is no image of the warmed program".to_string())?;
    let warm = |count: usize| {
        let began = Instant::now();
        let said = output(&[&["run", "--warm", &image][..], &vec!["echo it ran"; count]].concat())?;
        match said.matches("it ran").count() {
            found if found == count => Ok(began.elapsed().as_secs_f64() * 1e3),
            found => Err(Failure::new(Class::Guest, format!("{found} of {count} commands ran"))),
        }
    };
    let (one, all) = (warm(1)?, warm(1 + WARM)?);
    let began = Instant::now();
    for _ in 0..COLD {
        output(&["run", "sh", "-c", "echo it ran"])?;
    }
    Ok([(all - one).max(0.1) / WARM as f64, began.elapsed().as_secs_f64() * 1e3 / COLD as f64])
}

impl fmt::Display for Moves {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "`./nacre bench --moves --write` measures this section alone: one run each, by the wall, both")?;
        writeln!(to, "machines on one host, so figures differ from run to run. The program of")?;
        writeln!(to, "[the freezes](#freezing-and-copying) stands still for so many milliseconds while it is moved, with")?;
        writeln!(to, "`--rounds 0` and with rounds. The receiver boots in that time, and reads all pages into its machine.\n")?;
        let row = |row: &Row| {
            let [first, .., last] = row.rounds[..] else { return vec![format!("{} MiB", row.mebibytes)] };
            vec![format!("{} MiB", row.mebibytes), grouped(row.still), grouped(row.pause), row.rounds.len().to_string(), grouped(first), grouped(last)]
        };
        to.write_str(&table(&["memory", "pause at once, ms", "pause in rounds, ms", "rounds", "bytes of the first", "bytes of the last"], self.rows.iter().map(row)))?;
        writeln!(to, "\nA shell's `echo`, started in a copy of a warmed shell (`./nacre run --warm`, {WARM} commands in one")?;
        writeln!(to, "machine that has booted), and in a machine that boots for it (`./nacre run sh -c`):\n")?;
        let row = |(name, time): (&str, f64)| vec![name.to_string(), format!("{time:.1}"), format!("{:.1}", 1e3 / time)];
        to.write_str(&table(&["start", "ms", "commands a second"], ["warmed", "cold"].into_iter().zip(self.started).map(row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_what_a_move_tells() {
        assert_eq!(figures("{\"name\":\"a\",\"bytes\":3,\"rounds\":[1,2],\"paused_ms\":70}\n"), Some((70, vec![1, 2])));
        assert_eq!((figures("{\"rounds\":[],\"paused_ms\":70}"), figures("")), (None, None));
    }
}
