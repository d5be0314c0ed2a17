//! The chain of forks of `nacre bench --memory`: a process makes a process, which makes a process,
//! five deep, below stacks of monitors.

use std::fmt;
use std::path::PathBuf;

use super::calls::{compile_from, figures};
use super::table::cell;
use crate::builds::Products;
use crate::failure::Outcome;
use crate::linux_comparison::Batch;
use crate::tree::Tree;

/// Name of the row, and operation of `bench/calls`.
pub const NAME: &str = "chain of five forks";
const OPERATION: &str = "fork_chain";
const PLACE: &str = "/bench/calls";

/// Stacks. The first one is what the others are compared with.
const STACKS: [&str; 14] = [
    "process",
    "process process",
    "pager process",
    "process pager",
    "dataspace anonymous process",
    "trace -q process",
    "process trace -q",
    "pager pager process",
    "pager process trace -q",
    "trace -q pager process",
    "trace -q process trace -q",
    "process pager process pager",
    "trace -q pager process trace -q",
    "pager trace -q process trace -q",
];
/// Percent that a layer may cost which interposes on all that programs do.
const AIM: f64 = 10.0;

/// A chain below one stack.
struct Row {
    stack: &'static str,
    instructions: Option<u64>,
}

/// The table.
pub struct Chain {
    rows: Vec<Row>,
}

/// Measures the chain below all stacks.
pub fn measure(tree: &Tree, products: &Products) -> Outcome<Chain> {
    let program = compile_from(tree, "bench/calls", "calls.c", &["-static", "-w"], PLACE)?;
    let row = |stack: &'static str| {
        let below = stack.split(' ').map(str::to_string).collect();
        let runs = vec![(PLACE.to_string(), OPERATION.to_string())];
        let batch = Batch { files: vec![(program.clone(), PathBuf::from(PLACE))], runs, starter: "linux-tests".into(), below, ..Batch::default() };
        let told = figures(&batch, products).inspect_err(|failure| eprintln!("nacre: below {stack}: {failure}")).ok();
        Row { stack, instructions: told.and_then(|told| told.find(OPERATION).map(|figure| figure.instructions)) }
    };
    Ok(Chain { rows: STACKS.into_iter().map(row).collect() })
}

/// Returns the number of monitors in a stack.
fn depth(stack: &str) -> usize {
    stack.split(' ').filter(|word| !word.starts_with('-') && *word != "anonymous").count()
}

impl fmt::Display for Chain {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "`./nacre bench --memory chain --write` measures this table alone: a program forks, its child")?;
        writeln!(to, "forks, and so on until there are five children, each of which waits for its own. The last column")?;
        writeln!(to, "says what each monitor beyond the first `process` adds; {AIM:.0} % are aimed at.\n")?;
        writeln!(to, "| below | instructions | a monitor more |")?;
        writeln!(to, "| --- | ---: | ---: |")?;
        let base = self.rows.first().and_then(|row| row.instructions);
        for row in &self.rows {
            let layers = depth(row.stack) - 1;
            let more = base.zip(row.instructions).filter(|_| layers != 0).map(|(base, all)| (all as f64 / base.max(1) as f64 - 1.0) * 100.0 / layers as f64);
            let more = more.map_or("-".to_string(), |more| format!("{more:+.1} %{}", if more > AIM + 0.05 { ", **not reached**" } else { "" }));
            writeln!(to, "| `{}` | {} | {more} |", row.stack, cell(row.instructions))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_monitor_adds_is_told_for_each_beyond_the_first() {
        let rows = [("process", Some(1_000)), ("pager process", Some(1_100)), ("trace -q pager process", Some(1_300)), ("process process", None)];
        let text = Chain { rows: rows.map(|(stack, instructions)| Row { stack, instructions }).into() }.to_string();
        let found = |stack: &str| text.lines().find(|line| line.starts_with(&format!("| `{stack}` |"))).map(str::to_string);
        assert_eq!(found("process"), Some("| `process` | 1,000 | - |".to_string()));
        assert_eq!(found("pager process"), Some("| `pager process` | 1,100 | +10.0 % |".to_string()));
        assert_eq!(found("trace -q pager process"), Some("| `trace -q pager process` | 1,300 | +15.0 %, **not reached** |".to_string()));
        assert_eq!(found("process process"), Some("| `process process` | - | - |".to_string()));
    }

    #[test]
    fn stacks_have_four_monitors_at_most() {
        assert_eq!(STACKS.iter().map(|stack| depth(stack)).max(), Some(4));
    }
}
