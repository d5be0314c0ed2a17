//! What the process answers others about itself.

use crate::abi::errno::{EINVAL, ENOENT, EPERM, Errno};
use crate::abi::file_flags::CURRENT;
use crate::operations::proc::ask_process::{MOST, PATH, is_open, own_numbers};
use crate::operations::proc::remote_query;
use crate::operations::proc::text;
use crate::operations::proc::tree;
use crate::process::Process;
use crate::state::files::proc_node::{Node, Target};
use alloc::vec::Vec;
use nacre_proto::flags::{ASK_LINK, ASK_PRIVILEGED, ASK_TEXT};
use nacre_proto::process::visit;

/// The answer to who asks such a question of this process.
pub fn answer_shown(process: &mut Process, asked: &visit::Reply, path: &[u8]) -> Result<Vec<u8>, Errno> {
    let node = own_node(process, path)?;
    if !is_open(node) {
        remote_query::check_looked_at(process, asked)?;
    }
    match asked.question & !ASK_PRIVILEGED {
        ASK_TEXT => {
            let text = text::text_of(process, node)?;
            let from = usize::try_from(asked.first).unwrap_or(usize::MAX).min(text.len());
            Ok(text[from..text.len().min(from.saturating_add(MOST))].to_vec())
        }
        ASK_LINK => tree::target_of(process, node),
        _ => Ok(own_numbers(process, node)
            .ok_or(EINVAL)?
            .into_iter()
            .filter(|number| *number >= asked.first)
            .take(MOST / 4)
            .flat_map(|number| (number as u32).to_le_bytes())
            .collect()),
    }
}

/// Resolves a path below the process's own folder without asking another process.
fn own_node(process: &mut Process, path: &[u8]) -> Result<Node, Errno> {
    let own = alloc::format!("/proc/{}/", process.pid());
    if path.len() > PATH || !path.starts_with(own.as_bytes()) || path.windows(2).any(|pair| pair == b"..") {
        return Err(EINVAL);
    }
    match tree::in_proc(process, CURRENT, path, false).ok_or(ENOENT)?? {
        Target::Node(node) if node.process() == Some(process.pid()) => Ok(node),
        _ => Err(EPERM),
    }
}
