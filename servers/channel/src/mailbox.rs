//! One of POSIX's queues of messages: the messages by priority, who waits for one or for room, and
//! who is told when one comes.
//!
//! Nobody waits for a message while there is one, nor for room while there is some.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Maximum number of calls that wait at one side of a queue.
pub const MAX_WAITING: usize = 256;
/// Maximum of bytes of a message that go at once.
pub const PIECE: usize = nacre_abi::message::MAX_BYTES as usize;
/// Bytes that a message takes besides its own.
pub const OVERHEAD: usize = 96;

/// Carries answers to those who wait, and notifies others.
pub trait Notifier<R> {
    /// Says that the message of who waits there was taken; whether that arrived.
    fn sent(&mut self, to: R) -> bool;
    /// Gives a message, of which there are so many bytes in all, to who waits there; whether it
    /// arrived.
    fn given(&mut self, to: R, priority: u32, piece: &[u8], total: usize) -> bool;
    /// Returns true if nobody waits there any more.
    fn is_gone(&self, waiting: &R) -> bool;
    /// Tells whoever asked for it that there is a message.
    fn tell(&mut self, port: &R, bits: u64);
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// The higher is received first.
    pub priority: u32,
    /// Bytes.
    pub data: Vec<u8>,
    /// Process and user that send it.
    pub by: [u64; 2],
}

impl Mail {
    /// Returns the bytes that the message takes.
    pub fn size(&self) -> usize {
        self.data.len() + OVERHEAD
    }
}

/// Somebody who waits.
#[derive(Debug)]
pub struct Waiter<R> {
    /// Through which end.
    pub end: u64,
    /// Thread that waits.
    pub thread: u64,
    /// Reply of its call.
    pub token: R,
    /// Message to send.
    pub mail: Option<Mail>,
}

/// Callers that wait. The first is one of those with the highest rank, and has waited longest of
/// them.
pub type Waiters<R> = BTreeMap<(u64, u64), Waiter<R>>;

/// Process that is notified of a message that comes into the empty queue.
#[derive(Debug)]
pub struct NotifyTarget<R> {
    /// Kind of the notification, for those who ask.
    pub kind: u64,
    /// Signal of the notification, for those who ask.
    pub signal: u64,
    /// Process.
    pub pid: u64,
    /// Bits of the notification.
    pub bits: u64,
    /// Port that is notified.
    pub port: R,
    /// The end through which it asked, and will ask what came.
    pub end: u64,
}

/// Options of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueOptions {
    /// User and group that own it.
    pub owner: [u64; 2],
    /// Permissions.
    pub mode: u64,
    /// Maximum number of messages.
    pub messages: u64,
    /// Maximum of bytes of one message.
    pub size: u64,
}

impl QueueOptions {
    /// Returns the bytes that count against its maker's limit.
    pub fn charge(&self) -> u64 {
        const MESSAGE: u64 = 48;
        const PRIORITY: u64 = 48;
        const PRIORITIES: u64 = 32_768;
        self.messages * (self.size + MESSAGE) + self.messages.min(PRIORITIES) * PRIORITY
    }
}

/// A queue.
#[derive(Debug)]
pub struct Mailbox<R> {
    /// Name, unless it was unlinked.
    pub name: Option<Vec<u8>>,
    /// Options that it was made with; owner and mode may have changed since.
    pub made: QueueOptions,
    /// User whose limit it counts against.
    pub payer: u64,
    /// Account of its maker, which pays for its messages.
    pub account: u64,
    /// Ends that are open.
    pub ends: BTreeSet<u64>,
    /// Callers that wait for room.
    pub senders: Waiters<R>,
    /// Callers that wait for a message.
    pub receivers: Waiters<R>,
    /// Process that is notified.
    pub expected: Option<NotifyTarget<R>>,
    mails: BTreeMap<(u32, u64), Mail>,
    bytes: usize,
    next: u64,
}

impl<R> Mailbox<R> {
    /// An empty one.
    pub fn new(name: Vec<u8>, made: QueueOptions, account: u64) -> Mailbox<R> {
        Mailbox {
            name: Some(name),
            made,
            payer: made.owner[0],
            account,
            ends: BTreeSet::new(),
            senders: BTreeMap::new(),
            receivers: BTreeMap::new(),
            expected: None,
            mails: BTreeMap::new(),
            bytes: 0,
            next: 0,
        }
    }

    /// Returns the number of messages.
    pub fn count(&self) -> u64 {
        self.mails.len() as u64
    }

    /// Returns true if there is room for one more message.
    pub fn has_room(&self) -> bool {
        self.count() < self.made.messages
    }

    /// Returns the bytes that messages take, and those that wait for room.
    pub fn used(&self) -> usize {
        self.mails.values().chain(self.senders.values().filter_map(|waiter| waiter.mail.as_ref())).map(Mail::size).sum()
    }

    fn ticket(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Puts a message behind those of its priority.
    pub fn put(&mut self, mail: Mail) {
        let ticket = self.ticket();
        self.bytes += mail.data.len();
        self.mails.insert((u32::MAX - mail.priority, ticket), mail);
    }

    /// The message that is next, and its place.
    pub fn take(&mut self) -> Option<((u32, u64), Mail)> {
        let taken = self.mails.pop_first()?;
        self.bytes -= taken.1.data.len();
        Some(taken)
    }

    /// Puts back a message that did not reach its receiver.
    pub fn put_back(&mut self, place: (u32, u64), mail: Mail) {
        self.bytes += mail.data.len();
        self.mails.insert(place, mail);
    }

    /// Somebody waits: to send, if he has a message. He gets it back if too many do.
    pub fn wait(&mut self, rank: u64, waiter: Waiter<R>) -> Result<(), Waiter<R>> {
        let place = (u64::MAX - rank, self.ticket());
        let waiters = if waiter.mail.is_some() { &mut self.senders } else { &mut self.receivers };
        if waiters.len() >= MAX_WAITING {
            return Err(waiter);
        }
        waiters.insert(place, waiter);
        Ok(())
    }

    /// Keeps only those who wait that `stays` says yes to; how much less their messages take.
    pub fn keep(&mut self, mut stays: impl FnMut(&Waiter<R>) -> bool) -> usize {
        let gone = self.senders.extract_if(.., |_, waiter| !stays(waiter));
        let dropped = gone.filter_map(|(_, waiter)| waiter.mail).map(|mail| mail.size()).sum();
        self.receivers.retain(|_, waiter| stays(waiter));
        dropped
    }

    /// Returns the state of the queue as its file shows it.
    pub fn text(&self) -> String {
        let (kind, signal, pid) =
            self.expected.as_ref().map_or((0, 0, 0), |expected| (expected.kind, if expected.kind == 0 { expected.signal } else { 0 }, expected.pid));
        format!("QSIZE:{:<10} NOTIFY:{kind:<5} SIGNO:{signal:<5} NOTIFY_PID:{pid:<6}\n", self.bytes)
    }
}
