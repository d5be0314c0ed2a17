//! `nacre bench --memory`: what programs cost on less memory than they use, and how much of that is
//! thrashing.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::source::long_source;
use super::table::grouped;
use super::boots::LIMIT;
use super::chain;
use crate::boot::guest::Guest;
use crate::builds::{Products, run_quietly};
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::rings::describe;
use crate::run::machine;
use crate::scratch::Scratch;
use crate::session::Limits;
use crate::session::capture::capture;
use crate::session::terminal::Facts;
use crate::tree::Tree;

/// A program on paged memory.
pub struct Row {
    /// Name in the table.
    pub name: &'static str,
    /// The program and its arguments.
    pub command: &'static [&'static str],
    /// Files that the guest needs: a path in it, and the function that makes that on this
    /// machine.
    pub files: &'static [(&'static str, fn(&Path) -> Outcome<()>)],
}

/// Name of all rows together.
const NAME: &str = "programs";
/// Programs that are measured.
const ROWS: [Row; 3] = [
    Row { name: "gcc -O2, 2,000 lines", command: &["gcc", "-O2", "-c", "/tmp/long.c", "-o", "/tmp/long.o"], files: &[("/tmp/long.c", write_source)] },
    Row { name: "python3, 50 MiB of lists", command: &["python3", "-c", "l=[[i]*32 for i in range(160000)]; print(sum(len(x) for x in l))"], files: &[] },
    Row { name: "git log -p", command: &["git", "-C", "/tmp/repository", "--no-pager", "log", "-p", "--output=/tmp/log"], files: &[("/tmp/repository", make_repository)] },
];

/// Pages of a MiB.
const MIB_PAGES: u64 = 256;
/// Memory on which nothing leaves, in MiB.
const PLENTY: u64 = 160;
/// Memory of the machine.
const MACHINE: u64 = 1 << 30;
/// Parts of the memory that a program uses: all, a half, a quarter.
const PARTS: [u64; 3] = [1, 2, 4];

/// Figures of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Run {
    instructions: u64,
    faults: u64,
    fresh: u64,
    brought: u64,
    put_away: u64,
}

/// Runs of a program on all, half and a quarter of the memory that it uses.
struct Line {
    name: &'static str,
    runs: Vec<(u64, Option<Run>)>,
}

/// The table.
pub struct Memory {
    lines: Vec<Line>,
}

/// Checks that there is a row whose name contains `filter`.
pub fn check(filter: &str) -> Outcome<()> {
    if is_any(filter) || is_chain(filter) {
        return Ok(());
    }
    let known: Vec<_> = ROWS.iter().map(|row| row.name).chain([NAME, chain::NAME]).collect();
    Err(Failure::new(Class::NotFound, format!("there is no row {filter}")).remedy(format!("there are: {}", known.join("; "))))
}

/// Returns true if the name of any row, or of all together, contains `filter`.
pub fn is_any(filter: &str) -> bool {
    is_all(filter) || ROWS.iter().any(|row| row.name.contains(filter))
}

/// Returns true if `filter` stands for all rows.
pub fn is_all(filter: &str) -> bool {
    NAME.contains(filter)
}

/// Returns true if the chain of forks is asked for.
pub fn is_chain(filter: &str) -> bool {
    chain::NAME.contains(filter)
}

/// Measures the rows whose names contain `filter`.
pub fn measure(tree: &Tree, products: &Products, filter: &str) -> Outcome<Memory> {
    let rows = ROWS.iter().filter(|row| is_all(filter) || row.name.contains(filter));
    Ok(Memory { lines: rows.map(|row| line(tree, products, row)).collect::<Outcome<_>>()? })
}

fn line(tree: &Tree, products: &Products, row: &Row) -> Outcome<Line> {
    let files = row.files.iter().map(|(place, make)| file(tree, place, *make)).collect::<Outcome<Vec<_>>>()?;
    let whole = run(products, row, &files, PLENTY * MIB_PAGES)?;
    let whole = whole.ok_or_else(|| Failure::new(Class::Guest, format!("{} does not end on {PLENTY} MiB", row.name)))?;
    let runs = PARTS.map(|part| {
        // The first run has taken far more frames than it used, and that costs, too.
        let pages = whole.fresh / part;
        Ok((pages, run(products, row, &files, pages)?))
    });
    Ok(Line { name: row.name, runs: runs.into_iter().collect::<Outcome<_>>()? })
}

