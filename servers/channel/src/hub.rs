//! Ends, queues and names, without a kernel. Whatever changes what an end would answer puts it among the touched ones, whose waiters and watchers look again.
//!
//! An end receives from one queue and sends to another, or has only one of them; a queue knows its ends, so that the last writer's going is the end of it for
//! readers, and the last reader's for writers. Sockets of messages without connections have a queue of their own, and send to that of whom they name.

mod sockets;
#[cfg(test)]
mod tests;

use crate::queue::{Queue, Received};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::{
    O_NONBLOCK, O_RDONLY, O_WRONLY, POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDHUP, POLLRDNORM, POLLWRNORM, SOCK_DGRAM, SOCK_STREAM,
};

/// Most ends.
pub const MOST_ENDS: usize = 4096;
/// Most bytes in all queues.
const MOST_BYTES: usize = 32 << 20;
/// Most that a pipe can be made to hold.
const MOST_CAPACITY: usize = 1 << 20;
/// Flags of an open file that say how it was opened.
const ACCESS: u64 = 3;
/// Open for both.
const BOTH: u64 = 2;

/// Where a socket is in its life.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// A pipe's end, or a socket that has neither a queue to send to nor anybody who connects.
    Plain,
    /// Others may connect: who has and was not accepted yet, and how many may.
    Listening(VecDeque<u64>, usize),
    /// Connected to this end, which may have gone; for datagrams where they go.
    Connected(u64),
}

/// One end.
#[derive(Debug)]
struct End {
    /// 0 for a pipe, else the kind of socket.
    kind: u64,
    /// `O_NONBLOCK`, and how it was opened.
    flags: u64,
    incoming: Option<u64>,
    outgoing: Option<u64>,
    stage: Stage,
    name: Vec<u8>,
    /// Whom it belongs to, and whom the other end belonged to.
    credentials: [u64; 3],
    peer_credentials: Option<[u64; 3]>,
    peer_name: Vec<u8>,
    /// Of a named pipe.
    fifo: Option<Vec<u8>>,
    /// It sends no more.
    is_mute: bool,
}

/// Everything.
#[derive(Debug)]
pub struct Hub<R> {
    ends: BTreeMap<u64, End>,
    queues: BTreeMap<u64, Queue<R>>,
    names: BTreeMap<Vec<u8>, u64>,
    fifos: BTreeMap<Vec<u8>, u64>,
    touched: BTreeSet<u64>,
    /// Sockets of datagrams.
    datagrams: BTreeSet<u64>,
    bytes: usize,
    next: u64,
}

impl<R> Default for Hub<R> {
    fn default() -> Hub<R> {
        Hub {
            ends: BTreeMap::new(),
            queues: BTreeMap::new(),
            names: BTreeMap::new(),
            fifos: BTreeMap::new(),
            touched: BTreeSet::new(),
            datagrams: BTreeSet::new(),
            bytes: 0,
            next: 1,
        }
    }
}

impl<R> Hub<R> {
    /// Ends whose answers may be others now than when this was asked last.
    pub fn touched(&mut self) -> BTreeSet<u64> {
        core::mem::take(&mut self.touched)
    }

