//! Files and memory for children, taken from the Common Protocols.

use crate::data::show;
use crate::places::Place;
use crate::refusal::SpawnError;
use crate::supply;
use nacre_abi::object::TargetType;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::state::ReferenceState;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::structures::Status;
use nacre_proto::flags::{FILE_KINDS, O_RDONLY, POOL_DATA, S_IFDIR, SEGMENT_OBJECTS, SERVICE_FILES, SERVICE_MEMORY, SERVICE_OBJECTS, SERVICE_PROCESS};
use nacre_proto::{Errno, dataspace, directory, file, landing, memory, parent, process, segment};
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, SpanMut, Window};

/// Bytes of its pool that a monitor keeps for itself. Its most workers and proxies need as much.
const OWN_SHARE: u64 = 8 << 20;
/// Bits of a mode that let somebody execute the file.
const MAY_EXECUTE: u64 = 0o111;

/// A directory to load from, and pools to take memory from.
pub struct Services {
    files: OwnedReference,
    /// Pool of memory that may hold kernel objects.
    memory: OwnedReference,
    /// Pool that processes of our manager share, which is for data alone. `None`: there is no
    /// manager, and `memory` is the one pool.
    world: Option<OwnedReference>,
    /// Pool for data segments of children, if that is another one.
    data: Option<OwnedReference>,
    /// True if that pool gives memory whose pages may go. `None`: it was not asked yet.
    is_paged: Option<bool>,
}

/// A region of memory from a pool, shown in our own space. Dropping it destroys all that is in it.
pub struct Segment {
    _mapping: OwnedMapping,
    port: OwnedReference,
    region: OwnedReference,
    place: Place,
}

/// Pools that a process manager makes for its processes.
pub struct ProcessPools {
    /// Pool of memory that may hold kernel objects. Nobody else gets it.
    pub objects: OwnedReference,
    /// Pool for data, which processes share.
    pub data: ChildPool,
}

/// A pool that a monitor made for its child, and for all that the child starts.
pub struct ChildPool {
    /// The monitor's reference, which keeps the pool and can destroy it. Nobody else gets it.
    pub own: OwnedReference,
    /// The reference to hand out. It cannot destroy the pool, because whoever finds it shares the
    /// pool with others.
    pub shared: OwnedReference,
}

/// Memory that a process manager has prepared: it is the manager's to give back.
pub struct Prepared {
    _mapping: OwnedMapping,
    region: OwnedReference,
    place: Place,
}

/// A file that is loaded from.
pub struct File {
    port: OwnedReference,
    size: u64,
    region: Option<OwnedReference>,
    /// Keeps others from writing the file; what is no program, or its server cannot say, has none.
    _hold: Option<OwnedReference>,
}

impl Services {
    /// Takes children's parts from these.
    pub fn new(files: OwnedReference, memory: OwnedReference) -> Services {
        Services { files, memory, world: None, data: None, is_paged: None }
    }

    /// Takes children's parts from where our own come from.
    pub fn find() -> Result<Services, SpawnError> {
        let find = |service, doing| match parent::find(Reference::PARENT, service) {
            Ok(reply) => Ok(reply.found),
            Err(errno) => Err(SpawnError::Service(doing, errno)),
        };
        let mut services = Services::new(find(SERVICE_FILES, "finding the files")?, find(SERVICE_OBJECTS, "finding memory")?);
        if parent::find(Reference::PARENT, SERVICE_PROCESS).is_ok() {
            services.world = Some(find(SERVICE_MEMORY, "finding memory for data")?);
        }
        Ok(services)
    }

    /// The directory that programs are loaded from.
    pub fn files(&self) -> Reference {
        self.files.handle()
    }

    /// The pool of memory that may hold kernel objects.
    pub fn memory(&self) -> Reference {
        self.memory.handle()
    }

    /// The pool of memory for data. Below a manager of memory it is that one's, whoever stands
    /// between: only processes' own managers answer for memory that may hold kernel objects.
    pub fn data_memory(&self) -> Reference {
        self.world.as_ref().unwrap_or(&self.memory).handle()
    }

    /// Limit of both pools together, and bytes that are used of the one that has less left.
    pub fn status(&self) -> Result<memory::status::Reply, Errno> {
        let left = |status: &memory::status::Reply| status.limit.saturating_sub(status.used);
        let (objects, data) = (memory::status(self.memory())?, memory::status(self.data_memory())?);
        Ok(if left(&data) < left(&objects) { data } else { objects })
    }

