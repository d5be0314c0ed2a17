//! Pipes and stream sockets whose bytes the processes share, of a socket in a ring for each
//! direction: read and written here, in a ring in common memory ([`nacre_sys::ring`]), with a call
//! of the kernel only to wait, or to wake who waits.
//!
//! A pipe starts with messages to its server, so that one that is used little costs no memory.
//! After some reads or writes through an open file the server is asked for the ring. Who has it and
//! who has not use the same pipe, at the same time. What is more than bytes takes messages:
//! descriptors, at which the server gives the ring up, who sent them, limits of time. Nothing that
//! stands in the ring is trusted: the worst that others can write there are wrong bytes, and
//! errors.

use crate::abi::errno::{EAGAIN, EIO, EPIPE, ERESTART, Errno};
use crate::abi::file_flags::{O_DIRECT, O_NONBLOCK};
use crate::operations::sockets::socket_limits;
use crate::process::Process;
use crate::raw::wait_window::wait_for_word;
use crate::state::files::open_file::OpenFile;
use crate::state::files::ring_ends::{Joined, SERVICE, Sharing};
use crate::state::files::socket_kind::Socket;
use alloc::rc::Rc;
use core::sync::atomic::Ordering;
use nacre_abi::Rights;
use nacre_proto::channel;
use nacre_proto::flags::{WAY_IN, WAY_OUT};
use nacre_sys::Code;
use nacre_sys::ring::{self, LEFT, Ring, Side};

/// Number of further tries after which a ring is asked for again.
const AGAIN: u32 = 8;

/// Result of a try.
enum Tried {
    /// Transferred this many bytes.
    Done(usize),
    /// Blocked: the caller has to wait.
    Waits,
    /// Messages are to do it.
    ByMessage,
}

impl Process {
    fn join(&mut self, file: &OpenFile, way: u64) -> Result<Joined, Errno> {
        let service = self.services.channels()?;
        let joined = Joined::ask(file.reference()?, way)?;
        SERVICE.store(service.0, Ordering::Relaxed);
        Ok(joined)
    }
}

/// The ring for one way of a pipe or stream, if it is to be used by now.
fn ring_of(process: &mut Process, file: &OpenFile, way: u64) -> Option<Rc<Joined>> {
    let socket = Socket::of(file);
    let place = &file.sharing.ways[if socket.is_some() { way as usize } else { 0 }];
    if socket.is_some() && !socket_limits::has_bytes_alone(file) {
        return None;
    }
    let from = match &*place.borrow() {
        Sharing::With(joined) if joined.ring.state() & LEFT == 0 => return Some(joined.clone()),
        // A pipe has become larger; to a stream something came that is more than bytes, as may come
        // again.
        Sharing::With(_) if socket.is_none() => file.used.get(),
        Sharing::With(_) => file.used.get().saturating_mul(AGAIN),
        Sharing::From(from) => *from,
    };
    let is_due = file.used.get() >= from && file.is_channel() && process.lock.is_some();
    let joined = is_due.then(|| process.join(file, way));
    let now = match joined {
        Some(Ok(joined)) => Sharing::With(Rc::new(joined)),
        Some(Err(_)) => Sharing::From(file.used.get().saturating_mul(AGAIN)),
        None => Sharing::From(from),
    };
    place.replace(now);
    match &*place.borrow() {
        Sharing::With(joined) => Some(joined.clone()),
        Sharing::From(_) => None,
    }
}

/// Something has come or gone: those hear of it who wait.
fn tell(file: &OpenFile, joined: &Joined, side: Side, is_wanted: bool) {
    joined.wake(side);
    if joined.ring.is_wanted(side) || is_wanted {
        // A server that does not answer has nobody who waits.
        let _ = file.reference().and_then(channel::changed);
    }
}

/// Waits at the ring as long as it `is_blocked`.
fn wait_at_ring(process: &mut Process, joined: &Joined, side: Side, is_blocked: impl Fn(&Ring) -> bool) -> Result<(), Errno> {
    if process.is_interrupted() {
        return Err(ERESTART);
    }
    let (word, expected) = joined.ring.prepare(side);
    if !is_blocked(&joined.ring) {
        return Ok(());
    }
    let condition = joined.conditions[side as usize].handle();
    match process.unlocked(|| wait_for_word(condition, word, expected)) {
        Err(status) if status.code() != Some(Code::Interrupted) => Err(EIO),
        _ => Ok(()),
    }
}

