//! The operations of `channel` and `file`, and their answers: at once through the request, or later
//! through what was detached from it.

use super::received::{BESIDES, bytes, send_received, words};
use super::{ANY_CHANGE, EndRequest, Done, Form, SLOTS, Service, Teller, Waiter, Watcher, done_or_later, kept};
use crate::hub::budgets::Budget;
use crate::hub::{CONTROL, Sending};
use crate::queue::ReceiveRequest;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::channel::{
    accept, account, bind, board, capacity, changed, connect, credentials, enroll, error, expect, facts, fifo, interface, interface_6, limit, listen, look, name, pair, pipe, receive, send, share, shutdown,
    socket, sockets, told, traffic,
    terminal, terminal_facts, terminal_lock, terminal_open, terminal_set_mode, terminal_set_owner, terminal_set_times, terminal_status,
};
use nacre_proto::file::{flags, poll, read, set_mode, set_owner, set_times, status, watch, write};
use nacre_proto::flags::{
    KEEP_FLAGS, MSG_BARE, MSG_CREDENTIALS, MSG_DONTWAIT, MSG_MORE, MSG_OOB, MSG_PEEK, OWN_POSITION, POLLERR, POLLHUP, S_IFIFO, S_IFSOCK,
};
use nacre_proto::server::Output;
use nacre_proto::structures;
use nacre_proto::{Answer, Errno, HandlerResult, Request, channel, file};
use nacre_sys::{OwnedReference, Reference, Span};

/// Number of the device that pipes and sockets are on.
const DEVICE: u64 = 9;

impl Service {
    /// Answers a waiter. What was received or accepted and does not arrive becomes first again.
    pub(super) fn answer_later(&mut self, key: u64, waiter: Waiter, done: Done) {
        let Waiter { doing, reply, .. } = waiter;
        match done {
            Done::Received(received) => {
                let (form, only_look) = match doing {
                    EndRequest::Receive { wish, answer } => (answer, wish.only_look),
                    _ => (Form::Plain, false),
                };
                if send_received(&received, form, reply).is_err() && !only_look {
                    self.hub.put_back(key, received);
                }
            }
            Done::Sent(count) => drop(write::Output { count: count as u64 }.send(reply, Span::EMPTY)),
            Done::Connected => drop(connect::Output::default().send(reply, Span::EMPTY)),
            Done::End(key_of_end, end, name) => {
                let arrived = accept::Output { socket: end.handle().into() }.send(reply, Span::from(&name[..])).is_ok();
                if !arrived && matches!(doing, EndRequest::Accept { .. }) {
                    // A connection waits again. An opened end goes here with its last reference.
                    self.places.remove(&key_of_end);
                    self.hub.accept_back(key, key_of_end);
                }
            }
        }
    }

    /// Answers a caller that need not wait. What does not arrive is taken back.
    fn answer_at_once<T>(&mut self, request: &mut Request<'_>, doing: EndRequest, done: Done) -> HandlerResult<T> {
        let waiter = Waiter { doing, reply: request.detach()?, dont_wait: false };
        self.answer_later(request.word(), waiter, done);
        Ok(Answer::Later)
    }

    /// Does it now; `None`: it is answered later.
    pub(super) fn now_or_later(&mut self, request: &mut Request<'_>, mut doing: EndRequest, dont_wait: bool) -> Result<Option<Done>, Errno> {
        let key = request.word();
        if let Some(done) = self.attempt(key, &mut doing)? {
            return Ok(Some(done));
        }
        // Processes that share the bytes may have changed them before they were asked to say so.
        if self.hub.want(key)
            && let Some(done) = self.attempt(key, &mut doing)?
        {
            return Ok(Some(done));
        }
        self.forget_gone(key);
        if self.cannot_wait(key, dont_wait)? {
            return Err(Errno::EAGAIN);
        }
        let dont_wait = self.must_not_wait(key, dont_wait)?;
        self.wait(request, key, (doing, dont_wait))?;
        Ok(None)
    }

