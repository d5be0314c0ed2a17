//! The child's memory as the child sees it: pools and segments, by protocols `memory` and
//! `segment`; and its faults. `dataspaces` serves the protocol `dataspace`.
//!
//! Memory that is asked for as pageable is a dataspace of the first manager. All else - memory for
//! kernel objects, memory that answers are received in, memory at whose words somebody waits -
//! comes from a pool below, and is handed over as it is.

use crate::attachments::{Attachment, Attachments};
use crate::lasting::Lasting;
use crate::mapped_files::MappedFiles;
use crate::pools::Pools;
use crate::shares::Ports;
use crate::tally::Tally;
use crate::tables::{PAGES, Shown, Tables, Top};
use crate::windows::Windows;
use crate::words::{DATA, NAMELESS, READ, SHARED, key};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;
use nacre_abi::message::NO_REFERENCES;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::state::RegionState;
use nacre_abi::{Code, PAGE_SIZE, Rights, fault};
use nacre_dataspaces::policy::Random;
use nacre_dataspaces::{Bank, Policy, Spaces, Store, Trouble};
use nacre_proto::flags::{DATASPACE_COPY, DATASPACE_CREATE, DATASPACE_DELETE, DATASPACE_SHARE, DATASPACE_TRANSFER, POOL_DATA, POOL_NAMELESS, SEGMENT_OBJECTS, SEGMENT_OVERCOMMIT, SEGMENT_PAGEABLE, SEGMENT_PROMISED};
use nacre_proto::memory::{self, pool_create, pool_destroy, segment_create, share};
use nacre_proto::segment;
use nacre_proto::server::Output;
use nacre_proto::{Errno, Event, HandlerResult, Request, ServerEndpoint, dataspace, file};
use nacre_sys::{OwnedPort, OwnedPortSet, OwnedReference, OwnedRegion, Status};

/// Word of the port at which faults in the `O` of any manager arrive.
pub const FAULTS: u64 = 0;
/// Key of the child's outermost pool.
pub(crate) const FIRST_POOL: u64 = 1;
/// Maximum number of dataspaces, and of attachments. Each costs us some hundred bytes.
pub(crate) const MAX_DATASPACES: usize = 8192;
/// Maximum number of pages that chance puts away after a fault.
const DISTURBED: usize = 4;
/// Size of the longest message: bytes of a file.
const MAX_BYTES: usize = nacre_abi::message::MAX_BYTES as usize;

/// Operations of a manager that supports them all.
pub const ALL_OPERATIONS: u64 = DATASPACE_SHARE | DATASPACE_COPY | DATASPACE_TRANSFER | DATASPACE_CREATE | DATASPACE_DELETE;

/// The bank of a manager, whatever its policy and its store.
pub type AnyBank = Bank<Tables, Box<dyn Store + Send>, Box<dyn Policy + Send>>;
/// Dataspaces of all managers.
pub type AnySpaces = Spaces<Tables, Box<dyn Store + Send>, Box<dyn Policy + Send>>;

/// Memory that somebody has.
pub(crate) struct Dataspace {
    pub(crate) pool: u64,
    /// The pool of whoever made it. While a dataspace lasts it is the outermost pool's.
    pub(crate) home: u64,
    /// The dataspace in [`Spaces`].
    pub(crate) space: u64,
    pub(crate) shown: Shown,
    /// The region of a segment. Other dataspaces have attachments alone.
    pub(crate) region: Option<OwnedRegion>,
    pub(crate) ports: Ports,
    /// Name of the dataspace among the keeper's, if it has one.
    pub(crate) name: Option<Name>,
    /// Length in bytes, as a file.
    pub(crate) length: u64,
}

/// Name of a dataspace: its pool, its manager, and what the client calls it.
pub(crate) type Name = (u64, usize, Vec<u8>);

/// A manager, as its clients know it.
pub struct Manager {
    /// Name of the manager.
    pub name: &'static str,
    /// Operations of the manager, as `dataspace.interrogate` returns them.
    pub operations: u64,
}

