//! Limits of what a guest takes: `--limit KIND=N`, which puts a guard around all that runs.

use std::ffi::OsString;

use super::program::Stack;

/// Kinds of limits that the monitor `guard` has.
const KINDS: [&str; 3] = ["memory", "files", "storage"];

/// Reads the option's value. The guard reads the amount.
pub fn parse(text: &str) -> Result<String, String> {
    let Some((kind, amount)) = text.split_once('=') else { return Err("write KIND=N".to_string()) };
    if !KINDS.contains(&kind) {
        return Err(format!("there is no limit of {kind}: there are {}", KINDS.join(", ")));
    }
    let units = if kind == "files" { "" } else { "kKmMgG" };
    let digits = amount.strip_suffix(|unit| units.contains(unit)).unwrap_or(amount);
    if digits.parse::<u64>().is_ok_and(|count| count > 0) {
        return Ok(text.to_string());
    }
    Err(format!("{amount} is no amount"))
}

impl Stack {
    /// Puts a guard with these limits around all.
    pub fn within(mut self, limits: &[String]) -> Stack {
        if !limits.is_empty() {
            self.words.splice(..0, guard(limits));
        }
        self
    }
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
        for text in ["memory=64M", "files=100", "storage=4096", "storage=1g"] {
            assert_eq!(parse(text), Ok(text.to_string()));
        }
        for text in ["", "memory", "memory=", "memory=M", "memory=0", "memory=1KK", "files=1K", "processes=3", "storage=-1"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(guard(&["files=9".to_string()]), ["guard", "--limit", "files=9", "--allow", "*"]);
    }
}