    fn wait(&mut self, request: &mut Request<'_>, key: u64, (doing, dont_wait): (EndRequest, bool)) -> Result<(), Errno> {
        self.hub.check_load(key, doing.load())?;
        let place = self.places.get_mut(&key).ok_or(Errno::EBADF)?;
        let (reply, load, is_send) = (request.detach()?, doing.load(), doing.is_send());
        place.waiters.push_back(Waiter { doing, reply, dont_wait });
        self.hub.hold(key, load, is_send);
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

    fn send_now(&mut self, request: &mut Request<'_>, sending: Sending, dont_wait: bool) -> Result<Option<usize>, Errno> {
        let references = kept(request)?;
        Ok(match self.now_or_later(request, EndRequest::Send { sending, references }, dont_wait)? {
            Some(Done::Sent(count)) => Some(count),
            _ => None,
        })
    }

    /// The last part of a message, with those before it.
    fn send_last(&mut self, request: &mut Request<'_>, mut sending: Sending, part: u64, dont_wait: bool) -> Result<Option<usize>, Errno> {
        let mut parts = self.hub.take_parts(request.word(), part)?;
        let own = sending.data.len();
        parts.data.extend(&sending.data);
        parts.control.extend(&sending.control);
        parts.references.extend(kept(request)?);
        (sending.data, sending.control) = (parts.data, parts.control);
        let before = sending.data.len() - own;
        let doing = EndRequest::Send { sending, references: parts.references };
        Ok(match self.now_or_later(request, doing, dont_wait)? {
            Some(Done::Sent(count)) => Some(count.saturating_sub(before)),
            _ => None,
        })
    }
}

impl channel::Server for Service {
    fn pipe(&mut self, request: &mut Request<'_>, flags: u64) -> HandlerResult<pipe::Output> {
        self.check_service(request)?;
        let ends = self.hub.pipe(flags)?;
        let (reader, writer) = self.two(ends)?;
        pipe::Output { reader: reader.into(), writer: writer.into() }.at_once(request, &[])
    }

    fn account(&mut self, request: &mut Request<'_>) -> HandlerResult<account::Output> {
        self.check_service(request)?;
        account::Output { channels: self.add_account(request.word())?.1.into() }.at_once(request, &[])
    }

    fn limit(&mut self, request: &mut Request<'_>, connections: u64, bytes_in: u64, bytes_out: u64) -> HandlerResult<limit::Output> {
        self.check_service(request)?;
        self.add_limited(request, Budget { connections, bytes_in, bytes_out })
    }

    fn interface(&mut self, request: &mut Request<'_>) -> HandlerResult<interface::Output> {
        self.check_service(request)?;
        self.tell_interface()
    }

    fn interface_6(&mut self, request: &mut Request<'_>) -> HandlerResult<interface_6::Output> {
        self.check_service(request)?;
        self.tell_interface_6()
    }

    fn sockets(&mut self, request: &mut Request<'_>, after: u64) -> HandlerResult<sockets::Output> {
        self.check_service(request)?;
        self.list_sockets(request, after)
    }

    fn traffic(&mut self, request: &mut Request<'_>) -> HandlerResult<traffic::Output> {
        self.check_service(request)?;
        let [packets_in, bytes_in, packets_out, bytes_out] = self.hub.traffic().ok_or(Errno::ENODEV)?;
        traffic::Output { packets_in, bytes_in, packets_out, bytes_out }.now()
    }

    fn pair(&mut self, request: &mut Request<'_>, kind: u64, flags: u64, pid: u64, uid: u64, gid: u64) -> HandlerResult<pair::Output> {
        self.check_service(request)?;
        let ends = self.hub.pair(kind, flags, [pid, uid, gid])?;
        let (first, second) = self.two(ends)?;
        pair::Output { first: first.into(), second: second.into() }.at_once(request, &[])
    }

