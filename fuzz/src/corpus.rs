//! The corpus: for each target a file of inputs in base 16, one a line, so that a diff shows what
//! came and went.

use std::path::{Path, PathBuf};

/// Returns the folder of a target's inputs.
pub fn path(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format!("{target}.txt"))
}

/// The inputs of a target; none if it has no file. A line that is not base 16 is a fault.
pub fn read(target: &str) -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(path(target)).unwrap_or_default();
    text.lines().enumerate().map(|(number, line)| decode(line).unwrap_or_else(|| panic!("{target}.txt:{}: not base 16", number + 1))).collect()
}

/// Bytes of a line.
pub fn decode(line: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = line.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect())
}

/// A line of bytes.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
