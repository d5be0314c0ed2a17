//! Names, and the entries of a directory.

use crate::Error;
use crate::answer::Answer;
use alloc::vec::Vec;

/// Length of the longest name.
const MAX_NAME: usize = 255;

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Linux's `d_type`.
    pub kind: u8,
    /// The name.
    pub name: Vec<u8>,
}

/// Returns true for what can be the name of a file.
pub fn is_name(name: &[u8]) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name != b"." && name != b".." && !name.iter().any(|byte| matches!(byte, 0 | b'/'))
}

/// Appends the entries of a part of a listing. Returns the offset behind the last one; `None` if
/// there was none. Names that are none are left out.
pub fn read(part: &[u8], into: &mut Vec<Entry>) -> Result<Option<u64>, Error> {
    let mut answer = Answer(part);
    let mut next = None;
    while !answer.0.is_empty() {
        answer.qid()?;
        let (offset, kind, name) = (answer.number(8)?, answer.number(1)? as u8, answer.string()?);
        next = Some(offset);
        if is_name(name) {
            into.push(Entry { kind, name: name.to_vec() });
        }
    }
    Ok(next)
}
