//! The operations of `channel` and `file`, and their answers: at once through the request, or later through what was detached from it.

use super::{Doing, Done, SERVICE, SLOTS, Service, Waiter, Watcher};
use crate::queue::Received;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::channel::{
    accept, bind, capacity, connect, credentials, credentials_set, facts, fifo, listen, name, pair, pipe, receive, send, shutdown, socket,
};
use nacre_proto::file::{flags, poll, read, set_mode, set_owner, set_times, status, watch, write};
use nacre_proto::flags::{
    KEEP_FLAGS, MSG_CTRUNC, MSG_DONTWAIT, MSG_PEEK, MSG_TRUNC, OWN_POSITION, POLLERR, POLLHUP, S_IFIFO, S_IFSOCK,
};
use nacre_proto::server::{self, Output};
use nacre_proto::structures;
use nacre_proto::{Answer, Errno, Handled, Request, channel, file, terminal};
use nacre_sys::ipc::Message;
use nacre_sys::{OwnedReference, Reference, Span, Status};

/// Number of the device that pipes and sockets are on.
const DEVICE: u64 = 9;

/// The words of an answer to `channel.receive`.
fn words(received: &Received<OwnedReference>) -> [u64; 6] {
    let lost = if received.is_cut { MSG_CTRUNC } else { 0 };
    let cut = if received.total > received.data.len() { MSG_TRUNC } else { 0 };
    let references = received.references.len() as u64;
    [received.data.len() as u64, received.from.len() as u64, received.total as u64, lost | cut, references, 0]
}

fn send_received(received: &Received<OwnedReference>, is_plain: bool, reply: OwnedReference) -> Result<(), Status> {
    if is_plain {
        return read::Output { count: received.data.len() as u64 }.send(reply, Span::from(&received.data[..]));
    }
    let bytes = [&received.from[..], &received.data].concat();
    let references: Vec<Reference> = received.references.iter().map(|reference| reference.handle()).collect();
    server::answer(reply, &Message { label: 0, words: words(received), bytes: Span::from(&bytes[..]), references: &references })
}

impl Service {
    /// Answers somebody who has waited. What was received and does not arrive is first again.
    pub(super) fn answer_later(&mut self, key: u64, waiter: Waiter, done: Done) {
        let Waiter { doing, reply } = waiter;
        match done {
            Done::Received(received) => {
                let (is_plain, only_look) = match doing {
                    Doing::Receive { is_plain, only_look, .. } => (is_plain, only_look),
                    _ => (true, false),
                };
                if send_received(&received, is_plain, reply).is_err() && !only_look {
                    self.hub.put_back(key, received);
                }
            }
            Done::Sent(count) => drop(write::Output { count: count as u64 }.send(reply, Span::EMPTY)),
            Done::Connected => drop(connect::Output::default().send(reply, Span::EMPTY)),
            // If it does not arrive, the last reference goes here, and the end with it.
            Done::End(end, name) => drop(accept::Output { socket: end.into() }.send(reply, Span::from(&name[..]))),
        }
    }

    /// Does it now; `None`: it is answered later.
    fn now_or_later(&mut self, request: &mut Request<'_>, mut doing: Doing, dont_wait: bool) -> Result<Option<Done>, Errno> {
        let key = request.word();
        if let Some(done) = self.attempt(key, &mut doing)? {
            return Ok(Some(done));
        }
        if self.cannot_wait(key, dont_wait)? {
            return Err(Errno::EAGAIN);
        }
        self.wait(request, key, doing)?;
        Ok(None)
    }

    fn wait(&mut self, request: &mut Request<'_>, key: u64, doing: Doing) -> Result<(), Errno> {
        let place = self.places.get_mut(&key).ok_or(Errno::EBADF)?;
        place.waiters.push_back(Waiter { doing, reply: request.detach()? });
        Ok(())
    }

    /// Two ends, with a reference to each.
    fn two(&mut self, (first, second): (u64, u64)) -> Result<(OwnedReference, OwnedReference), Errno> {
        let one = self.place(first).inspect_err(|_| {
            self.hub.close(first);
            self.hub.close(second);
        })?;
        // If the second cannot be, the first's reference goes, and the end follows it.
        let two = self.place_or_close(second)?;
        Ok((one, two))
    }

    fn send_now(&mut self, request: &mut Request<'_>, name: &[u8], data: &[u8], dont_wait: bool) -> Result<Option<usize>, Errno> {
        let references = (0..request.references().len()).map(|index| request.keep(index)).collect::<Result<Vec<_>, _>>()?;
        let doing = Doing::Send { name: name.to_vec(), data: data.to_vec(), references };
        Ok(match self.now_or_later(request, doing, dont_wait)? {
            Some(Done::Sent(count)) => Some(count),
            _ => None,
        })
    }
}

