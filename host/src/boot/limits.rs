//! Limits of what a guest takes: `--limit KIND=N`, which puts a guard around all that runs, and
//! tells the process manager how many processes it may make.

use std::ffi::OsString;

use nacre_manifest::Programs;

use super::program::{Stack, WORLD};
use crate::failure::{Class, Failure, Outcome};
use crate::monitors;

/// Kinds of limits.
const KINDS: [&str; 4] = ["memory", "files", "storage", PROCESSES];

/// The kind that the monitor `process` has, and not the guard around it.
const PROCESSES: &str = "processes";

/// Reads the option's value. The guard reads the amount.
pub fn parse(text: &str) -> Result<String, String> {
    let Some((kind, amount)) = text.split_once('=') else { return Err("write KIND=N".to_string()) };
    if !KINDS.contains(&kind) {
        return Err(format!("there is no limit of {kind}: there are {}", KINDS.join(", ")));
    }
    let units = if ["files", PROCESSES].contains(&kind) { "" } else { "kKmMgG" };
    let digits = amount.strip_suffix(|unit| units.contains(unit)).unwrap_or(amount);
    if digits.parse::<u64>().is_ok_and(|count| count > 0) {
        return Ok(text.to_string());
    }
    Err(format!("{amount} is no amount"))
}

impl Stack {
    /// Puts a guard with these limits around all. The outermost process manager gets those of
    /// processes.
    pub fn within(mut self, limits: &[String]) -> Outcome<Stack> {
        let (of_processes, others): (Vec<_>, Vec<_>) = limits.iter().cloned().partition(|limit| count_of_processes(limit).is_some());
        for count in of_processes.iter().filter_map(|limit| count_of_processes(limit)) {
            let Some(manager) = self.only_manager() else {
                let failure = Failure::new(Class::Usage, "--limit processes=N is for one process manager around all programs, and there is none");
                return Err(failure.remedy("give each one its own: process --processes N --threads N PROGRAM"));
            };
            let options = ["--processes", "--threads"].map(|name| OsString::from(format!("{name}={count}")));
            self.words.splice(manager + 1..manager + 1, options);
        }
        if !others.is_empty() {
            self.words.splice(..0, guard(&others));
        }
        Ok(self)
    }

    /// Returns the index of the process manager that makes all processes: the outermost one, unless
    /// there may be others beside it.
    fn only_manager(&self) -> Option<usize> {
        let before = |word: &OsString| word.to_str().and_then(monitors::find).is_some_and(|monitor| monitor.programs == Programs::Several);
        let manager = self.words.iter().position(|word| word == WORLD)?;
        let is_monitor = self.own.iter().any(|name| name == WORLD) || manager == 0;
        (is_monitor && !self.words[..manager].iter().any(before)).then_some(manager)
    }
}

/// Returns N of `processes=N`.
fn count_of_processes(limit: &str) -> Option<&str> {
    limit.split_once('=').filter(|(kind, _)| *kind == PROCESSES).map(|(_, count)| count)
}

/// The words of a guard that allows everything within these limits.
fn guard(limits: &[String]) -> Vec<OsString> {
    let options = limits.iter().flat_map(|limit| ["--limit".into(), limit.into()]);
    std::iter::once("guard".into()).chain(options).chain(["--allow".into(), "*".into()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_checked_before_the_machine_starts() {
        for text in ["memory=64M", "files=100", "storage=4096", "storage=1g", "processes=3"] {
            assert_eq!(parse(text), Ok(text.to_string()));
        }
        for text in ["", "memory", "memory=", "memory=M", "memory=0", "memory=1KK", "files=1K", "processes=1K", "processes=0", "storage=-1"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(guard(&["files=9".to_string()]), ["guard", "--limit", "files=9", "--allow", "*"]);
    }
}