/// The server.
pub struct Keeper {
    pub(crate) set: OwnedPortSet,
    _faults: OwnedPort,
    pub(crate) top: Top,
    pub(crate) managers: Vec<Manager>,
    pub(crate) spaces: AnySpaces,
    pub(crate) pools: Pools,
    pub(crate) dataspaces: BTreeMap<u64, Dataspace>,
    pub(crate) attachments: Attachments<Attachment>,
    /// Dataspaces by the pools that they count in.
    pub(crate) tally: Tally,
    /// Dataspaces that have a name: by pool, manager and name.
    pub(crate) names: BTreeMap<Name, u64>,
    /// Segments that are not promised whole, by their dataspaces in `spaces`: their pools, and the
    /// pages that these have of them.
    pub(crate) unpaid: BTreeMap<u64, (u64, u64)>,
    /// Dataspaces that outlive this program.
    pub(crate) lasting: Lasting,
    /// Dataspaces that show files.
    pub(crate) files: MappedFiles,
    /// The window of a device, opened as a file.
    pub(crate) windows: Windows,
    next_key: u64,
    chaos: Option<Random>,
}

/// An error for whoever asked for memory.
pub(crate) fn errno(trouble: Trouble) -> Errno {
    match trouble {
        Trouble::Full => Errno::ENOMEM,
        Trouble::Lost => Errno::EIO,
        Trouble::Refused => Errno::EAGAIN,
    }
}

impl Keeper {
    /// A server without pools, which receives at `set`. There is a bank for each manager.
    pub fn new(set: OwnedPortSet, faults: OwnedPort, top: Top, managers: Vec<(Manager, AnyBank)>, chaos: Option<Random>) -> Keeper {
        let (managers, banks) = managers.into_iter().unzip();
        Keeper {
            set,
            _faults: faults,
            top,
            managers,
            spaces: Spaces::new(banks, PAGES),
            pools: Pools::default(),
            dataspaces: BTreeMap::new(),
            attachments: Attachments::default(),
            tally: Tally::default(),
            names: BTreeMap::new(),
            unpaid: BTreeMap::new(),
            lasting: Lasting::default(),
            files: MappedFiles::default(),
            windows: Windows::default(),
            next_key: FIRST_POOL,
            chaos,
        }
    }

    /// Managers and their banks.
    pub fn managers(&self) -> impl Iterator<Item = (&Manager, &AnyBank)> {
        self.managers.iter().enumerate().filter_map(|(number, manager)| Some((manager, self.spaces.bank(number)?)))
    }

    /// The child's pool over `real`, which may have up to `limit` bytes that stay: references that
    /// cannot destroy it, one of them for data alone.
    pub fn first_pool(&mut self, real: OwnedReference, limit: u64) -> Result<[OwnedReference; 2], Errno> {
        // Pages of files are the files'.
        let most: u64 = self.managers().map(|(_, bank)| bank).filter(|bank| !bank.store().is_origin()).map(|bank| bank.most()).sum();
        let key = self.add_pool(None, 0, real, limit.saturating_add(most * PAGE_SIZE))?;
        let [_, shared, data, ..] = &self.pools.get(key)?.ports;
        Ok([shared.new_reference(REFERENCE_USE)?, data.new_reference(REFERENCE_USE)?])
    }