fn done_or_later<T: Output>(done: bool, output: T) -> Handled<T> {
    if done { output.now() } else { Ok(Answer::Later) }
}

impl channel::Server for Service {
    fn pipe(&mut self, request: &mut Request<'_>, flags: u64) -> Handled<pipe::Output> {
        check_service(request)?;
        let ends = self.hub.pipe(flags)?;
        let (reader, writer) = self.two(ends)?;
        pipe::Output { reader: reader.into(), writer: writer.into() }.now()
    }

    fn pair(&mut self, request: &mut Request<'_>, kind: u64, flags: u64) -> Handled<pair::Output> {
        check_service(request)?;
        let ends = self.hub.pair(kind, flags)?;
        let (first, second) = self.two(ends)?;
        pair::Output { first: first.into(), second: second.into() }.now()
    }

    fn socket(&mut self, request: &mut Request<'_>, kind: u64, flags: u64) -> Handled<socket::Output> {
        check_service(request)?;
        let key = self.hub.socket(kind, flags)?;
        socket::Output { socket: self.place_or_close(key)?.into() }.now()
    }

    fn fifo(&mut self, request: &mut Request<'_>, flags: u64, name: &[u8]) -> Handled<fifo::Output> {
        check_service(request)?;
        let key = self.hub.fifo(flags, name)?;
        let reference = self.place_or_close(key)?;
        if self.hub.is_open(key)? {
            return fifo::Output { file: reference.into() }.now();
        }
        self.wait(request, key, Doing::Open { held: Some(reference) })?;
        Ok(Answer::Later)
    }

    fn bind(&mut self, request: &mut Request<'_>, name: &[u8]) -> Handled<bind::Output> {
        self.hub.bind(request.word(), name)?;
        bind::Output::default().now()
    }

    fn listen(&mut self, request: &mut Request<'_>, backlog: u64) -> Handled<listen::Output> {
        self.hub.listen(request.word(), backlog)?;
        listen::Output::default().now()
    }

    fn connect(&mut self, request: &mut Request<'_>, name: &[u8]) -> Handled<connect::Output> {
        let done = self.now_or_later(request, Doing::Connect { name: name.to_vec() }, false)?;
        done_or_later(done.is_some(), connect::Output::default())
    }

    fn accept(&mut self, request: &mut Request<'_>, flags: u64) -> Handled<accept::Output> {
        match self.now_or_later(request, Doing::Accept { flags }, false)? {
            Some(Done::End(end, name)) => {
                request.put(&name);
                accept::Output { socket: end.into() }.now()
            }
            _ => Ok(Answer::Later),
        }
    }

    fn shutdown(&mut self, request: &mut Request<'_>, how: u64) -> Handled<shutdown::Output> {
        self.hub.shutdown(request.word(), how)?;
        shutdown::Output::default().now()
    }

    fn send(&mut self, request: &mut Request<'_>, flags: u64, name_size: u64, data: &[u8]) -> Handled<send::Output> {
        let size = usize::try_from(name_size).map_err(|_| Errno::EINVAL)?;
        let (name, data) = data.split_at_checked(size).ok_or(Errno::EINVAL)?;
        let count = self.send_now(request, name, data, flags & MSG_DONTWAIT != 0)?;
        done_or_later(count.is_some(), send::Output { count: count.unwrap_or(0) as u64 })
    }

    fn receive(&mut self, request: &mut Request<'_>, flags: u64, size: u64, references: u64) -> Handled<receive::Output> {
        let size = size.min(MAX_BYTES - 128) as usize;
        let most = references.min(SLOTS as u64) as usize;
        let doing = Doing::Receive { size, most, only_look: flags & MSG_PEEK != 0, is_plain: false };
        let Some(Done::Received(received)) = self.now_or_later(request, doing, flags & MSG_DONTWAIT != 0)? else { return Ok(Answer::Later) };
        if !received.references.is_empty() {
            // A declared answer has a fixed number of references, so this one goes the other way.
            let reply = request.detach()?;
            let _ = send_received(&received, false, reply);
            return Ok(Answer::Later);
        }
        request.put(&[&received.from[..], &received.data].concat());
        let [count, name_size, total, flags, references, _] = words(&received);
        receive::Output { count, name_size, total, flags, references }.now()
    }

    fn name(&mut self, request: &mut Request<'_>, which: u64) -> Handled<name::Output> {
        let name = self.hub.name(request.word(), which)?;
        request.put(&name);
        name::Output::default().now()
    }

    fn capacity(&mut self, request: &mut Request<'_>, size: u64) -> Handled<capacity::Output> {
        let size = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
        capacity::Output { size: self.hub.capacity(request.word(), size)? as u64 }.now()
    }