/// Reads a pipe or stream from its ring. `None`: it is to be read by messages.
pub fn read_ring(process: &mut Process, file: &OpenFile, into: &mut [u8], dont_wait: bool) -> Option<Result<usize, Errno>> {
    let joined = ring_of(process, file, WAY_IN)?;
    loop {
        match try_read(file, &joined, into) {
            Err(error) => return Some(Err(error)),
            Ok(Tried::Done(count)) => return Some(Ok(count)),
            Ok(Tried::ByMessage) => return None,
            Ok(Tried::Waits) if dont_wait || joined.has_flag(O_NONBLOCK) => return Some(Err(EAGAIN)),
            Ok(Tried::Waits) => {}
        }
        let is_blocked = |ring: &Ring| ring.is_empty() && ring.users()[1] != 0 && ring.state() == 0;
        let waited = wait_at_ring(process, &joined, Side::Arrival, is_blocked);
        if let Err(error) = waited.and_then(|()| process.memory.confirm(into, Rights::WRITE)) {
            return Some(Err(error));
        }
    }
}

fn try_read(file: &OpenFile, joined: &Joined, into: &mut [u8]) -> Result<Tried, Errno> {
    if joined.ring.state() != 0 {
        return Ok(Tried::ByMessage);
    }
    // Whoever has gone before the look has written what he was to write.
    let is_over = joined.ring.users()[1] == 0;
    match joined.ring.take(into).map_err(|ring::Broken| EIO)? {
        _ if into.is_empty() => Ok(Tried::Done(0)),
        Some((count, has_freed)) => {
            if has_freed {
                tell(file, joined, Side::Departure, false);
            }
            Ok(Tried::Done(count))
        }
        None if is_over && joined.ring.is_empty() => Ok(Tried::Done(0)),
        None => Ok(Tried::Waits),
    }
}

/// Bytes that a ring took.
pub struct Written {
    /// Number of the bytes.
    pub count: usize,
    /// The others are to go by messages.
    pub has_rest: bool,
}

/// Writes a pipe or stream into its ring. Returns `None` if all bytes are to go by messages.
pub fn write_ring(process: &mut Process, file: &OpenFile, from: &[u8], dont_wait: bool) -> Option<Result<Written, Errno>> {
    let joined = ring_of(process, file, WAY_OUT)?;
    let mut done = 0;
    while done < from.len() {
        let tried = try_write(file, &joined, &from[done..]);
        let waited = match tried {
            Ok(Tried::Done(count)) => {
                done += count;
                continue;
            }
            Ok(Tried::ByMessage) if done == 0 => return None,
            Ok(Tried::ByMessage) => return Some(Ok(Written { count: done, has_rest: true })),
            Ok(Tried::Waits) if dont_wait || joined.has_flag(O_NONBLOCK) => Err(EAGAIN),
            Ok(Tried::Waits) => {
                let is_blocked = |ring: &Ring| !ring.has_room() && ring.users()[0] != 0 && ring.state() & LEFT == 0;
                wait_at_ring(process, &joined, Side::Departure, is_blocked).and_then(|()| process.memory.confirm(from, Rights::READ))
            }
            Err(error) => Err(error),
        };
        match waited {
            Err(error) if done == 0 => return Some(Err(error)),
            Err(_) => break,
            Ok(()) => {}
        }
    }
    Some(Ok(Written { count: done, has_rest: false }))
}

fn try_write(file: &OpenFile, joined: &Joined, from: &[u8]) -> Result<Tried, Errno> {
    let ring = &joined.ring;
    if ring.users()[0] == 0 {
        return Err(EPIPE);
    }
    if !joined.lock() {
        return Ok(Tried::ByMessage);
    }
    let is_left = ring.state() & LEFT != 0;
    let put = if is_left { Ok(None) } else { ring.put(from, joined.has_flag(O_DIRECT) && Socket::of(file).is_none()) };
    let is_wanted = ring.unlock();
    if put.is_ok_and(|count| count.is_some()) || is_wanted {
        tell(file, joined, Side::Arrival, is_wanted);
    }
    match put.map_err(|ring::Broken| EIO)? {
        _ if is_left => Ok(Tried::ByMessage),
        Some(count) => Ok(Tried::Done(count)),
        None => Ok(Tried::Waits),
    }
}
