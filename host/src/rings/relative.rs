//! One program in environments that differ in all that should not matter, and what it observed in
//! each: it must be the same.

use super::tally::TestCounts;
use super::system::{boot_on, describe};
use crate::builds::Products;
use crate::cli::MachineArguments;
use crate::failure::Outcome;

/// An environment: its name, the command, processors, mebibytes of memory.
type Environment = (&'static str, &'static [&'static str], u32, u64);

/// Environment that the others are compared with.
const PLAIN: Environment = ("plain", &["relative"], 1, 512);

/// The wall clock differs in all of them: they are started one after the other.
const OTHERS: [Environment; 4] = [
    ("three layers down", &["trace", "-q", "trace", "-q", "trace", "-q", "relative"], 1, 512),
    ("at other addresses, with more memory", &["relative", "300"], 1, 768),
    ("with two processors", &["relative"], 2, 512),
    ("all of it at once", &["trace", "-q", "guard", "--allow", "*", "trace", "-q", "relative", "77"], 2, 300),
];

/// Observes the machine's time and memory, which no parent has replaced: it must be seen that it
/// differs.
const BARE: [Environment; 2] =
    [("bare", &["relative", "observe", "one argument"], 1, 512), ("bare, with more memory", &["relative", "observe", "one argument"], 1, 768)];

/// Runs all of them.
pub fn run(products: &Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    if !"relative".contains(filter) && !filter.contains("relative") {
        return Ok(tally);
    }
    let plain = observe(products, &PLAIN)?;
    for environment in &OTHERS {
        let fault = match (&plain, observe(products, environment)?) {
            (Ok(plain), Ok(other)) => difference(plain, &other),
            (Err(fault), _) => Some(fault.clone()),
            (_, Err(fault)) => Some(fault),
        };
        tally.note(&format!("relative: {} nothing differs", environment.0), fault.as_deref());
    }
    let fault = match (observe(products, &BARE[0])?, observe(products, &BARE[1])?) {
        (Ok(one), Ok(other)) => difference(&one, &other).is_none().then(|| "no difference was seen".to_string()),
        (Err(fault), _) | (_, Err(fault)) => Some(fault),
    };
    tally.note("relative: a clock that nobody replaced is noticed", fault.as_deref());
    Ok(tally)
}

/// Returns what the program wrote down, or the fault.
fn observe(products: &Products, (_, words, cpus, mebibytes): &Environment) -> Outcome<Result<String, String>> {
    let arguments = MachineArguments { cpus: *cpus, memory: mebibytes << 20, ..MachineArguments::default() };
    let captured = boot_on(products, arguments, words)?;
    let text = String::from_utf8_lossy(&captured.output).into_owned();
    let whole = matches!(captured.status, Ok(0)) && text.lines().count() > 100;
    Ok(if whole { Ok(text) } else { Err(describe(&captured)) })
}

/// The first line in which two texts differ.
fn difference(one: &str, other: &str) -> Option<String> {
    let lines = one.lines().zip(other.lines());
    let first = lines.enumerate().find(|(_, (one, other))| one != other);
    match first {
        Some((number, (one, other))) => Some(format!("line {}\n{one}\n{other}", number + 1)),
        None if one.len() != other.len() => Some("one ends before the other".to_string()),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_wherever_it_is() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n"), Some("line 2\nb\nc".to_string()));
        assert!(difference("a\nb\n", "a\n").is_some());
    }
}