    /// Data segments of children come from this pool from now on.
    pub fn set_data_pool(&mut self, pool: OwnedReference) {
        (self.data, self.is_paged) = (Some(pool), None);
    }

    /// The pool for data segments of children, if it gives memory whose pages may go.
    pub fn pageable_pool(&mut self) -> Option<Reference> {
        let pool = self.data.as_ref().unwrap_or(&self.memory).handle();
        self.is_paged.get_or_insert_with(|| is_paged(pool)).then_some(pool)
    }

    /// Returns true if a manager of processes is around us.
    pub fn has_manager(&self) -> bool {
        self.world.is_some()
    }

    /// Services whose memory is a pool of at most `limit` bytes, made out of ours.
    pub fn limited(&self, limit: u64) -> Result<Services, Errno> {
        let most = self.limit_of_child().ok_or(Errno::ENOMEM)?.min(limit);
        let pool = memory::pool_create(self.memory(), most)?.pool;
        Ok(Services::new(OwnedReference::copy_of(self.files(), REFERENCE_USE)?, pool))
    }

    /// Gives all of our pool to a child; see [`Services::limited`].
    pub fn own_pool(&self, flags: u64) -> Option<ChildPool> {
        let own = OwnedReference::copy_of(self.memory(), REFERENCE_USE).ok()?;
        let shared = memory::share(own.handle(), flags).ok()?.pool;
        Some(ChildPool { own, shared })
    }

    /// Bytes that a child may have, so that we keep what we need ourselves.
    fn limit_of_child(&self) -> Option<u64> {
        let status = self.status().ok()?;
        let left = status.limit.saturating_sub(status.used);
        Some(left - (left / 8).min(OWN_SHARE))
    }

    /// Makes a pool for a child out of ours, which leaves us what we need ourselves. `flags` are
    /// those of `memory.share`. Where memory for the kernel objects of the child's processes ends
    /// with each of them, it comes from elsewhere, and the pool is to be one for data
    /// (`POOL_DATA`). `None`: we may not make one.
    pub fn pool_for_child(&self, flags: u64) -> Option<ChildPool> {
        self.pool_for_child_beside(flags, 0)
    }

    /// Makes a pool as [`Services::pool_for_child`] does, which leaves us `more` bytes beside what
    /// every monitor needs.
    pub fn pool_for_child_beside(&self, flags: u64, more: u64) -> Option<ChildPool> {
        let whole = if flags & POOL_DATA != 0 { self.data_memory() } else { self.memory() };
        let own = memory::pool_create(whole, self.limit_of_child()?.checked_sub(more)?).ok()?.pool;
        let shared = memory::share(own.handle(), flags).ok()?.pool;
        Some(ChildPool { own, shared })
    }

    /// Makes the pools of a process manager out of ours. `None`: we may not make any.
    pub fn pools_for_processes(&self) -> Option<ProcessPools> {
        let data = self.pool_for_child(POOL_DATA)?;
        let objects = match &self.world {
            None => OwnedReference::copy_of(data.own.handle(), REFERENCE_USE).ok()?,
            Some(_) => memory::pool_create(self.memory(), self.limit_of_child()?).ok()?.pool,
        };
        Some(ProcessPools { objects, data })
    }

    fn too_large(&self, needed: u64) -> SpawnError {
        let left = self.status().ok().map(|reply| reply.limit.saturating_sub(reply.used));
        SpawnError::TooLarge(needed, left)
    }
}

/// Returns true if a pool gives memory whose pages may go. Answers land elsewhere from then on.
fn is_paged(pool: Reference) -> bool {
    let is_paged = dataspace::interrogate(pool, &b""[..], &mut [0; dataspace::NAME_SIZE][..]).is_ok();
    if is_paged {
        landing::need();
    }
    is_paged
}

/// Opens a program, by a path that starts at a directory. Nobody can write the file as long as the
/// result lives.
pub fn open(directory: Reference, path: &[u8]) -> Result<File, SpawnError> {
    let (port, _) = open_with_mode(directory, path)?;
    let hold = execute(port.handle()).map_err(|errno| SpawnError::Service("running it", errno))?;
    Ok(File { _hold: hold, ..File::new(port)? })
}

