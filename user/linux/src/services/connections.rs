//! What the process asks of others: the parent, and the services that the parent names. Each is looked for when it is first needed,
//! so that a program that uses few costs few messages.

use crate::abi::errno::{EBADF, EIO, ENOMEM, ESPIPE, Errno};
use crate::abi::fork_record::SERVICES;
use crate::calls::memory::shared_memory::Point;
use crate::entry::call_table;
use crate::services::clock::Clock;
use crate::state::files::descriptor_table::{Kind, OpenFile};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use nacre_proto::{channel, directory, file, memory, parent, segment};
use nacre_proto::flags::{REPORT_FOREIGN_CALL, REPORT_MESSAGE, SEGMENT_OBJECTS, SEGMENT_PAGEABLE, SERVICE_CHANNELS, SERVICE_FILES};
use nacre_proto::flags::SHARE_WRITE;
use nacre_rt::memory::{known_pool, object_pool, pool, use_pool};
use nacre_sys::{OwnedReference, Reference};
pub use nacre_proto::flags::OWN_POSITION;

/// Most bytes of a message.
pub const PIECE: usize = nacre_abi::message::MAX_BYTES as usize;

/// Memory that can be mapped: a segment of the pool, a file's contents, or what the parent mapped.
pub struct Segment {
    /// The segment's port; what is not of the pool has none.
    port: Option<OwnedReference>,
    region: OwnedReference,
    /// Others have it too: it goes with the last of them.
    common: Cell<bool>,
    /// How much of it there is.
    size: u64,
    /// Whether it may be mapped to be written.
    writable: bool,
    /// Its pages come when they are touched, and may go: it is a file's, as it changes, or a pager's.
    paged: bool,
    /// Words of it at which processes wait for each other.
    pub points: RefCell<Vec<Point>>,
}

impl Segment {
    /// Takes zeroed memory from the pool.
    pub fn fresh(size: u64) -> Result<Rc<Segment>, Errno> {
        Segment::take(pool()?, size, 0)
    }

    /// Takes zeroed memory that can be donated for page tables. It ends with the process.
    pub fn for_tables(size: u64) -> Result<Rc<Segment>, Errno> {
        Segment::take(object_pool()?, size, SEGMENT_OBJECTS)
    }

    /// Takes zeroed memory from the pool whose pages may come and go: the program's own, at which nobody waits.
    pub fn pageable(size: u64) -> Result<Rc<Segment>, Errno> {
        Segment::take(pool()?, size, SEGMENT_PAGEABLE)
    }

    fn take(pool: Reference, size: u64, flags: u64) -> Result<Rc<Segment>, Errno> {
        let reply = memory::segment_create(pool, size, flags).map_err(|_| {
            call_table::memory_is_short();
            ENOMEM
        })?;
        let paged = is_paged(reply.holds & SEGMENT_PAGEABLE != 0);
        Ok(Rc::new(Segment {
            port: Some(reply.segment),
            region: reply.region,
            common: Cell::new(false),
            size: reply.size,
            writable: true,
            paged,
            points: RefCell::default(),
        }))
    }

    /// The memory behind something that the parent mapped.
    pub fn given(region: OwnedReference, writable: bool) -> Rc<Segment> {
        Rc::new(Segment { port: None, region, common: Cell::new(false), size: 0, writable, paged: false, points: RefCell::default() })
    }

    /// Memory that others have too.
    pub fn common(port: Option<OwnedReference>, region: OwnedReference, size: u64, [writable, paged]: [bool; 2]) -> Rc<Segment> {
        Rc::new(Segment { port, region, common: Cell::new(true), size, writable, paged: is_paged(paged), points: RefCell::default() })
    }

    /// The reference that keeps it, at which processes wait for each other.
    pub fn port(&self) -> Option<Reference> {
        self.port.as_ref().map(|port| port.handle())
    }

    /// Whether its pages come when they are touched, and may go.
    pub fn is_paged(&self) -> bool {
        self.paged
    }

    /// The reference that keeps it, if there is one, for others to have too.
    pub fn shared_port(&self) -> Option<Reference> {
        self.common.set(true);
        self.port.as_ref().map(|port| port.handle())
    }

    /// The region to map.
    pub fn region(&self) -> Reference {
        self.region.handle()
    }

    /// Whether it may be mapped to be written.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Bytes of it; of a file, those that are the file's.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if let Some(port) = self.port.as_ref().filter(|_| !self.common.get()) {
            // If the pool does not answer, the segment goes with its last reference.
            let _ = segment::destroy(port.handle());
        }
    }
}

/// Memory whose pages may go has answers land elsewhere.
fn is_paged(paged: bool) -> bool {
    if paged {
        nacre_proto::landing::need();
    }
    paged
}

/// The services that have been found.
#[derive(Default)]
pub struct Services {
    files: Option<OwnedReference>,
    clock: Clock,
    channels: Option<OwnedReference>,
    random: Option<OwnedReference>,
}

/// The service behind `place`, found through the parent the first time.
pub fn find(place: &mut Option<OwnedReference>, service: u64) -> Result<Reference, Errno> {
    if place.is_none() {
        *place = Some(parent::find(Reference::PARENT, service)?.found);
    }
    place.as_ref().map(|reference| reference.handle()).ok_or(EIO)
}

/// Entries of a directory from `cookie` on: where to go on, and how many bytes they take.
pub fn list(directory: Reference, cookie: u64, batch: &mut [u8]) -> Result<(u64, usize), Errno> {
    let reply = directory::list(directory, cookie, batch.len() as u64, batch)?;
    Ok((reply.next, reply.entries))
}

