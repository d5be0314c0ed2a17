//! What `/proc` says of other processes: their libraries answer, as to other questions. What an
//! answer says is as good as who gave it: too much of it, or numbers that do not grow, end the
//! asking.

use crate::abi::errno::{EACCES, EINVAL, ENOENT, ERESTART, Errno};
use crate::operations::proc::remote_query;
use crate::process::Process;
use crate::state::files::proc_node::Node;
use alloc::vec::Vec;
use nacre_proto::flags::{ASK_LINK, ASK_NUMBERS, ASK_TEXT};
use nacre_proto::structures::Status;

/// Maximum size of an answer: as many bytes as the manager takes.
pub const MOST: usize = 4096;
/// Maximum size of a text in bytes, and maximum number of numbers.
const LONGEST: usize = 1 << 20;
/// Maximum length of a path in a question.
pub const PATH: usize = 128;
/// Time that a process has to answer, in nanoseconds. A process that was stopped in the middle of a
/// call does not answer.
const LIMIT: u64 = 200_000_000;
/// Facts that everybody may read.
const OPEN_FACTS: [&str; 14] =
    ["cgroup", "cmdline", "comm", "limits", "mountinfo", "mounts", "oom_adj", "oom_score", "oom_score_adj", "sched", "stat", "statm", "status", "wchan"];

/// Returns true if a node belongs to a process and is readable by every user.
pub fn is_open(node: Node) -> bool {
    match node {
        Node::Fact(_, _, name) => OPEN_FACTS.contains(&name),
        Node::Threads(_) => true,
        _ => false,
    }
}

/// Numbers as an answer brings them, from the lowest on.
fn numbers(bytes: &[u8], lowest: u64) -> Vec<u64> {
    let all = bytes.chunks_exact(4).map(|four| u64::from(u32::from_le_bytes([four[0], four[1], four[2], four[3]])));
    let mut next = lowest;
    all.take_while(|number| {
        let grows = *number >= next;
        next = number + 1;
        grows
    })
    .collect()
}

/// Translates the error of a process that does not answer.
fn told(error: Errno) -> Errno {
    if matches!(error, ERESTART | ENOENT) { error } else { EACCES }
}

/// The numbers in a folder of descriptors or threads.
pub fn numbers_in(process: &mut Process, folder: Node) -> Result<Vec<u64>, Errno> {
    if folder.process() == Some(process.pid()) {
        return own_numbers(process, folder).ok_or(EINVAL);
    }
    numbers_of_other(process, folder).map_err(told)
}

/// Returns the status of a descriptor of another process, or the absolute path to look at.
pub fn status_of_other(process: &mut Process, node: Node) -> Result<Result<Status, Vec<u8>>, Errno> {
    let link = link_of_other(process, node)?;
    let kinds: [(&[u8], u64); 2] = [(b"pipe:[", 0o010_600), (b"socket:[", 0o140_777)];
    let found = kinds.iter().find_map(|(start, mode)| Some((link.strip_prefix(*start)?.strip_suffix(b"]")?, *mode)));
    let (digits, mode) = match found {
        _ if link.starts_with(b"/") => return Ok(Err(link)),
        None => (&b"0"[..], 0o600),
        Some(found) => found,
    };
    let inode = core::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0);
    Ok(Ok(Status { inode, mode, links: 1, block_size: 4096, ..Status::default() }))
}

/// One question about a node of another process.
fn ask_shown(process: &mut Process, question: u64, node: Node, first: u64) -> Result<Vec<u8>, Errno> {
    let pid = node.process().ok_or(ENOENT)?;
    let mut bytes = alloc::vec![0; MOST];
    let count = remote_query::ask_about(process, question, (pid, node.path().as_bytes()), first, LIMIT, &mut bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Returns the contents of a process's file. If another process does not answer, they are what the
/// manager knows.
pub fn text_of_fact(process: &mut Process, node: Node) -> Result<Option<Vec<u8>>, Errno> {
    if node.process() == Some(process.pid()) {
        return Ok(None);
    }
    match text_of_other(process, node) {
        Ok(text) => Ok(Some(text)),
        Err(ERESTART) => Err(ERESTART),
        Err(_) if !is_open(node) => Err(EACCES),
        Err(_) => Ok(None),
    }
}

/// Asks another process for the contents of a file.
fn text_of_other(process: &mut Process, node: Node) -> Result<Vec<u8>, Errno> {
    let mut text = Vec::new();
    while text.len() < LONGEST {
        match ask_shown(process, ASK_TEXT, node, text.len() as u64) {
            Ok(piece) if piece.is_empty() => break,
            Ok(piece) => text.extend(piece),
            Err(ERESTART) => return Err(ERESTART),
            Err(_) if !text.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(text)
}

/// Asks another process for the target of a link.
pub fn link_of_other(process: &mut Process, node: Node) -> Result<Vec<u8>, Errno> {
    let path = ask_shown(process, ASK_LINK, node, 0).map_err(told)?;
    if path.is_empty() || path.contains(&0) { Err(EACCES) } else { Ok(path) }
}

/// The numbers in a folder of another process's.
fn numbers_of_other(process: &mut Process, node: Node) -> Result<Vec<u64>, Errno> {
    let mut all: Vec<u64> = Vec::new();
    while all.len() < LONGEST {
        let next = all.last().map_or(0, |last| last + 1);
        let more = numbers(&ask_shown(process, ASK_NUMBERS, node, next)?, next);
        if more.is_empty() {
            break;
        }
        all.extend(more);
    }
    Ok(all)
}

/// Checks that a folder of another process has this number.
pub fn has_other(process: &mut Process, folder: Node, number: u64) -> Result<(), Errno> {
    let bytes = ask_shown(process, ASK_NUMBERS, folder, number).map_err(told)?;
    if numbers(&bytes, number).first() == Some(&number) { Ok(()) } else { Err(ENOENT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn numbers_end_where_they_do_not_grow() {
        assert_eq!(numbers(&bytes(&[3, 4, 9]), 3), [3, 4, 9]);
        assert_eq!(numbers(&bytes(&[3, 3]), 0), [3]);
        assert_eq!(numbers(&bytes(&[2]), 3), []);
        assert_eq!(numbers(&bytes(&[u32::MAX, 0])[..7], 3), [u64::from(u32::MAX)]);
    }
}

/// The numbers in a folder of the own process.
pub(super) fn own_numbers(process: &Process, node: Node) -> Option<Vec<u64>> {
    Some(match node {
        Node::Descriptors(..) => process.descriptors.open().collect(),
        Node::Threads(_) => {
            let mut all: Vec<u64> = process.threads.all().map(|(_, thread)| thread.number).collect();
            all.sort_unstable();
            all
        }
        _ => return None,
    })
}