    fn socket(&mut self, request: &mut Request<'_>, kind: u64, flags: u64) -> HandlerResult<socket::Output> {
        self.check_service(request)?;
        let key = self.hub.socket(kind, flags)?;
        let reference = self.place_or_close(key)?;
        socket::Output { socket: reference.into() }.at_once(request, &[])
    }

    fn fifo(&mut self, request: &mut Request<'_>, flags: u64, name: &[u8]) -> HandlerResult<fifo::Output> {
        self.check_service(request)?;
        let key = self.hub.fifo(flags, name)?;
        let reference = self.place_or_close(key)?;
        if self.hub.is_open(key)? {
            return fifo::Output { file: reference.into() }.at_once(request, &[]);
        }
        self.wait(request, key, (EndRequest::Open { held: Some(reference) }, false))?;
        Ok(Answer::Later)
    }

    fn bind(&mut self, request: &mut Request<'_>, key_size: u64, sharing: u64, user: u64, data: &[u8]) -> HandlerResult<bind::Output> {
        let (key, name) = split(data, key_size)?;
        let sharing = self.port_sharing(request.word(), sharing, user)?;
        self.hub.bind_shared(request.word(), key, name, sharing)?;
        bind::Output::default().now()
    }

    fn listen(&mut self, request: &mut Request<'_>, backlog: u64, pid: u64, uid: u64, gid: u64) -> HandlerResult<listen::Output> {
        self.hub.listen(request.word(), backlog, [pid, uid, gid])?;
        listen::Output::default().now()
    }

    fn connect(&mut self, request: &mut Request<'_>, pid: u64, uid: u64, gid: u64, name: &[u8]) -> HandlerResult<connect::Output> {
        let doing = EndRequest::Connect { name: name.to_vec(), owner: [pid, uid, gid], is_begun: false };
        done_or_later(self.connect_now_or_later(request, doing)?, connect::Output::default())
    }

    fn accept(&mut self, request: &mut Request<'_>, flags: u64) -> HandlerResult<accept::Output> {
        match self.now_or_later(request, EndRequest::Accept { flags }, false)? {
            Some(done) => self.answer_at_once(request, EndRequest::Accept { flags }, done),
            None => Ok(Answer::Later),
        }
    }

    fn shutdown(&mut self, request: &mut Request<'_>, how: u64) -> HandlerResult<shutdown::Output> {
        self.hub.shutdown(request.word(), how)?;
        shutdown::Output::default().now()
    }

    fn send(
        &mut self,
        request: &mut Request<'_>,
        flags: u64,
        name_size: u64,
        control_size: u64,
        pid: u64,
        owner: u64,
        part: u64,
        data: &[u8],
    ) -> HandlerResult<send::Output> {
        let (to, data) = split(data, name_size)?;
        let (control, data) = split(data, control_size)?;
        if control.len() > CONTROL {
            return Err(Errno::EMSGSIZE);
        }
        // The upper half is the number of the thread that sends it.
        let part = part & u64::from(u32::MAX);
        let sending = Sending { to: to.to_vec(), data: data.to_vec(), control: control.to_vec(), sender: [pid, owner], is_urgent: flags & MSG_OOB != 0 };
        let dont_wait = flags & MSG_DONTWAIT != 0;
        if flags & MSG_MORE != 0 {
            let references = kept(request)?;
            let places = &self.places;
            self.hub.check_cycles(request.word(), None, &references, |reference| super::end_of(places, reference))?;
            let count = self.hub.add_part(request.word(), part, &sending, references)?;
            return send::Output { count: count as u64 }.now();
        }
        let count = if part == 0 { self.send_now(request, sending, dont_wait)? } else { self.send_last(request, sending, part, dont_wait)? };
        done_or_later(count.is_some(), send::Output { count: count.unwrap_or(0) as u64 })
    }

