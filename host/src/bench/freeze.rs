//! `nacre bench --freeze`: what it costs to freeze, copy and thaw an environment, by the memory
//! that it holds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::boots::LIMIT;
use super::calls::compile_from;
use super::table::{cell, grouped};
use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Failure, Outcome};
use crate::rings::describe;
use crate::run::{machine, with_store};
use crate::scratch::{Folder, Scratch};
use crate::session::Limits;
use crate::session::capture::capture;
use crate::session::ports;
use crate::session::terminal::Facts;
use crate::store;
use crate::tree::Tree;

/// Path of the program in the guest.
const PLACE: &str = "/bench/hold";
/// MiB that the program holds.
const SIZES: [u64; 3] = [1, 64, 512];
/// MiB that an environment has besides.
const MORE: u64 = 24;
/// Memory of the machine: copies and the image lie in it, too.
const MACHINE: u64 = 3 << 30;
/// Seconds of the machine after which the program holds its memory. Idle time costs nothing.
const SETTLED: &str = "600";
/// Aims: a pause, a copy, a thaw.
const AIMS: [u64; 3] = [75_000, 55_000, 300_000];

/// Figures for one size of memory, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    mebibytes: u64,
    objects: u64,
    pages: u64,
    pause: Option<u64>,
    copy: Option<u64>,
    more: Option<u64>,
    thaw: Option<u64>,
    /// A thaw from a store.
    stored: Option<u64>,
}

/// The table.
pub struct Freeze {
    rows: Vec<Row>,
}

/// Measures the sizes that are at most `most` MiB.
pub fn measure(tree: &Tree, products: &Products, most: u64) -> Outcome<Freeze> {
    let program = compile_from(tree, "bench/freeze", "hold.c", &["-static"], PLACE)?;
    let rows = SIZES.iter().filter(|size| **size <= most).map(|size| row(products, &program, *size));
    Ok(Freeze { rows: rows.collect::<Outcome<_>>()? })
}

fn row(products: &Products, program: &Path, mebibytes: u64) -> Outcome<Row> {
    let folder = Folder::new("bench-freeze")?;
    let image = folder.path().join("image");
    let file = format!("{}:{PLACE}", program.display());
    let memory = format!("{}M", mebibytes + MORE);
    let held = mebibytes.to_string();
    let below = |words: &[&str]| [&["checkpoint", "--stats", "-m", &memory, "--after", SETTLED], words, &["process", PLACE, &held]].concat().iter().map(|word| word.to_string()).collect::<Vec<_>>();
    let frozen = run(products, &[&file], &below(&["-o", "/tmp/image"]), Some(("/tmp/image", &image)))?;
    let copied = |count: &str| run(products, &[&file], &below(&["--fork", count]), None);
    let (once, thrice) = (copied("1")?, copied("3")?);
    let thawed = run(products, &[&file, &format!("{}:/image", image.display())], &["checkpoint", "--stats", "--thaw", "/image"].map(String::from), None)?;
    let stored = stored(products, &folder, &file, &below(&["--end", "-o", "/dev/store"]), mebibytes)?;
    let told = |text: &str, verb: &str, what: &str| number(text, verb, what);
    let copy = told(&once, "forked", "ticks");
    let more = copy.zip(told(&thrice, "forked", "ticks")).map(|(one, three)| three.saturating_sub(one) / 2);
    Ok(Row {
        mebibytes,
        objects: told(&frozen, "frozen", "objects").unwrap_or(0),
        pages: told(&frozen, "frozen", "pages").unwrap_or(0),
        pause: told(&frozen, "frozen", "ticks"),
        copy,
        more,
        thaw: told(&thawed, "thawed", "ticks"),
        stored: told(&stored, "thawed", "ticks"),
    })
}

/// Freezes into a store and thaws from there: what the monitor then complains of.
fn stored(products: &Products, folder: &Folder, file: &str, words: &[String], mebibytes: u64) -> Outcome<String> {
    let named = store::parse(&format!("{}:{}M", folder.path().join("store").display(), 2 * (mebibytes + 2 * MORE)));
    let named = named.map_err(|text| Failure::new(Class::Internal, text))?;
    let one = named.open()?;
    run_with(products, &[file], words, None, Some(&one))?;
    run_with(products, &[file], &["checkpoint", "--stats", "--thaw", "/dev/store"].map(String::from), None, Some(&one))
}

