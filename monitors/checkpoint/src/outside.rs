//! All that an environment knows outside itself: ports of ours, one for each thing. Its parent,
//! its pools and its segments are ours; everything else is somebody else's, and asked by us.
//!
//! Nothing here waits for others, so a freeze never comes in the middle of a request. What would
//! have to wait is kept in `waiting`.

use crate::arena::{Arena, First, Piece, Use};
use crate::changes::Changes;
use crate::commands::{Commands, Desk};
use crate::counters::Counter;
use crate::input::Input;
use crate::origin::Source;
use crate::pools::{OUTERMOST, Pools};
use crate::waiting::Waiters;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights, fault};
use nacre_abi::message::{KERNEL_BITS, NO_REFERENCES};
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_nest::clock::Clock;
use nacre_nest::supply::{self, ResourceSource};
use nacre_nest::{Services, SpawnError};
use nacre_proto::flags::{POOL_DATA, POOL_NAMELESS, SEGMENT_OBJECTS, SEGMENT_OVERCOMMIT, SEGMENT_PAGEABLE, SEGMENT_PROMISED, SERVICE_CHANNELS, SERVICE_CLOCK, SERVICE_CONTROL, SERVICE_MEMORY, SERVICE_OBJECTS, SERVICE_PROCESS};
use nacre_proto::server::Given;
use nacre_proto::{Errno, Request, clock, parent, segment};
use nacre_sys::{Condition, OwnedCondition, OwnedPort, OwnedReference, PortSet, Reference, Region, SpanMut};

/// Number of the port of the environment's parent.
pub const PARENT: usize = 0;
/// Number of the port at which others tell us that a request may go on. It is no entry.
pub const WAKE: u64 = NUMBER >> 1;
/// Bit of the word of a port that keeps the region of a piece, beside the number of the piece's own
/// port. Who keeps a region refers to the port, so the piece's own would never be without
/// references.
const KEEPER: u64 = WAKE + 1;
/// Bits of a port's word that hold its number. Those above hold the number of the environment.
pub const NUMBER: u64 = (1 << ENVIRONMENT_SHIFT) - 1;
/// Position of the environment's number in a port's word.
pub const ENVIRONMENT_SHIFT: u32 = 32;
/// Maximum number of ports.
const MAX_ENTRIES: usize = 65536;
/// Maximum number of words of a segment that have a condition.
const MAX_CONDITIONS: usize = 16384;

/// Object that a port of ours stands for.
pub enum What {
    /// The parent's port.
    Parent,
    /// A pool, by its number.
    Pool(PoolEnd),
    /// A segment, with the conditions of its words.
    Segment(Piece, BTreeMap<u64, OwnedCondition>),
    /// Something of somebody else's; nothing if it could not be got again.
    Outside(Option<OwnedReference>, Source),
    /// A port of the environment's, which something outside notifies through us; and what it
    /// attends, if that is a terminal.
    Told(OwnedReference, Option<Attended>),
    /// The service of commands.
    Control,
    /// A seat at which commands wait.
    Seat,
}

/// Terminal that somebody attends, and the events that he is told of.
#[derive(Clone, Copy, Debug)]
pub struct Attended {
    /// Number of the terminal's port.
    pub of: u64,
    /// The events.
    pub events: u64,
}

/// Reference to a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolEnd {
    /// Number of the pool.
    pub pool: u64,
    /// The reference neither keeps the pool nor destroys it: others have it, too.
    pub is_shared: bool,
    /// Memory for data alone comes through it.
    pub is_data: bool,
}

/// A port of ours. What nobody refers to any more is taken out.
pub struct Entry {
    /// The port.
    pub port: OwnedPort,
    /// The object that it stands for.
    pub what: What,
}

/// The ports, by their words.
pub struct Outside {
    /// The set of all ports.
    pub set: PortSet,
    /// Number of the environment.
    pub place: u64,
    /// The ports.
    pub entries: Vec<Option<Entry>>,
    /// The memory of the environment.
    pub arena: Arena,
    /// Pools of memory.
    pub pools: Pools,
    /// The status of the environment, if it has ended.
    pub ended: Option<u64>,
    /// Requests that wait.
    pub waiters: Waiters,
    /// Commands of whoever runs the system.
    pub commands: Commands,
    /// Files that it has changed.
    pub changes: Changes,
    /// Input of a copy.
    pub input: Option<Input>,
    /// Nanoseconds that its monotonic clock is before ours.
    pub clock_ahead: u64,
    /// Our parent's clock.
    pub clock: Clock,
    /// Counters of programs inside.
    pub counters: Vec<Counter>,
    /// Set if the environment stands still for a command, so that what waits is not asked for.
    pub is_held: bool,
    /// Numbers of the ports, by their addresses.
    pub places: BTreeMap<u64, u64>,
    free: Vec<usize>,
    services: Services,
}

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

