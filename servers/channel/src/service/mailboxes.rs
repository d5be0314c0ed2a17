//! Protocol `mailbox`, and what `file` is at a queue's end. Whoever sends or receives is answered
//! through what was detached from his request, so that it is known whether that arrived.

use super::Service;
use crate::hub::mailboxes::{Caller, OpenRequest};
use crate::mailbox::{Notifier, NotifyTarget, QueueOptions, Mail};
use alloc::vec::Vec;
use nacre_proto::flags::{MSG_DONTWAIT, MSG_MORE, OWN_POSITION, S_IFREG};
use nacre_proto::mailbox::{Server, expect, facts, forget, open, part, receive, rest, send, told, unlink, withdraw};
use nacre_proto::server::{self, Output};
use nacre_proto::structures::Status;
use nacre_proto::{Answer, Errno, HandlerResult, Request};
use nacre_sys::{OwnedReference, Reference, Span, ipc};

/// Number of the device that queues are on.
const DEVICE: u64 = 25;
const PERMISSIONS: u64 = 0o7777;
/// Value of an owner that leaves it as it is.
const KEEP: u64 = 0xffff_ffff;

/// Answers go as messages.
struct ByMessages;

impl Notifier<OwnedReference> for ByMessages {
    fn sent(&mut self, to: OwnedReference) -> bool {
        send::Output::default().send(to, Span::EMPTY).is_ok()
    }

    fn given(&mut self, to: OwnedReference, priority: u32, piece: &[u8], total: usize) -> bool {
        receive::Output { total: total as u64, priority: priority.into() }.send(to, Span::from(piece)).is_ok()
    }

    fn is_gone(&self, waiting: &OwnedReference) -> bool {
        waiting.is_null().unwrap_or(true)
    }

    fn tell(&mut self, port: &OwnedReference, bits: u64) {
        // One that has gone need not hear of it.
        let _ = ipc::notify(port.handle(), bits);
    }
}

/// Refuses who could neither be served nor wait.
fn done_or_refused<T>(result: Result<(), (OwnedReference, Errno)>) -> HandlerResult<T> {
    if let Err((reply, errno)) = result {
        let _ = server::refuse(reply, errno);
    }
    Ok(Answer::Later)
}

impl Service {
    /// `file.read` of a queue: how it is. `None`: it is no queue.
    pub(super) fn read_mailbox(&mut self, end: u64, offset: u64, size: u64) -> Option<Result<Vec<u8>, Errno>> {
        let offset = (offset != OWN_POSITION).then_some(offset);
        self.hub.is_mailbox(end).then(|| self.hub.mailbox_read(end, offset, size as usize, &ByMessages))
    }

    /// Returns the status of a queue as a file; `None`: the end is not that of a queue.
    pub(super) fn mailbox_status(&self, end: u64) -> Option<Status> {
        const SIZE: u64 = 80;
        let facts = self.hub.mailbox_facts(end).ok()?;
        let [uid, gid] = facts.made.owner;
        let (mode, links) = (S_IFREG | facts.made.mode & PERMISSIONS, facts.has_name.into());
        Some(Status { device: DEVICE, inode: facts.number, mode, links, uid, gid, size: SIZE, block_size: 4096, ..Status::default() })
    }

    /// Sets a queue's permissions; of anything else nothing changes.
    pub(super) fn set_mailbox_mode(&mut self, end: u64, mode: u64) {
        let _ = self.hub.mailbox_change(end, |made| made.mode = mode & PERMISSIONS);
    }

    /// Sets a queue's owner, the same way.
    pub(super) fn set_mailbox_owner(&mut self, end: u64, owner: [u64; 2]) {
        let _ = self.hub.mailbox_change(end, |made| {
            for (place, new) in made.owner.iter_mut().zip(owner).filter(|(_, new)| new & KEEP != KEEP) {
                *place = new & KEEP;
            }
        });
    }
}

impl Server for Service {
    fn open(
        &mut self,
        request: &mut Request<'_>,
        flags: u64,
        owner: u64,
        mode: u64,
        messages: u64,
        size: u64,
        limit: u64,
        name: &[u8],
    ) -> HandlerResult<open::Output> {
        self.check_service(request)?;
        let made = QueueOptions { owner: [owner & KEEP, owner >> 32], mode: mode & PERMISSIONS, messages, size };
        let (end, is_new) = self.hub.mailbox_open(&OpenRequest { flags, made, limit, name })?;
        let queue = self.place_or_close(end)?;
        open::Output { is_new: is_new.into(), queue: queue.into() }.at_once(request, &[])
    }