    fn receive(&mut self, request: &mut Request<'_>, flags: u64, size: u64, references: u64, offset: u64) -> HandlerResult<receive::Output> {
        let wish = ReceiveRequest {
            size: size.min(MAX_BYTES - BESIDES) as usize,
            most: references.min(SLOTS as u64) as usize,
            only_look: flags & MSG_PEEK != 0,
            in_parts: flags & MSG_MORE != 0,
            is_apart: flags & MSG_CREDENTIALS != 0,
            offset: usize::try_from(offset).map_err(|_| Errno::EINVAL)?,
        };
        let answer = match flags {
            flags if flags & MSG_BARE != 0 => Form::Bare,
            _ if wish.is_apart => Form::Signed,
            _ => Form::Whole,
        };
        let Some(Done::Received(received)) = self.now_or_later(request, EndRequest::Receive { wish, answer }, flags & MSG_DONTWAIT != 0)? else {
            return Ok(Answer::Later);
        };
        if !received.references.is_empty() {
            // A declared answer has a fixed number of references, so this one goes the other way.
            return self.answer_at_once(request, EndRequest::Receive { wish, answer }, Done::Received(received));
        }
        request.put(&bytes(&received, answer));
        let [count, name_size, total, flags, references, control_size] = words(&received, answer);
        receive::Output { count, name_size, total, flags, references, control_size }.now()
    }

    fn name(&mut self, request: &mut Request<'_>, which: u64) -> HandlerResult<name::Output> {
        let name = self.hub.name(request.word(), which)?;
        request.put(&name);
        name::Output::default().now()
    }

    fn capacity(&mut self, request: &mut Request<'_>, size: u64) -> HandlerResult<capacity::Output> {
        let size = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
        capacity::Output { size: self.hub.capacity(request.word(), size)? as u64 }.now()
    }

    fn facts(&mut self, request: &mut Request<'_>) -> HandlerResult<facts::Output> {
        let kind = self.hub.kind(request.word())?;
        let listens = self.hub.listens(request.word())?.into();
        if kind == 0 { Err(Errno::ENOTSOCK) } else { facts::Output { kind, listens }.now() }
    }

    fn error(&mut self, request: &mut Request<'_>) -> HandlerResult<error::Output> {
        let error = self.hub.take_error(request.word())?;
        error::Output { error: error.map_or(0, |errno| errno.0.into()) }.now()
    }

    fn look(&mut self, request: &mut Request<'_>, events: u64) -> HandlerResult<look::Output> {
        let ready = self.hub.events(request.word())? & (events | POLLERR | POLLHUP);
        let [arrivals, departures] = self.hub.changes(request.word())?;
        look::Output { events: ready, arrivals, departures }.now()
    }

    fn expect(&mut self, request: &mut Request<'_>, events: u64, came: u64, went: u64, bits: u64, _: Reference) -> HandlerResult<expect::Output> {
        self.hub.want(request.word());
        let ready = self.hub.events(request.word())? & (events | POLLERR | POLLHUP);
        let [arrivals, departures] = self.hub.changes(request.word())?;
        if [arrivals, departures] == [came, went] {
            let port = request.keep(0)?;
            super::Service::watch(self, request.word(), Watcher { events: ANY_CHANGE, teller: Teller::Port(port, bits) })?;
        }
        expect::Output { events: ready, arrivals, departures }.now()
    }

    fn board(&mut self, request: &mut Request<'_>, bits: u64, _: Reference) -> HandlerResult<board::Output> {
        self.make_board(request, bits)?.now()
    }

    fn enroll(&mut self, request: &mut Request<'_>, board: u64, id: u64, events: u64, came: u64, went: u64) -> HandlerResult<enroll::Output> {
        self.enroll_end(request.word(), (board, id), events, [came, went])?.now()
    }

    fn told(&mut self, request: &mut Request<'_>) -> HandlerResult<told::Output> {
        self.fetch_told(request)?.now()
    }

    fn share(&mut self, request: &mut Request<'_>, way: u64) -> HandlerResult<share::Output> {
        let output = self.share_end(request.word(), way)?;
        output.at_once(request, &[])
    }

    fn changed(&mut self, request: &mut Request<'_>) -> HandlerResult<changed::Output> {
        self.hub.changed(request.word())?;
        changed::Output::default().now()
    }