impl ResourceSource for Outside {
    type File = Copied;
    type Segment = First;

    fn open(&mut self, path: &[u8]) -> Result<Copied, SpawnError> {
        self.services.open(path).map(Copied)
    }

    fn segment(&mut self, size: u64) -> Result<First, SpawnError> {
        let (number, reference) = self.add_segment(size, OUTERMOST, Use::Objects).map_err(|_| SpawnError::TooLarge(size, Some(self.arena.size())))?;
        // Nobody inside knows its port, so it stays.
        reference.leak();
        let piece = self.piece(number).ok_or(SpawnError::TooLarge(size, None))?;
        First::new(&self.arena, piece)
    }
}

/// Words and references of an answer.
pub type Parts = ([u64; 6], Vec<OwnedReference>);

impl Outside {
    /// Makes one without ports, for the environment with this number. All will be in `set`.
    pub fn new(set: PortSet, place: u64, arena: Arena, services: Services, desk: Rc<Desk>, clock: Clock) -> Result<Outside, Errno> {
        let pools = Pools::new(arena.size());
        let waiters = Waiters::new(OwnedPort::new(place << ENVIRONMENT_SHIFT | WAKE, set)?);
        Ok(Outside { set, place, entries: Vec::new(), arena, pools, ended: None, waiters, commands: Commands::new(desk), changes: Changes::default(), input: None, clock_ahead: 0, clock, counters: Vec::new(), is_held: false, places: BTreeMap::new(), free: Vec::new(), services })
    }

    /// A port with this number.
    pub fn port(&self, number: usize) -> Result<OwnedPort, Errno> {
        Ok(OwnedPort::new(self.place << ENVIRONMENT_SHIFT | number as u64, self.set)?)
    }

    /// A port that keeps the region of the piece with this number.
    pub fn keeper(&self, number: usize) -> Result<OwnedPort, Errno> {
        Ok(OwnedPort::new(self.place << ENVIRONMENT_SHIFT | KEEPER | number as u64, self.set)?)
    }

    /// The root of the files outside.
    pub fn files(&self) -> Reference {
        self.services.files()
    }

