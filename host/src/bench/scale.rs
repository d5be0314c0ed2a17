//! Measures how costs grow with the number of things: `bench/scale`, a row and a number a run, on
//! both systems.

use std::fmt;
use std::path::PathBuf;

use super::calls::{compile_from, figures};
use super::table::{Figures, cell};
use crate::linux_comparison::Batch;
use crate::builds::Products;
use crate::failure::{Class, Failure, Outcome};
use crate::json::quote;
use crate::tree::Tree;

/// Numbers of things in most rows.
const NUMBERS: [u64; 4] = [10, 100, 1000, 4000];
/// Numbers where each thing is a thread or a process.
const FEW: [u64; 4] = [10, 50, 100, 400];
/// Numbers that a set of `select` and a path can hold.
const BOUNDED: [u64; 4] = [1, 10, 100, 1000];
/// Path of the program in the guest.
const PLACE: &str = "/bench/scale";
/// The row that is measured below [`GUARD`].
const GUARDED: &str = "open_guarded";
/// A guard that allows everything, and looks at every path all the same.
const GUARD: [&str; 6] = ["guard", "--allow", "*", "--deny", "file.write /nonexistent/**", "process"];

/// Rows: the word that `scale.c` knows, a name for people, and the numbers.
const ROWS: [(&str, &str, [u64; 4]); 25] = [
    ("map_unmap", "N MiB mapped and unmapped", NUMBERS),
    ("touch", "N pages touched for the first time", NUMBERS),
    ("fork_mappings", "fork, exit, wait with N mappings", NUMBERS),
    ("map_fixed", "one MAP_FIXED among N mappings", NUMBERS),
    ("fork_threads", "fork, exit, wait with N threads", FEW),
    ("fork_processes", "fork, exit, wait with N processes", FEW),
    ("threads", "N threads made, then joined", FEW),
    ("requests", "stat by N threads at once, each", FEW),
    ("fork_descriptors", "fork, exit, wait with N descriptors", NUMBERS),
    ("fork_files", "fork, exit, wait with N open files", NUMBERS),
    ("epoll_idle", "epoll: a byte found among N pipes, then a wait of 1 ms", NUMBERS),
    ("epoll_edges", "the same, told of edges", NUMBERS),
    ("epoll_look", "epoll_wait without a wait, N idle pipes", NUMBERS),
    ("epoll_change", "N pipes taken from a set and added again", NUMBERS),
    ("poll_idle", "poll: a byte found among N pipes, then a wait of 1 ms", NUMBERS),
    ("select_idle", "select: the same", BOUNDED),
    ("pipes", "N pipes made, used for a byte, closed", NUMBERS),
    ("list", "a directory with N files listed", NUMBERS),
    ("open_deep", "open and close of a file below N directories", BOUNDED),
    (GUARDED, "the same below guard with rules of paths", BOUNDED),
    ("locks", "a byte locked and unlocked beside N locks", NUMBERS),
    ("wake", "N threads woken that wait for a word", FEW),
    ("memory_process", "bytes of each of N forked, idle processes", FEW),
    ("memory_thread", "bytes of each of N idle threads", FEW),
    ("stat_meanwhile", "longest stat while another maps N MiB", NUMBERS),
];

/// Measures on both systems, all rows or those named.
pub fn measure(tree: &Tree, products: &Products, names: &[String], no_linux: bool) -> Outcome<Scale> {
    if let Some(unknown) = names.iter().find(|name| !ROWS.iter().any(|(known, ..)| known == name)) {
        let known: Vec<&str> = ROWS.iter().map(|(name, ..)| *name).collect();
        return Err(Failure::new(Class::NotFound, format!("there is no row {unknown}")).remedy(format!("there are: {}", known.join(", "))));
    }
    let file = compile_from(tree, "bench/scale", "scale.c", &["-static", "-w"], PLACE)?;
    let batch = |of: &dyn Fn(&str) -> bool, below: &[&str]| {
        let words = rows(names).filter(|(name, ..)| of(name)).flat_map(|(name, _, numbers)| numbers.iter().map(move |number| (PLACE.to_string(), format!("{name}:{number}"))));
        let (runs, below) = (words.collect(), below.iter().map(|word| word.to_string()).collect());
        Batch { files: vec![(file.clone(), PathBuf::from(PLACE))], runs, starter: "linux-tests".into(), below, ..Batch::default() }
    };
    let parts = [batch(&|name| name != GUARDED, &["process"]), batch(&|name| name == GUARDED, &GUARD)];
    let nacre = parts.iter().filter(|part| !part.runs.is_empty()).map(|part| figures(part, products)).collect::<Outcome<Vec<_>>>()?;
    let nacre = Figures::joined(nacre);
    let linux = match no_linux {
        true => Figures::default(),
        false => Figures::parse(&String::from_utf8_lossy(&batch(&|_| true, &[]).on_linux(tree)?.output)),
    };
    nacre.unmeasured().for_each(|line| eprintln!("nacre: {line}"));
    Ok(Scale::join(names, [&nacre, &linux]))
}

