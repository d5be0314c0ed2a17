//! One of POSIX's queues of messages: the messages by priority, who waits for one or for room, and who is told when one comes.
//!
//! Nobody waits for a message while there is one, nor for room while there is some.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Most that wait at one side of a queue.
pub const MOST_WAITING: usize = 256;
/// Most of a message that goes at once.
pub const PIECE: usize = nacre_abi::message::MAX_BYTES as usize;
/// What a message takes besides its bytes.
pub const OVERHEAD: usize = 96;

/// Who carries answers to those who wait, and tells others.
pub trait Carrier<R> {
    /// Says that the message of who waits there was taken; whether that arrived.
    fn sent(&mut self, to: R) -> bool;
    /// Gives a message, of which there are so many bytes in all, to who waits there; whether it arrived.
    fn given(&mut self, to: R, priority: u32, piece: &[u8], total: usize) -> bool;
    /// Whether nobody waits there any more.
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
    /// What it takes.
    pub fn size(&self) -> usize {
        self.data.len() + OVERHEAD
    }
}

/// Somebody who waits.
#[derive(Debug)]
pub struct Waiter<R> {
    /// Through which end.
    pub end: u64,
    /// Which thread.
    pub thread: u64,
    /// Where the answer goes.
    pub token: R,
    /// What is to be sent.
    pub mail: Option<Mail>,
}

/// Those who wait: the first is who has the highest rank, and of those who has waited longest.
pub type Waiters<R> = BTreeMap<(u64, u64), Waiter<R>>;

/// Who is told of a message that comes into the empty queue.
#[derive(Debug)]
pub struct Expected<R> {
    /// How, and by which signal, for those who ask.
    pub kind: u64,
    /// See above.
    pub signal: u64,
    /// Which process.
    pub pid: u64,
    /// What is notified where.
    pub bits: u64,
    /// See above.
    pub port: R,
    /// The end through which it asked, and will ask what came.
    pub end: u64,
}

/// How a queue is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// To whom it belongs: user and group.
    pub owner: [u64; 2],
    /// Permissions.
    pub mode: u64,
    /// Most messages.
    pub messages: u64,
    /// Most bytes of one.
    pub size: u64,
}

impl Made {
    /// What it takes of its maker's limit.
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
    /// What others find it by, unless it was unlinked.
    pub name: Option<Vec<u8>>,
    /// How it was made; owner and mode may have changed since.
    pub made: Made,
    /// Whose limit it counts against.
    pub payer: u64,
    /// Ends that are open.
    pub ends: BTreeSet<u64>,
    /// Who waits for room.
    pub senders: Waiters<R>,
    /// Who waits for a message.
    pub receivers: Waiters<R>,
    /// Who is told.
    pub expected: Option<Expected<R>>,
    mails: BTreeMap<(u32, u64), Mail>,
    bytes: usize,
    next: u64,
}

impl<R> Mailbox<R> {
    /// An empty one.
    pub fn new(name: Vec<u8>, made: Made) -> Mailbox<R> {
        Mailbox {
            name: Some(name),
            made,
            payer: made.owner[0],
            ends: BTreeSet::new(),
            senders: BTreeMap::new(),
            receivers: BTreeMap::new(),
            expected: None,
            mails: BTreeMap::new(),
            bytes: 0,
            next: 0,
        }
    }

    /// How many messages there are.
    pub fn count(&self) -> u64 {
        self.mails.len() as u64
    }

    /// Whether there is room for one more.
    pub fn has_room(&self) -> bool {
        self.count() < self.made.messages
    }

    /// What messages, and those that wait for room, take.
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

    /// What was taken from this place did not arrive.
    pub fn put_back(&mut self, place: (u32, u64), mail: Mail) {
        self.bytes += mail.data.len();
        self.mails.insert(place, mail);
    }

    /// Somebody waits: to send, if he has a message. He gets it back if too many do.
    pub fn wait(&mut self, rank: u64, waiter: Waiter<R>) -> Result<(), Waiter<R>> {
        let place = (u64::MAX - rank, self.ticket());
        let waiters = if waiter.mail.is_some() { &mut self.senders } else { &mut self.receivers };
        if waiters.len() >= MOST_WAITING {
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

    /// How it is, as its file says.
    pub fn text(&self) -> String {
        let (kind, signal, pid) =
            self.expected.as_ref().map_or((0, 0, 0), |expected| (expected.kind, if expected.kind == 0 { expected.signal } else { 0 }, expected.pid));
        format!("QSIZE:{:<10} NOTIFY:{kind:<5} SIGNO:{signal:<5} NOTIFY_PID:{pid:<6}\n", self.bytes)
    }
}
