//! Outside of a tree: its parent, its pools and segments, and proxies of all files, so that each
//! port of the tree is one of this program. Nothing here waits, so a freeze never comes in the
//! middle of a request.

use crate::memory::{self, First, Piece};
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::message::{MAX_BYTES, NO_REFERENCES};
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_USE};
use nacre_nest::supply::{self, ResourceSource};
use nacre_nest::{SpawnError, Services};
use nacre_proto::flags::{SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::server::Given;
use nacre_proto::{Errno, Request, file, parent, segment};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{Condition, FOREVER, OwnedCondition, OwnedPort, OwnedReference, PortSet, Reference, Region, SpanMut};

/// Object behind a port.
pub enum What {
    /// The parent's port.
    Parent,
    /// A pool: all are one.
    Pool,
    /// A segment, with the conditions of its words.
    Segment(Piece, Vec<(u64, OwnedCondition)>),
    /// Somebody else's object.
    Proxy(OwnedReference),
}

/// A port of ours. What nobody refers to any more is taken out.
pub struct Entry {
    pub port: OwnedPort,
    pub what: What,
}

/// The ports, by their words.
pub struct Server {
    pub set: PortSet,
    pub entries: Vec<Option<Entry>>,
    pub window: usize,
    pub ended: Option<u64>,
    files: Services,
}

/// Maximum of bytes that a pool claims to have.
const LIMIT: u64 = memory::WINDOW_SIZE;

/// A file that is copied, never mapped.
pub struct Copied(<Services as ResourceSource>::File);

impl supply::File for Copied {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read(&mut self, offset: u64, into: SpanMut<'_>) -> Result<(), SpawnError> {
        self.0.read(offset, into)
    }

    fn region(&self) -> Option<Region> {
        None
    }
}

impl ResourceSource for Server {
    type File = Copied;
    type Segment = First;

    fn open(&mut self, path: &[u8]) -> Result<Copied, SpawnError> {
        self.files.open(path).map(Copied)
    }

    fn segment(&mut self, size: u64) -> Result<First, SpawnError> {
        let piece = memory::take(self.pieces(), self.window, size).map_err(|errno| SpawnError::Service("taking memory", errno))?;
        let first = First::new(&piece, self.window)?;
        let added = self.add(What::Segment(piece, Vec::new())).map_err(|errno| SpawnError::Service("a port", errno))?;
        // Nobody inside knows its port, so it stays.
        added.leak();
        Ok(first)
    }
}

impl Server {
    /// A server whose ports are in `set`; the first is the parent's.
    pub fn new(set: PortSet) -> Result<Server, SpawnError> {
        Ok(Server { set, entries: Vec::new(), window: 0, ended: None, files: Services::find()? })
    }

    /// The pieces that were given out.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.entries.iter().flatten().filter_map(|entry| if let What::Segment(piece, _) = &entry.what { Some(piece) } else { None })
    }

    /// A port for something: a reference to it.
    pub fn add(&mut self, what: What) -> Result<OwnedReference, Errno> {
        let word = self.entries.iter().position(Option::is_none).unwrap_or(self.entries.len());
        let port = OwnedPort::new(word as u64, self.set)?;
        let reference = port.new_reference(REFERENCE_USE)?;
        let entry = Some(Entry { port, what });
        match self.entries.get_mut(word) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        Ok(reference)
    }

    /// Bits of a port of ours.
    pub fn notified(&mut self, word: u64, bits: u64) {
        if word != 0 && bits & NO_REFERENCES != 0 {
            self.remove(word);
        } else if word == 0 {
            self.ended.get_or_insert(nacre_nest::host::KILLED);
        }
    }

    fn remove(&mut self, word: u64) {
        let entry = self.entries.get_mut(word as usize).and_then(Option::take);
        if let Some(Entry { what: What::Segment(piece, _), .. }) = entry {
            // The contents go before others get the place.
            let _ = nacre_sys::memory::reclaim(piece.at(self.window), piece.size);
        }
    }

    /// Answers a request.
    pub fn handle(&mut self, request: &mut Request<'_>) {
        let word = request.word();
        let answer = match self.entries.get(word as usize).and_then(Option::as_ref).map(|entry| &entry.what) {
            None => Err(Errno::EIO),
            Some(What::Parent) => self.parent(request),
            Some(What::Pool) => self.pool(request),
            Some(What::Segment(..)) => self.segment_of(request, word),
            Some(What::Proxy(original)) => {
                let original = original.handle();
                self.forward(request, original)
            }
        };
        match answer {
            Ok((words, given)) => answer_with(request, words, given),
            Err(errno) => request.refuse(errno),
        }
    }

    fn parent(&mut self, request: &mut Request<'_>) -> Result<Parts, Errno> {
        let [first, ..] = request.words();
        let what = match request.label() {
            parent::find::LABEL if [SERVICE_MEMORY, SERVICE_OBJECTS].contains(&first) => What::Pool,
            parent::find::LABEL => What::Proxy(parent::find(Reference::PARENT, first)?.found),
            parent::stream::LABEL => What::Proxy(parent::stream(Reference::PARENT, first)?.file),
            parent::exit::LABEL => {
                self.ended = Some(first);
                return Ok(([0; 6], Vec::new()));
            }
            parent::report::LABEL => {
                parent::report(Reference::PARENT, first, request.bytes())?;
                return Ok(([0; 6], Vec::new()));
            }
            _ => return Err(Errno::ENOSYS),
        };
        Ok(([0; 6], vec![self.add(what)?]))
    }

    fn pool(&mut self, request: &mut Request<'_>) -> Result<Parts, Errno> {
        use nacre_proto::memory as protocol;
        match request.label() {
            protocol::segment_create::LABEL => {
                let piece = memory::take(self.pieces(), self.window, request.words()[0])?;
                let (size, region) = (piece.size, piece.reference()?);
                Ok(([size, 0, 0, 0, 0, 0], vec![self.add(What::Segment(piece, Vec::new()))?, region]))
            }
            protocol::pool_create::LABEL | protocol::share::LABEL => Ok(([0; 6], vec![self.add(What::Pool)?])),
            protocol::status::LABEL => Ok(([LIMIT, self.pieces().map(|piece| piece.size).sum(), 0, 0, 0, 0], Vec::new())),
            protocol::pool_destroy::LABEL => Ok(([0; 6], Vec::new())),
            _ => Err(Errno::ENOSYS),
        }
    }

    fn segment_of(&mut self, request: &mut Request<'_>, word: u64) -> Result<Parts, Errno> {
        let [first, second, ..] = request.words();
        let window = self.window;
        let Some(Entry { what: What::Segment(piece, conditions), .. }) = self.entries.get_mut(word as usize).and_then(Option::as_mut) else {
            return Err(Errno::EIO);
        };
        let number = match request.label() {
            segment::status::LABEL => piece.size,
            segment::destroy::LABEL => {
                self.remove(word);
                0
            }
            segment::clear::LABEL if first.checked_add(second).is_some_and(|end| end <= piece.size) => {
                nacre_sys::memory::clear(piece.at(window) + first, second)?;
                0
            }
            segment::meet::LABEL => {
                let condition = match conditions.iter().find(|(offset, _)| *offset == first) {
                    Some((_, condition)) => condition.handle(),
                    None => {
                        let made = OwnedCondition::make(Condition::create)?;
                        let handle = made.handle();
                        conditions.push((first, made));
                        handle
                    }
                };
                let reference = OwnedReference::null()?;
                condition.reference(reference.handle(), REFERENCE_ALL)?;
                return Ok(([0; 6], vec![reference]));
            }
            // Nobody waits here, where he would be in the middle of a request: he looks again,
            // until he has a condition.
            segment::wait::LABEL => return Err(Errno::EAGAIN),
            segment::wake::LABEL => match conditions.iter().find(|(offset, _)| *offset == first) {
                Some((_, condition)) => condition.handle().signal(second)?,
                None => 0,
            },
            _ => return Err(Errno::ENOSYS),
        };
        Ok(([number, 0, 0, 0, 0, 0], Vec::new()))
    }

    /// Asks the original. What it gives becomes ours; what is no port, and what would be given to
    /// it, has no place here.
    fn forward(&mut self, request: &mut Request<'_>, original: Reference) -> Result<Parts, Errno> {
        if !request.references().is_empty() || matches!(request.label(), file::map::LABEL | file::share::LABEL) {
            return Err(Errno::ENODEV);
        }
        let given = (0..8).map(|_| OwnedReference::null()).collect::<Result<Vec<_>, _>>()?;
        let slots: Vec<Reference> = given.iter().map(OwnedReference::handle).collect();
        let mut bytes = vec![0; MAX_BYTES as usize];
        let message = Message::new(request.label(), request.words()).with_bytes(request.bytes());
        let reply = ipc::call(original, &message, Buffers::new(&mut bytes[..], &slots), FOREVER)?;
        if reply.label() != 0 {
            return Err(Errno(reply.label()));
        }
        let mut ours = Vec::new();
        for reference in given.into_iter().take(reply.references()) {
            if reference.handle().get_state()?.target != TargetType::Port as u64 {
                return Err(Errno::ENODEV);
            }
            ours.push(self.add(What::Proxy(reference))?);
        }
        request.put(&bytes[..reply.bytes()]);
        Ok((reply.words, ours))
    }
}

/// Words and references of an answer.
type Parts = ([u64; 6], Vec<OwnedReference>);

fn answer_with(request: &mut Request<'_>, words: [u64; 6], given: Vec<OwnedReference>) {
    let mut references = given.into_iter();
    request.answer_with(0, words, core::array::from_fn(|_| references.next().map_or(Given::Nothing, Given::Owned)));
}