    /// Serves for ever.
    pub fn run(&mut self, mut each: impl FnMut(&Keeper)) -> Result<(), Status> {
        let mut endpoint = ServerEndpoint::new(MAX_BYTES).map_err(|_| Status::new(Code::NoMemory))?;
        loop {
            let is_due = match endpoint.next(self.set.handle().address(), self.patience()) {
                Ok(event) => {
                    self.handle(event);
                    self.is_due()
                }
                Err(status) if status.code() == Some(Code::TimedOut) => true,
                Err(status) => return Err(status),
            };
            if is_due {
                // A later one may go well.
                let _ = (self.commit(), self.write_back_all());
            }
            each(self);
        }
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Fault(mut request) => {
                let [offset, needed, ..] = request.words();
                let is_shown = if request.word() == FAULTS { self.fault(offset / PAGE_SIZE, needed) } else { self.fault_above(request.word(), needed) };
                request.answer(if is_shown { fault::RESUME } else { fault::REFUSE }, [0; 6]);
            }
            Event::Request(mut request) if request.word() != FAULTS => match request.protocol() {
                memory::NUMBER => memory::dispatch(self, &mut request),
                segment::NUMBER => segment::dispatch(self, &mut request),
                dataspace::NUMBER => dataspace::dispatch(self, &mut request),
                file::NUMBER => file::dispatch(self, &mut request),
                _ => request.refuse(Errno::ENOSYS),
            },
            Event::Request(mut request) => request.refuse(Errno::ENOSYS),
            Event::Notification { word, bits } if bits & NO_REFERENCES != 0 => self.forgotten(word),
            Event::Notification { .. } => {}
            Event::Exception(mut request) => request.answer(fault::REFUSE, [0; 6]),
        }
    }

    /// Brings a page; false: there is none, or it cannot be had.
    fn fault(&mut self, page: u64, needed: u64) -> bool {
        let Some(space) = self.spaces.at(page) else { return false };
        let Some(manager) = self.spaces.manager(space) else { return false };
        let may_come = self.check_due(space, page..page + 1).is_ok();
        let brought = may_come && self.spaces.fault(page, Rights(needed).contains(Rights::WRITE)).is_ok();
        self.recount(space);
        if let Some(random) = &mut self.chaos {
            self.spaces.disturb(manager, random, DISTURBED);
        }
        self.note_touch(manager);
        brought
    }

    /// A thread found nothing in `T` while its dataspace was moved, or asks for more than a region
    /// allows. False: it is not to try again.
    fn fault_above(&mut self, word: u64, needed: u64) -> bool {
        let key = self.attachments.get(key(word)).map_or(key(word), |attachment| attachment.dataspace);
        let allowed = if word & READ != 0 { Rights::READ.union(Rights::EXECUTE) } else { Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE) };
        allowed.contains(Rights(needed)) && self.show(key).is_ok()
    }

    /// Shows a dataspace in `T`, if it is not shown.
    pub(crate) fn show(&mut self, key: u64) -> Result<(), Errno> {
        let dataspace = self.dataspaces.get_mut(&key).ok_or(Errno::ENOENT)?;
        if dataspace.shown.is_there() {
            return Ok(());
        }
        let (manager, pages) = self.spaces.manager(dataspace.space).zip(self.spaces.pages(dataspace.space)).ok_or(Errno::ENOENT)?;
        Ok(dataspace.shown.show(&self.top, manager, &pages)?)
    }

    /// The last reference to something has gone.
    fn forgotten(&mut self, word: u64) {
        if self.close_file(word) || self.close_window(word) || word & SHARED != 0 {
            return;
        }
        let key = key(word);
        if self.detach_key(key).is_ok() || self.lasts(key) {
        } else if self.dataspaces.contains_key(&key) {
            self.remove_dataspace(key);
        } else if key != FIRST_POOL && self.pools.has(key) {
            self.remove_pool(key);
        }
    }

    pub(crate) fn key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key - 1
    }

    pub(crate) fn pool(&self, request: &Request<'_>) -> Result<u64, Errno> {
        let key = key(request.word());
        if self.pools.has(key) { Ok(key) } else { Err(Errno::ENOSYS) }
    }

    /// Adds a pool; `kind` has `DATA` if it is for data alone, and `NAMELESS` if it has no names.
    fn add_pool(&mut self, parent: Option<u64>, kind: u64, real: OwnedReference, limit: u64) -> Result<u64, Errno> {
        let key = self.key();
        let port = |flags: u64| OwnedPort::new(key | kind | flags, self.set.handle());
        let ports = [port(0)?, port(SHARED)?, port(SHARED | DATA)?, port(SHARED | NAMELESS)?, port(SHARED | DATA | NAMELESS)?];
        self.pools.add(key, parent, real, limit, ports)?;
        Ok(key)
    }

    /// A pool goes, with all pools and dataspaces in it.
    fn remove_pool(&mut self, key: u64) {
        loop {
            let within = self.pools.innermost(key);
            while let Some(key) = self.tally.first_of(within) {
                self.remove_dataspace(key);
            }
            self.pools.remove(within);
            if within == key {
                return;
            }
        }
    }

    /// A dataspace goes: nobody reaches it any more, and its pages are free.
    pub(crate) fn remove_dataspace(&mut self, key: u64) {
        self.note_change(key);
        self.forget_file(key);
        self.windows.forget(key);
        let Some(dataspace) = self.dataspaces.remove(&key) else { return };
        self.attachments.remove_all(key);
        if let Some(name) = &dataspace.name {
            self.names.remove(name);
        }
        let (pool, space) = (dataspace.pool, dataspace.space);
        self.tally.remove(pool, key);
        // Regions go before the pages that they show.
        drop(dataspace);
        self.free(pool, space);
        self.end_waiting_files();
    }

    /// Pages that no region shows any more.
    pub(crate) fn free(&mut self, pool: u64, space: u64) {
        self.end_unpaid(space);
        let count = self.spaces.counted(space);
        self.spaces.delete(space);
        self.pools.count(pool, -(count as i64));
    }

    /// Makes a dataspace in a pool, which may have `count` more pages. `make` makes what is in it.
    pub(crate) fn add_dataspace(&mut self, pool: u64, count: u64, make: impl FnOnce(&mut AnySpaces) -> Result<u64, Trouble>) -> Result<u64, Errno> {
        self.tally.check(pool, MAX_DATASPACES)?;
        self.pools.check(pool, count)?;
        let (key, shown) = (self.key(), Shown::new()?);
        let ports = Ports::new(key, self.set.handle())?;
        let space = make(&mut self.spaces).map_err(errno)?;
        let (length, counted) = (self.spaces.pages(space).map_or(0, |pages| pages.end - pages.start) * PAGE_SIZE, self.spaces.counted(space));
        self.note_unpaid(pool, space);
        self.pools.count(pool, counted as i64);
        self.tally.add(pool, key);
        self.dataspaces.insert(key, Dataspace { pool, home: pool, space, shown, region: None, ports, name: None, length });
        self.show(key).inspect_err(|_| self.remove_dataspace(key))?;
        Ok(key)
    }

    pub(crate) fn dataspace(&self, request: &Request<'_>) -> Result<&Dataspace, Errno> {
        self.dataspaces.get(&self.key_of(request)).ok_or(Errno::ENOSYS)
    }

    /// The key of the dataspace that a reference leads to.
    pub(crate) fn key_of(&self, request: &Request<'_>) -> u64 {
        let key = key(request.word());
        self.files.opened(key).or_else(|| self.windows.opened(key)).unwrap_or(key)
    }

    /// The dataspace of its owner's reference. `EPERM`: the reference shares it.
    pub(crate) fn own_dataspace(&self, request: &Request<'_>) -> Result<u64, Errno> {
        self.dataspace(request)?;
        if request.word() & SHARED != 0 { Err(Errno::EPERM) } else { Ok(request.word()) }
    }

    pub(crate) fn pages_of(&self, dataspace: &Dataspace) -> Result<Range<u64>, Errno> {
        self.spaces.pages(dataspace.space).ok_or(Errno::EIO)
    }

    /// The references of a new segment: its port, and its region.
    fn segment_references(&mut self, key: u64) -> Result<(OwnedReference, OwnedReference), Errno> {
        let dataspace = self.dataspaces.get_mut(&key).ok_or(Errno::EIO)?;
        let pages = self.spaces.pages(dataspace.space).ok_or(Errno::EIO)?;
        let keeper = dataspace.ports.keeper(key, self.set.handle())?;
        let region = dataspace.region.insert(self.top.region(&pages, false, keeper)?);
        Ok((dataspace.ports.own().new_reference(REFERENCE_USE)?, Top::reference(region)?))
    }
}

