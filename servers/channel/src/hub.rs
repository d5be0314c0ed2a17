//! Ends, queues and names, without a kernel. Whatever changes what an end would answer puts it
//! among the touched ones, whose waiters and watchers look again.
//!
//! An end receives from one queue and sends to another, or has only one of them; a queue knows its
//! ends, so that the last writer's going is the end of it for readers, and the last reader's for
//! writers. Sockets of messages without connections have a queue of their own, and send to that of
//! whom they name.

mod absent;
mod accounts;
pub mod budgets;
mod charges;
mod cycles;
mod echo;
mod ends_held;
mod events;
mod kept;
mod listing;
mod loads;
pub mod file_attributes;
pub mod mailboxes;
mod open_queues;
pub mod outside;
mod pseudo_terminal;
mod shared;
#[cfg(test)]
mod mailboxes_tests;
#[cfg(test)]
mod shared_tests;
mod sockets;
mod stage;
mod packets;
mod parts;
mod ports;
mod recent_ports;
pub mod sharing;
mod terminals;
#[cfg(test)]
mod tests;

pub use ends_held::{Line, MAX_ENDS};
#[cfg(test)]
use loads::{MAX_BYTES, MAX_REFERENCES};
use stage::Stage;
pub(crate) use loads::may_take;

use crate::queue::{PIECE, SendRequest, Queue, Received, Sender, ReceiveRequest};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::{O_DIRECT, O_NONBLOCK, O_RDONLY, O_WRONLY, SOCK_DGRAM, SOCK_STREAM};

/// Maximum length of a socket's name and of a key, in bytes.
const LONGEST_NAME: usize = 108;
/// Maximum of control bytes of one message: those that describe its references.
pub const CONTROL: usize = 2048;
/// Flags that can change.
const CHANGEABLE: u64 = O_NONBLOCK | O_DIRECT;
/// Number of datagrams from other senders that may wait at a connected socket.
const DATAGRAMS: usize = 11;
/// Maximum capacity that a client can set for a pipe, in bytes.
const MAX_CAPACITY: usize = 1 << 20;
/// Flags of an open file that say how it was opened.
const ACCESS: u64 = 3;
/// Open for both.
const BOTH: u64 = 2;

/// One end.
#[derive(Debug)]
struct End<R> {
    /// Account that it was made on, behind those above it.
    line: ends_held::Line,
    /// 0 for a pipe, else the kind of socket.
    kind: u64,
    /// `O_NONBLOCK`, `O_DIRECT`, and how it was opened.
    flags: u64,
    incoming: Option<u64>,
    outgoing: Option<u64>,
    stage: Stage,
    /// Condition under which others may have its port.
    sharing: sharing::Sharing,
    /// Key under which clients find this end, and the name that they see.
    key: Vec<u8>,
    name: Vec<u8>,
    /// Credentials (process, user, group) of this end's owner, and of the peer's at the time of the
    /// connection.
    credentials: [u64; 3],
    peer_credentials: Option<[u64; 3]>,
    peer_name: Vec<u8>,
    /// Key of the named pipe that this is an end of.
    fifo: Option<Vec<u8>>,
    /// Set after a shutdown for writing.
    is_mute: bool,
    /// Set if receivers learn the sender of each message. A shared ring cannot carry that.
    is_signed: bool,
    /// Error that the next call on this end returns.
    error: Option<Errno>,
    /// Number of changes of the end other than arriving or departing bytes.
    changes: u64,
    /// Count of writers that the named pipe had had when this reader opened it, if none was there.
    writers_before: u64,
    /// The first parts of a message.
    parts: Option<Parts<R>>,
    /// Terminal that this is an end of (it may have gone), and true for the slave's end.
    terminal: Option<(u64, bool)>,
}

/// The first parts of a message whose last has not come yet.
#[derive(Debug)]
pub struct Parts<R> {
    count: u64,
    /// Bytes.
    pub data: Vec<u8>,
    /// References.
    pub references: Vec<R>,
    /// Control bytes that describe the references.
    pub control: Vec<u8>,
}

/// Bytes that are to be sent.
#[derive(Clone, Debug, Default)]
pub struct Sending {
    /// Name of the receiver, or empty for the other end.
    pub to: Vec<u8>,
    /// Bytes.
    pub data: Vec<u8>,
    /// Control bytes that describe the references.
    pub control: Vec<u8>,
    /// Identity of the sender.
    pub sender: Sender,
    /// Set if a terminal takes the bytes even from a background process.
    pub is_urgent: bool,
}

