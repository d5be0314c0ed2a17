//! Protocol `segment`, at segments that are dataspaces.

use crate::keeper::{Keeper, pages};
use crate::words::READ;
use nacre_abi::PAGE_SIZE;
use nacre_proto::segment::{self, advise, clear, destroy, meet, next, pin, requeue, resize, unpin, wait, wake};
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request};

impl segment::Server for Keeper {
    fn status(&mut self, request: &mut Request<'_>) -> HandlerResult<segment::status::Output> {
        let pages = self.pages_of(self.dataspace(request)?)?;
        segment::status::Output { size: (pages.end - pages.start) * PAGE_SIZE }.now()
    }

    fn resize(&mut self, request: &mut Request<'_>, size: u64) -> HandlerResult<resize::Output> {
        let (key, count) = (self.own_dataspace(request)?, pages(size)?);
        self.set_pages(key, count)?;
        self.dataspaces.get_mut(&key).ok_or(Errno::EIO)?.length = count * PAGE_SIZE;
        self.note_change(key);
        resize::Output { size: count * PAGE_SIZE }.now()
    }

    fn destroy(&mut self, request: &mut Request<'_>) -> HandlerResult<destroy::Output> {
        let key = self.own_dataspace(request)?;
        self.remove_dataspace(key);
        destroy::Output::default().now()
    }

    fn clear(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<clear::Output> {
        if request.word() & READ != 0 {
            return Err(Errno::EACCES);
        }
        let pages = self.pages_of(self.dataspace(request)?)?;
        let end = offset.checked_add(size).filter(|end| *end <= (pages.end - pages.start) * PAGE_SIZE).ok_or(Errno::EINVAL)?;
        if !(offset | size).is_multiple_of(PAGE_SIZE) {
            return Err(Errno::EINVAL);
        }
        let key = self.key_of(request);
        if self.files.is_file(key) {
            return Err(Errno::EOPNOTSUPP);
        }
        self.spaces.clear(pages.start, pages.start + offset / PAGE_SIZE..pages.start + end / PAGE_SIZE).map_err(|_| Errno::EAGAIN)?;
        self.recount(pages.start);
        self.note_change(key);
        clear::Output::default().now()
    }

    fn locate(&mut self, request: &mut Request<'_>, offset: u64) -> HandlerResult<segment::locate::Output> {
        self.locate_byte(request, offset)
    }

    fn next(&mut self, request: &mut Request<'_>, offset: u64) -> HandlerResult<next::Output> {
        let pages = self.pages_of(self.dataspace(request)?)?;
        let end = (pages.end - pages.start) * PAGE_SIZE;
        next::Output { start: (offset & !(PAGE_SIZE - 1)).min(end), end }.now()
    }

    fn pages(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<segment::pages::Output> {
        self.tell_pages(request, offset, size)
    }

    fn pin(&mut self, request: &mut Request<'_>, offset: u64, size: u64, flags: u64) -> HandlerResult<pin::Output> {
        self.pin_pages(request, offset, size, flags)
    }

    fn unpin(&mut self, request: &mut Request<'_>, offset: u64, size: u64) -> HandlerResult<unpin::Output> {
        self.unpin_pages(request, offset, size)
    }

    fn advise(&mut self, request: &mut Request<'_>, offset: u64, size: u64, advice: u64) -> HandlerResult<advise::Output> {
        self.follow_advice(request, offset, size, advice)
    }

    fn wait(&mut self, _: &mut Request<'_>, _: u64, _: u64, _: u64) -> HandlerResult<wait::Output> {
        Err(Errno::EINVAL)
    }

    fn wake(&mut self, _: &mut Request<'_>, _: u64, _: u64, _: u64) -> HandlerResult<wake::Output> {
        Err(Errno::EINVAL)
    }

    fn requeue(&mut self, _: &mut Request<'_>, _: u64, _: u64, _: u64, _: u64) -> HandlerResult<requeue::Output> {
        Err(Errno::EINVAL)
    }

    fn meet(&mut self, _: &mut Request<'_>, _: u64) -> HandlerResult<meet::Output> {
        Err(Errno::EINVAL)
    }
}
