//! Measures the cost of Linux's calls to a Linux program: `bench/calls`, an operation a run, on
//! both systems, beside its aim.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::table::{Figures, cell};
use crate::linux_comparison::Batch;
use crate::builds::{Products, run_quietly};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::tree::Tree;

/// Operations: the argument of `calls.c`, a name for people, and the aim. Without an aim it is half
/// of Linux's figure.
const OPERATIONS: [(&str, &str, Option<u64>); 23] = [
    ("getppid", "getppid", Some(60)),
    ("write_null", "write to the null device", Some(150)),
    ("signal_self", "signal to self, handled", None),
    ("pipe_round_trip", "byte through a pipe and back", None),
    ("futex_threads", "futex round trip between threads", None),
    ("futex_processes", "futex round trip between processes", None),
    ("unix_round_trip", "byte through a UNIX socket and back", None),
    ("thread_join", "thread made and joined", None),
    ("fork_wait", "fork, exit, wait", None),
    ("fork_large", "the same with 16 MiB", None),
    ("exec_static", "fork, exec (static), exit, wait", None),
    ("exec_dynamic", "fork, exec (dynamic), exit, wait", None),
    ("shell_true", "sh -c true", None),
    ("map_unmap", "page mapped and unmapped", None),
    ("page_touched", "page touched for the first time", None),
    ("prot1", "Prot1: a page protected", Some(1_151)),
    ("prot100", "Prot100: 100 pages protected at once", Some(1_965)),
    ("unprot100", "Unprot100: 100 pages made writable again", Some(2_549)),
    ("trap", "Trap: from a fault to the handler", Some(921)),
    ("fault", "Fault: the handler makes the page writable", Some(2_443)),
    ("appel1", "Appel1: it protects another page, too", Some(4_783)),
    ("appel2", "Appel2: a page of 100 protected at once", Some(2_373)),
    ("idle_process", "memory of an idle process, bytes", Some(200 << 10)),
];

/// Source file, options of the compiler, and path in the guest.
const PROGRAMS: [(&str, &[&str], &str); 3] =
    [("calls.c", &["-static", "-w"], "/bench/calls"), ("true.c", &["-static"], "/bench/true-static"), ("true.c", &[], "/bench/true-dynamic")];

/// Measures on both systems, all operations or those named.
pub fn measure(tree: &Tree, products: &Products, names: &[String], no_linux: bool) -> Outcome<Calls> {
    let files = PROGRAMS.iter().map(|(source, options, place)| Ok((compile_from(tree, "bench/calls", source, options, place)?, PathBuf::from(place))));
    let files = files.collect::<Outcome<Vec<_>>>()?;
    let batch = Batch { files, runs: runs(names)?, starter: "linux-tests".into(), below: vec!["process".into()], ..Batch::default() };
    let nacre = figures(&batch, products)?;
    let deeper = figures(&Batch { below: vec!["process".into(); 2], ..batch.clone() }, products)?;
    let linux = match no_linux {
        true => Figures::default(),
        false => Figures::parse(&String::from_utf8_lossy(&batch.on_linux(tree)?.output)),
    };
    nacre.unmeasured().for_each(|line| eprintln!("nacre: {line}"));
    Ok(Calls::join(names, [&nacre, &deeper, &linux]))
}

/// Runs the measurements on Nacre and reads their figures.
pub fn figures(batch: &Batch, products: &Products) -> Outcome<Figures> {
    let output = batch.on_nacre(products)?.output;
    let output = String::from_utf8_lossy(&output);
    let figures = Figures::parse(&output);
    match figures.is_empty() {
        true => Err(Failure::new(Class::Guest, "the program measured nothing").remedy(format!("it said: {}", output.trim()))),
        false => Ok(figures),
    }
}

/// Checks that there are operations with these names.
pub fn check(names: &[String]) -> Outcome<()> {
    if let Some(unknown) = names.iter().find(|name| !OPERATIONS.iter().any(|(known, ..)| known == name)) {
        let known: Vec<&str> = OPERATIONS.iter().map(|(name, ..)| *name).collect();
        return Err(Failure::new(Class::NotFound, format!("there is no operation {unknown}")).remedy(format!("there are: {}", known.join(", "))));
    }
    Ok(())
}

/// Returns a run of the program for each operation that is asked for.
fn runs(names: &[String]) -> Outcome<Vec<(String, String)>> {
    check(names)?;
    Ok(operations(names).map(|(name, ..)| ("/bench/calls".to_string(), name.to_string())).collect())
}

/// Operations with these names; all of them if there are no names.
fn operations(names: &[String]) -> impl Iterator<Item = &'static (&'static str, &'static str, Option<u64>)> {
    OPERATIONS.iter().filter(move |(name, ..)| names.is_empty() || names.iter().any(|wanted| wanted == name))
}

