//! Protocols `memory` and `segment`: pools, and what is taken from them.

use super::chore::AT_ONCE;
use crate::chores::{Chore, Making, PIECE, Wanted};
use crate::frames::FRAME;
use crate::memory::{Segment, available, whole_pages};
use crate::objects::Kind;
use crate::pools::RECORD_COST;
use crate::promises;
use crate::root::Root;
use crate::table::Key;
use nacre_proto::flags::{POOL_DATA, POOL_NAMELESS, SEGMENT_OBJECTS, SEGMENT_OVERCOMMIT, SEGMENT_PAGEABLE, SEGMENT_PROMISED};
use nacre_proto::memory::{self, pool_create, pool_destroy, segment_create, share};
use nacre_proto::segment::{self, clear, destroy, meet, next, requeue, resize, wait, wake};
use nacre_proto::server::Output;
use nacre_proto::{Answer, Errno, HandlerResult, Request};
use nacre_sys::OwnedReference;

impl Root {
    fn pool(&self, request: &Request<'_>) -> Result<Key, Errno> {
        self.pool_and_kind(request).map(|(pool, _)| pool)
    }

    /// The pool behind the request's port, and true if no memory for kernel objects comes through
    /// that port.
    pub(super) fn pool_and_kind(&self, request: &Request<'_>) -> Result<(Key, bool), Errno> {
        let (pool, is_data) = match self.objects.get(Key::from_word(request.word())).map(|object| &object.kind) {
            Some(Kind::Pool(pool)) => (*pool, false),
            Some(Kind::SharedPool(pool, is_data)) => (*pool, *is_data),
            _ => return Err(Errno::ENOSYS),
        };
        Ok((pool, is_data || self.pools.is_data(pool)))
    }

    fn segment_mut(&mut self, request: &Request<'_>) -> Result<(Key, &mut Segment), Errno> {
        match self.objects.get_mut(Key::from_word(request.word())).map(|object| &mut object.kind) {
            Some(Kind::Segment(pool, segment)) => Ok((*pool, segment)),
            _ => Err(Errno::ENOSYS),
        }
    }

    /// Makes the one reference to an object of this kind, by which a client reaches a pool.
    fn give_pool(&mut self, pool: Key, kind: Kind, account: Key) -> Result<OwnedReference, Errno> {
        let key = self.objects.add(kind, false, account)?;
        let given = self.objects.reference(key).inspect_err(|_| drop(self.objects.remove(key)))?;
        self.pools.adopt_port(pool, key.to_word());
        Ok(given)
    }

    /// Makes a pool in another, and gives it out.
    pub(super) fn make_pool(&mut self, parent: Key, limit: u64, is_data: bool, account: Key) -> Result<pool_create::Output, Errno> {
        let pool = self.pools.create(parent, limit, is_data)?;
        let given = self.give_pool(pool, Kind::Pool(pool), account).inspect_err(|_| self.destroy_pool(pool, account))?;
        Ok(pool_create::Output { pool: given.into() })
    }

    /// Gives out a segment that is paid for: the references to its port and its region.
    pub(super) fn give_segment(&mut self, pool: Key, segment: Segment, account: Key) -> Result<(OwnedReference, OwnedReference), Errno> {
        self.pools.check(pool)?;
        let region = segment.region_reference()?;
        let key = self.objects.add(Kind::Segment(pool, segment), false, account)?;
        match self.objects.reference(key) {
            Ok(reference) => {
                self.pools.adopt(pool, key.to_word());
                Ok((reference, region))
            }
            Err(errno) => {
                self.objects.remove(key);
                Err(errno)
            }
        }
    }
}