/// Whole pages for so many bytes.
pub(crate) fn pages(size: u64) -> Result<u64, Errno> {
    match size.div_ceil(PAGE_SIZE) {
        0 => Err(Errno::EINVAL),
        count if count < PAGES => Ok(count),
        _ => Err(Errno::ENOMEM),
    }
}

impl Keeper {
    /// Hides a dataspace, and makes its regions show so many pages from now on.
    fn show_pages(&mut self, key: u64, count: u64) -> Result<(), Errno> {
        let dataspace = self.dataspaces.get_mut(&key).ok_or(Errno::EIO)?;
        dataspace.shown.hide();
        let attached = self.attachments.of(key).map(|attachment| &attachment.region);
        for region in dataspace.region.iter().chain(attached) {
            let state = region.get_state()?;
            region.set_state(&RegionState { size: count * PAGE_SIZE, ..state })?;
        }
        Ok(())
    }

    /// Makes a dataspace longer. Its regions grow last: a region that shows addresses which the
    /// dataspace does not have yet shows what others have there.
    fn grow(&mut self, key: u64, count: u64) -> Result<(), Errno> {
        let dataspace = self.dataspaces.get(&key).ok_or(Errno::EIO)?;
        let (pool, now) = (dataspace.pool, self.pages_of(dataspace)?);
        let (old, more) = (now.end - now.start, count - (now.end - now.start));
        self.pools.check(pool, more)?;
        self.spaces.resize(now.start, count).map_err(errno)?;
        self.pools.count(pool, more as i64);
        // Where regions cannot become small again, the dataspace keeps the addresses.
        self.show_pages(key, count).or_else(|errno| self.shrink(key, old).and(Err(errno)))
    }

    /// Makes a dataspace shorter. Its regions shrink first.
    fn shrink(&mut self, key: u64, count: u64) -> Result<(), Errno> {
        self.show_pages(key, count)?;
        let dataspace = self.dataspaces.get(&key).ok_or(Errno::EIO)?;
        let (pool, now) = (dataspace.pool, self.pages_of(dataspace)?);
        self.spaces.resize(now.start, count).map_err(errno)?;
        self.pools.count(pool, count as i64 - (now.end - now.start) as i64);
        Ok(())
    }
}

