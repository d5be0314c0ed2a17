//! What Linux's calls cost a Linux program: `bench/calls`, an operation a run, on both systems, beside what is aimed at.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::table::{Figure, Figures, grouped};
use crate::beside::Batch;
use crate::builds::{Products, run_quietly};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::tree::Tree;

/// The operations: the word for the program, what it is, and how many instructions are aimed at, if it is not half of Linux's.
const OPERATIONS: [(&str, &str, Option<u64>); 16] = [
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
    ("idle_process", "memory of an idle process, bytes", Some(200 << 10)),
];

/// The sources: file, compiler's options, where it goes.
const PROGRAMS: [(&str, &[&str], &str); 3] =
    [("calls.c", &["-static", "-w"], "/bench/calls"), ("true.c", &["-static"], "/bench/true-static"), ("true.c", &[], "/bench/true-dynamic")];

/// Measures on both systems, all operations or those named; the table.
pub fn measure(tree: &Tree, products: &Products, names: &[String], no_linux: bool) -> Outcome<String> {
    let files = PROGRAMS.iter().map(|(source, options, place)| Ok((compile(tree, source, options, place)?, PathBuf::from(place))));
    let files = files.collect::<Outcome<Vec<_>>>()?;
    let batch = Batch { files, runs: runs(names)?, starter: "linux-tests".into(), below: vec!["process".into()] };
    let nacre = figures(&batch, products)?;
    let deeper = figures(&Batch { below: vec!["process".into(); 2], ..batch.clone() }, products)?;
    let linux = match no_linux {
        true => Figures::default(),
        false => Figures::parse(&String::from_utf8_lossy(&batch.on_linux(tree)?.output)),
    };
    nacre.unmeasured().for_each(|line| eprintln!("nacre: {line}"));
    Ok(table(names, [&nacre, &deeper, &linux]))
}

/// What the program measures on Nacre.
fn figures(batch: &Batch, products: &Products) -> Outcome<Figures> {
    let output = batch.on_nacre(products)?.output;
    let output = String::from_utf8_lossy(&output);
    let figures = Figures::parse(&output);
    match figures.is_empty() {
        true => Err(Failure::new(Class::Guest, "the program measured nothing").remedy(format!("it said: {}", output.trim()))),
        false => Ok(figures),
    }
}

/// A run of the program for each operation that is asked for.
fn runs(names: &[String]) -> Outcome<Vec<(String, String)>> {
    if let Some(unknown) = names.iter().find(|name| !OPERATIONS.iter().any(|(known, ..)| known == name)) {
        let known: Vec<&str> = OPERATIONS.iter().map(|(name, ..)| *name).collect();
        return Err(Failure::new(Class::NotFound, format!("there is no operation {unknown}")).remedy(format!("there are: {}", known.join(", "))));
    }
    Ok(operations(names).map(|(name, ..)| ("/bench/calls".to_string(), name.to_string())).collect())
}

/// Those that are named; all, if none is.
fn operations(names: &[String]) -> impl Iterator<Item = &'static (&'static str, &'static str, Option<u64>)> {
    OPERATIONS.iter().filter(move |(name, ..)| names.is_empty() || names.iter().any(|wanted| wanted == name))
}

fn compile(tree: &Tree, source: &str, options: &[&str], place: &str) -> Outcome<PathBuf> {
    let folder = tree.target("linux-tests");
    fs::create_dir_all(&folder).context(Class::File, || format!("cannot make {}", folder.display()))?;
    let file = folder.join(place.replace('/', "-").trim_start_matches('-'));
    let mut command = Command::new("gcc");
    command.arg("-O2").args(options).arg("-o").arg(&file).arg(tree.path("bench/calls").join(source));
    run_quietly(command, source)?;
    Ok(file)
}

/// Beside Nacre's figure stands by how much it is more below a second process manager.
fn table(names: &[String], [nacre, deeper, linux]: [&Figures; 3]) -> String {
    let mut text = format!("{:<36} {:>12} {:>9} {:>12} {:>8} {:>12}\n", "Linux program's operation", "Nacre", "one more", "Linux", "ratio", "aimed at");
    for &(name, what, aim) in operations(names) {
        let (here, there) = (nacre.find(name), linux.find(name));
        let cell = |figure: Option<&Figure>| figure.map_or("-".to_string(), |figure| grouped(figure.instructions));
        let aim = aim.or(there.map(|figure| figure.instructions / 2));
        let ratio = match (here, there) {
            (Some(here), Some(there)) if there.instructions > 0 => format!("{:.3}", here.instructions as f64 / there.instructions as f64),
            _ => "-".to_string(),
        };
        let more = match (here, deeper.find(name)) {
            (Some(here), Some(deeper)) => format!("{:+.1} %", (deeper.instructions as f64 / here.instructions.max(1) as f64 - 1.0) * 100.0),
            _ => "-".to_string(),
        };
        let verdict = match (here, aim) {
            (None, _) => "not measured: it does not work yet",
            (Some(here), Some(aim)) if here.instructions > aim => "not reached",
            _ => "",
        };
        // Writing to a string cannot fail.
        let aim = aim.map_or("-".to_string(), grouped);
        let _ = writeln!(text, "{what:<36} {:>12} {more:>9} {:>12} {ratio:>8} {aim:>12} {verdict}", cell(here), cell(there));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_far_it_is() {
        let nacre = Figures::parse("measure getppid 75 1\nmeasure fork_wait 1000 3\n");
        let linux = Figures::parse("measure getppid 300 1\nmeasure fork_wait 200000 3\nmeasure map_unmap 6001 2\n");
        let deeper = Figures::parse("measure getppid 75 1\nmeasure fork_wait 1100 3\n");
        let text = table(&[], [&nacre, &deeper, &linux]);
        let row = |what: &str| text.lines().find(|line| line.starts_with(what)).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(row("getppid"), "getppid 75 +0.0 % 300 0.250 60 not reached");
        assert_eq!(row("fork, exit"), "fork, exit, wait 1,000 +10.0 % 200,000 0.005 100,000");
        assert_eq!(row("page mapped"), "page mapped and unmapped - - 6,001 - 3,000 not measured: it does not work yet");
    }
}
