//! Pieces of long work, and the answers to those who wait for it.

use crate::chores::{self, AfterCut, Chore, Destroying, Leaving, Making, PIECE, Retry, Wanted};
use crate::memory::{Segment, total};
use crate::objects::Kind;
use crate::pools::{RECORD_COST, Remains};
use crate::root::Root;
use crate::table::Key;
use alloc::vec::Vec;
use core::ops::Range;
use nacre_proto::flags::SEGMENT_OBJECTS;
use nacre_proto::server::{self, Output};
use nacre_proto::{Answer, Errno, HandlerResult, Request, file, memory, segment};
use nacre_sys::{OwnedReference, Span};

/// Pieces of a pool that are taken down before its client is asked to wait.
pub(super) const AT_ONCE: usize = 4;
/// Pools and ways to them that are taken down in one piece.
const RECORDS_AT_ONCE: usize = 16;
/// Number of times that a request without enough memory is tried at least, while memory comes back.
const MIN_TRIES: u64 = 64;

impl Root {
    /// Returns true if there is work for the time between requests.
    pub fn has_chores(&self) -> bool {
        !self.chores.is_empty() || self.files.tree.store().has_discarded()
    }

    /// Does one piece of the work that waits.
    pub fn do_chore(&mut self) {
        self.files.tree.store_mut().free_discarded();
        let Some((account, chore)) = self.chores.take() else { return };
        self.pay_as(account);
        let frees = chores::frees(&chore);
        if let Some(rest) = self.do_piece(account, chore) {
            self.chores.add(account, rest);
        }
        if frees {
            self.chores.memory_came_back();
        }
    }

    /// Returns true if a lack of memory is no answer yet, because memory of what has ended is on
    /// its way back. Others may give memory back all the time, so a request that was tried until
    /// all memory can have come back gets the answer.
    pub(super) fn may_retry(&self, errno: Errno, tries: u64) -> bool {
        errno == Errno::ENOMEM && self.chores.frees_memory() && tries < total() / PIECE + MIN_TRIES
    }

    /// Answers a request that takes memory of a pool, or lets it wait for memory that is on its way
    /// back.
    pub(super) fn or_retry<O: Output>(&mut self, request: &mut Request<'_>, made: Result<O, Errno>, pool: Key, wanted: Wanted) -> HandlerResult<O> {
        match made {
            Err(errno) if self.may_retry(errno, 0) => {
                self.wait_for(request, |reply| Chore::Retry(Retry { pool, wanted, tries: 1 }, reply))?;
                Ok(Answer::Later)
            }
            made => made?.now(),
        }
    }

    fn retry_piece(&mut self, account: Key, retry: Retry, reply: OwnedReference) -> Option<Chore> {
        match retry.wanted {
            Wanted::Promise(size, flags) => {
                let made = self.promise(retry.pool, size, flags, account);
                self.tell_made(made, retry, reply)
            }
            Wanted::Pool(limit, is_data) => {
                let made = self.make_pool(retry.pool, limit, is_data, account);
                self.tell_made(made, retry, reply)
            }
        }
    }

    fn tell_made<O: Output>(&self, made: Result<O, Errno>, retry: Retry, reply: OwnedReference) -> Option<Chore> {
        match made {
            Ok(output) => tell(Some(reply), output),
            Err(errno) if self.may_retry(errno, retry.tries) => return Some(Chore::Retry(Retry { tries: retry.tries + 1, ..retry }, reply)),
            Err(errno) => drop(server::refuse(reply, errno)),
        }
        None
    }

    /// Lets this client pay for contents and names that are taken from now on.
    pub(super) fn pay(&mut self, request: &Request<'_>) {
        self.pay_as(self.objects.account(request.word()));
    }

    fn pay_as(&mut self, account: Key) {
        self.files.tree.store_mut().payers.now.set(self.objects.accounts.payers(account));
    }

    /// Lets a client wait for a chore.
    pub(super) fn wait_for(&mut self, request: &mut Request<'_>, chore: impl FnOnce(OwnedReference) -> Chore) -> Result<(), Errno> {
        let reply = request.detach()?;
        self.chores.add(self.objects.account(request.word()), chore(reply));
        Ok(())
    }