    /// The pieces that were given out.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.entries.iter().flatten().filter_map(|entry| if let What::Segment(piece, _) = &entry.what { Some(piece) } else { None })
    }

    /// A port for something: a reference to it.
    pub fn add(&mut self, what: What) -> Result<OwnedReference, Errno> {
        self.add_numbered(what).map(|(_, reference)| reference)
    }

    /// A port for something: its word, and a reference to it.
    pub fn add_numbered(&mut self, what: What) -> Result<(u64, OwnedReference), Errno> {
        let rights = if matches!(what, What::Told(..)) { REFERENCE_USE | REFERENCE_NOTIFY } else { REFERENCE_USE };
        let made = self.number().and_then(|number| {
            let port = self.port(number).inspect_err(|_| self.free.push(number))?;
            let reference = port.new_reference(rights).inspect_err(|_| self.free.push(number))?;
            Ok((number, port, reference))
        });
        match made {
            Ok((number, port, reference)) => {
                self.places.insert(port.handle().address(), number as u64);
                self.entries[number] = Some(Entry { port, what });
                Ok((number as u64, reference))
            }
            Err(errno) => Err(errno),
        }
    }

    /// Takes memory from a pool, and a port for it: the port's number, and a reference to it.
    fn add_segment(&mut self, size: u64, pool: u64, kind: Use) -> Result<(u64, OwnedReference), Errno> {
        let number = self.number()?;
        let made = self.port(number).and_then(|port| {
            let reference = port.new_reference(REFERENCE_USE)?;
            Ok((self.take(size, pool, kind, number)?, port, reference))
        });
        let (piece, port, reference) = made.inspect_err(|_| self.free.push(number))?;
        self.places.insert(port.handle().address(), number as u64);
        self.entries[number] = Some(Entry { port, what: What::Segment(piece, BTreeMap::new()) });
        Ok((number as u64, reference))
    }

    /// The piece of memory behind a port's word.
    fn piece(&self, word: u64) -> Option<&Piece> {
        self.entry(word).and_then(|entry| if let What::Segment(piece, _) = &entry.what { Some(piece) } else { None })
    }

    /// Somebody wants to write to data that is read-only for the moment.
    pub fn fault(&mut self, request: &mut Request<'_>) {
        let [offset, needed, ..] = request.words();
        let piece = self.piece(request.word() & NUMBER & !KEEPER).and_then(|piece| piece.data().filter(|_| offset < piece.size));
        let may_come = Rights(needed).contains(Rights::WRITE) && !Rights(needed).contains(Rights::OBJECTS);
        let opened = match piece.filter(|_| may_come) {
            Some((start, end)) => self.arena.data.fault(start + offset, (start, end)),
            None => Err(Errno::EFAULT),
        };
        request.answer(if opened.is_ok() { fault::RESUME } else { fault::REFUSE }, [0; 6]);
    }

    /// A number for one more port.
    fn number(&mut self) -> Result<usize, Errno> {
        if let Some(number) = self.free.pop() {
            return Ok(number);
        }
        if self.entries.len() >= MAX_ENTRIES {
            return Err(Errno::ENFILE);
        }
        self.entries.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
        // To give a number back cannot fail.
        self.free.try_reserve(self.entries.len() + 1).map_err(|_| Errno::ENOMEM)?;
        self.entries.push(None);
        Ok(self.entries.len() - 1)
    }

    /// Takes the entries of an image over, as many as there are numbers.
    pub fn take_over(&mut self, entries: Vec<Option<Entry>>) {
        self.free = (0..entries.len()).rev().filter(|number| entries[*number].is_none()).collect();
        let mut ranges: Vec<(u64, u64)> = entries.iter().flatten().filter_map(|entry| if let What::Segment(piece, _) = &entry.what { Some((piece.offset, piece.size)) } else { None }).collect();
        ranges.sort_unstable();
        self.arena.set_taken(&ranges);
        self.places = entries.iter().enumerate().filter_map(|(number, entry)| Some((entry.as_ref()?.port.handle().address(), number as u64))).collect();
        self.entries = entries;
    }

    /// The entry behind a port's word.
    pub fn entry(&self, word: u64) -> Option<&Entry> {
        self.entries.get(word as usize).and_then(Option::as_ref)
    }

    /// Bits of a port of ours.
    pub fn notified(&mut self, word: u64, bits: u64) {
        if word == WAKE {
            return self.go_on(bits);
        }
        if word & KEEPER != 0 {
            // Its region has gone.
            return;
        }
        if let Some(Entry { what: What::Told(port, _), .. }) = self.entry(word) {
            // One that has gone need not hear of it.
            let _ = nacre_sys::ipc::notify(port.handle(), bits & !KERNEL_BITS);
        }
        if word != PARENT as u64 && bits & NO_REFERENCES != 0 {
            self.remove(word);
        } else if word == PARENT as u64 {
            self.ended.get_or_insert(nacre_nest::host::KILLED);
        }
    }

    fn remove(&mut self, word: u64) {
        let Some(entry) = self.entries.get_mut(word as usize).and_then(Option::take) else { return };
        self.places.remove(&entry.port.handle().address());
        self.free.push(word as usize);
        match &entry.what {
            What::Segment(piece, _) => {
                self.forget_counters(word);
                // The contents go before others get the place.
                self.arena.reclaim_piece(piece);
                self.give_back(piece.pool, piece.offset, piece.size);
            }
            What::Pool(PoolEnd { pool, is_shared: false, .. }) if self.pools.has(*pool) => self.destroy_pool(*pool),
            What::Seat => self.commands.leave(word),
            _ => {}
        }
    }

    /// Answers a request, or keeps it until it can be answered.
    pub fn handle(&mut self, request: &mut Request<'_>) {
        let word = request.word() & NUMBER;
        let answer = match self.entry(word).map(|entry| &entry.what) {
            None | Some(What::Told(..) | What::Outside(None, _)) => Err(Errno::EIO),
            Some(What::Parent) => self.parent(request),
            Some(What::Pool(end)) => {
                let end = *end;
                self.pool(request, end)
            }
            Some(What::Segment(..)) => self.segment_of(request, word),
            Some(What::Control) => self.service_of_commands(request),
            Some(What::Seat) => self.seat(request, word),
            Some(What::Outside(Some(_), Source::Service(SERVICE_CLOCK))) if request.label() == clock::follow::LABEL => self.follow(request),
            Some(What::Outside(Some(_), _)) => match self.ask(request) {
                Ok(Some(parts)) => Ok(parts),
                Ok(None) => return,
                Err(errno) => Err(errno),
            },
        };
        match answer {
            Ok((words, given)) => answer_with(request, words, given),
            Err(errno) => request.refuse(errno),
        }
    }

    fn parent(&mut self, request: &mut Request<'_>) -> Result<Parts, Errno> {
        let [first, ..] = request.words();
        let what = match request.label() {
            parent::find::LABEL if [SERVICE_MEMORY, SERVICE_OBJECTS].contains(&first) => What::Pool(PoolEnd { pool: OUTERMOST, is_shared: true, is_data: false }),
            // What they know of the environment could not be taken along.
            parent::find::LABEL if [SERVICE_PROCESS, SERVICE_CHANNELS].contains(&first) => return Err(Errno::ENOENT),
            // The environment may be thawed where somebody gives commands.
            parent::find::LABEL if first == SERVICE_CONTROL => What::Control,
            parent::find::LABEL => What::Outside(Some(parent::find(Reference::PARENT, first)?.found), Source::Service(first)),
            parent::stream::LABEL => What::Outside(Some(parent::stream(Reference::PARENT, first)?.file), Source::Stream(first)),
            parent::exit::LABEL => {
                self.ended = Some(parent::checked_status(first));
                return Ok(([0; 6], Vec::new()));
            }
            parent::report::LABEL => {
                parent::report(Reference::PARENT, first, request.bytes())?;
                return Ok(([0; 6], Vec::new()));
            }
            parent::processors::LABEL => return Ok(([parent::processors(Reference::PARENT)?.count, 0, 0, 0, 0, 0], Vec::new())),
            _ => return Err(Errno::ENOSYS),
        };
        Ok(([0; 6], Vec::from([self.add(what)?])))
    }

    /// Takes memory from a pool.
    fn take(&mut self, size: u64, pool: u64, kind: Use, number: usize) -> Result<Piece, Errno> {
        let size = size.checked_next_multiple_of(PAGE_SIZE).ok_or(Errno::ENOMEM)?;
        if size == 0 {
            return Err(Errno::EINVAL);
        }
        let keeper = if kind == Use::Data { Some(self.keeper(number)?) } else { None };
        self.pools.charge(pool, size)?;
        Piece::take(&mut self.arena, size, pool, kind, keeper).inspect_err(|_| self.pools.refund(pool, size))
    }

    /// Gives back what a piece has taken.
    fn give_back(&mut self, pool: u64, offset: u64, size: u64) {
        self.pools.refund(pool, size);
        self.arena.give(offset, size);
    }

    fn pool(&mut self, request: &mut Request<'_>, end: PoolEnd) -> Result<Parts, Errno> {
        use nacre_proto::memory as protocol;
        let [first, flags, ..] = request.words();
        let none = || Ok(([0; 6], Vec::new()));
        match request.label() {
            protocol::segment_create::LABEL => {
                let holds_objects = flags & SEGMENT_OBJECTS != 0;
                if flags & !(SEGMENT_OBJECTS | SEGMENT_PAGEABLE | SEGMENT_OVERCOMMIT | SEGMENT_PROMISED) != 0 {
                    return Err(Errno::EINVAL);
                }
                if holds_objects && end.is_data {
                    return Err(Errno::EACCES);
                }
                let kind = match flags & (SEGMENT_OBJECTS | SEGMENT_PAGEABLE) {
                    SEGMENT_PAGEABLE => Use::Data,
                    0 => Use::Shared,
                    _ => Use::Objects,
                };
                let (number, reference) = self.add_segment(first, end.pool, kind)?;
                let Some(made) = self.piece(number) else { return Err(Errno::EIO) };
                let holds = if kind == Use::Data { SEGMENT_PAGEABLE } else { 0 };
                // With the reference the segment goes.
                let region = made.reference()?;
                Ok(([made.size, holds, 0, 0, 0, 0], Vec::from([reference, region])))
            }
            protocol::pool_create::LABEL => {
                let pool = self.pools.create(end.pool, first)?;
                let made = self.add(What::Pool(PoolEnd { pool, is_shared: false, ..end })).inspect_err(|_| self.pools.remove(pool))?;
                Ok(([0; 6], Vec::from([made])))
            }
            protocol::share::LABEL if first & !(POOL_DATA | POOL_NAMELESS) != 0 => Err(Errno::EINVAL),
            protocol::share::LABEL => {
                let is_data = end.is_data || first & POOL_DATA != 0;
                Ok(([0; 6], Vec::from([self.add(What::Pool(PoolEnd { is_shared: true, is_data, ..end }))?])))
            }
            protocol::status::LABEL => {
                let (limit, used) = self.pools.status(end.pool)?;
                Ok(([limit, used, 0, 0, 0, 0], Vec::new()))
            }
            protocol::pool_destroy::LABEL if end.is_shared || end.pool == OUTERMOST => Err(Errno::EPERM),
            protocol::pool_destroy::LABEL => {
                self.destroy_pool(end.pool);
                none()
            }
            _ => Err(Errno::ENOSYS),
        }
    }

    /// Destroys a pool with all pools and segments taken from it.
    fn destroy_pool(&mut self, pool: u64) {
        let inside = self.pools.inside(pool);
        let is_inside = |entry: &Entry| matches!(&entry.what, What::Segment(piece, _) if inside.binary_search(&piece.pool).is_ok());
        let segments: Vec<u64> = self.entries.iter().enumerate().filter(|(_, entry)| entry.as_ref().is_some_and(is_inside)).map(|(number, _)| number as u64).collect();
        segments.into_iter().for_each(|word| self.remove(word));
        self.pools.remove(pool);
    }

    fn segment_of(&mut self, request: &mut Request<'_>, word: u64) -> Result<Parts, Errno> {
        let [first, second, ..] = request.words();
        let Some(Entry { what: What::Segment(piece, conditions), .. }) = self.entries.get_mut(word as usize).and_then(Option::as_mut) else {
            return Err(Errno::EIO);
        };
        let number = match request.label() {
            segment::status::LABEL => piece.size,
            segment::destroy::LABEL => {
                self.remove(word);
                0
            }
            segment::clear::LABEL if (first | second) % PAGE_SIZE == 0 && first.checked_add(second).is_some_and(|end| end <= piece.size) => {
                let offset = piece.offset + first;
                self.arena.clear(offset, second)?;
                0
            }
            segment::meet::LABEL if first % 4 == 0 && first < piece.size => return meet(conditions, first),
            // Nobody waits here, where he would be in the middle of a request: he looks again,
            // until he has a condition.
            segment::wait::LABEL => return Err(Errno::EAGAIN),
            segment::wake::LABEL => match conditions.get(&first) {
                Some(condition) => condition.handle().signal(second)?,
                None => 0,
            },
            segment::clear::LABEL | segment::meet::LABEL => return Err(Errno::EINVAL),
            _ => return Err(Errno::ENOSYS),
        };
        Ok(([number, 0, 0, 0, 0, 0], Vec::new()))
    }
}

/// The condition of a word of a segment, which is made if there is none.
fn meet(conditions: &mut BTreeMap<u64, OwnedCondition>, offset: u64) -> Result<Parts, Errno> {
    let condition = match conditions.get(&offset) {
        Some(condition) => condition.handle(),
        None if conditions.len() >= MAX_CONDITIONS => return Err(Errno::ENOMEM),
        None => {
            let made = OwnedCondition::make(Condition::create)?;
            let handle = made.handle();
            conditions.insert(offset, made);
            handle
        }
    };
    let reference = OwnedReference::null()?;
    condition.reference(reference.handle(), REFERENCE_USE)?;
    Ok(([0; 6], Vec::from([reference])))
}

fn answer_with(request: &mut Request<'_>, words: [u64; 6], given: Vec<OwnedReference>) {
    let mut references = given.into_iter();
    request.answer_with(0, words, core::array::from_fn(|_| references.next().map_or(Given::Nothing, Given::Owned)));
}