/// Boots a machine with these words as its command; all that its programs complain of. It ends by
/// itself, or when it has told what was measured.
fn run(products: &Products, files: &[&str], words: &[String], output: Option<(&str, &PathBuf)>) -> Outcome<String> {
    run_with(products, files, words, output, None)
}

fn run_with(products: &Products, files: &[&str], words: &[String], output: Option<(&str, &PathBuf)>, store: Option<&store::Store>) -> Outcome<String> {
    let command = words.iter().map(OsString::from).collect();
    let outputs: BTreeMap<PathBuf, PathBuf> = output.map(|(from, to)| (from.into(), to.clone())).into_iter().collect();
    let guest = GuestArguments { bare: true, files: files.iter().map(|file| file.to_string()).collect(), command, ..GuestArguments::default() };
    let composed = Guest::compose(products, &guest, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &composed.image)?;
    let ports = (!outputs.is_empty()).then(|| ports::RECORDS.to_string()).into_iter().collect();
    let arguments = MachineArguments { icount: true, memory: MACHINE, ports, ..MachineArguments::default() };
    let captured = capture(&machine(products, &image, with_store(arguments, store)), Limits { timeout: Some(LIMIT), outputs, ..Limits::default() }, b"")?;
    let text = String::from_utf8_lossy(&captured.errors).into_owned();
    if !text.contains("ticks") {
        eprintln!("{}", describe(&captured));
        return Err(Failure::new(Class::Guest, "the checkpointer told no figures").remedy("what it said is above"));
    }
    Ok(text)
}

/// The number before a word in the line in which the monitor tells what it did.
fn number(text: &str, verb: &str, what: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("checkpoint: ")?.strip_prefix(verb)?.strip_prefix(": "))?;
    line.split(", ").find_map(|part| part.split_once(' ').filter(|(_, name)| name.split(' ').next() == Some(what)))?.0.parse().ok()
}

impl fmt::Display for Freeze {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "`./nacre bench --freeze --write` measures this table alone: `process` below `checkpoint`,")?;
        writeln!(to, "with a program that holds so much memory ([bench/freeze](../bench/freeze/README.md)). A pause is")?;
        writeln!(to, "the time in which nothing runs while an image is made, a thaw the time from the start of the")?;
        writeln!(to, "monitor until threads run, of an image in a file and of one in a store.\n")?;
        writeln!(to, "| memory | objects | pages | pause | one copy | a further copy | thaw | thaw from a store |")?;
        writeln!(to, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")?;
        for row in &self.rows {
            let [pause, copy, more, thaw, stored] = [row.pause, row.copy, row.more, row.thaw, row.stored].map(cell);
            writeln!(to, "| {} MiB | {} | {} | {pause} | {copy} | {more} | {thaw} | {stored} |", row.mebibytes, row.objects, grouped(row.pages))?;
        }
        let [pause, copy, thaw] = AIMS.map(grouped);
        let is_missed = self.rows.iter().any(|row| row.pause > Some(AIMS[0]) || row.copy > Some(AIMS[1]) || row.thaw.max(row.stored) > Some(AIMS[2]));
        writeln!(to, "| aim{} | | | {pause} | {copy} | {copy} | {thaw} | {thaw} |", if is_missed { ", **not reached**" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_what_the_monitor_tells() {
        let text = "checkpoint: forked: 3 copies, 90 objects, 1469 pages each, 123 ticks\ncheckpoint: frozen: 9 objects, 8 pages, 7 ticks\n";
        assert_eq!(["copies", "objects", "pages", "ticks", "x"].map(|what| number(text, "forked", what)), [Some(3), Some(90), Some(1469), Some(123), None]);
        assert_eq!((number(text, "frozen", "ticks"), number(text, "thawed", "ticks")), (Some(7), None));
    }
}