    /// Does a piece; what is left to do.
    fn do_piece(&mut self, account: Key, chore: Chore) -> Option<Chore> {
        match chore {
            Chore::Retry(retry, reply) => self.retry_piece(account, retry, reply),
            Chore::Make(making, reply) => self.make_piece(account, making, reply),
            Chore::Colour(making, reply) => self.colour_piece(account, making, reply),
            Chore::Uncolour(making, reply) => self.uncolour_piece(making, reply),
            Chore::Clear(key, at, end, reply) => self.clear_piece(key, at, end, reply),
            Chore::Empty(work, reply) => self.empty_piece(work, reply),
            Chore::TakeBack(mut leaving, (pool, bytes), reply) => {
                if !leaving.piece() {
                    return Some(Chore::TakeBack(leaving, (pool, bytes), reply));
                }
                self.pools.refund(pool, bytes);
                tell(reply, segment::destroy::Output::default());
                None
            }
            Chore::Destroy(mut left, reply) => {
                if !self.destroy_piece(&mut left) {
                    return Some(Chore::Destroy(left, reply));
                }
                tell(reply, memory::pool_destroy::Output::default());
                None
            }
            Chore::Cut(node, size, after, reply) => self.cut_piece(account, node, size, after, reply),
            Chore::Allocate(node, flags, part, reply) => self.allocate_chore(node, flags, part, reply),
        }
    }

    /// Takes down a piece of what was in a pool; returns true if all has gone.
    pub(super) fn destroy_piece(&mut self, left: &mut Destroying) -> bool {
        if left.rest.is_none() {
            left.rest = self.take_down(&mut left.left);
        }
        if let Some((mut leaving, refund)) = left.rest.take() {
            match leaving.piece() {
                false => left.rest = Some((leaving, refund)),
                true => self.pools.refund(refund.0, refund.1),
            }
        }
        left.rest.is_none() && left.left.is_empty()
    }

    /// Takes down some of what was in pools: up to one segment, whose memory is returned with the
    /// pool that is refunded.
    fn take_down(&mut self, left: &mut Vec<Remains>) -> Option<(Leaving, (Key, u64))> {
        for _ in 0..RECORDS_AT_ONCE {
            let remains = left.last_mut()?;
            if let Some(key) = remains.segments.pop_first() {
                return self.dismantle_segment(Key::from_word(key)).map(|(_, rest)| rest);
            }
            if let Some(port) = remains.ports.pop_first() {
                self.objects.remove(Key::from_word(port));
            } else if let Some(pool) = remains.pools.pop_first() {
                let inner = self.pools.open(pool);
                left.push(inner);
            } else {
                left.pop();
            }
        }
        None
    }

    /// Destroys a pool with everything in it, later if that is much.
    pub fn destroy_pool(&mut self, pool: Key, account: Key) {
        let mut left = self.remove_pool(pool);
        if !(0..AT_ONCE).any(|_| self.destroy_piece(&mut left)) {
            self.chores.add(account, Chore::Destroy(left, None));
        }
    }

    /// Takes a segment out: its account, its memory, which nobody else reaches any more, and what
    /// its pool is refunded for that.
    fn dismantle_segment(&mut self, key: Key) -> Option<(Key, (Leaving, (Key, u64)))> {
        self.forget_waits(crate::futex_queues::Place::Segment(key));
        let object = self.objects.remove(key)?;
        let (pool, bytes, leaving) = match object.kind {
            // Memory that the kernel still uses is lost rather than handed out again.
            Kind::Segment(pool, mut segment) => (pool, segment.size(), segment.dismantle().map(Leaving::from)),
            Kind::Promise(pool, promise) => (pool, promise.taken(), Some(promise.dismantle().into())),
            Kind::Coloured(making) => {
                self.pools.disown(making.paid.0, key.to_word());
                if let Some(rest) = self.uncolour_piece(making, None) {
                    self.chores.add(object.account, rest);
                }
                return None;
            }
            _ => return None,
        };
        self.pools.disown(pool, key.to_word());
        Some((object.account, (leaving?, (pool, bytes + RECORD_COST))))
    }

    /// Takes a segment out, and gives its memory back: at once, or in pieces if it is large.
    pub fn forget_segment(&mut self, key: Key, reply: Option<OwnedReference>) {
        match self.dismantle_segment(key) {
            Some((account, (leaving, refund))) => self.give_back(account, leaving, refund, reply),
            None => tell(reply, segment::destroy::Output::default()),
        }
    }

    /// Gives memory back that nobody reaches, in pieces if it is much, and refunds its pool.
    pub(super) fn give_back(&mut self, account: Key, leaving: Leaving, refund: (Key, u64), reply: Option<OwnedReference>) {
        let first = self.do_piece(account, Chore::TakeBack(leaving, refund, reply));
        if let Some(rest) = first {
            self.chores.add(account, rest);
        }
    }