    fn terminal(&mut self, request: &mut Request<'_>, flags: u64) -> HandlerResult<terminal::Output> {
        self.check_service(request)?;
        let (number, key) = self.hub.terminal(flags)?;
        let master = self.place_or_close(key)?;
        terminal::Output { number, master: master.into() }.at_once(request, &[])
    }

    fn terminal_open(&mut self, request: &mut Request<'_>, number: u64, flags: u64) -> HandlerResult<terminal_open::Output> {
        self.check_service(request)?;
        let key = self.hub.terminal_open(number, flags)?;
        let slave = self.place_or_close(key)?;
        terminal_open::Output { slave: slave.into() }.at_once(request, &[])
    }

    fn terminal_facts(&mut self, request: &mut Request<'_>, number: u64) -> HandlerResult<terminal_facts::Output> {
        let facts = if super::is_service(request.word()) { self.hub.terminal_numbered(number)? } else { self.hub.terminal_facts(request.word())? };
        terminal_facts::Output { number: facts.number, is_slave: facts.is_slave.into(), is_locked: facts.is_locked.into() }.now()
    }

    fn terminal_lock(&mut self, request: &mut Request<'_>, locked: u64) -> HandlerResult<terminal_lock::Output> {
        self.hub.terminal_lock(request.word(), locked != 0)?;
        terminal_lock::Output::default().now()
    }

    fn terminal_status(&mut self, request: &mut Request<'_>, number: u64) -> HandlerResult<terminal_status::Output> {
        let status = self.numbered(request, number)?.status(number);
        request.put(&status.to_bytes());
        terminal_status::Output::default().now()
    }

    fn terminal_set_mode(&mut self, request: &mut Request<'_>, number: u64, mode: u64) -> HandlerResult<terminal_set_mode::Output> {
        self.numbered(request, number)?.set_mode(mode);
        terminal_set_mode::Output::default().now()
    }

    fn terminal_set_owner(&mut self, request: &mut Request<'_>, number: u64, uid: u64, gid: u64) -> HandlerResult<terminal_set_owner::Output> {
        self.numbered(request, number)?.set_owner([uid, gid]);
        terminal_set_owner::Output::default().now()
    }

    fn terminal_set_times(
        &mut self,
        request: &mut Request<'_>,
        which: u64,
        at: u64,
        at_nsec: u64,
        mt: u64,
        mt_nsec: u64,
    ) -> HandlerResult<terminal_set_times::Output> {
        self.numbered(request, which)?.set_times([[at, at_nsec], [mt, mt_nsec]]);
        terminal_set_times::Output::default().now()
    }