/// Keeps a file that is run from being written, as long as the result lives. None: the file's
/// server cannot.
pub fn execute(file: Reference) -> Result<Option<OwnedReference>, Errno> {
    match file::execute(file) {
        Ok(reply) => Ok(Some(reply.hold)),
        Err(Errno::ENOSYS) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Opens a program, and returns its mode, too.
pub fn open_with_mode(directory: Reference, path: &[u8]) -> Result<(OwnedReference, u64), SpawnError> {
    let opened = directory::open(directory, O_RDONLY, 0, path).map_err(|errno| match errno {
        Errno::ENOENT | Errno::ENOTDIR => SpawnError::NotFound,
        Errno::EACCES => SpawnError::NotExecutable,
        errno => SpawnError::Service("opening it", errno),
    })?;
    let kind = opened.mode & FILE_KINDS[0].mask;
    if kind == S_IFDIR {
        return Err(SpawnError::Directory);
    }
    if opened.mode & MAY_EXECUTE == 0 {
        return Err(SpawnError::NotExecutable);
    }
    Ok((opened.file, opened.mode))
}

impl supply::ResourceSource for Services {
    type File = File;
    type Segment = Segment;

    fn data_pool(&mut self) -> Option<Reference> {
        self.pageable_pool()
    }

    fn open(&mut self, path: &[u8]) -> Result<File, SpawnError> {
        open(self.files(), path)
    }

    fn segment(&mut self, size: u64) -> Result<Segment, SpawnError> {
        let taken = memory::segment_create(self.memory(), size, SEGMENT_OBJECTS).map_err(|errno| match errno {
            Errno::ENOMEM => self.too_large(size),
            errno => SpawnError::Service("taking memory", errno),
        })?;
        if taken.size < size {
            return Err(self.too_large(size));
        }
        let (mapping, place) = show(&taken.region, size, Rights::ALL)?;
        Ok(Segment { _mapping: mapping, port: taken.segment, region: taken.region, place })
    }
}

impl Prepared {
    /// Memory for the process whose port this is.
    pub fn new(port: Reference, size: u64) -> Result<Prepared, SpawnError> {
        let prepared = process::prepare(port, size).map_err(|errno| SpawnError::Service("taking memory", errno))?;
        if prepared.size < size {
            return Err(SpawnError::TooLarge(size, None));
        }
        let (mapping, place) = show(&prepared.region, size, Rights::ALL)?;
        Ok(Prepared { _mapping: mapping, region: prepared.region, place })
    }
}

impl supply::Segment for Prepared {
    fn window(&self) -> Window {
        self.place.window()
    }

    fn region(&self) -> Region {
        Region::through(self.region.handle())
    }
}

impl supply::Segment for Segment {
    fn window(&self) -> Window {
        self.place.window()
    }

    fn region(&self) -> Region {
        Region::through(self.region.handle())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // Said aloud, and not left to the last reference's going, so that the memory is back in the
        // pool when this returns.
        let _ = segment::destroy(self.port.handle());
    }
}

impl File {
    /// A file that can be mapped is asked for its region, which tells the size too; another is
    /// asked for its status.
    pub fn new(port: OwnedReference) -> Result<File, SpawnError> {
        if let Ok(map) = file::map(port.handle(), 0, u64::MAX) {
            let region = Some(map.region).filter(|region| is_whole(region.handle(), map.size));
            return Ok(File { port, size: map.size, region, _hold: None });
        }
        let size = status(port.handle())?.size;
        Ok(File { port, size, region: None, _hold: None })
    }

    /// Returns the status of the file.
    pub fn status(&self) -> Result<Status, SpawnError> {
        status(self.port.handle())
    }
}

fn status(port: Reference) -> Result<Status, SpawnError> {
    let mut bytes = [0; Status::SIZE];
    file::status(port, &mut bytes).map_err(|errno| SpawnError::Service("asking for its size", errno))?;
    Ok(Status::from_bytes(&bytes).unwrap_or_default())
}

impl File {
    /// Closes it, and keeps its region, if it has one, for who maps it.
    pub fn into_region(self) -> Option<OwnedReference> {
        self.region
    }
}

/// Returns true if a reference leads to a region that covers all pages of a file of this size.
fn is_whole(region: Reference, size: u64) -> bool {
    let covers = |state: ReferenceState| state.target == TargetType::Region as u64 && state.first >= size.next_multiple_of(PAGE_SIZE);
    region.get_state().is_ok_and(covers)
}

impl supply::File for File {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&mut self, offset: u64, into: SpanMut<'_>) -> Result<(), SpawnError> {
        let size = into.size();
        match file::read(self.port.handle(), offset, size as u64, into) {
            Ok(reply) if reply.data == size => Ok(()),
            Ok(_) => Err(SpawnError::Truncated("last byte, as its size says")),
            Err(errno) => Err(SpawnError::Service("reading it", errno)),
        }
    }

    fn region(&self) -> Option<Region> {
        self.region.as_ref().map(|region| Region::through(region.handle()))
    }
}