    fn unlink(&mut self, request: &mut Request<'_>, user: u64, name: &[u8]) -> HandlerResult<unlink::Output> {
        self.check_service(request)?;
        self.hub.mailbox_unlink(user, name)?;
        unlink::Output::default().now()
    }

    fn part(&mut self, request: &mut Request<'_>, writer: u64, number: u64, data: &[u8]) -> HandlerResult<part::Output> {
        self.hub.mailbox_part(request.word(), writer, number, data)?;
        part::Output::default().now()
    }

    fn send(
        &mut self,
        request: &mut Request<'_>,
        flags: u64,
        priority: u64,
        rank: u64,
        pid: u64,
        user: u64,
        writer: u64,
        data: &[u8],
    ) -> HandlerResult<send::Output> {
        let (end, has_parts) = (request.word(), flags & MSG_MORE != 0);
        let has_room = self.hub.mailbox_can_send(end, (writer, has_parts), priority, data.len(), &ByMessages)?;
        if !has_room && self.must_not_wait(end, flags & MSG_DONTWAIT != 0)? {
            return Err(Errno::EAGAIN);
        }
        let mail = Mail { priority: priority as u32, data: data.to_vec(), by: [pid, user] };
        let caller = Caller { end, thread: writer, rank, token: request.detach()? };
        done_or_refused(self.hub.mailbox_send(caller, has_parts, mail, &mut ByMessages))
    }

    fn receive(&mut self, request: &mut Request<'_>, flags: u64, size: u64, rank: u64, reader: u64) -> HandlerResult<receive::Output> {
        let end = request.word();
        let has_some = self.hub.mailbox_can_receive(end, reader, size, &ByMessages)?;
        if !has_some && self.must_not_wait(end, flags & MSG_DONTWAIT != 0)? {
            return Err(Errno::EAGAIN);
        }
        let caller = Caller { end, thread: reader, rank, token: request.detach()? };
        done_or_refused(self.hub.mailbox_receive(caller, &mut ByMessages))
    }

    fn rest(&mut self, request: &mut Request<'_>, reader: u64) -> HandlerResult<rest::Output> {
        let piece = self.hub.mailbox_rest(request.word(), reader)?;
        request.put(&piece);
        rest::Output::default().now()
    }

    fn withdraw(&mut self, request: &mut Request<'_>, thread: u64) -> HandlerResult<withdraw::Output> {
        let done = self.hub.mailbox_withdraw(request.word(), thread)?;
        let (priority, total) = done.unwrap_or_default();
        withdraw::Output { is_done: done.is_some().into(), total: total as u64, priority: priority.into() }.now()
    }

    fn facts(&mut self, request: &mut Request<'_>) -> HandlerResult<facts::Output> {
        let (found, flags) = (self.hub.mailbox_facts(request.word())?, self.hub.flags(request.word())?);
        facts::Output { number: found.number, flags, messages: found.made.messages, size: found.made.size, count: found.count }.now()
    }

    fn expect(&mut self, request: &mut Request<'_>, kind: u64, signal: u64, pid: u64, bits: u64, _: Reference) -> HandlerResult<expect::Output> {
        let port = request.keep(0)?;
        let expected = NotifyTarget { kind, signal, pid, bits, port, end: request.word() };
        expect::Output { number: self.hub.mailbox_expect(expected, &ByMessages)? }.now()
    }

    fn forget(&mut self, request: &mut Request<'_>, pid: u64) -> HandlerResult<forget::Output> {
        let (number, was_expected) = self.hub.mailbox_forget(request.word(), pid)?;
        forget::Output { number, was_expected: was_expected.into() }.now()
    }

    fn told(&mut self, request: &mut Request<'_>, pid: u64) -> HandlerResult<told::Output> {
        let told = self.hub.mailbox_told(request.word(), pid)?;
        let [sender, user] = told.unwrap_or_default();
        told::Output { is_told: told.is_some().into(), sender, user }.now()
    }
}
