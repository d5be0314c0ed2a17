//! Protocol `keyed`: who has entered, and the answers to those who have waited.

use super::Service;
use crate::keyed::{KeyedRequest, Done, Operation};
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::flags::{CLOCK_REALTIME, IPC_NOWAIT, KEYED_MESSAGES, KEYED_SEMAPHORES};
use nacre_proto::keyed::{
    Server, attach, change, detach, detach_all, enter, get, get_memory, operate, place, receive, remove, semaphore, semaphore_set, send, state, values,
    values_set,
};
use nacre_proto::server::{self, Output};
use nacre_proto::{Answer, Errno, HandlerResult, Request, clock};
use nacre_sys::{OwnedPort, OwnedReference, Reference, Span};

/// Bytes of an operation on a semaphore, and most operations at once.
const OPERATION: usize = 6;
const MAX_OPERATIONS: usize = 500;

impl Service {
    /// Returns the process that sent a request, and updates the time.
    fn caller(&mut self, request: &Request<'_>) -> Result<u64, Errno> {
        let member = request.word();
        if !self.keyed.has_entered(member) {
            return Err(Errno::ENOSYS);
        }
        let now = self.clock.as_ref().and_then(|clock| clock::read(clock.handle(), CLOCK_REALTIME).ok());
        self.keyed.time = now.map_or(0, |now| now.seconds);
        Ok(member)
    }

    /// A process has ended.
    pub(super) fn leave_keyed(&mut self, member: u64) {
        if self.members.remove(&member).is_some() {
            self.keyed.leave(member);
        }
    }

    /// Answers those whose turn has come.
    pub(super) fn settle_keyed(&mut self) {
        self.keyed.settle(is_gone, |reply, doing, result| {
            let sent = match result {
                Ok(Done::Done) => operate::Output::default().send(reply, Span::EMPTY),
                Ok(Done::Received(kind, data)) => receive::Output { kind: *kind }.send(reply, Span::from(&data[..data.len().min(doing.room())])),
                Err(errno) => server::refuse(reply, *errno),
            };
            sent.is_ok()
        });
    }

    /// Does it now; `None`: it is answered later.
    fn keyed_now(&mut self, request: &mut Request<'_>, number: u64, doing: KeyedRequest, wait: Result<(), Errno>) -> Result<Option<Done>, Errno> {
        let member = self.caller(request)?;
        if let Some(done) = self.keyed.attempt(member, number, &doing)? {
            return Ok(Some(done));
        }
        wait?;
        let reply = request.detach()?;
        let kind = if matches!(doing, KeyedRequest::Operate(_)) { KEYED_SEMAPHORES } else { KEYED_MESSAGES };
        self.keyed.forget_gone(kind, number, is_gone);
        if let Err(reply) = self.keyed.wait(member, number, doing, reply) {
            let _ = server::refuse(reply, Errno::ENOMEM);
        }
        Ok(None)
    }
}

/// Returns true if nobody waits for the answer any more.
fn is_gone(reply: &OwnedReference) -> bool {
    reply.is_null().unwrap_or(true)
}

fn waits(flags: u64, otherwise: Errno) -> Result<(), Errno> {
    if flags & IPC_NOWAIT != 0 { Err(otherwise) } else { Ok(()) }
}

impl Server for Service {
    fn enter(&mut self, request: &mut Request<'_>, pid: u64, owner: u64) -> HandlerResult<enter::Output> {
        if !super::is_service(request.word()) {
            return Err(Errno::ENOSYS);
        }
        let member = self.hub.key();
        let port = OwnedPort::new(member, self.set.handle())?;
        let reference = port.new_reference(REFERENCE_USE)?;
        self.keyed.enter(member, pid, owner)?;
        self.members.insert(member, port);
        // If it does not arrive, the last reference goes here, and the member with it.
        enter::Output { port: reference.into() }.at_once(request, &[])
    }

    fn get(&mut self, request: &mut Request<'_>, kind: u64, key: u64, size: u64, flags: u64) -> HandlerResult<get::Output> {
        let member = self.caller(request)?;
        get::Output { number: self.keyed.get(member, kind, key, size, flags, None)? }.now()
    }

    fn get_memory(&mut self, request: &mut Request<'_>, key: u64, size: u64, flags: u64, _: Reference) -> HandlerResult<get_memory::Output> {
        let member = self.caller(request)?;
        let file = request.keep(0)?;
        get_memory::Output { number: self.keyed.get(member, 0, key, size, flags, Some(file))? }.now()
    }

    fn attach(&mut self, request: &mut Request<'_>, number: u64) -> HandlerResult<attach::Output> {
        let member = self.caller(request)?;
        let (file, size) = self.keyed.attach(member, number)?;
        attach::Output { size, file: file.handle().into() }.now()
    }

