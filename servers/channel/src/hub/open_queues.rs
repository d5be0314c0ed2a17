//! Queues of messages, and the ends through which they are open.

use super::kept::Kept;
use crate::mailbox::Mailbox;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Queues, and the ends through which they are open.
#[derive(Debug)]
pub struct Mailboxes<R> {
    pub(super) boxes: BTreeMap<u64, Mailbox<R>>,
    pub(super) names: BTreeMap<Vec<u8>, u64>,
    pub(super) open: BTreeMap<u64, Opened>,
    /// Messages that are sent in parts, by end and thread; and what may be asked for again.
    pub(super) parts: BTreeMap<(u64, u64), (u64, Vec<u8>)>,
    pub(super) kept: Kept,
}

impl<R> Default for Mailboxes<R> {
    fn default() -> Mailboxes<R> {
        Mailboxes { boxes: BTreeMap::new(), names: BTreeMap::new(), open: BTreeMap::new(), parts: BTreeMap::new(), kept: Kept::default() }
    }
}

/// An end through which a queue is open.
#[derive(Debug, Default)]
pub struct Opened {
    /// Number of the queue.
    pub(super) number: u64,
    /// Account that the end was made on, which pays for what is kept for the end.
    pub(super) account: u64,
    /// Position of the next read of its text.
    pub(super) position: u64,
    /// Processes that were told through it: which, by whose message.
    pub(super) told: Vec<[u64; 3]>,
}