/// A file or folder of this machine that the guest has at `place`, made anew.
fn file(tree: &Tree, place: &str, make: fn(&Path) -> Outcome<()>) -> Outcome<String> {
    let folder = tree.target("bench-memory");
    fs::create_dir_all(&folder).context(Class::Build, || format!("cannot make {}", folder.display()))?;
    let path = folder.join(place.trim_start_matches('/').replace('/', "-"));
    make(&path)?;
    Ok(format!("{}:{place}", path.display()))
}

/// Runs a program on so many pages; `None`: it does not end well.
fn run(products: &Products, row: &Row, files: &[String], pages: u64) -> Outcome<Option<Run>> {
    let memory = format!("{}K", pages * 4);
    let words = ["pager", "-m", &memory, "--stats", "process"].into_iter().chain(row.command.iter().copied());
    let guest = GuestArguments { bare: true, files: files.to_vec(), command: words.map(OsString::from).collect(), ..GuestArguments::default() };
    let guest = Guest::compose(products, &guest, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let arguments = MachineArguments { icount: true, memory: MACHINE, ..MachineArguments::default() };
    let captured = capture(&machine(products, &image, arguments), Limits { timeout: Some(LIMIT), ..Limits::default() }, b"")?;
    let run = parse(&String::from_utf8_lossy(&captured.errors)).filter(|_| matches!(captured.status, Ok(0)));
    if run.is_none() {
        eprintln!("{} on {memory}: {}", row.name, describe(&captured));
    }
    Ok(run)
}

/// Reads what the pager tells. Under QEMU's count of instructions a tick is one.
fn parse(output: &str) -> Option<Run> {
    let stats = output.lines().find_map(|line| line.strip_prefix("pager: ").filter(|rest| rest.contains(" faults: ")))?;
    let before = |what: &str| -> Option<u64> { stats[..stats.find(what)?].rsplit([' ', ':', ';', '(']).find(|word| !word.is_empty())?.parse().ok() };
    Some(Run {
        instructions: before(" ticks")?,
        faults: before(" faults")?,
        fresh: before(" pages fresh")?,
        brought: before(" brought back")?,
        put_away: before(" put away")?,
    })
}

/// Writes the C program.
fn write_source(path: &Path) -> Outcome<()> {
    fs::write(path, long_source()).context(Class::Build, || format!("cannot write {}", path.display()))
}

/// Makes a repository with some changes of a file of some hundred lines.
fn make_repository(path: &Path) -> Outcome<()> {
    let _ = fs::remove_dir_all(path);
    fs::create_dir_all(path).context(Class::Build, || format!("cannot make {}", path.display()))?;
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(path).args(["-c", "user.name=bench", "-c", "user.email=bench"]).args(arguments);
        run_quietly(command, "the repository")
    };
    git(&["init", "-q"])?;
    for change in 1..=12u32 {
        let lines: String = (0..400).map(|line| format!("line {} of {}\n", line, line % change)).collect();
        fs::write(path.join("file"), lines).context(Class::Build, || format!("cannot write to {}", path.display()))?;
        git(&["add", "file"])?;
        git(&["commit", "-q", "-m", &format!("change {change}")])?;
    }
    Ok(())
}

impl fmt::Display for Memory {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "`./nacre bench --memory programs --write` measures this table alone: programs below `pager`, on all")?;
        writeln!(to, "of the pages that they use, on half and on a quarter of them. Pages in came back from the backing,")?;
        writeln!(to, "pages out went there; thrashing is pages in for each million instructions. With less than 64 pages")?;
        writeln!(to, "the pager takes 64.\n")?;
        writeln!(to, "| program | pages | instructions | faults | pages in | pages out | thrashing |")?;
        writeln!(to, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")?;
        for line in &self.lines {
            for (pages, run) in &line.runs {
                match run {
                    None => writeln!(to, "| `{}` | {} | does not end | | | | |", line.name, grouped(*pages))?,
                    Some(run) => {
                        let rate = run.brought as f64 * 1e6 / run.instructions.max(1) as f64;
                        let [pages, instructions, faults, brought, put_away] = [*pages, run.instructions, run.faults, run.brought, run.put_away].map(grouped);
                        writeln!(to, "| `{}` | {pages} | {instructions} | {faults} | {brought} | {put_away} | {rate:.1} |", line.name)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_tells_is_read() {
        let output = "pager: 12 faults: 34 pages fresh, 56 brought back (7 along with others), 8 shown again; unanswered: 0 without room, 0 lost, 0 refused; 9 put away, 10 let go; 0 KiB in the backing; 123456 ticks\n";
        assert_eq!(parse(output), Some(Run { instructions: 123_456, faults: 12, fresh: 34, brought: 56, put_away: 9 }));
        assert_eq!(parse("pager: 5 ticks\n"), None);
        assert_eq!(parse(&output.replace("ticks", "ms")), None);
    }
}