/// Compiles a source file of a folder of the tree; the program's path. `place` is where the guest
/// has it.
pub fn compile_from(tree: &Tree, sources: &str, source: &str, options: &[&str], place: &str) -> Outcome<PathBuf> {
    let folder = tree.target("linux-tests");
    fs::create_dir_all(&folder).context(Class::File, || format!("cannot make {}", folder.display()))?;
    let file = folder.join(place.replace('/', "-").trim_start_matches('-'));
    let mut command = Command::new("gcc");
    command.arg("-O2").args(options).arg("-o").arg(&file).arg(tree.path(sources).join(source));
    run_quietly(command, source)?;
    Ok(file)
}

/// Table of what Linux's calls cost.
pub struct Calls {
    /// Rows in the order of [`OPERATIONS`].
    pub rows: Vec<Row>,
}

/// One operation of a Linux program on both systems.
pub struct Row {
    /// Name of the operation, for people.
    pub operation: &'static str,
    /// Instructions on Nacre; `None` if the operation does not work yet.
    pub nacre: Option<u64>,
    /// Instructions on Nacre below a second `process`.
    pub deeper: Option<u64>,
    /// Instructions on Linux.
    pub linux: Option<u64>,
    /// Instructions aimed at.
    pub aim: Option<u64>,
}

impl Row {
    /// Returns Nacre's instructions for each of Linux's.
    pub fn ratio(&self) -> Option<f64> {
        let (nacre, linux) = (self.nacre?, self.linux?);
        (linux > 0).then(|| nacre as f64 / linux as f64)
    }

    /// Returns the cost of a second `process`, as a part of Nacre's figure.
    pub fn more(&self) -> Option<f64> {
        Some(self.deeper? as f64 / self.nacre?.max(1) as f64 - 1.0)
    }

    /// Returns a remark if the operation does not work or misses its aim.
    fn verdict(&self) -> &'static str {
        match (self.nacre, self.aim) {
            (None, _) => "not measured: it does not work yet",
            (Some(nacre), Some(aim)) if nacre > aim => "not reached",
            _ => "",
        }
    }
}

impl Calls {
    fn join(names: &[String], [nacre, deeper, linux]: [&Figures; 3]) -> Calls {
        let instructions = |figures: &Figures, name: &str| figures.find(name).map(|figure| figure.instructions);
        let row = |&(name, operation, aim): &(&str, &'static str, Option<u64>)| {
            let linux = instructions(linux, name);
            let aim = aim.or(linux.map(|instructions| instructions / 2));
            Row { operation, nacre: instructions(nacre, name), deeper: instructions(deeper, name), linux, aim }
        };
        Calls { rows: operations(names).map(row).collect() }
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["Linux program's operation", "Nacre", "one more", "Linux", "ratio", "aimed at"];
        writeln!(formatter, "{:<36} {:>12} {:>9} {:>12} {:>8} {:>12}", heads[0], heads[1], heads[2], heads[3], heads[4], heads[5])?;
        for row in &self.rows {
            let [nacre, linux, aim] = [row.nacre, row.linux, row.aim].map(cell);
            let more = row.more().map_or("-".to_string(), |more| format!("{:+.1} %", more * 100.0));
            let ratio = row.ratio().map_or("-".to_string(), |ratio| format!("{ratio:.3}"));
            writeln!(formatter, "{:<36} {nacre:>12} {more:>9} {linux:>12} {ratio:>8} {aim:>12} {}", row.operation, row.verdict())?;
        }
        Ok(())
    }
}

/// Returns the names of all operations, as tables show them.
#[cfg(test)]
pub fn names() -> impl Iterator<Item = &'static str> {
    OPERATIONS.iter().map(|(_, operation, _)| *operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_far_it_is() {
        let nacre = Figures::parse("measure getppid 75 1\nmeasure fork_wait 1000 3\n");
        let linux = Figures::parse("measure getppid 300 1\nmeasure fork_wait 200000 3\nmeasure map_unmap 6001 2\n");
        let deeper = Figures::parse("measure getppid 75 1\nmeasure fork_wait 1100 3\n");
        let text = Calls::join(&[], [&nacre, &deeper, &linux]).to_string();
        let row = |what: &str| text.lines().find(|line| line.starts_with(what)).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(row("getppid"), "getppid 75 +0.0 % 300 0.250 60 not reached");
        assert_eq!(row("fork, exit"), "fork, exit, wait 1,000 +10.0 % 200,000 0.005 100,000");
        assert_eq!(row("page mapped"), "page mapped and unmapped - - 6,001 - 3,000 not measured: it does not work yet");
    }
}