    fn detach(&mut self, request: &mut Request<'_>, number: u64) -> HandlerResult<detach::Output> {
        let member = self.caller(request)?;
        self.keyed.detach(member, number)?;
        detach::Output::default().now()
    }

    fn detach_all(&mut self, request: &mut Request<'_>) -> HandlerResult<detach_all::Output> {
        let member = self.caller(request)?;
        self.keyed.detach_all(member)?;
        detach_all::Output::default().now()
    }

    fn state(&mut self, request: &mut Request<'_>, kind: u64, number: u64) -> HandlerResult<state::Output> {
        self.caller(request)?;
        let bytes: Vec<u8> = self.keyed.state(kind, number)?.into_iter().flat_map(u64::to_le_bytes).collect();
        request.put(&bytes);
        state::Output::default().now()
    }

    fn change(&mut self, request: &mut Request<'_>, kind: u64, number: u64, owner: u64, mode: u64, bytes: u64) -> HandlerResult<change::Output> {
        self.caller(request)?;
        self.keyed.change(kind, number, owner, mode, bytes)?;
        change::Output::default().now()
    }

    fn remove(&mut self, request: &mut Request<'_>, kind: u64, number: u64) -> HandlerResult<remove::Output> {
        self.caller(request)?;
        for reply in self.keyed.remove(kind, number)? {
            let _ = server::refuse(reply, Errno::EIDRM);
        }
        remove::Output::default().now()
    }

    fn place(&mut self, request: &mut Request<'_>, kind: u64, index: u64) -> HandlerResult<place::Output> {
        self.caller(request)?;
        let (number, highest, count) = self.keyed.place(kind, index);
        place::Output { number: number.unwrap_or(u64::MAX), highest, count }.now()
    }

    fn operate(&mut self, request: &mut Request<'_>, number: u64, bytes: &[u8]) -> HandlerResult<operate::Output> {
        let operations: Vec<Operation> = bytes.as_chunks::<OPERATION>().0.iter().map(|one| Operation::from_sembuf(*one)).collect();
        if operations.is_empty() {
            return Err(Errno::EINVAL);
        }
        if operations.len() > MAX_OPERATIONS {
            return Err(Errno::E2BIG);
        }
        let done = self.keyed_now(request, number, KeyedRequest::Operate(operations), Ok(()))?;
        if done.is_some() { operate::Output::default().now() } else { Ok(Answer::Later) }
    }

    fn semaphore(&mut self, request: &mut Request<'_>, number: u64, index: u64) -> HandlerResult<semaphore::Output> {
        self.caller(request)?;
        self.keyed.forget_gone(KEYED_SEMAPHORES, number, is_gone);
        let [value, pid, up, zero] = self.keyed.semaphore(number, index)?;
        semaphore::Output { value, pid, up, zero }.now()
    }

    fn semaphore_set(&mut self, request: &mut Request<'_>, number: u64, index: u64, value: u64) -> HandlerResult<semaphore_set::Output> {
        let member = self.caller(request)?;
        let value = u16::try_from(value).map_err(|_| Errno::ERANGE)?;
        self.keyed.set_values(member, number, index, &[value])?;
        semaphore_set::Output::default().now()
    }

    fn values(&mut self, request: &mut Request<'_>, number: u64, first: u64) -> HandlerResult<values::Output> {
        self.caller(request)?;
        let bytes: Vec<u8> = self.keyed.values(number, first, MAX_BYTES as usize / 2)?.into_iter().flat_map(u16::to_le_bytes).collect();
        request.put(&bytes);
        values::Output::default().now()
    }

    fn values_set(&mut self, request: &mut Request<'_>, number: u64, first: u64, bytes: &[u8]) -> HandlerResult<values_set::Output> {
        let member = self.caller(request)?;
        let values: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|value| u16::from_le_bytes(*value)).collect();
        self.keyed.set_values(member, number, first, &values)?;
        values_set::Output::default().now()
    }

    fn send(&mut self, request: &mut Request<'_>, number: u64, kind: u64, flags: u64, data: &[u8]) -> HandlerResult<send::Output> {
        let done = self.keyed_now(request, number, KeyedRequest::Send(kind, data.to_vec()), waits(flags, Errno::EAGAIN))?;
        if done.is_some() { send::Output::default().now() } else { Ok(Answer::Later) }
    }

    fn receive(&mut self, request: &mut Request<'_>, number: u64, size: u64, kind: u64, flags: u64) -> HandlerResult<receive::Output> {
        let size = size.min(MAX_BYTES) as usize;
        match self.keyed_now(request, number, KeyedRequest::Receive(size, kind as i64, flags), waits(flags, Errno::ENOMSG))? {
            Some(Done::Received(kind, data)) => {
                request.put(&data[..data.len().min(size)]);
                receive::Output { kind }.now()
            }
            Some(Done::Done) => Err(Errno::EIO),
            None => Ok(Answer::Later),
        }
    }
}