    fn make_piece(&mut self, account: Key, mut making: Making, reply: OwnedReference) -> Option<Chore> {
        if let Err(errno) = self.begin_making(&mut making) {
            return match self.may_retry(errno, making.tries) {
                true => Some(Chore::Make(Making { tries: making.tries + 1, ..making }, reply)),
                false => self.refuse_making(&making, reply, errno),
            };
        }
        let (segment, filled) = making.segment.take()?;
        let next = (filled + PIECE).min(making.size);
        segment.fill(filled, next - filled);
        if next < making.size {
            making.segment = Some((segment, next));
            return Some(Chore::Make(making, reply));
        }
        match self.give_segment(making.pool, segment, account) {
            Ok((segment, region)) => {
                let holds = if making.holds_objects { SEGMENT_OBJECTS } else { 0 };
                let _ = memory::segment_create::Output { size: making.size, holds, segment: segment.into(), region: region.into() }.send(reply, Span::EMPTY);
                None
            }
            Err(errno) => self.refuse_making(&making, reply, errno),
        }
    }

    /// Pays for a segment that is being made, and takes its memory, as far as that is not done yet.
    fn begin_making(&mut self, making: &mut Making) -> Result<(), Errno> {
        self.pools.check(making.pool)?;
        if !making.is_paid {
            self.pools.charge(making.pool, making.size + RECORD_COST)?;
            making.is_paid = true;
        }
        if making.segment.is_none() {
            making.segment = Some(Segment::unfilled(making.size, making.holds_objects)?);
        }
        Ok(())
    }

    fn refuse_making(&mut self, making: &Making, reply: OwnedReference, errno: Errno) -> Option<Chore> {
        if making.is_paid {
            self.pools.refund(making.pool, making.size + RECORD_COST);
        }
        let _ = server::refuse(reply, errno);
        None
    }

    fn clear_piece(&mut self, key: Key, at: u64, end: u64, reply: OwnedReference) -> Option<Chore> {
        let next = (at + PIECE).min(end);
        let done = match self.objects.get(key).map(|object| &object.kind) {
            Some(Kind::Segment(_, segment)) => segment.clear(at, next - at),
            _ => Err(Errno::EIO),
        };
        match done {
            Ok(()) if next < end => return Some(Chore::Clear(key, next, end, reply)),
            Ok(()) => tell(Some(reply), segment::clear::Output::default()),
            Err(errno) => drop(server::refuse(reply, errno)),
        }
        None
    }

    fn cut_piece(&mut self, account: Key, node: Key, size: u64, after: AfterCut, reply: OwnedReference) -> Option<Chore> {
        let done = self.files.tree.cut(node, size, self.files.clock.now());
        match (done, after) {
            (Ok(false), after) => return Some(Chore::Cut(node, size, after, reply)),
            (Ok(true), AfterCut::Answer) => tell(Some(reply), file::set_size::Output::default()),
            (Ok(true), AfterCut::Open(flags, is_writer)) => {
                // The new open file is one more, beside the one that has kept the file until now.
                self.files.tree.opened(node);
                match self.give_file(account, node, flags, is_writer) {
                    Ok(opened) => tell(Some(reply), opened),
                    Err(errno) => {
                        self.files.tree.closed(node);
                        let _ = server::refuse(reply, errno);
                    }
                }
            }
            (Err(errno), after) => {
                if let AfterCut::Open(_, true) = after {
                    self.files.tree.stop_writing(node);
                }
                let _ = server::refuse(reply, errno);
            }
        }
        self.files.tree.closed(node);
        None
    }

    fn allocate_chore(&mut self, node: Key, flags: u64, part: Range<u64>, reply: OwnedReference) -> Option<Chore> {
        match self.allocate_piece(node, flags, part.clone()) {
            Ok(Some(next)) => return Some(Chore::Allocate(node, flags, next..part.end, reply)),
            Ok(None) => tell(Some(reply), file::allocate::Output::default()),
            Err(errno) => drop(server::refuse(reply, errno)),
        }
        self.files.tree.closed(node);
        None
    }
}

/// Answers somebody who has waited. Who has gone does not hear it.
pub(super) fn tell(reply: Option<OwnedReference>, output: impl Output) {
    if let Some(reply) = reply {
        let _ = output.send(reply, Span::EMPTY);
    }
}