/// Everything.
#[derive(Debug)]
pub struct Hub<R> {
    ends: BTreeMap<u64, End<R>>,
    queues: BTreeMap<u64, Queue<R>>,
    names: BTreeMap<Vec<u8>, u64>,
    /// Ends that have one port, by its key, the one that was bound last behind the others.
    sharers: BTreeMap<Vec<u8>, Vec<u64>>,
    fifos: BTreeMap<Vec<u8>, u64>,
    touched: BTreeSet<u64>,
    /// Sockets of datagrams.
    datagrams: BTreeSet<u64>,
    /// Sockets of datagrams at which somebody may wait to send.
    held_senders: BTreeSet<u64>,
    terminals: BTreeMap<u64, pseudo_terminal::Pair>,
    mailboxes: open_queues::Mailboxes<R>,
    told: Vec<(u64, u64)>,
    outside: outside::Outside,
    /// Rings that processes share, and whose bytes they have.
    rings: BTreeMap<u64, u64>,
    /// Ends that must be notified of changes, by ring: reader's side, writer's side.
    called: BTreeMap<u64, [bool; 2]>,
    accounts: ends_held::Accounts,
    budgets: budgets::Budgets,
    loads: loads::Loads,
    bytes: usize,
    references: usize,
    next: u64,
}

impl<R> Default for Hub<R> {
    fn default() -> Hub<R> {
        Hub {
            ends: BTreeMap::new(),
            queues: BTreeMap::new(),
            names: BTreeMap::new(),
            sharers: BTreeMap::new(),
            fifos: BTreeMap::new(),
            touched: BTreeSet::new(),
            datagrams: BTreeSet::new(),
            held_senders: BTreeSet::new(),
            terminals: BTreeMap::new(),
            mailboxes: open_queues::Mailboxes::default(),
            told: Vec::new(),
            outside: outside::Outside::default(),
            rings: BTreeMap::new(),
            called: BTreeMap::new(),
            accounts: ends_held::Accounts::default(),
            budgets: budgets::Budgets::default(),
            loads: loads::Loads::default(),
            bytes: 0,
            references: 0,
            next: 1,
        }
    }
}

impl<R> Hub<R> {
    /// Ends whose answers may be others now than when this was asked last.
    pub fn touched(&mut self) -> BTreeSet<u64> {
        core::mem::take(&mut self.touched)
    }