/// Rows with these names; all of them if there are no names.
fn rows(names: &[String]) -> impl Iterator<Item = &'static (&'static str, &'static str, [u64; 4])> {
    ROWS.iter().filter(move |(name, ..)| names.is_empty() || names.iter().any(|wanted| wanted == name))
}

/// Curves of both systems.
pub struct Scale {
    rows: Vec<Row>,
}

/// One row: a point for each number.
struct Row {
    name: &'static str,
    operation: &'static str,
    points: Vec<Point>,
}

/// Figures for one number of things.
struct Point {
    number: u64,
    nacre: Option<u64>,
    linux: Option<u64>,
}

impl Point {
    /// Returns Nacre's figure for each of Linux's.
    fn ratio(&self) -> Option<f64> {
        let (nacre, linux) = (self.nacre?, self.linux?);
        (linux > 0).then(|| nacre as f64 / linux as f64)
    }
}

impl Scale {
    fn join(names: &[String], [nacre, linux]: [&Figures; 2]) -> Scale {
        let find = |figures: &Figures, word: &str| figures.find(word).map(|figure| figure.instructions);
        let point = |name: &str, number: u64| {
            let word = format!("{name}:{number}");
            Point { number, nacre: find(nacre, &word), linux: find(linux, &word) }
        };
        let row = |&(name, operation, numbers): &(&'static str, &'static str, [u64; 4])| Row {
            name,
            operation,
            points: numbers.iter().map(|number| point(name, *number)).collect(),
        };
        Scale { rows: rows(names).map(row).collect() }
    }

    /// The curves for programs.
    pub fn json(&self) -> String {
        let number = |number: Option<u64>| number.map_or("null".to_string(), |number| number.to_string());
        let point = |point: &Point| format!("{{\"n\": {}, \"nacre\": {}, \"linux\": {}}}", point.number, number(point.nacre), number(point.linux));
        let row = |row: &Row| {
            let points: Vec<String> = row.points.iter().map(point).collect();
            format!("  {{\"row\": {}, \"operation\": {}, \"points\": [{}]}}", quote(row.name), quote(row.operation), points.join(", "))
        };
        let rows: Vec<String> = self.rows.iter().map(row).collect();
        format!("[\n{}\n]\n", rows.join(",\n"))
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{:<42} {:>6} {:>14} {:>14} {:>9}", "Linux program's operation", "N", "Nacre", "Linux", "ratio")?;
        for row in &self.rows {
            for (index, point) in row.points.iter().enumerate() {
                let operation = if index == 0 { row.operation } else { "" };
                let ratio = point.ratio().map_or("-".to_string(), |ratio| format!("{ratio:.3}"));
                writeln!(formatter, "{operation:<42} {:>6} {:>14} {:>14} {ratio:>9}", point.number, cell(point.nacre), cell(point.linux))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_curve() {
        let nacre = Figures::parse("measure touch:10 900 0\nmeasure touch:100 8000 0\n");
        let linux = Figures::parse("measure touch:10 3600 0\n");
        let scale = Scale::join(&["touch".to_string()], [&nacre, &linux]);
        let text = scale.to_string();
        let words: Vec<String> = text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(words, ["N pages touched for the first time 10 900 3,600 0.250", "100 8,000 - -", "1000 - - -", "4000 - - -"]);
        assert!(scale.json().contains("{\"n\": 100, \"nacre\": 8000, \"linux\": null}"));
    }
}