    fn credentials(&mut self, request: &mut Request<'_>) -> HandlerResult<credentials::Output> {
        let [pid, uid, gid] = self.hub.peer_credentials(request.word())?;
        credentials::Output { pid, uid, gid }.now()
    }
}

/// The first so many bytes, and the rest.
fn split(data: &[u8], size: u64) -> Result<(&[u8], &[u8]), Errno> {
    let size = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
    data.split_at_checked(size).ok_or(Errno::EINVAL)
}

impl file::Server for Service {
    fn read(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<read::Output> {
        if let Some(read) = self.read_mailbox(request.word(), offset, size) {
            let text = read?;
            request.put(&text);
            return read::Output { count: text.len() as u64 }.now();
        }
        if offset != OWN_POSITION {
            return Err(Errno::ESPIPE);
        }
        let wish = ReceiveRequest { size: size.min(MAX_BYTES) as usize, ..ReceiveRequest::default() };
        let Some(Done::Received(received)) = self.now_or_later(request, EndRequest::Receive { wish, answer: Form::Plain }, false)? else {
            return Ok(Answer::Later);
        };
        request.put(&received.data);
        read::Output { count: received.data.len() as u64 }.now()
    }

    fn write(&mut self, request: &mut Request<'_>, offset: u64, data: &[u8]) -> HandlerResult<write::Output> {
        if self.hub.is_mailbox(request.word()) {
            return Err(Errno::EINVAL);
        }
        if offset != OWN_POSITION {
            return Err(Errno::ESPIPE);
        }
        let count = self.send_now(request, Sending { data: data.to_vec(), ..Sending::default() }, false)?;
        done_or_later(count.is_some(), write::Output { count: count.unwrap_or(0) as u64 })
    }

    fn status(&mut self, request: &mut Request<'_>) -> HandlerResult<status::Output> {
        if let Some(status) = self.status_of_terminal(request.word()).or_else(|| self.mailbox_status(request.word())) {
            request.put(&status.to_bytes());
            return status::Output::default().now();
        }
        let mode = if self.hub.kind(request.word())? == 0 { S_IFIFO | 0o600 } else { S_IFSOCK | 0o777 };
        let status =
            structures::Status { device: DEVICE, inode: self.hub.inode(request.word())?, mode, links: 1, block_size: 4096, ..structures::Status::default() };
        request.put(&status.to_bytes());
        status::Output::default().now()
    }

    fn poll(&mut self, request: &mut Request<'_>, events: u64) -> HandlerResult<poll::Output> {
        let ready = self.hub.events(request.word())?;
        poll::Output { events: ready & (events | POLLERR | POLLHUP) }.now()
    }

    fn watch(&mut self, request: &mut Request<'_>, events: u64, bits: u64, _: Reference) -> HandlerResult<watch::Output> {
        self.hub.want(request.word());
        let ready = self.hub.events(request.word())? & (events | POLLERR | POLLHUP);
        if ready == 0 {
            let port = request.keep(0)?;
            super::Service::watch(self, request.word(), Watcher { events: events & !(1 << 63), teller: Teller::Port(port, bits) })?;
        }
        watch::Output { events: ready }.now()
    }

    fn flags(&mut self, request: &mut Request<'_>, new: u64) -> HandlerResult<flags::Output> {
        let old = self.hub.flags(request.word())?;
        if new != KEEP_FLAGS {
            self.hub.set_flags(request.word(), new)?;
        }
        flags::Output { old }.now()
    }

    fn seek(&mut self, request: &mut Request<'_>, offset: u64, whence: u64) -> HandlerResult<file::seek::Output> {
        file::seek::Output { position: self.hub.mailbox_seek(request.word(), offset, whence)? }.now()
    }

    fn set_size(&mut self, _: &mut Request<'_>, _: u64) -> HandlerResult<file::set_size::Output> {
        Err(Errno::EINVAL)
    }

    fn sync(&mut self, _: &mut Request<'_>) -> HandlerResult<file::sync::Output> {
        Err(Errno::EINVAL)
    }

    fn map(&mut self, _: &mut Request<'_>, _: u64, _: u64) -> HandlerResult<file::map::Output> {
        Err(Errno::ENODEV)
    }

    /// Sets the mode of a queue of messages or of a terminal. Other ends ignore it.
    fn set_mode(&mut self, request: &mut Request<'_>, mode: u64) -> HandlerResult<set_mode::Output> {
        let _ = self.hub.slave_looks(request.word()).map(|(_, looks)| looks.set_mode(mode));
        self.set_mailbox_mode(request.word(), mode);
        set_mode::Output::default().now()
    }

    fn set_owner(&mut self, request: &mut Request<'_>, uid: u64, gid: u64) -> HandlerResult<set_owner::Output> {
        let _ = self.hub.slave_looks(request.word()).map(|(_, looks)| looks.set_owner([uid, gid]));
        self.set_mailbox_owner(request.word(), [uid, gid]);
        set_owner::Output::default().now()
    }

    fn set_times(&mut self, request: &mut Request<'_>, atime: u64, atime_nsec: u64, mtime: u64, mtime_nsec: u64) -> HandlerResult<set_times::Output> {
        let _ = self.hub.slave_looks(request.word()).map(|(_, looks)| looks.set_times([[atime, atime_nsec], [mtime, mtime_nsec]]));
        set_times::Output::default().now()
    }
}
