//! Promised memory: given out, brought where it is touched, taken away.

use super::chore::tell;
use crate::accounts::cost;
use crate::chores::{Chore, Emptying, Leaving, PIECE};
use crate::hardware;
use crate::memory;
use crate::objects::Kind;
use crate::pools::RECORD_COST;
use crate::promises::{Promise, Run};
use crate::root::Root;
use crate::starving::{AT_ONCE, PATIENCE, Starving};
use crate::table::Key;
use alloc::vec::Vec;
use core::ops::Range;
use nacre_abi::fault;
use nacre_proto::flags::{SEGMENT_OVERCOMMIT, SEGMENT_PROMISED};
use nacre_proto::memory::segment_create;
use nacre_proto::segment::{clear, resize};
use nacre_proto::server::{self, Output};
use nacre_proto::{Answer, Errno, HandlerResult, Request};
use nacre_sys::{OwnedPort, OwnedReference, gate};
use nacre_sys::ipc::Message;

/// Part of its memory that a promise leaves to others when memory runs out: one of so many.
const LEFT_PART: u64 = 32;

/// Returns the label of the answer to a fault.
fn label(brought: Result<(), Errno>) -> u32 {
    if brought.is_ok() { fault::RESUME } else { fault::REFUSE }
}

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

    /// Returns true if a promise is larger than its pool, which has `SEGMENT_OVERCOMMIT` alone.
    pub(super) fn is_too_large(&self, pool: Key, size: u64, flags: u64) -> Result<bool, Errno> {
        Ok(flags & SEGMENT_OVERCOMMIT == 0 && size > self.pools.status(pool)?.0)
    }

    /// Gives out a promise. Without `SEGMENT_OVERCOMMIT` nobody is promised more than the pool has
    /// for all.
    pub(super) fn promise(&mut self, pool: Key, size: u64, flags: u64, account: Key) -> Result<segment_create::Output, Errno> {
        if self.is_too_large(pool, size, flags)? {
            return Err(Errno::ENOMEM);
        }
        self.pools.check(pool)?;
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
        // A port of its own: who keeps a region refers to it, and the segment's port would never be
        // without references.
        let keeper = OwnedPort::new(key.to_word(), self.objects.set())?;
        Ok((segment, self.promise_mut(key)?.1.export(keeper)?))
    }

    /// A page that a promise lacks: there is memory now, or once others have given theirs back, or
    /// the fault becomes an exception.
    pub(super) fn promise_fault(&mut self, request: &mut Request<'_>, key: Key, offset: u64) {
        let mut brought = self.bring(key, offset);
        if brought == Err(Errno::ENOMEM) {
            brought = match self.starve(request, key, offset) {
                Ok(()) => return,
                Err(errno) => Err(errno),
            };
        }
        request.answer(label(brought), [0; 6]);
    }

    /// Lets a fault wait for memory.
    fn starve(&mut self, request: &mut Request<'_>, key: Key, offset: u64) -> Result<(), Errno> {
        self.hunger.reserve()?;
        self.objects.charge(key, cost::WAIT)?;
        let reply = request.detach().inspect_err(|_| self.objects.refund(key, cost::WAIT))?;
        if self.hunger.is_empty() {
            self.hunger.settle(self.returned());
        }
        self.hunger.add(Starving { key, offset, until: hardware::monotonic() + PATIENCE, reply });
        Ok(())
    }

    fn returned(&self) -> (u64, u64) {
        (memory::returned(), self.pools.refunds())
    }

    /// Returns the nanoseconds that an event may be waited for, if nothing else limits them but
    /// `patience`; 0: for ever.
    pub fn patience_of_faults(&mut self, patience: u64) -> u64 {
        if self.hunger.is_empty() {
            return patience;
        }
        if self.hunger.is_busy() {
            return 1;
        }
        let own = self.hunger.patience(hardware::monotonic());
        own.into_iter().chain((patience != 0).then_some(patience)).min().unwrap_or(0)
    }

    /// Tries some of the faults that wait for memory, if any has come back, and refuses one if all
    /// has been waited for in vain.
    pub fn feed_faults(&mut self) {
        if self.hunger.is_empty() {
            return;
        }
        self.hunger.notice(self.returned());
        for _ in 0..AT_ONCE {
            let Some(fault) = self.hunger.take_untried() else { break };
            match self.bring(fault.key, fault.offset) {
                Err(Errno::ENOMEM) => self.hunger.add(fault),
                brought => self.end_fault(fault, brought),
            }
        }
        self.hunger.settle(self.returned());
        if !self.chores.frees_memory() && !self.hunger.is_busy() {
            self.refuse_fault();
        }
    }

    /// Refuses the fault of the greediest promise, if a deadline has passed and no program that
    /// waited ends anyway.
    fn refuse_fault(&mut self) {
        let now = hardware::monotonic();
        if !self.hunger.is_due(now) {
            return;
        }
        let mut somebody_ends = false;
        while let Some(fault) = self.hunger.take_gone(|reply| reply.is_null() != Ok(false)) {
            self.end_fault(fault, Err(Errno::ENOMEM));
            somebody_ends = true;
        }
        if !somebody_ends {
            self.refuse_greediest();
        }
        self.hunger.wait_anew(now);
    }

    fn refuse_greediest(&mut self) {
        let objects = &self.objects;
        let taken = |key| match objects.get(key).map(|object| &object.kind) {
            Some(Kind::Promise(_, promise)) => promise.taken(),
            _ => 0,
        };
        if let Some(fault) = self.hunger.take_victim(taken) {
            self.end_fault(fault, Err(Errno::ENOMEM));
        }
    }

    fn end_fault(&mut self, fault: Starving<OwnedReference>, brought: Result<(), Errno>) {
        self.objects.refund(fault.key, cost::WAIT);
        // A thread that does not wait any more does not hear it.
        let _ = server::answer(fault.reply, &Message::new(label(brought), [0; 6]));
    }

    /// Returns the bytes that a promise may still take: the more it has, the more it leaves to
    /// others.
    fn left_for(&self, pool: Key, taken: u64) -> Result<u64, Errno> {
        let (limit, used) = self.pools.status(pool)?;
        Ok(limit.saturating_sub(used).min(memory::available()).saturating_sub(taken / LEFT_PART))
    }

    /// Brings memory for a page: as large a cluster as is wise and as there is memory for.
    fn bring(&mut self, key: Key, offset: u64) -> Result<(), Errno> {
        let (pool, promise) = self.promise_mut(key)?;
        let taken = promise.taken();
        let Some(choices) = promise.choices(offset)? else { return Ok(()) };
        let mut choices: Vec<_> = choices.collect();
        self.pools.check(pool)?;
        if !gate::is_open() {
            return Err(Errno::ENOMEM);
        }
        let left = self.left_for(pool, taken)?;
        choices.retain(|range| range.end - range.start <= left);
        if choices.is_empty() {
            return Err(Errno::ENOMEM);
        }
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

    /// Changes the size of a promise. An error changes nothing.
    pub(super) fn resize_promise(&mut self, request: &mut Request<'_>, size: u64) -> HandlerResult<resize::Output> {
        let key = Key::from_word(request.word());
        let (pool, promise) = self.promise_mut(key)?;
        let before = promise.size();
        if size > before && size > self.pools.status(pool)?.0 {
            return Err(Errno::ENOMEM);
        }
        let work = self.emptying(key, size..before.max(size), Some(size))?;
        self.promise_mut(key)?.1.resize(size)?;
        match self.empty_promise(request, work) {
            Ok(true) => resize::Output { size }.now(),
            Ok(false) => Ok(Answer::Later),
            Err(errno) => self.promise_mut(key)?.1.resize(before).and(Err(errno)),
        }
    }

    /// Takes a part of a promise away, so that it is zeros.
    pub(super) fn clear_promise(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<clear::Output> {
        let key = Key::from_word(request.word());
        let part = self.promise_mut(key)?.1.check(offset, size)?;
        let work = self.emptying(key, part, None)?;
        let is_done = self.empty_promise(request, work)?;
        if is_done { clear::Output::default().now() } else { Ok(Answer::Later) }
    }

    /// Sets aside what the work on a part needs, before anything is changed.
    fn emptying(&mut self, key: Key, part: Range<u64>, resized: Option<u64>) -> Result<Emptying, Errno> {
        let leaving = Leaving::with_room(self.promise_mut(key)?.1.runs_at_once(&part))?;
        Ok(Emptying { key, part, leaving, refund: None, resized })
    }

    /// Takes a part of a promise away. Returns false if that is more than one piece of work: a
    /// chore answers then. An error changes nothing.
    fn empty_promise(&mut self, request: &mut Request<'_>, mut work: Emptying) -> Result<bool, Errno> {
        let account = self.objects.account(request.word());
        let promise = self.promise_mut(work.key)?.1;
        let is_long = promise.first_piece(&work.part) != work.part;
        let mut reply = if is_long { Some(request.detach()?) } else { None };
        if !is_long {
            self.cut_first_piece(&mut work)?;
            // Without memory for a wait, the client is answered before all memory is back.
            let is_large = work.refund.is_some_and(|(_, bytes)| bytes > PIECE);
            reply = if is_large { request.detach().ok() } else { None };
        }
        let Some(reply) = reply else {
            if let Some(refund) = work.refund {
                self.give_back(account, work.leaving, refund, None);
            }
            return Ok(true);
        };
        if let Some(rest) = self.empty_piece(work, reply) {
            self.chores.add(account, rest);
        }
        Ok(false)
    }

    /// Does a piece of the work on a part that is taken away, and answers after the last one.
    pub(super) fn empty_piece(&mut self, mut work: Emptying, reply: OwnedReference) -> Option<Chore> {
        if let Some((pool, bytes)) = work.refund {
            if work.leaving.piece() {
                self.pools.refund(pool, bytes);
                work.refund = None;
            }
        } else if let Err(errno) = self.cut_first_piece(&mut work) {
            // The promise was destroyed meanwhile, with all that it had left.
            let _ = server::refuse(reply, errno);
            return None;
        }
        if work.refund.is_some() || !work.part.is_empty() {
            return Some(Chore::Empty(work, reply));
        }
        match work.resized {
            Some(size) => tell(Some(reply), resize::Output { size }),
            None => tell(Some(reply), clear::Output::default()),
        }
        None
    }

    /// Cuts the first piece of a part. What it had is to be given back.
    fn cut_first_piece(&mut self, work: &mut Emptying) -> Result<(), Errno> {
        let (pool, promise) = self.promise_mut(work.key)?;
        let piece = promise.first_piece(&work.part);
        let end = piece.end;
        self.cut_promise(work.key, piece, work.leaving.runs())?;
        work.part.start = end;
        let bytes = work.leaving.runs().iter().map(|run| run.1).sum();
        work.refund = Some((pool, bytes));
        Ok(())
    }

    /// Cuts a piece, and charges the promise's account for as many clusters as it has then. A cut
    /// adds one at most, and none where nobody pays for it.
    fn cut_promise(&mut self, key: Key, piece: Range<u64>, returned: &mut Vec<Run>) -> Result<(), Errno> {
        let may_split = gate::is_open() && self.objects.charge(key, cost::PIECE).is_ok();
        let promise = self.promise_mut(key)?.1;
        let paid = promise.clusters() + u64::from(may_split);
        promise.cut(piece, may_split, returned);
        let now = promise.clusters();
        self.objects.refund(key, paid.saturating_sub(now) * cost::PIECE);
        Ok(())
    }
}
