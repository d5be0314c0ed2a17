//! The models of doc/models: each must hold, and must break with each of its mutations.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::parallel_tests;
use super::tally::TestCounts;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::tree::Tree;

/// The longest path that the checker follows; it says so if that is too short.
const DEPTH: &str = "-m100000";

/// Checks all models whose name contains `filter`.
pub fn run(tree: &Tree, filter: &str, jobs: usize) -> Outcome<TestCounts> {
    let mut checks = Vec::new();
    let folder = tree.path("doc/models");
    let mut models: Vec<_> = fs::read_dir(&folder)
        .context(Class::File, || format!("cannot read {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "pml"))
        .collect();
    models.sort();
    for model in models {
        let name = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !format!("model {name}").contains(filter) {
            continue;
        }
        let text = fs::read_to_string(&model).context(Class::File, || format!("cannot read {}", model.display()))?;
        checks.extend((0..=mutations(&text)).map(|mutation| (name.clone(), model.clone(), mutation)));
    }
    parallel_tests::each(&checks, jobs, |(name, model, mutation)| {
        let said = check(&tree.path(&format!("build/models/{name}-{mutation}")), model, *mutation)?;
        let (sentence, passed) = match mutation {
            0 => (format!("model {name} holds"), errors(&said) == Some(0)),
            _ => (format!("model {name} fails with mutation {mutation}"), errors(&said).is_some_and(|errors| errors > 0)),
        };
        let mut tally = TestCounts::default();
        tally.note(&sentence, (!passed).then_some(said.as_str()));
        Ok(tally)
    })
}

/// Returns the number of mutations of a model: the highest number that it compares with.
fn mutations(text: &str) -> u32 {
    text.lines().filter_map(|line| line.strip_prefix("#if MUTATION == ")?.trim().parse().ok()).max().unwrap_or(0)
}

/// Makes the checker in `folder` and runs it; what it said.
fn check(folder: &Path, model: &Path, mutation: u32) -> Outcome<String> {
    fs::create_dir_all(folder).context(Class::File, || format!("cannot make {}", folder.display()))?;
    let step = |program: &str, arguments: &[&str]| -> Outcome<String> {
        let output = Command::new(program).args(arguments).current_dir(folder).output();
        let output = output.context(Class::Machine, || format!("cannot start {program}"))?;
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.success() { Ok(said) } else { Err(Failure::new(Class::Machine, format!("{program} failed:\n{said}"))) }
    };
    step("spin", &[&format!("-DMUTATION={mutation}"), "-a", &model.to_string_lossy()])?;
    step("cc", &["-O2", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"])?;
    step("./pan", &[DEPTH])
}

/// Returns the number of errors that the checker found, if it came to its end.
fn errors(said: &str) -> Option<u32> {
    if said.contains("max search depth too small") || said.contains("Search not completed") && !said.contains("errors: 1") {
        return None;
    }
    said.lines().find_map(|line| line.split_once("errors: ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_was_cut_short_proves_nothing() {
        assert_eq!(errors("State-vector 88 byte, depth reached 216, errors: 0\n"), Some(0));
        assert_eq!(errors("Warning: Search not completed\nState-vector 88 byte, depth reached 87, errors: 1\n"), Some(1));
        assert_eq!(errors("error: max search depth too small\nState-vector 88 byte, depth reached 9, errors: 0\n"), None);
        assert_eq!(errors("spin: syntax error\n"), None);
    }

    #[test]
    fn mutations_are_counted() {
        assert_eq!(mutations("#define MUTATION 0\n#if MUTATION == 1\n#endif\n#if MUTATION == 3\n"), 3);
        assert_eq!(mutations("x\n"), 0);
    }
}
