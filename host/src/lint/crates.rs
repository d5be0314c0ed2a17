//! Licences and sources of the crates in `Cargo.lock`, against `deny.toml`.

use std::fs;

use crate::failure::{Class, Context, Outcome};
use crate::toolchain::Toolchain;
use crate::tree::Tree;

/// The only source of crates that others wrote.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Returns what breaks the policy.
pub fn check(tree: &Tree) -> Outcome<Vec<String>> {
    let read = |name: &str| fs::read_to_string(tree.path(name)).context(Class::File, || format!("cannot read {name}"));
    let allowed = allowed(&read("deny.toml")?);
    let mut violations = bad_sources(&read("Cargo.lock")?);
    let mut command = Toolchain::from_environment().cargo(tree, "host");
    command.args(["tree", "--workspace", "--locked", "--no-dedupe", "--prefix", "none", "--format", "{p}|{l}", "--edges", "normal,build,dev"]);
    let listed = command.output().context(Class::Machine, || "cannot start cargo".to_string())?;
    if !listed.status.success() {
        violations.push(format!("cargo cannot list the crates: {}", String::from_utf8_lossy(&listed.stderr).trim()));
    }
    violations.extend(bad_licences(&String::from_utf8_lossy(&listed.stdout), &allowed));
    Ok(violations)
}

/// The strings of the list `allow` in `deny.toml`.
fn allowed(policy: &str) -> Vec<String> {
    let list = policy.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).map(str::to_string).collect()
}

/// Crates of `Cargo.lock` that come from elsewhere or have no checksum.
fn bad_sources(lock: &str) -> Vec<String> {
    let packages = lock.split("[[package]]").skip(1);
    let field = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?;
        Some(line.trim_matches('"').to_string())
    };
    let is_bad = |package: &&str| field(package, "source").is_some_and(|source| source != SOURCE || field(package, "checksum").is_none());
    packages.filter(is_bad).map(|package| format!("Cargo.lock: {} is not from crates.io", field(package, "name").unwrap_or_default())).collect()
}

/// Lines `CRATE|LICENCE` whose licence is not allowed.
fn bad_licences(listed: &str, allowed: &[String]) -> Vec<String> {
    let mut lines: Vec<&str> = listed.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.sort_unstable();
    lines.dedup();
    let is_bad = |line: &&str| line.rsplit_once('|').is_none_or(|(_, licence)| !is_allowed(licence, allowed));
    lines.into_iter().filter(is_bad).map(|line| format!("{}: deny.toml does not allow its licence", line.replace('|', ": "))).collect()
}

/// Evaluates a licence expression; `A/B` is an old form of `A OR B`.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    any(&mut rest, allowed) == Some(true) && rest.is_empty()
}

/// `all OR all...`; `None` if the expression has no such form.
fn any(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut result = all(words, allowed)?;
    while let Some((&"OR", rest)) = words.split_first() {
        *words = rest;
        result |= all(words, allowed)?;
    }
    Some(result)
}

/// `one AND one...`
fn all(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut result = one(words, allowed)?;
    while let Some((&"AND", rest)) = words.split_first() {
        *words = rest;
        result &= one(words, allowed)?;
    }
    Some(result)
}

/// A licence, one `WITH` an exception, or an expression in brackets. An exception is allowed by its
/// full text alone.
fn one(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let (first, rest) = words.split_first()?;
    *words = rest;
    if *first == "(" {
        let result = any(words, allowed)?;
        let (last, rest) = words.split_first()?;
        *words = rest;
        return (*last == ")").then_some(result);
    }
    if matches!(*first, ")" | "AND" | "OR" | "WITH") {
        return None;
    }
    let mut licence = first.to_string();
    if let [with @ "WITH", exception, rest @ ..] = *words {
        licence = format!("{licence} {with} {exception}");
        *words = rest;
    }
    Some(allowed.contains(&licence))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> Vec<String> {
        allowed("[licenses]\nallow = [\n    \"MIT\",\n    \"Apache-2.0\",\n]\n")
    }

    #[test]
    fn expressions() {
        for good in ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "Apache-2.0 WITH LLVM-exception OR MIT", "(MIT OR X) AND Apache-2.0"] {
            assert!(is_allowed(good, &both()), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "MIT AND", "(MIT", "MIT)", "MIT MIT", "MIT WITH X", "OR", "(MIT OR X) AND X", "WITH X"] {
            assert!(!is_allowed(bad, &both()), "{bad}");
        }
    }

    #[test]
    fn a_licence_that_is_not_allowed_names_its_crate() {
        assert_eq!(bad_licences("a v1|MIT\n\nb v2|GPL-3.0\nb v2|GPL-3.0\nc v3|\n", &both()).len(), 2);
    }

    #[test]
    fn a_source_elsewhere_is_found() {
        let package = |source: &str| format!("[[package]]\nname = \"x\"\nversion = \"1\"\n{source}");
        assert!(bad_sources(&package("")).is_empty());
        assert!(bad_sources(&package(&format!("source = \"{SOURCE}\"\nchecksum = \"0\"\n"))).is_empty());
        for bad in [format!("source = \"{SOURCE}\"\n"), "source = \"git+https://x\"\nchecksum = \"0\"\n".to_string()] {
            assert_eq!(bad_sources(&package(&bad)), ["Cargo.lock: x is not from crates.io"]);
        }
    }
}