impl Services {
    /// What has been found that a fork's child will need: files, memory, random bytes.
    pub fn found(&self) -> [Option<Reference>; SERVICES] {
        let handle = |found: &Option<OwnedReference>| found.as_ref().map(|found| found.handle());
        [handle(&self.files), known_pool(), handle(&self.random)]
    }

    /// The same are to be used.
    pub fn take(&mut self, [files, memory, random]: [Option<OwnedReference>; SERVICES]) {
        (self.files, self.random) = (files, random);
        if let Some(memory) = memory {
            use_pool(memory);
        }
    }

    /// The root directory.
    pub fn files(&mut self) -> Result<Reference, Errno> {
        find(&mut self.files, SERVICE_FILES)
    }

    /// The service that has pipes and sockets.
    pub fn channels(&mut self) -> Result<Reference, Errno> {
        find(&mut self.channels, SERVICE_CHANNELS)
    }

    /// A pipe that other processes can have too: to read, to write. `None`: the environment has nobody who makes them.
    pub fn pipe(&mut self, flags: u64) -> Result<Option<(OwnedReference, OwnedReference)>, Errno> {
        let Ok(channels) = self.channels() else { return Ok(None) };
        let made = channel::pipe(channels, flags)?;
        Ok(Some((made.reader, made.writer)))
    }

    /// What a clock says, in seconds and nanoseconds.
    pub fn clock(&mut self, which: u64) -> Result<(u64, u64), Errno> {
        self.clock.read(which)
    }

    /// Fills with random bytes.
    pub fn random(&mut self, into: &mut [u8]) -> Result<(), Errno> {
        if self.random.is_none() {
            self.random = Some(directory::open(self.files()?, 0, 0, b"/dev/urandom")?.file);
        }
        let device = self.random.as_ref().ok_or(EIO)?.handle();
        for piece in into.chunks_mut(PIECE) {
            if file::read(device, OWN_POSITION, piece.len() as u64, &mut *piece)?.count != piece.len() as u64 {
                return Err(EIO);
            }
        }
        Ok(())
    }

    /// The pool's limit, and how much of it is used.
    pub fn memory_status(&mut self) -> Result<(u64, u64), Errno> {
        let reply = memory::status(pool()?)?;
        Ok((reply.limit, reply.used))
    }

    /// The same, whose pages may come and go.
    pub fn pageable(&mut self, size: u64) -> Result<Rc<Segment>, Errno> {
        Segment::pageable(size)
    }

    /// Zeroed memory of the pool.
    pub fn segment(&mut self, size: u64) -> Result<Rc<Segment>, Errno> {
        Segment::fresh(size)
    }

    /// A file's contents as the server holds them, all of them.
    pub fn map_file(&mut self, file: &OpenFile) -> Option<Rc<Segment>> {
        if let Some(known) = file.contents.get() {
            return Some(known.clone());
        }
        let reply = file::map(self.reference(file).ok()?, 0, u64::MAX).ok()?;
        let contents = Rc::new(Segment {
            port: None,
            region: reply.region,
            common: Cell::new(false),
            size: reply.size,
            writable: false,
            paged: false,
            points: RefCell::default(),
        });
        // Libraries are mapped in many pieces; a file that can be written may change its size between them.
        if !file.can_write() {
            let _ = file.contents.set(contents.clone());
        }
        Some(contents)
    }

    /// A file's contents as memory that changes with them, of which at least `size` bytes can be mapped; to be written if the file is open so.
    pub fn share_file(&mut self, file: &OpenFile, size: u64) -> Result<Rc<Segment>, Errno> {
        if let Some(known) = file.shared.borrow().upgrade().filter(|known| known.size >= size) {
            return Ok(known);
        }
        let access = if file.can_write() { SHARE_WRITE } else { 0 };
        let reply = file::share(self.reference(file)?, size, access)?;
        let segment = Segment::common(Some(reply.hold), reply.region, reply.size, [file.can_write(), true]);
        *file.shared.borrow_mut() = Rc::downgrade(&segment);
        Ok(segment)
    }

    /// A file without a name, for memory.
    pub fn memory_file(&mut self, takes_seals: bool) -> Result<OwnedReference, Errno> {
        Ok(directory::memory(self.files()?, takes_seals.into())?.file)
    }

    /// The reference of an open file that a server holds.
    pub fn reference(&mut self, file: &OpenFile) -> Result<Reference, Errno> {
        if let Some(moved) = file.moved.get() {
            return Ok(moved.handle());
        }
        match &file.kind {
            Kind::Remote(reference) => Ok(reference.handle()),
            Kind::Pipe(_) | Kind::Local(_) => Err(ESPIPE),
            Kind::Stream(number, known) => {
                if known.get().is_none() {
                    let stream = parent::stream(Reference::PARENT, *number).map_err(|_| EBADF)?.file;
                    // It was empty just now, and nothing else runs.
                    let _ = known.set(stream);
                }
                known.get().map(|reference| reference.handle()).ok_or(EBADF)
            }
        }
    }

    /// Whether nobody serves the reference any more.
    pub fn is_gone(&self, target: Reference) -> bool {
        target.is_null().unwrap_or(true)
    }

    /// Tells the parent that the program has ended.
    pub fn exit(&mut self, status: u64) {
        // A parent that does not answer destroys the program all the same, or nobody does.
        let _ = parent::exit(Reference::PARENT, status);
    }

    /// A line for whoever runs the system.
    pub fn report(&mut self, text: &str) {
        // Nothing can be done if nobody listens.
        let _ = parent::report(Reference::PARENT, REPORT_MESSAGE, text);
    }

    /// Says that the program used a system call that does not exist here.
    pub fn report_call(&mut self, text: &str) {
        // Nothing can be done if nobody listens.
        let _ = parent::report(Reference::PARENT, REPORT_FOREIGN_CALL, text);
    }
}