    fn key(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn end(&self, key: u64) -> Result<&End, Errno> {
        self.ends.get(&key).ok_or(Errno::EBADF)
    }

    fn end_mut(&mut self, key: u64) -> Result<&mut End, Errno> {
        self.ends.get_mut(&key).ok_or(Errno::EBADF)
    }

    fn add_end(&mut self, kind: u64, flags: u64) -> Result<u64, Errno> {
        if self.ends.len() >= MOST_ENDS {
            return Err(Errno::ENFILE);
        }
        let key = self.key();
        let end = End {
            kind,
            flags: flags & (ACCESS | O_NONBLOCK),
            incoming: None,
            outgoing: None,
            stage: Stage::Plain,
            name: Vec::new(),
            credentials: [0; 3],
            peer_credentials: None,
            peer_name: Vec::new(),
            fifo: None,
            is_mute: false,
        };
        self.ends.insert(key, end);
        Ok(key)
    }

    fn add_queue(&mut self, has_messages: bool, is_pipe: bool) -> u64 {
        let key = self.key();
        self.queues.insert(key, Queue::new(has_messages, is_pipe));
        key
    }

    /// `reader` receives from the queue, `writer` sends to it.
    fn join(&mut self, queue: u64, reader: Option<u64>, writer: Option<u64>) {
        let Some(joined) = self.queues.get_mut(&queue) else { return };
        joined.readers.extend(reader);
        joined.writers.extend(writer);
        if let Some(end) = reader.and_then(|reader| self.ends.get_mut(&reader)) {
            end.incoming = Some(queue);
        }
        if let Some(end) = writer.and_then(|writer| self.ends.get_mut(&writer)) {
            end.outgoing = Some(queue);
        }
        self.touch_queue(queue);
    }

    fn touch_queue(&mut self, queue: u64) {
        if let Some(queue) = self.queues.get(&queue) {
            self.touched.extend(queue.readers.iter().chain(&queue.writers));
        }
    }

    /// A pipe: its reader and its writer.
    pub fn pipe(&mut self, flags: u64) -> Result<(u64, u64), Errno> {
        let reader = self.add_end(0, flags & O_NONBLOCK)?;
        let writer = self.add_end(0, flags & O_NONBLOCK | O_WRONLY).inspect_err(|_| self.close(reader))?;
        let queue = self.add_queue(false, true);
        self.join(queue, Some(reader), Some(writer));
        Ok((reader, writer))
    }

    /// Opens a named pipe. Whether it is open yet: see [`Hub::is_open`].
    pub fn fifo(&mut self, flags: u64, name: &[u8]) -> Result<u64, Errno> {
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

    /// Whether a named pipe has its other side, or need not wait for it.
    pub fn is_open(&self, key: u64) -> Result<bool, Errno> {
        let end = self.end(key)?;
        let side = |queue: Option<u64>| queue.and_then(|queue| self.queues.get(&queue));
        Ok(match end.flags & ACCESS {
            O_RDONLY => end.flags & O_NONBLOCK != 0 || side(end.incoming).is_some_and(|queue| !queue.writers.is_empty() || queue.has_some()),
            O_WRONLY => side(end.outgoing).is_some_and(|queue| !queue.readers.is_empty()),
            _ => true,
        })
    }

    /// Sends bytes and references, to `name` if that is not empty. `None`: it would have to wait. Fewer bytes than given may be taken.
    pub fn send(&mut self, key: u64, name: &[u8], data: &[u8], references: &mut Vec<R>) -> Result<Option<usize>, Errno> {
        let target = self.target(key, name)?;
        let from = self.end(key)?.name.clone();
        let used = self.bytes;
        let queue = self.queues.get_mut(&target).ok_or(Errno::EPIPE)?;
        if queue.readers.is_empty() || queue.is_deaf || queue.is_ended {
            return Err(Errno::EPIPE);
        }
        let Some(count) = queue.takes(data.len(), references.len())? else { return Ok(None) };
        if used + count > MOST_BYTES {
            return Err(Errno::ENOMEM);
        }
        queue.put(&data[..count], core::mem::take(references), &from)?;
        self.bytes += count;
        self.touch_queue(target);
        Ok(Some(count))
    }

    /// Receives. `None`: it would have to wait. Nothing of nobody is the end.
    pub fn receive(&mut self, key: u64, size: usize, most: usize, only_look: bool) -> Result<Option<Received<R>>, Errno> {
        let end = self.end(key)?;
        let is_connectionless = end.kind == SOCK_DGRAM;
        let incoming = end.incoming.ok_or(if end.kind == 0 { Errno::EBADF } else if end.kind == SOCK_STREAM { Errno::EINVAL } else { Errno::ENOTCONN })?;
        let queue = self.queues.get_mut(&incoming).ok_or(Errno::EIO)?;
        let before = queue.bytes();
        if size == 0 && !queue.has_messages {
            return Ok(Some(nothing()));
        }
        let received = queue.take(size, most, only_look);
        let is_over = queue.is_ended || queue.is_deaf || !is_connectionless && queue.writers.is_empty();
        self.bytes -= before - queue.bytes();
        match received {
            None if is_over => Ok(Some(nothing())),
            None => Ok(None),
            Some(received) => {
                self.touch_queue(incoming);
                if is_connectionless {
                    self.touch_senders();
                }
                Ok(Some(received))
            }
        }
    }

    /// What a poll would find.
    pub fn events(&self, key: u64) -> Result<u64, Errno> {
        let end = self.end(key)?;
        if let Stage::Listening(waiting, _) = &end.stage {
            return Ok(if waiting.is_empty() { 0 } else { POLLIN | POLLRDNORM });
        }
        let side = |queue: Option<u64>| queue.and_then(|queue| self.queues.get(&queue));
        let (incoming, outgoing) = (side(end.incoming), side(end.outgoing));
        let is_connectionless = end.kind == SOCK_DGRAM;
        let mut events = 0;
        let is_over = incoming.is_some_and(|queue| queue.is_ended || queue.is_deaf || !is_connectionless && queue.writers.is_empty());
        let is_refused = outgoing.is_some_and(|queue| queue.is_ended || queue.is_deaf || queue.readers.is_empty());
        if incoming.is_some_and(Queue::has_some) || is_over && end.kind != 0 {
            events |= POLLIN | POLLRDNORM;
        }
        if is_over {
            events |= if end.kind == 0 { POLLHUP } else { POLLRDHUP };
        }
        if is_over && is_refused || end.kind != 0 && !is_connectionless && incoming.is_none() {
            events |= POLLHUP;
        }
        if is_refused && end.kind == 0 {
            events |= POLLERR;
        }
        let has_room = outgoing.map_or(is_connectionless || end.kind != 0, |queue| queue.is_writable() || is_refused);
        if has_room && end.flags & ACCESS != O_RDONLY {
            events |= POLLOUT | POLLWRNORM;
        }
        Ok(events)
    }

    /// The end has gone: nobody refers to it any more.
    pub fn close(&mut self, key: u64) {
        let Some(end) = self.ends.remove(&key) else { return };
        self.touched.remove(&key);
        let is_datagrams = self.datagrams.remove(&key);
        if self.names.get(&end.name) == Some(&key) {
            self.names.remove(&end.name);
        }
        if let Stage::Listening(waiting, _) = end.stage {
            waiting.into_iter().for_each(|waiting| self.close(waiting));
            self.touch_unconnected();
        }
        for queue in end.incoming.into_iter().chain(end.outgoing) {
            self.leave(queue, key, end.fifo.as_deref());
        }
        if is_datagrams {
            // Who sends datagrams here learns that nobody is there.
            self.touch_senders();
        }
    }

    fn leave(&mut self, key: u64, end: u64, fifo: Option<&[u8]>) {
        let Some(queue) = self.queues.get_mut(&key) else { return };
        queue.readers.remove(&end);
        queue.writers.remove(&end);
        if !queue.readers.is_empty() || !queue.writers.is_empty() {
            self.touch_queue(key);
            return;
        }
        self.bytes -= queue.bytes();
        self.queues.remove(&key);
        if let Some(name) = fifo {
            self.fifos.remove(name);
        }
    }

    /// Flags of the open file: `O_NONBLOCK`.
    pub fn flags(&self, key: u64) -> Result<u64, Errno> {
        Ok(self.end(key)?.flags & O_NONBLOCK)
    }

    /// Sets them.
    pub fn set_flags(&mut self, key: u64, flags: u64) -> Result<(), Errno> {
        let end = self.end_mut(key)?;
        end.flags = end.flags & ACCESS | flags & O_NONBLOCK;
        Ok(())
    }

    /// 0 for a pipe, else the kind of socket.
    pub fn kind(&self, key: u64) -> Result<u64, Errno> {
        Ok(self.end(key)?.kind)
    }

    /// How many bytes can be received, as `FIONREAD` tells it.
    pub fn waiting(&self, key: u64) -> Result<usize, Errno> {
        let end = self.end(key)?;
        let queue = end.incoming.or(end.outgoing).and_then(|queue| self.queues.get(&queue));
        Ok(queue.map_or(0, Queue::bytes))
    }

    /// How many bytes a pipe holds; `size` (unless 0) is what it is to hold.
    pub fn capacity(&mut self, key: u64, size: usize) -> Result<usize, Errno> {
        let end = self.end(key)?;
        let queue = end.incoming.or(end.outgoing).ok_or(Errno::EBADF)?;
        if end.kind != 0 {
            return Err(Errno::EBADF);
        }
        if size > MOST_CAPACITY {
            return Err(Errno::EPERM);
        }
        let queue_now = self.queues.get_mut(&queue).ok_or(Errno::EIO)?;
        if size > 0 {
            let size = size.next_power_of_two().max(crate::queue::WHOLE);
            if queue_now.bytes() > size {
                return Err(Errno::EBUSY);
            }
            queue_now.capacity = size;
        }
        let capacity = queue_now.capacity;
        self.touch_queue(queue);
        Ok(capacity)
    }

    /// What was received did not arrive: it is first again.
    pub fn put_back(&mut self, key: u64, received: Received<R>) {
        let Some(incoming) = self.ends.get(&key).and_then(|end| end.incoming) else { return };
        if let Some(queue) = self.queues.get_mut(&incoming) {
            self.bytes += received.data.len();
            queue.put_back(received);
            self.touch_queue(incoming);
        }
    }

    /// How many ends there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }
}

fn nothing<R>() -> Received<R> {
    Received { data: Vec::new(), references: Vec::new(), from: Vec::new(), total: 0, is_cut: false }
}

/// How a socket's end is open.
const SOCKET_ACCESS: u64 = BOTH;
