//! Dataspaces that are mapped, and ways to receive answers in them.

use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::places::Place;
use nacre_proto::structures::Status;
use nacre_proto::{Errno, dataspace, file};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{Code, FOREVER, OwnedMapping, OwnedReference, Reference, Region, Space, SpanMut};

/// The question for the status of a file.
const STATUS: Message<'static> = Message::new(file::status::LABEL, [0; 6]);
/// Argument of a message call that its status names when bytes of the reply are lost.
const DESCRIPTOR: u8 = 9;
/// Offset in a page at which answers are received.
const ROOM: u64 = 64;
/// Tries to have a page written by the kernel, since it may go at any time.
const TRIES: usize = 20;
/// A dataspace that is mapped.
pub struct Attached {
    place: Place,
    _mapping: OwnedMapping,
    /// The attachment.
    pub attachment: OwnedReference,
    /// Bytes that are mapped.
    pub size: u64,
    _region: OwnedReference,
}

impl Attached {
    /// Attaches and maps a dataspace, for reading alone or not.
    pub fn new(dataspace: Reference, flags: u64) -> Result<Attached, Errno> {
        let attached = dataspace::attach(dataspace, flags)?;
        let place = Place::take(attached.size).ok_or(Errno::ENOMEM)?;
        let rights = if flags == 0 { Rights::READ.union(Rights::WRITE) } else { Rights::READ };
        let mapping = OwnedMapping::new(Space::OWN, place.window().start(), attached.size, Region::through(attached.region.handle()), 0, rights)?;
        Ok(Attached { place, _mapping: mapping, attachment: attached.attachment, size: attached.size, _region: attached.region })
    }

    /// Reads the first word of a page; `EFAULT`: it is not there.
    pub fn read(&self, page: u64) -> Result<u64, Errno> {
        self.place.window().read_word(page * PAGE_SIZE).ok_or(Errno::EFAULT)
    }

    /// Returns true if the kernel can read a page, for a message that nobody understands.
    pub fn is_there(&self, pool: Reference, page: u64) -> bool {
        let span = self.place.window().span(page * PAGE_SIZE, 8);
        span.is_some_and(|span| dataspace::interrogate(pool, span, &mut [0; dataspace::NAME_SIZE][..]).is_err_and(|errno| errno == Errno::ENOENT))
    }

    /// Returns true if the kernel can write a page, which is touched before: what the kernel itself
    /// writes of an answer does not wait for a page that is not there.
    pub fn takes_bytes(&self, page: u64, touch: impl Fn(&Attached) -> Result<(), Errno>) -> bool {
        let takes = || {
            touch(self).ok()?;
            self.receive_in_place(page)
        };
        (0..TRIES).any(|_| takes() == Some(true))
    }

    /// Has the kernel write an answer straight to a page: true if it came, false if its bytes were
    /// lost because the page is not there.
    pub fn receive_in_place(&self, page: u64) -> Option<bool> {
        let buffers = Buffers { bytes: self.room(page)?, slots: &[] };
        match ipc::call_in_place(self.attachment.handle(), &STATUS, buffers, FOREVER) {
            Ok(reply) => Some(reply.label() == 0 && reply.bytes() == Status::SIZE),
            Err(status) => (status == nacre_sys::Status::argument(Code::BadAddress, DESCRIPTOR)).then_some(false),
        }
    }

    /// Receives an answer for a page, by a message of the program's own or by the protocol's
    /// function: true if it came whole.
    pub fn receive(&self, page: u64, by_message: bool) -> Option<bool> {
        let bytes = self.room(page)?;
        let came = if by_message {
            ipc::call(self.attachment.handle(), &STATUS, Buffers { bytes, slots: &[] }, FOREVER).ok()?.bytes() == Status::SIZE
        } else {
            file::status(self.attachment.handle(), bytes).is_ok()
        };
        let mut status = [0; Status::SIZE];
        self.place.window().span(page * PAGE_SIZE + ROOM, Status::SIZE as u64)?.copy_to(&mut status);
        let status = Status::from_bytes(&status);
        Some(came && status.is_some_and(|status| status.size == self.size))
    }

    /// Room for an answer behind the first words of a page.
    fn room(&self, page: u64) -> Option<SpanMut<'_>> {
        self.place.window().span_mut(page * PAGE_SIZE + ROOM, Status::SIZE as u64)
    }

    /// Writes the first word of a page.
    pub fn write(&self, page: u64, value: u64) -> Result<(), Errno> {
        self.place.window().write_word(page * PAGE_SIZE, value).ok_or(Errno::EFAULT)
    }
}