impl memory::Server for Root {
    fn segment_create(&mut self, request: &mut Request<'_>, size: u64, flags: u64) -> HandlerResult<segment_create::Output> {
        let (pool, is_data) = self.pool_and_kind(request)?;
        if flags & !(SEGMENT_OBJECTS | SEGMENT_PAGEABLE | SEGMENT_PROMISED | SEGMENT_OVERCOMMIT) != 0 {
            return Err(Errno::EINVAL);
        }
        if flags & SEGMENT_OBJECTS != 0 && is_data {
            return Err(Errno::EACCES);
        }
        let size = whole_pages(size)?;
        let may_promise = flags & (SEGMENT_OBJECTS | SEGMENT_PROMISED) == SEGMENT_PROMISED && size >= promises::LEAST;
        // Where addresses lack, the memory is there at once.
        if may_promise && promises::has_addresses(size, size > self.pools.status(pool)?.0) {
            if self.is_too_large(pool, size, flags)? {
                return Err(Errno::ENOMEM);
            }
            let made = self.promise(pool, size, flags, self.objects.account(request.word()));
            return self.or_retry(request, made, pool, Wanted::Promise(size, flags));
        }
        let (account, holds_objects) = (self.objects.account(request.word()), flags & SEGMENT_OBJECTS != 0);
        let making = Making { pool, is_paid: false, tries: 0, size, holds_objects, segment: None };
        if let Err(errno) = self.pools.charge(pool, size + RECORD_COST) {
            if !self.may_retry(errno, 0) {
                return Err(errno);
            }
            self.wait_for(request, |reply| Chore::Make(making, reply))?;
            return Ok(Answer::Later);
        }
        let made = match Segment::unfilled(size, holds_objects) {
            Ok((segment, filled)) if filled == size => self.give_segment(pool, segment, account),
            Err(errno) if errno != Errno::ENOMEM || !self.chores.frees_memory() => Err(errno),
            // It is filled in pieces, or there is memory soon.
            begun => match self.wait_for(request, |reply| Chore::Make(Making { is_paid: true, segment: begun.ok(), ..making }, reply)) {
                Ok(()) => return Ok(Answer::Later),
                Err(errno) => Err(errno),
            },
        };
        match made {
            Ok((segment, region)) => segment_create::Output { size, holds: flags & SEGMENT_OBJECTS, segment: segment.into(), region: region.into() }.now(),
            Err(errno) => {
                self.pools.refund(pool, size + RECORD_COST);
                Err(errno)
            }
        }
    }

    fn pool_create(&mut self, request: &mut Request<'_>, limit: u64) -> HandlerResult<pool_create::Output> {
        let (parent, is_data) = self.pool_and_kind(request)?;
        if limit == 0 {
            return Err(Errno::EINVAL);
        }
        let made = self.make_pool(parent, limit, is_data, self.objects.account(request.word()));
        self.or_retry(request, made, parent, Wanted::Pool(limit, is_data))
    }

    fn status(&mut self, request: &mut Request<'_>) -> HandlerResult<memory::status::Output> {
        let (limit, used) = self.pools.status(self.pool(request)?)?;
        // Files take memory too, and from no pool: no more can be had than there is.
        memory::status::Output { limit: limit.min(used.saturating_add(available())), used }.now()
    }

    fn pool_destroy(&mut self, request: &mut Request<'_>) -> HandlerResult<pool_destroy::Output> {
        let pool = self.pool(request)?;
        let object = Key::from_word(request.word());
        let is_shared = self.objects.get(object).is_some_and(|object| matches!(object.kind, Kind::SharedPool(..)));
        if is_shared || object == self.standing.memory {
            return Err(Errno::EPERM);
        }
        let mut left = self.remove_pool(pool);
        if (0..AT_ONCE).any(|_| self.destroy_piece(&mut left)) {
            return pool_destroy::Output::default().now();
        }
        let Ok(reply) = request.detach() else {
            // Without memory for a wait all is done at once.
            while !self.destroy_piece(&mut left) {}
            return pool_destroy::Output::default().now();
        };
        self.chores.add(self.objects.account(request.word()), Chore::Destroy(left, Some(reply)));
        Ok(Answer::Later)
    }

    fn run_create(&mut self, request: &mut Request<'_>, size: u64, alignment: u64, below: u64) -> HandlerResult<memory::run_create::Output> {
        self.create_run(request, size, alignment, below)
    }

    fn coloured_create(&mut self, request: &mut Request<'_>, size: u64, colours: u64, first: u64, count: u64) -> HandlerResult<memory::coloured_create::Output> {
        self.create_coloured(request, size, colours, first, count)
    }

    fn share(&mut self, request: &mut Request<'_>, flags: u64) -> HandlerResult<share::Output> {
        let (pool, is_data) = self.pool_and_kind(request)?;
        if flags & !(POOL_DATA | POOL_NAMELESS) != 0 {
            return Err(Errno::EINVAL);
        }
        // Whoever shares a pool counts what comes through the reference apart, as far as accounts
        // go.
        let around = self.objects.account(request.word());
        let account = self.objects.accounts.open(around).unwrap_or(around);
        let given = self.give_pool(pool, Kind::SharedPool(pool, is_data || flags & POOL_DATA != 0), account);
        if given.is_err() {
            self.objects.accounts.refund(account, 0);
        }
        share::Output { pool: given?.into() }.now()
    }
}

