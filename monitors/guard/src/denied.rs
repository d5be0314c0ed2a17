//! The call that was denied last, which may be why a program ends without success.

use crate::policy::{Policy, rule_for};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_nest::command::lossy;
use nacre_nest::interpose::text;
use nacre_proto::{parent, process};

/// Name of the monitor that runs guest machines.
const MACHINE: &[u8] = b"machine";

/// A call that was denied.
pub struct Denied {
    /// Label of the call.
    pub label: u32,
    /// Subject of the call: a path, or another name.
    pub subject: Vec<u8>,
    /// Number of the rule that denies it; `None`: no rule allows it.
    pub rule: Option<usize>,
}

impl Denied {
    /// Returns the sentence about a program that ended with this status.
    pub fn sentence(&self, name: &str, status: u64, policy: &Policy) -> String {
        let (call, on) = (call_name(self.label), lossy(&self.subject));
        let reason = match self.rule {
            Some(rule) => format!("the rule `{}` forbids it", policy.rule(rule)),
            None => format!("--allow {} would allow it", rule_for(self.label, &self.subject)),
        };
        format!("{name} ended with status {status} after {call} on {on} was denied; {reason}")
    }
}

/// Returns the name of a call.
pub fn call_name(label: u32) -> String {
    let mut name = String::new();
    text::name(label, &mut name);
    name
}

/// Returns true if a word of a command is the monitor `machine`.
pub fn names_machine(words: &[&[u8]]) -> bool {
    words.iter().any(|word| word.rsplit(|byte| *byte == b'/').next() == Some(MACHINE))
}

/// Returns true for a call whose caller does without, so that its end has other reasons: each
/// program asks for commands, and a machine for signals.
pub fn is_optional(label: u32, subject: &[u8], runs_machine: bool) -> bool {
    label == parent::find::LABEL && subject == b"control" || label == process::attach::LABEL && runs_machine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_does_without_signals_and_other_programs_do_not() {
        let machine = names_machine(&[b"trace", b"/bin/machine", b"sh"]);
        assert!(machine && !names_machine(&[b"sh", b"-c", b"machine sh"]));
        assert!(is_optional(process::attach::LABEL, b"process", true) && !is_optional(process::attach::LABEL, b"process", false));
        assert!(is_optional(parent::find::LABEL, b"control", false) && !is_optional(parent::find::LABEL, b"memory", true));
    }
}
