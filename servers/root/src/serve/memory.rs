//! Protocols `memory` and `segment`: pools, and what is taken from them.

use crate::memory::{Segment, available, whole_pages};
use crate::objects::Kind;
use crate::pools::RECORD_COST;
use crate::root::Root;
use crate::table::Key;
use nacre_proto::flags::{POOL_DATA, SEGMENT_OBJECTS, SEGMENT_PAGEABLE};
use nacre_proto::memory::{self, pool_create, pool_destroy, segment_create, share};
use nacre_proto::segment::{self, clear, destroy, meet, requeue, resize, wait, wake};
use nacre_proto::server::Output;
use nacre_proto::{Answer, Errno, Handled, Request};
use nacre_sys::OwnedReference;

impl Root {
    fn pool(&self, request: &Request<'_>) -> Result<Key, Errno> {
        self.pool_and_kind(request).map(|(pool, _)| pool)
    }

    /// The pool behind the request's port, and true if no memory for kernel objects comes through that port.
    fn pool_and_kind(&self, request: &Request<'_>) -> Result<(Key, bool), Errno> {
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

    /// A segment that is paid for: the references to its port and its region.
    fn make_segment(&mut self, pool: Key, size: u64, holds_objects: bool, account: Key) -> Result<(OwnedReference, OwnedReference), Errno> {
        let segment = Segment::new(size, holds_objects)?;
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
    fn segment_create(&mut self, request: &mut Request<'_>, size: u64, flags: u64) -> Handled<segment_create::Output> {
        let (pool, is_data) = self.pool_and_kind(request)?;
        if flags & !(SEGMENT_OBJECTS | SEGMENT_PAGEABLE) != 0 {
            return Err(Errno::EINVAL);
        }
        if flags & SEGMENT_OBJECTS != 0 && is_data {
            return Err(Errno::EACCES);
        }
        let size = whole_pages(size)?;
        self.pools.charge(pool, size + RECORD_COST)?;
        match self.make_segment(pool, size, flags & SEGMENT_OBJECTS != 0, self.objects.account(request.word())) {
            Ok((segment, region)) => segment_create::Output { size, holds: flags & SEGMENT_OBJECTS, segment: segment.into(), region: region.into() }.now(),
            Err(errno) => {
                self.pools.refund(pool, size + RECORD_COST);
                Err(errno)
            }
        }
    }

    fn pool_create(&mut self, request: &mut Request<'_>, limit: u64) -> Handled<pool_create::Output> {
        let (parent, is_data) = self.pool_and_kind(request)?;
        if limit == 0 {
            return Err(Errno::EINVAL);
        }
        let pool = self.pools.create(parent, limit, is_data)?;
        match self.objects.give(Kind::Pool(pool), self.objects.account(request.word())) {
            Ok(reference) => pool_create::Output { pool: reference.into() }.now(),
            Err(errno) => {
                self.destroy_pool(pool);
                Err(errno)
            }
        }
    }

    fn status(&mut self, request: &mut Request<'_>) -> Handled<memory::status::Output> {
        let (limit, used) = self.pools.status(self.pool(request)?)?;
        // Files take memory too, and from no pool: no more can be had than there is.
        memory::status::Output { limit: limit.min(used.saturating_add(available())), used }.now()
    }

    fn pool_destroy(&mut self, request: &mut Request<'_>) -> Handled<pool_destroy::Output> {
        let pool = self.pool(request)?;
        let object = Key::from_word(request.word());
        let is_shared = self.objects.get(object).is_some_and(|object| matches!(object.kind, Kind::SharedPool(..)));
        if is_shared || object == self.standing.memory {
            return Err(Errno::EPERM);
        }
        self.destroy_pool(pool);
        pool_destroy::Output::default().now()
    }

    fn share(&mut self, request: &mut Request<'_>, flags: u64) -> Handled<share::Output> {
        let (pool, is_data) = self.pool_and_kind(request)?;
        if flags & !POOL_DATA != 0 {
            return Err(Errno::EINVAL);
        }
        share::Output { pool: self.objects.give(Kind::SharedPool(pool, is_data || flags & POOL_DATA != 0), self.objects.account(request.word()))?.into() }.now()
    }
}

impl segment::Server for Root {
    fn status(&mut self, request: &mut Request<'_>) -> Handled<segment::status::Output> {
        if let Some(Kind::View(view)) = self.objects.get(Key::from_word(request.word())).map(|object| &object.kind) {
            return segment::status::Output { size: view.size }.now();
        }
        let (_, segment) = self.segment_mut(request)?;
        segment::status::Output { size: segment.size() }.now()
    }

    fn resize(&mut self, request: &mut Request<'_>, size: u64) -> Handled<resize::Output> {
        let size = whole_pages(size)?;
        let (pool, segment) = self.segment_mut(request)?;
        let before = segment.size();
        if size <= before {
            segment.shrink(size)?;
            self.pools.refund(pool, before - size);
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

    fn destroy(&mut self, request: &mut Request<'_>) -> Handled<destroy::Output> {
        self.segment_mut(request)?;
        self.close(Key::from_word(request.word()));
        destroy::Output::default().now()
    }

    fn wait(&mut self, request: &mut Request<'_>, offset: u64, expected: u64, bits: u64) -> Handled<wait::Output> {
        self.wait_at(request, offset, expected, bits)?;
        Ok(Answer::Later)
    }

    fn wake(&mut self, request: &mut Request<'_>, offset: u64, count: u64, bits: u64) -> Handled<wake::Output> {
        wake::Output { woken: self.wake_at(request, offset, count, bits)? }.now()
    }

    fn requeue(&mut self, request: &mut Request<'_>, offset: u64, count: u64, most: u64, to: u64) -> Handled<requeue::Output> {
        requeue::Output { done: self.requeue_at(request, offset, count, most, to)? }.now()
    }

    fn meet(&mut self, request: &mut Request<'_>, offset: u64) -> Handled<meet::Output> {
        meet::Output { condition: self.meet_at(request, offset)?.into() }.now()
    }

    fn clear(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> Handled<clear::Output> {
        self.segment_mut(request)?.1.clear(offset, size)?;
        clear::Output::default().now()
    }
}