    /// A number that means nothing yet.
    pub fn key(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn end(&self, key: u64) -> Result<&End<R>, Errno> {
        self.ends.get(&key).ok_or(Errno::EBADF)
    }

    fn end_mut(&mut self, key: u64) -> Result<&mut End<R>, Errno> {
        self.ends.get_mut(&key).ok_or(Errno::EBADF)
    }

    fn add_end(&mut self, kind: u64, flags: u64) -> Result<u64, Errno> {
        let line = self.accounts.charge(self.ends.len())?;
        let key = self.key();
        let end = End {
            line,
            kind,
            flags: flags & (ACCESS | CHANGEABLE),
            incoming: None,
            outgoing: None,
            stage: Stage::Plain,
            sharing: sharing::Sharing::default(),
            key: Vec::new(),
            name: Vec::new(),
            credentials: [0; 3],
            peer_credentials: None,
            peer_name: Vec::new(),
            fifo: None,
            is_mute: false,
            is_signed: false,
            error: None,
            changes: 0,
            writers_before: 0,
            parts: None,
            terminal: None,
        };
        self.ends.insert(key, end);
        Ok(key)
    }

    fn add_queue(&mut self, has_messages: bool, is_pipe: bool) -> u64 {
        let key = self.key();
        self.queues.insert(key, Queue::new(has_messages, is_pipe, self.accounts.payer()));
        key
    }

    /// `reader` receives from the queue, `writer` sends to it.
    fn join(&mut self, queue: u64, reader: Option<u64>, writer: Option<u64>) {
        let Some(joined) = self.queues.get_mut(&queue) else { return };
        // A reader that finds a writer is told when the last one goes; who finds none is not told
        // of those before.
        let finds_none = joined.is_pipe && joined.writers.is_empty();
        joined.readers.extend(reader);
        joined.writers.extend(writer);
        let before = joined.writers_ever;
        joined.writers_ever += u64::from(writer.is_some());
        if let Some(end) = reader.and_then(|reader| self.ends.get_mut(&reader)) {
            end.incoming = Some(queue);
            end.writers_before = if finds_none { before } else { 0 };
        }
        if let Some(end) = writer.and_then(|writer| self.ends.get_mut(&writer)) {
            end.outgoing = Some(queue);
        }
        self.tell_users(queue);
        self.touch_queue(queue);
    }

    fn touch_queue(&mut self, queue: u64) {
        if let Some(queue) = self.queues.get(&queue) {
            self.touched.extend(queue.readers.iter().chain(&queue.writers));
        }
    }

    /// Something has changed for the ends of a queue that is no byte.
    fn change_queue(&mut self, key: u64) {
        self.tell_users(key);
        self.touch_queue(key);
        let Some(queue) = self.queues.get(&key) else { return };
        for end in queue.readers.iter().chain(&queue.writers) {
            if let Some(end) = self.ends.get_mut(end) {
                end.changes += 1;
            }
        }
    }

    /// A pipe: its reader and its writer.
    pub fn pipe(&mut self, flags: u64) -> Result<(u64, u64), Errno> {
        let reader = self.add_end(0, flags & CHANGEABLE)?;
        let writer = self.add_end(0, flags & CHANGEABLE | O_WRONLY).inspect_err(|_| self.close(reader))?;
        let queue = self.add_queue(false, true);
        self.join(queue, Some(reader), Some(writer));
        Ok((reader, writer))
    }

    /// Opens a named pipe. Whether it is open yet: see [`Hub::is_open`].
    pub fn fifo(&mut self, flags: u64, name: &[u8]) -> Result<u64, Errno> {
        if name.len() > LONGEST_NAME {
            return Err(Errno::ENAMETOOLONG);
        }
        let access = flags & ACCESS;
        let queue = self.fifos.get(name).copied();
        let has_reader = queue.and_then(|queue| self.queues.get(&queue)).is_some_and(|queue| !queue.readers.is_empty());
        if access == O_WRONLY && flags & O_NONBLOCK != 0 && !has_reader {
            return Err(Errno::ENXIO);
        }
        let end = self.add_end(0, flags)?;
        let queue = queue.unwrap_or_else(|| self.add_queue(false, true));
        self.fifos.insert(name.to_vec(), queue);
        self.end_mut(end)?.fifo = Some(name.to_vec());
        self.join(queue, (access != O_WRONLY).then_some(end), (access != O_RDONLY).then_some(end));
        Ok(end)
    }

    /// Returns true if both sides of a named pipe are open, or if the end need not wait for the
    /// other side.
    pub fn is_open(&self, key: u64) -> Result<bool, Errno> {
        let end = self.end(key)?;
        let side = |queue: Option<u64>| queue.and_then(|queue| self.queues.get(&queue));
        Ok(match end.flags & ACCESS {
            O_RDONLY => end.flags & O_NONBLOCK != 0 || side(end.incoming).is_some_and(|queue| !queue.writers.is_empty() || queue.has_some()),
            O_WRONLY => side(end.outgoing).is_some_and(|queue| !queue.readers.is_empty()),
            _ => true,
        })
    }

    /// Sends bytes and references. `None`: it would have to wait. Fewer bytes than given may be
    /// taken.
    pub fn send(&mut self, key: u64, sending: &Sending, references: &mut Vec<R>) -> Result<Option<usize>, Errno> {
        if self.end(key)?.terminal.is_some() {
            return self.terminal_send(key, &sending.data, sending.is_urgent);
        }
        if self.is_echo(key) {
            return self.send_echo(key, &sending.to, &sending.data);
        }
        if let Some(to) = self.outside_receiver(key, &sending.to)? {
            return self.send_outside(key, to, &sending.data);
        }
        if self.loses(key, &sending.to)? {
            return Ok(Some(sending.data.len()));
        }
        let (target, is_foreign) = self.target(key, &sending.to)?;
        let end = self.end(key)?;
        let (from, is_packet) = (end.name.clone(), end.flags & O_DIRECT != 0 && end.kind == 0);
        let queue = self.queues.get_mut(&target).ok_or(Errno::EPIPE)?;
        if queue.readers.is_empty() || queue.is_deaf || queue.is_ended {
            return Err(Errno::EPIPE);
        }
        if is_foreign && queue.count() >= DATAGRAMS {
            return Ok(None);
        }
        let added = references.len();
        if queue.shared.is_some() && added == 0 {
            return self.send_shared(target, &sending.data, is_packet);
        }
        // What goes beside bytes has its place among them, which a ring does not know.
        if queue.shared.is_some() && !self.give_ring_up(target)? {
            return Ok(None);
        }
        let used = (self.bytes, self.references);
        let queue = self.queues.get_mut(&target).ok_or(Errno::EPIPE)?;
        let Some(count) = queue.takes(sending.data.len(), added, is_packet)? else { return Ok(None) };
        self.loads.check(queue.account, used, (count + PIECE, added))?;
        let (account, before) = (queue.account, queue.load());
        let references = core::mem::take(references);
        queue.put(SendRequest { data: &sending.data[..count], references, control: &sending.control, from: &from, sender: sending.sender }, is_packet)?;
        let after = queue.load();
        self.count(account, before, after);
        self.touch_queue(target);
        Ok(Some(count))
    }

    /// A queue had so many bytes and references, and has other ones now.
    fn count(&mut self, account: u64, before: (usize, usize), after: (usize, usize)) {
        self.loads.count(account, before, after);
        self.bytes = self.bytes + after.0 - before.0;
        self.references = self.references + after.1 - before.1;
    }

    /// Receives. `None`: it would have to wait. Nothing of nobody is the end.
    pub fn receive(&mut self, key: u64, wish: ReceiveRequest) -> Result<Option<Received<R>>, Errno> {
        if self.end(key)?.terminal.is_some() {
            return self.terminal_receive(key, wish);
        }
        if wish.is_apart && !self.sign(key)? {
            return Ok(None);
        }
        let end = self.ends.get_mut(&key).ok_or(Errno::EBADF)?;
        let is_connectionless = end.kind == SOCK_DGRAM;
        let incoming = end.incoming.ok_or(if end.kind == 0 {
            Errno::EBADF
        } else if end.kind == SOCK_STREAM {
            Errno::EINVAL
        } else {
            Errno::ENOTCONN
        })?;
        let queue = self.queues.get_mut(&incoming).ok_or(Errno::EIO)?;
        if wish.size == 0 && wish.most == 0 && !queue.has_messages {
            return Ok(Some(Received::nothing()));
        }
        if let Some(error) = end.error.take_if(|_| queue.has_messages || !queue.has_some()) {
            return Err(error);
        }
        let was_full = is_connectionless && sockets::is_full(queue);
        let (account, before) = (queue.account, queue.load());
        let received = queue.take(wish);
        let is_over = queue.is_ended || queue.is_deaf || !is_connectionless && queue.writers.is_empty();
        let after = queue.load();
        self.count(account, before, after);
        match received {
            None if is_over => Ok(Some(Received::nothing())),
            None => Ok(None),
            Some(mut received) => {
                self.touch_queue(incoming);
                self.note_called(incoming);
                self.name_sender(key, &mut received);
                if is_connectionless {
                    self.touch_senders(was_full);
                    // The peer counts what leaves this queue as changes of its own.
                    if let Some(Stage::Connected(peer)) = self.ends.get(&key).map(|end| &end.stage) {
                        self.touched.insert(*peer);
                    }
                }
                Ok(Some(received))
            }
        }
    }

    /// The end has gone: nobody refers to it any more.
    pub fn close(&mut self, key: u64) {
        self.forget_parts(key);
        let Some(end) = self.ends.remove(&key) else { return };
        self.accounts.release(&end.line);
        self.release_connection(key, &end.line);
        self.touched.remove(&key);
        self.mailbox_close(key);
        if let Some((terminal, is_slave)) = end.terminal {
            self.terminal_close(terminal, is_slave, key);
        }
        self.reset_peer(&end);
        let is_datagrams = self.datagrams.remove(&key);
        self.held_senders.remove(&key);
        let was_full = is_datagrams && end.incoming.and_then(|queue| self.queues.get(&queue)).is_some_and(sockets::is_full);
        self.give_up_name(&end.key, key);
        if let Stage::Listening(waiting, _) = end.stage {
            waiting.into_iter().for_each(|waiting| self.close_unaccepted(waiting));
            self.touch_unconnected();
        }
        for queue in end.incoming.into_iter().chain(end.outgoing) {
            self.leave(queue, key, end.fifo.as_deref());
        }
        if is_datagrams {
            // Who waits to send datagrams here learns that nobody is there.
            self.touch_senders(was_full);
        }
    }

    fn leave(&mut self, key: u64, end: u64, fifo: Option<&[u8]>) {
        let Some(queue) = self.queues.get_mut(&key) else { return };
        queue.readers.remove(&end);
        queue.writers.remove(&end);
        if !queue.readers.is_empty() || !queue.writers.is_empty() {
            self.stand_up(key, end);
            self.change_queue(key);
            return;
        }
        let (account, before) = (queue.account, queue.load());
        self.count(account, before, (0, 0));
        self.forget_ring(key);
        self.queues.remove(&key);
        if let Some(name) = fifo {
            self.fifos.remove(name);
        }
    }

    /// Flags of the open file: `O_NONBLOCK`, `O_DIRECT`.
    pub fn flags(&self, key: u64) -> Result<u64, Errno> {
        Ok(self.end(key)?.flags & CHANGEABLE)
    }

    /// 0 for a pipe, else the kind of socket.
    pub fn kind(&self, key: u64) -> Result<u64, Errno> {
        Ok(self.end(key)?.kind)
    }

    /// Returns the inode number. Both ends of a pipe have the same one.
    pub fn inode(&self, key: u64) -> Result<u64, Errno> {
        let end = self.end(key)?;
        Ok(end.incoming.or(end.outgoing).filter(|_| end.kind == 0).unwrap_or(key))
    }

    /// Returns the number of ends.
    pub fn ends(&self) -> usize {
        self.ends.len()
    }
}

/// Access mode of a socket's end.
const SOCKET_ACCESS: u64 = BOTH;
