//! The first ring: unit and model tests, on this machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::parallel_tests;
use super::tally::TestCounts;
use crate::failure::{Class, Context, Outcome};
use crate::toolchain::Toolchain;
use crate::tree::Tree;

/// Seconds after which the tests of a crate count as hung, and are ended.
const HUNG: &str = "2400";

/// Runs `cargo test` for each crate that can be tested here; a crate counts as failed once if it
/// does not build.
///
/// While the tests of one run another can be built; cargo itself sees to it that no two are built
/// at once.
pub fn run(tree: &Tree, filter: &str, jobs: usize) -> Outcome<TestCounts> {
    let toolchain = Toolchain::from_environment();
    parallel_tests::each(&members(tree)?, jobs, |member| match targets(&tree.path(member)) {
        Some(only) => test_crate(tree, &toolchain, member, only, filter),
        None => Ok(TestCounts::default()),
    })
}

/// The workspace's members, from its manifest: the strings of its `members` list.
fn members(tree: &Tree) -> Outcome<Vec<String>> {
    let path = tree.path("Cargo.toml");
    let text = fs::read_to_string(&path).context(Class::File, || format!("cannot read {}", path.display()))?;
    let list = text.split_once("members").and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    Ok(list.split('"').skip(1).step_by(2).map(str::to_string).collect())
}

/// Returns the parts of a crate that can be tested here: all of it, or its library alone if its
/// program starts by itself, or nothing if it has none.
fn targets(folder: &Path) -> Option<&'static [&'static str]> {
    let main = fs::read_to_string(folder.join("src/main.rs")).unwrap_or_default();
    let starts_by_itself = main.lines().any(|line| line == "#![no_main]");
    match (starts_by_itself, folder.join("src/lib.rs").exists()) {
        (false, _) => Some(&[]),
        (true, true) => Some(&["--lib"]),
        (true, false) => None,
    }
}

fn test_crate(tree: &Tree, toolchain: &Toolchain, member: &str, only: &[&str], filter: &str) -> Outcome<TestCounts> {
    let manifest = tree.path(member).join("Cargo.toml");
    let mut command = toolchain.cargo(tree, "tests");
    command.args(["test", "--quiet", "--no-fail-fast", "--manifest-path"]).arg(manifest).args(only);
    if !filter.is_empty() {
        command.arg(filter);
    }
    let output = bounded(&command).output().context(Class::Machine, || "cannot start cargo".to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut tally = sum(&text);
    if output.status.success() {
        println!("ok      {member}: {} tests", tally.passed);
    } else {
        tally.failed = tally.failed.max(1);
        println!("FAILED  {member}: {} of {} tests", tally.failed, tally.failed + tally.passed);
        print!("{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(tally)
}

/// The command, ended with all that it has started if it hangs, and when we end: `timeout` makes a
/// group of processes, to which a terminal's Ctrl-C does not come by itself.
fn bounded(command: &Command) -> Command {
    let mut bounded = Command::new("setpriv");
    bounded.args(["--pdeathsig", "TERM", "timeout", "--kill-after", "10", HUNG]);
    bounded.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        bounded.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bounded.env(name, value),
            None => bounded.env_remove(name),
        };
    }
    bounded
}

/// Adds up cargo's lines `test result: ok. 3 passed; 0 failed; ...`.
fn sum(text: &str) -> TestCounts {
    let mut tally = TestCounts::default();
    for line in text.lines().filter(|line| line.starts_with("test result:")) {
        let number = |what: &str| {
            let words: Vec<&str> = line.split([' ', ';']).collect();
            let at = words.iter().position(|word| *word == what)?;
            words.get(at.checked_sub(1)?)?.parse::<usize>().ok()
        };
        tally.passed += number("passed").unwrap_or(0);
        tally.failed += number("failed").unwrap_or(0);
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_add_up() {
        let text = "x\ntest result: ok. 3 passed; 0 failed; 0 ignored\n\ntest result: FAILED. 4 passed; 2 failed; 0 ignored\n";
        assert_eq!(sum(text), TestCounts { passed: 7, failed: 2, ..TestCounts::default() });
    }

    #[test]
    fn members_are_found() {
        let members = members(&Tree::find().unwrap()).unwrap();
        assert!(members.iter().any(|member| member == "host") && members.iter().any(|member| member == "abi"));
    }
}
