//! `oom_score_adj` and `oom_adj` in `/proc`: how readily Linux ends a process when memory is short.
//! Nacre keeps the value for programs that set it, and never ends a process for it: a process that
//! gets no memory has an error instead.

use crate::abi::errno::{EACCES, EINVAL, Errno};
use crate::process::Process;
use crate::state::capabilities::RESOURCES;
use crate::state::files::proc_node::Node;
use alloc::format;
use alloc::string::String;

/// Maximum length of a number that Linux accepts.
const LONGEST: usize = 12;
/// Lowest and highest value.
const SCORES: [i64; 2] = [-1000, 1000];
/// Lowest and highest value of the older file.
const ADJUSTMENTS: [i64; 2] = [-17, 15];

/// The number in a text, decimal or, behind `0x`, hexadecimal, with a sign and white space around
/// it.
fn number(text: &[u8]) -> Option<i64> {
    let text = core::str::from_utf8(text).ok()?.trim_matches(|letter: char| letter.is_ascii_whitespace() || letter == '\x0b');
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let value = match digits.strip_prefix("0x") {
        Some(rest) => i64::from_str_radix(rest, 16),
        None if digits.starts_with(['-', '+']) => return None,
        None => digits.parse(),
    };
    let value = value.ok()?;
    Some(if text.starts_with('-') { -value } else { value })
}

/// A score as the older file has it.
fn adjustment(score: i64) -> i64 {
    if score == SCORES[1] { ADJUSTMENTS[1] } else { score * -ADJUSTMENTS[0] / SCORES[1] }
}

/// The score that a value of the older file means.
fn score(adjustment: i64) -> i64 {
    if adjustment == ADJUSTMENTS[1] { SCORES[1] } else { adjustment * SCORES[1] / -ADJUSTMENTS[0] }
}

/// The text of the file `name`.
pub fn oom_text(process: &Process, name: &str) -> String {
    let [value, _] = process.traits.oom_score;
    format!("{}\n", if name == "oom_adj" { adjustment(value) } else { value })
}

/// Writes a file of `/proc`. `EINVAL`: no number, or out of range. `EACCES`: lower than the process
/// may go.
pub fn write_shown(process: &mut Process, node: Node, from: &[u8]) -> Result<usize, Errno> {
    let Node::Fact(_, _, name) = node else { return Err(EINVAL) };
    let from = &from[..from.len().min(LONGEST)];
    let value = number(from).ok_or(EINVAL)?;
    let is_old = name == "oom_adj";
    let [lowest, highest] = if is_old { ADJUSTMENTS } else { SCORES };
    if !(lowest..=highest).contains(&value) {
        return Err(EINVAL);
    }
    let value = if is_old { score(value) } else { value };
    let [current, least] = process.traits.oom_score;
    let is_privileged = process.identity.capabilities.has(RESOURCES);
    // Linux compares with the value of the moment where the older file is written.
    if value < if is_old { current } else { least } && !is_privileged {
        return Err(EACCES);
    }
    let least = if is_privileged && !is_old { value } else { least };
    process.traits.oom_score = [value, least];
    Ok(from.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_signs_and_space_around_them() {
        assert_eq!(number(b" -17\n"), Some(-17));
        assert_eq!(number(b"0x1f"), Some(31));
        for wrong in [&b""[..], b"-", b"--1", b"1 2", b"x", b"\xff"] {
            assert_eq!(number(wrong), None);
        }
    }

    #[test]
    fn both_files_mean_one_value() {
        for value in ADJUSTMENTS[0]..=ADJUSTMENTS[1] {
            assert!(score(value).abs() <= 1000 && (adjustment(score(value)) - value).abs() <= 1);
        }
        assert_eq!((score(-17), score(15), adjustment(1000), adjustment(-1000)), (-1000, 1000, 15, -17));
    }
}
