//! What the process asks of others: the parent, and the services that the parent names. Each is
//! looked for when it is first needed, so that a program that uses few costs few messages.

use crate::abi::errno::{EIO, Errno};
use crate::abi::fork_record::SERVICES;
use crate::services::clock::Clock;
use crate::services::find::{PIECE, find};
use crate::services::segment::Segment;
use alloc::rc::Rc;
use nacre_proto::{channel, directory, file, memory, parent};
use nacre_proto::flags::{REPORT_FOREIGN_CALL, REPORT_MESSAGE, SERVICE_CHANNELS, SERVICE_FILES, SERVICE_NETWORK};
use nacre_rt::memory::{known_pool, pool, use_pool};
use nacre_sys::{OwnedReference, Reference};
pub use nacre_proto::flags::OWN_POSITION;

/// The services that have been found.
#[derive(Default)]
pub struct Services {
    files: Option<OwnedReference>,
    /// `files` is what the maker has found.
    has_makers_files: bool,
    clock: Clock,
    channels: Option<OwnedReference>,
    /// Sockets of the internet: nothing is known yet, there are none of their own, or where they
    /// are.
    internet: Option<Option<OwnedReference>>,
    random: Option<OwnedReference>,
}

impl Services {
    /// Returns the connections that a fork's child will need: files, memory, random bytes.
    pub fn found(&self) -> [Option<Reference>; SERVICES] {
        let handle = |found: &Option<OwnedReference>| found.as_ref().map(|found| found.handle());
        [handle(&self.files), known_pool(), handle(&self.random)]
    }

    /// Takes over connections that the parent has found.
    pub fn take(&mut self, [files, memory, random]: [Option<OwnedReference>; SERVICES]) {
        self.has_makers_files = files.is_some();
        (self.files, self.random) = (files, random);
        if let Some(memory) = memory {
            use_pool(memory);
        }
    }

    /// Another program begins: what it opens is charged to the process, and not to its maker.
    pub fn forget_makers_files(&mut self) {
        if core::mem::take(&mut self.has_makers_files) {
            self.files = None;
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

    /// The service that has sockets of the internet, if there is one beside that of all sockets.
    pub fn internet(&mut self) -> Option<Reference> {
        let found = self.internet.get_or_insert_with(|| parent::find(Reference::PARENT, SERVICE_NETWORK).ok().map(|reply| reply.found));
        found.as_ref().map(|found| found.handle())
    }

    /// A pipe that other processes can have too: to read, to write. `None`: the environment has
    /// nobody who makes them.
    pub fn pipe(&mut self, flags: u64) -> Result<Option<(OwnedReference, OwnedReference)>, Errno> {
        let Ok(channels) = self.channels() else { return Ok(None) };
        let made = channel::pipe(channels, flags)?;
        Ok(Some((made.reader, made.writer)))
    }

    /// Reads a clock, in seconds and nanoseconds.
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

    /// Allocates a segment as `segment` does, whose pages may come and go.
    pub fn pageable(&mut self, size: u64) -> Result<Rc<Segment>, Errno> {
        Segment::pageable(size)
    }

    /// Zeroed memory of the pool.
    pub fn segment(&mut self, size: u64) -> Result<Rc<Segment>, Errno> {
        Segment::fresh(size)
    }

    /// A file without a name, for memory.
    pub fn memory_file(&mut self, takes_seals: bool) -> Result<OwnedReference, Errno> {
        Ok(directory::memory(self.files()?, takes_seals.into())?.file)
    }

    /// Returns true if the server of the reference is gone.
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
