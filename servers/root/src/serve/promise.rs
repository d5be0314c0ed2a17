//! Promised memory: given out, brought where it is touched, taken away.

use crate::accounts::cost;
use crate::chores::{Chore, PIECE};
use crate::hardware;
use crate::objects::Kind;
use crate::pools::RECORD_COST;
use crate::promises::{Promise, Returned};
use crate::root::Root;
use crate::table::Key;
use alloc::vec::Vec;
use nacre_abi::fault;
use nacre_proto::flags::{SEGMENT_OVERCOMMIT, SEGMENT_PROMISED};
use nacre_proto::memory::segment_create;
use nacre_proto::segment::clear;
use nacre_proto::server::{self, Output};
use nacre_proto::{Answer, Errno, Handled, Request};
use nacre_sys::OwnedReference;
use nacre_sys::ipc::Message;

/// Nanoseconds that a fault waits for memory of programs that have just ended.
const PATIENCE: u64 = 20_000_000;

impl Root {
    /// The promise behind a request's port, if there is one.
    pub(super) fn promised(&self, request: &Request<'_>) -> Option<&Promise> {
        match self.objects.get(Key::from_word(request.word())).map(|object| &object.kind) {
            Some(Kind::Promise(_, promise)) => Some(promise),
            _ => None,
        }
    }

    fn promise_mut(&mut self, key: Key) -> Result<(Key, &mut Promise), Errno> {
        match self.objects.get_mut(key).map(|object| &mut object.kind) {
            Some(Kind::Promise(pool, promise)) => Ok((*pool, promise)),
            _ => Err(Errno::EIO),
        }
    }

    /// Gives out a promise. Without `SEGMENT_OVERCOMMIT` nobody is promised more than the pool has
    /// for all.
    pub(super) fn promise(&mut self, pool: Key, size: u64, flags: u64, account: Key) -> Result<segment_create::Output, Errno> {
        if flags & SEGMENT_OVERCOMMIT == 0 && size > self.pools.status(pool)?.0 {
            return Err(Errno::ENOMEM);
        }
        self.pools.charge(pool, RECORD_COST)?;
        self.give_promise(pool, size, account).inspect_err(|_| self.pools.refund(pool, RECORD_COST))
    }

    fn give_promise(&mut self, pool: Key, size: u64, account: Key) -> Result<segment_create::Output, Errno> {
        let key = self.objects.add(Kind::Promise(pool, Promise::new(size)?), false, account)?;
        match self.export_promise(key) {
            Ok((segment, region)) => {
                self.pools.adopt(pool, key.to_word());
                Ok(segment_create::Output { size, holds: SEGMENT_PROMISED, segment: segment.into(), region: region.into() })
            }
            Err(errno) => {
                self.objects.remove(key);
                Err(errno)
            }
        }
    }

    fn export_promise(&mut self, key: Key) -> Result<(OwnedReference, OwnedReference), Errno> {
        let segment = self.objects.reference(key)?;
        let keeper = self.objects.port(key).ok_or(Errno::EIO)?.as_keeper();
        Ok((segment, self.promise_mut(key)?.1.export(keeper)?))
    }

    /// A page that a promise lacks: there is memory now, or once others have given theirs back, or
    /// the fault becomes an exception.
    pub(super) fn promise_fault(&mut self, request: &mut Request<'_>, key: Key, offset: u64) {
        let mut brought = self.bring(key, offset);
        if brought == Err(Errno::ENOMEM) {
            let until = hardware::monotonic() + PATIENCE;
            match self.wait_for(request, |reply| Chore::Bring(key, offset, until, reply)) {
                Ok(()) => return,
                Err(errno) => brought = Err(errno),
            }
        }
        request.answer(if brought.is_ok() { fault::RESUME } else { fault::REFUSE }, [0; 6]);
    }

    /// Tries again to bring the page of a fault that waits for memory.
    pub(super) fn bring_later(&mut self, key: Key, offset: u64, until: u64, reply: OwnedReference) -> Option<Chore> {
        let brought = self.bring(key, offset);
        if brought == Err(Errno::ENOMEM) && (self.chores.frees_memory() || hardware::monotonic() < until) {
            return Some(Chore::Bring(key, offset, until, reply));
        }
        // Who does not wait any more does not hear it.
        let _ = server::answer(reply, &Message::new(if brought.is_ok() { fault::RESUME } else { fault::REFUSE }, [0; 6]));
        None
    }

    /// Brings memory for a page: as large a cluster as is wise and as there is memory for.
    fn bring(&mut self, key: Key, offset: u64) -> Result<(), Errno> {
        let (pool, promise) = self.promise_mut(key)?;
        let Some(choices) = promise.choices(offset)? else { return Ok(()) };
        let choices: Vec<_> = choices.collect();
        self.objects.charge(key, cost::PIECE)?;
        for range in choices {
            let size = range.end - range.start;
            if self.pools.charge(pool, size).is_err() {
                continue;
            }
            if self.promise_mut(key)?.1.bring(range).is_ok() {
                return Ok(());
            }
            self.pools.refund(pool, size);
        }
        self.objects.refund(key, cost::PIECE);
        Err(Errno::ENOMEM)
    }

    /// Changes the size of a promise.
    pub(super) fn resize_promise(&mut self, request: &Request<'_>, size: u64) -> Result<(), Errno> {
        let key = Key::from_word(request.word());
        let (pool, promise) = self.promise_mut(key)?;
        let before = promise.size();
        if size > before && size > self.pools.status(pool)?.0 {
            return Err(Errno::ENOMEM);
        }
        let returned = self.change_promise(key, |promise| promise.resize(size))?;
        self.return_memory(request, pool, returned, None);
        Ok(())
    }

    /// Takes a part of a promise away, so that it is zeros.
    pub(super) fn clear_promise(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> Handled<clear::Output> {
        let key = Key::from_word(request.word());
        let (pool, promise) = self.promise_mut(key)?;
        let part = promise.check(offset, size)?;
        let returned = self.change_promise(key, |promise| Ok(promise.cut(part)))?;
        let is_large = returned.iter().map(|returned| returned.run.1).sum::<u64>() > PIECE;
        // Without memory for a wait, the client is answered before all is back.
        let reply = if is_large { request.detach().ok() } else { None };
        let is_late = reply.is_some();
        self.return_memory(request, pool, returned, reply);
        if is_late { Ok(Answer::Later) } else { clear::Output::default().now() }
    }

    /// Changes a promise, and charges its account for as many clusters as it has then.
    fn change_promise<T>(&mut self, key: Key, change: impl FnOnce(&mut Promise) -> Result<T, Errno>) -> Result<T, Errno> {
        let promise = self.promise_mut(key)?.1;
        let before = promise.clusters();
        let changed = change(promise);
        let now = promise.clusters();
        if now <= before {
            self.objects.refund(key, (before - now) * cost::PIECE);
        } else {
            // Giving up succeeds: one cluster of which the middle goes is two.
            let _ = self.objects.charge(key, (now - before) * cost::PIECE);
        }
        changed
    }

    fn return_memory(&mut self, request: &Request<'_>, pool: Key, returned: Vec<Returned>, reply: Option<OwnedReference>) {
        let bytes = returned.iter().map(|returned| returned.run.1).sum();
        self.give_back(self.objects.account(request.word()), returned.into(), (pool, bytes), reply);
    }
}