    fn facts(&mut self, request: &mut Request<'_>) -> Handled<facts::Output> {
        let kind = self.hub.kind(request.word())?;
        let listens = self.hub.listens(request.word())?.into();
        if kind == 0 { Err(Errno::ENOTSOCK) } else { facts::Output { kind, listens, error: 0 }.now() }
    }

    fn credentials_set(&mut self, request: &mut Request<'_>, pid: u64, uid: u64, gid: u64) -> Handled<credentials_set::Output> {
        self.hub.set_credentials(request.word(), [pid, uid, gid])?;
        credentials_set::Output::default().now()
    }

    fn credentials(&mut self, request: &mut Request<'_>) -> Handled<credentials::Output> {
        let [pid, uid, gid] = self.hub.peer_credentials(request.word())?;
        credentials::Output { pid, uid, gid }.now()
    }
}

/// Whether it came through the service's own port.
fn check_service(request: &Request<'_>) -> Result<(), Errno> {
    if request.word() == SERVICE { Ok(()) } else { Err(Errno::ENOSYS) }
}

impl file::Server for Service {
    fn read(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> Handled<read::Output> {
        if offset != OWN_POSITION {
            return Err(Errno::ESPIPE);
        }
        let doing = Doing::Receive { size: size.min(MAX_BYTES) as usize, most: 0, only_look: false, is_plain: true };
        let Some(Done::Received(received)) = self.now_or_later(request, doing, false)? else { return Ok(Answer::Later) };
        request.put(&received.data);
        read::Output { count: received.data.len() as u64 }.now()
    }

    fn write(&mut self, request: &mut Request<'_>, offset: u64, data: &[u8]) -> Handled<write::Output> {
        if offset != OWN_POSITION {
            return Err(Errno::ESPIPE);
        }
        let count = self.send_now(request, &[], data, false)?;
        done_or_later(count.is_some(), write::Output { count: count.unwrap_or(0) as u64 })
    }

    fn status(&mut self, request: &mut Request<'_>) -> Handled<status::Output> {
        let mode = if self.hub.kind(request.word())? == 0 { S_IFIFO | 0o600 } else { S_IFSOCK | 0o777 };
        let status = structures::Status { device: DEVICE, inode: request.word(), mode, links: 1, block_size: 4096, ..structures::Status::default() };
        request.put(&status.to_bytes());
        status::Output::default().now()
    }

    fn poll(&mut self, request: &mut Request<'_>, events: u64) -> Handled<poll::Output> {
        let ready = self.hub.events(request.word())?;
        poll::Output { events: ready & (events | POLLERR | POLLHUP) }.now()
    }

    fn watch(&mut self, request: &mut Request<'_>, events: u64, bits: u64, _: Reference) -> Handled<watch::Output> {
        let ready = self.hub.events(request.word())? & (events | POLLERR | POLLHUP);
        if ready == 0 {
            let port = request.keep(0)?;
            super::Service::watch(self, request.word(), Watcher { events, bits, port })?;
        }
        watch::Output { events: ready }.now()
    }

    fn flags(&mut self, request: &mut Request<'_>, new: u64) -> Handled<flags::Output> {
        let old = self.hub.flags(request.word())?;
        if new != KEEP_FLAGS {
            self.hub.set_flags(request.word(), new)?;
        }
        flags::Output { old }.now()
    }

    fn seek(&mut self, _: &mut Request<'_>, _: u64, _: u64) -> Handled<file::seek::Output> {
        Err(Errno::ESPIPE)
    }

    fn set_size(&mut self, _: &mut Request<'_>, _: u64) -> Handled<file::set_size::Output> {
        Err(Errno::EINVAL)
    }

    fn sync(&mut self, _: &mut Request<'_>) -> Handled<file::sync::Output> {
        Err(Errno::EINVAL)
    }

    fn map(&mut self, _: &mut Request<'_>, _: u64, _: u64) -> Handled<file::map::Output> {
        Err(Errno::ENODEV)
    }

    /// Nobody is kept from an end that he has; what it says of itself does not change.
    fn set_mode(&mut self, _: &mut Request<'_>, _: u64) -> Handled<set_mode::Output> {
        set_mode::Output::default().now()
    }

    fn set_owner(&mut self, _: &mut Request<'_>, _: u64, _: u64) -> Handled<set_owner::Output> {
        set_owner::Output::default().now()
    }

    fn set_times(&mut self, _: &mut Request<'_>, _: u64, _: u64, _: u64, _: u64) -> Handled<set_times::Output> {
        set_times::Output::default().now()
    }
}

impl terminal::Server for Service {
    fn waiting(&mut self, request: &mut Request<'_>) -> Handled<terminal::waiting::Output> {
        terminal::waiting::Output { count: self.hub.waiting(request.word())? as u64 }.now()
    }
}