impl Keeper {
    /// Gives a dataspace so many pages.
    pub(crate) fn set_pages(&mut self, key: u64, count: u64) -> Result<(), Errno> {
        self.pay_whole(key)?;
        let now = self.pages_of(self.dataspaces.get(&key).ok_or(Errno::EIO)?)?;
        match count.cmp(&(now.end - now.start)) {
            Ordering::Greater => self.grow(key, count)?,
            Ordering::Less => self.shrink(key, count)?,
            Ordering::Equal => {}
        }
        self.show(key)
    }
}

impl memory::Server for Keeper {
    fn segment_create(&mut self, request: &mut Request<'_>, size: u64, flags: u64) -> HandlerResult<segment_create::Output> {
        let pool = self.pool(request)?;
        if flags & SEGMENT_OBJECTS != 0 && request.word() & DATA != 0 {
            return Err(Errno::EACCES);
        }
        // Pages of managers come when they are touched. They are promised beforehand, unless more
        // is wanted than there may be.
        let (is_unpaid, is_promised) = (flags & SEGMENT_OVERCOMMIT != 0, flags & SEGMENT_PROMISED != 0);
        let flags = flags & !(SEGMENT_PROMISED | SEGMENT_OVERCOMMIT);
        if flags != SEGMENT_PAGEABLE {
            let made = memory::segment_create(self.pools.real(pool)?, size, flags)?;
            return segment_create::Output { size: made.size, holds: made.holds & SEGMENT_OBJECTS, segment: made.segment.into(), region: made.region.into() }.now();
        }
        let count = pages(size)?;
        let key = match is_unpaid {
            true => self.create_unpaid(pool, count, !is_promised)?,
            false => self.create_paid(pool, count)?,
        };
        let (segment, region) = self.segment_references(key).inspect_err(|_| self.remove_dataspace(key))?;
        segment_create::Output { size: count * PAGE_SIZE, holds: SEGMENT_PAGEABLE, segment: segment.into(), region: region.into() }.now()
    }

    fn pool_create(&mut self, request: &mut Request<'_>, limit: u64) -> HandlerResult<pool_create::Output> {
        let parent = self.pool(request)?;
        let real = memory::pool_create(self.pools.real(parent)?, limit)?.pool;
        let key = self.add_pool(Some(parent), request.word() & (DATA | NAMELESS), real, limit)?;
        match self.pools.get(key)?.ports[0].new_reference(REFERENCE_USE) {
            Ok(reference) => pool_create::Output { pool: reference.into() }.now(),
            Err(status) => {
                self.pools.remove(key);
                Err(status.into())
            }
        }
    }

    fn status(&mut self, request: &mut Request<'_>) -> HandlerResult<memory::status::Output> {
        let (limit, used) = self.pools.status(self.pool(request)?)?;
        memory::status::Output { limit, used }.now()
    }

    fn pool_destroy(&mut self, request: &mut Request<'_>) -> HandlerResult<pool_destroy::Output> {
        let pool = self.pool(request)?;
        if request.word() & SHARED != 0 || pool == FIRST_POOL {
            return Err(Errno::EPERM);
        }
        self.remove_pool(pool);
        pool_destroy::Output::default().now()
    }

    fn run_create(&mut self, request: &mut Request<'_>, size: u64, alignment: u64, below: u64) -> HandlerResult<memory::run_create::Output> {
        self.create_run(request, size, alignment, below)
    }

    fn coloured_create(&mut self, request: &mut Request<'_>, size: u64, colours: u64, first: u64, count: u64) -> HandlerResult<memory::coloured_create::Output> {
        self.create_coloured(request, size, colours, first, count)
    }

    fn share(&mut self, request: &mut Request<'_>, flags: u64) -> HandlerResult<share::Output> {
        if flags & !(POOL_DATA | POOL_NAMELESS) != 0 {
            return Err(Errno::EINVAL);
        }
        let [_, shared, data, nameless, neither] = &self.pools.get(self.pool(request)?)?.ports;
        let is_data = flags & POOL_DATA != 0 || request.word() & DATA != 0;
        let port = match flags & POOL_NAMELESS != 0 || request.word() & NAMELESS != 0 {
            false if is_data => data,
            false => shared,
            true if is_data => neither,
            true => nameless,
        };
        share::Output { pool: port.new_reference(REFERENCE_USE)?.into() }.now()
    }
}
