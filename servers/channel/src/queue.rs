//! One direction of a channel: what was sent and not yet received. Bytes without references run together, unless it is messages that are kept apart.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use nacre_proto::Errno;

/// What a pipe holds at first.
pub const USUAL: usize = 64 << 10;
/// Up to so many bytes are written to a pipe whole or not at all.
pub const WHOLE: usize = 4096;
/// Most references that are on their way in a queue.
const MOST_REFERENCES: usize = 64;
/// Most messages in a queue.
const MOST_MESSAGES: usize = 256;

/// Bytes that were sent together with references, or as one message, or one after the other.
#[derive(Debug)]
struct Piece<R> {
    data: VecDeque<u8>,
    references: Vec<R>,
    from: Vec<u8>,
}

/// What is received.
#[derive(Debug, PartialEq, Eq)]
pub struct Received<R> {
    /// Bytes.
    pub data: Vec<u8>,
    /// References that came with them.
    pub references: Vec<R>,
    /// The name of whom they are from.
    pub from: Vec<u8>,
    /// How long the whole message was.
    pub total: usize,
    /// References were lost, since there was no room for them.
    pub is_cut: bool,
}

/// One direction.
#[derive(Debug)]
pub struct Queue<R> {
    pieces: VecDeque<Piece<R>>,
    bytes: usize,
    references: usize,
    /// How many bytes it holds.
    pub capacity: usize,
    /// Whether messages are kept apart.
    pub has_messages: bool,
    /// Whether small writes are whole.
    pub is_pipe: bool,
    /// Ends that receive from it.
    pub readers: BTreeSet<u64>,
    /// Ends that send to it.
    pub writers: BTreeSet<u64>,
    /// Nothing more comes, though there may be writers.
    pub is_ended: bool,
    /// Nothing more is taken, though there may be readers.
    pub is_deaf: bool,
}

impl<R> Queue<R> {
    /// An empty one.
    pub fn new(has_messages: bool, is_pipe: bool) -> Queue<R> {
        Queue {
            pieces: VecDeque::new(),
            bytes: 0,
            references: 0,
            capacity: USUAL,
            has_messages,
            is_pipe,
            readers: BTreeSet::new(),
            writers: BTreeSet::new(),
            is_ended: false,
            is_deaf: false,
        }
    }

    /// How many bytes are in it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there is something to receive.
    pub fn has_some(&self) -> bool {
        !self.pieces.is_empty()
    }

    fn room(&self) -> usize {
        self.capacity.saturating_sub(self.bytes)
    }

    /// Whether a writer would find room.
    pub fn is_writable(&self) -> bool {
        let needed = if self.is_pipe { WHOLE.min(self.capacity) } else { 1 };
        self.room() >= needed && self.pieces.len() < MOST_MESSAGES
    }

    /// How many of `size` bytes can be taken now; `None`: the writer has to wait.
    pub fn takes(&self, size: usize, references: usize) -> Result<Option<usize>, Errno> {
        if self.has_messages && size > self.capacity {
            return Err(Errno::EMSGSIZE);
        }
        if self.references + references > MOST_REFERENCES {
            return Err(Errno::ETOOMANYREFS);
        }
        let is_whole = self.has_messages || self.is_pipe && size <= WHOLE.min(self.capacity);
        let fits = if is_whole { self.room() >= size } else { size == 0 || self.room() > 0 };
        let has_place = self.pieces.len() < MOST_MESSAGES;
        Ok((fits && has_place).then_some(if is_whole { size } else { size.min(self.room()) }))
    }

    /// Takes bytes that fit, and references. `ENOMEM`: there is no memory, and nothing was taken.
    pub fn put(&mut self, data: &[u8], references: Vec<R>, from: &[u8]) -> Result<(), Errno> {
        let is_apart = self.has_messages || !references.is_empty();
        if !self.has_messages && data.is_empty() {
            return Ok(());
        }
        let count = references.len();
        match self.pieces.back_mut().filter(|last| !is_apart && last.references.is_empty()) {
            Some(last) => {
                last.data.try_reserve(data.len()).map_err(|_| Errno::ENOMEM)?;
                last.data.extend(data);
            }
            None => {
                let mut bytes = VecDeque::new();
                bytes.try_reserve(data.len()).map_err(|_| Errno::ENOMEM)?;
                bytes.extend(data);
                self.pieces.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
                self.pieces.push_back(Piece { data: bytes, references, from: from.to_vec() });
            }
        }
        self.bytes += data.len();
        self.references += count;
        Ok(())
    }

    /// Up to `size` bytes and `most` references of what came first; `None` if there is nothing. What is only looked at stays, with its references.
    pub fn take(&mut self, size: usize, most: usize, only_look: bool) -> Option<Received<R>> {
        let (has_messages, first) = (self.has_messages, self.pieces.front_mut()?);
        let (total, count) = (first.data.len(), size.min(first.data.len()));
        let from = first.from.clone();
        if only_look {
            let data = first.data.iter().take(count).copied().collect();
            return Some(Received { data, references: Vec::new(), from, total, is_cut: false });
        }
        let mut references = core::mem::take(&mut first.references);
        self.references -= references.len();
        let is_cut = references.len() > most;
        references.truncate(most);
        let mut data: Vec<u8> = first.data.drain(..count).collect();
        self.bytes -= count;
        if has_messages || first.data.is_empty() {
            self.bytes -= first.data.len();
            self.pieces.pop_front();
        }
        if !has_messages {
            self.take_more(&mut data, size);
        }
        Some(Received { data, references, from, total, is_cut })
    }

    /// Bytes run on behind what was taken, up to the next that came with references.
    fn take_more(&mut self, data: &mut Vec<u8>, size: usize) {
        while let Some(next) = self.pieces.front_mut().filter(|next| next.references.is_empty() && data.len() < size) {
            let count = next.data.len().min(size - data.len());
            data.extend(next.data.drain(..count));
            self.bytes -= count;
            if next.data.is_empty() {
                self.pieces.pop_front();
            }
        }
    }

    /// What was taken did not arrive: it is first again. A message that was taken in part is only that part.
    pub fn put_back(&mut self, received: Received<R>) {
        self.bytes += received.data.len();
        self.references += received.references.len();
        self.pieces.push_front(Piece { data: received.data.into(), references: received.references, from: received.from });
    }
}