impl segment::Server for Root {
    fn status(&mut self, request: &mut Request<'_>) -> HandlerResult<segment::status::Output> {
        if let Some(Kind::View(view)) = self.objects.get(Key::from_word(request.word())).map(|object| &object.kind) {
            return segment::status::Output { size: view.size }.now();
        }
        if let Some(promise) = self.promised(request) {
            return segment::status::Output { size: promise.size() }.now();
        }
        if let Some(Kind::Coloured(making)) = self.objects.get(Key::from_word(request.word())).map(|object| &object.kind) {
            return segment::status::Output { size: making.memory.size() }.now();
        }
        let (_, segment) = self.segment_mut(request)?;
        segment::status::Output { size: segment.size() }.now()
    }

    fn resize(&mut self, request: &mut Request<'_>, size: u64) -> HandlerResult<resize::Output> {
        let size = whole_pages(size)?;
        if self.promised(request).is_some() {
            return self.resize_promise(request, size);
        }
        let (pool, segment) = self.segment_mut(request)?;
        let before = segment.size();
        if size <= before {
            let rest = segment.shrink(size)?;
            self.give_back(self.objects.account(request.word()), rest.into(), (pool, before - size), None);
            return resize::Output { size }.now();
        }
        self.pools.charge(pool, size - before)?;
        let grown = self.segment_mut(request)?.1.grow(size);
        if let Err(errno) = grown {
            self.pools.refund(pool, size - before);
            return Err(errno);
        }
        resize::Output { size }.now()
    }

    fn destroy(&mut self, request: &mut Request<'_>) -> HandlerResult<destroy::Output> {
        let key = Key::from_word(request.word());
        if matches!(self.objects.get(key).map(|object| &object.kind), Some(Kind::Coloured(_))) {
            self.forget_segment(key, None);
            return destroy::Output::default().now();
        }
        let is_large = match self.promised(request) {
            Some(promise) => promise.taken() > PIECE,
            None => self.segment_mut(request)?.1.size() > PIECE,
        };
        // Without memory for a wait, the client is answered before all is back.
        let reply = if is_large { request.detach().ok() } else { None };
        let is_late = reply.is_some();
        self.forget_segment(Key::from_word(request.word()), reply);
        if is_late { Ok(Answer::Later) } else { destroy::Output::default().now() }
    }

    fn next(&mut self, request: &mut Request<'_>, offset: u64) -> HandlerResult<next::Output> {
        let offset = offset & !(FRAME - 1);
        if let Some(promise) = self.promised(request) {
            let part = promise.next_part(offset.min(promise.size()));
            return next::Output { start: part.start, end: part.end }.now();
        }
        let Answer::Now(segment::status::Output { size }) = segment::Server::status(self, request)? else { return Err(Errno::EIO) };
        next::Output { start: offset.min(size), end: size }.now()
    }

    fn wait(&mut self, request: &mut Request<'_>, offset: u64, expected: u64, bits: u64) -> HandlerResult<wait::Output> {
        self.wait_at(request, offset, expected, bits)?;
        Ok(Answer::Later)
    }

    fn wake(&mut self, request: &mut Request<'_>, offset: u64, count: u64, bits: u64) -> HandlerResult<wake::Output> {
        wake::Output { woken: self.wake_at(request, offset, count, bits)? }.now()
    }

    fn requeue(&mut self, request: &mut Request<'_>, offset: u64, count: u64, most: u64, to: u64) -> HandlerResult<requeue::Output> {
        requeue::Output { done: self.requeue_at(request, offset, count, most, to)? }.now()
    }

    fn locate(&mut self, request: &mut Request<'_>, offset: u64) -> HandlerResult<segment::locate::Output> {
        self.locate_byte(request, offset)
    }

    fn meet(&mut self, request: &mut Request<'_>, offset: u64) -> HandlerResult<meet::Output> {
        meet::Output { condition: self.meet_at(request, offset)?.into() }.now()
    }

    fn clear(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<clear::Output> {
        let (key, first) = (Key::from_word(request.word()), size.min(PIECE));
        if self.promised(request).is_some() {
            return self.clear_promise(request, offset, size);
        }
        let segment = self.segment_mut(request)?.1;
        segment.check(offset, size)?;
        segment.clear(offset, first)?;
        if size > first {
            self.wait_for(request, |reply| Chore::Clear(key, offset + first, offset + size, reply))?;
            return Ok(Answer::Later);
        }
        clear::Output::default().now()
    }
}
