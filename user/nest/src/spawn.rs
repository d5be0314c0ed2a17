//! Makes a child: loads its program - and beside a foreign one the library of foreign calls - into
//! a fresh space, with one stopped thread at its first instruction.
//!
//! Whatever goes wrong, dropping the segment takes back all that was made, so nothing here undoes
//! anything.

use crate::data::Data;
use crate::elf::{self, Image};
use crate::plan::{self, FOREIGN_STACK_END, From, Heritage, INHERITANCE, LINKER_BIAS, PROGRAM_BIAS, PROGRAM_END, PROGRAM_START, Plan, Sizes};
use crate::refusal::SpawnError;
use crate::stack::{self, auxiliary};
use crate::supply::{File, Loaded, Segment, ResourceSource, load};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::environment::{self, OBJECTS};
use nacre_abi::message::MAX_BYTES;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_USE};
use nacre_abi::state::ThreadState;
use nacre_abi::{ObjectType, PAGE_SIZE, Status};
use nacre_rt::fallible;
use nacre_sys::{Mapping, Reference, Region, Space, SpanMut, Thread, Window};

/// Flags of a fresh thread: interrupts on, and the bit that is always set.
const FLAGS: u64 = 0x202;

/// Program to run.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    /// Path of the file.
    pub path: &'a [u8],
    /// Arguments; the first is the program's name.
    pub arguments: &'a [&'a [u8]],
    /// `NAME=value` strings.
    pub environment: &'a [&'a [u8]],
    /// The path of its current directory, absolute; empty: the root.
    pub directory: &'a [u8],
    /// Sixteen bytes that should differ from child to child.
    pub random: [u8; 16],
    /// Sizes of its parts.
    pub sizes: Sizes,
}

/// Ports of those that stand over the child.
#[derive(Clone, Copy)]
pub struct Ports {
    /// The port that it gets as its parent.
    pub parent: Reference,
    /// The port that receives its exceptions, or a reference with control over it.
    /// `Reference::NONE` for a process manager's child: the manager makes itself the keeper when
    /// the child begins.
    pub keeper: Reference,
}

/// A child. Dropping it takes it back whole: its threads end, its space, its objects and its
/// references go.
pub struct Child<S: ResourceSource> {
    segment: S::Segment,
    /// The child has references to it, and keeps it.
    _data: Option<Data>,
    space: Space,
    thread: Thread,
    native: bool,
    /// Address at which its first thread begins.
    entry: u64,
    /// Addresses in the own space of the areas of its heritage; 0 for those that are shown.
    areas: Vec<u64>,
    /// The child has them mapped.
    _files: Vec<S::File>,
}

impl<S: ResourceSource> Child<S> {
    /// Lets it run.
    pub fn start(&self) -> Result<(), SpawnError> {
        self.thread.start().map_err(|status| SpawnError::Kernel("the start of its thread", status))
    }

    /// Returns the space of the child.
    pub fn space(&self) -> Space {
        self.space
    }

    /// Returns the first thread of the child.
    pub fn thread(&self) -> Thread {
        self.thread
    }

    /// Returns true if the child makes the kernel's own calls, and not foreign ones.
    pub fn is_native(&self) -> bool {
        self.native
    }

    /// Returns the address at which a thread begins that others make in the child to ask its
    /// library something; 0 if it has no library.
    pub fn visited(&self) -> u64 {
        if self.native { 0 } else { self.entry - plan::VISITED }
    }

    /// Returns the memory of the child.
    pub fn segment(&self) -> &S::Segment {
        &self.segment
    }

    /// Returns the address in the own space of the child's fresh memory for an area of its
    /// heritage.
    pub fn area(&self, number: usize) -> Option<u64> {
        self.areas.get(number).copied().filter(|address| *address != 0)
    }

    /// Takes it back whole.
    pub fn destroy(self) {}
}

/// The program; if it is foreign, also the dynamic linker that it asks for.
pub fn load_program<S: ResourceSource>(supplier: &mut S, path: &[u8]) -> Result<Vec<Loaded<S::File>>, SpawnError> {
    let mut all = Vec::with_capacity(3);
    all.push(load(supplier, path, PROGRAM_START..PROGRAM_END, PROGRAM_BIAS)?);
    if all[0].image.native_version.is_some() {
        return Ok(all);
    }
    if let Some(path) = all[0].image.interpreter.clone() {
        let linker = load(supplier, &path, PROGRAM_START..PROGRAM_END, LINKER_BIAS);
        all.push(linker.map_err(|refusal| SpawnError::Linker(String::from_utf8_lossy(&path).into_owned(), Box::new(refusal)))?);
    }
    Ok(all)
}

/// Loads what [`load_program`] does and, last, the library if the program is foreign.
fn load_all<S: ResourceSource>(supplier: &mut S, path: &[u8]) -> Result<Vec<Loaded<S::File>>, SpawnError> {
    let mut all = load_program(supplier, path)?;
    if all[0].image.native_version.is_none() {
        all.push(supplier.library()?);
    }
    Ok(all)
}

fn kernel(making: &'static str) -> impl Fn(Status) -> SpawnError {
    move |status| SpawnError::Kernel(making, status)
}

fn make_space<S: ResourceSource>(plan: &Plan, (segment, data): (&S::Segment, Option<&Data>), files: &[Loaded<S::File>], keeper: Reference) -> Result<Space, SpawnError> {
    let base = segment.window().start();
    let space = Space::create(base + plan.space, base + plan.pool, plan.pool_pages, keeper).map_err(kernel("its space"))?;
    for (number, window) in plan.windows.iter().enumerate() {
        let region = match window.from {
            From::Segment => segment.region(),
            From::Data => data.map_or(Region(0), Data::region),
            From::File(number) => files[number].file.region().unwrap_or(Region(0)),
            From::Region(region) => region,
        };
        Mapping::create(base + plan.mapping(number), space, window.start, window.size, region, window.offset, window.rights).map_err(kernel("a mapping of its memory"))?;
    }
    Ok(space)
}

/// The plan lies inside its segments; a segment that is smaller than was asked for gets nothing
/// written.
fn part(window: Window, offset: u64, size: u64) -> SpanMut<'static> {
    window.span_mut(offset, size).unwrap_or(SpanMut::EMPTY)
}

/// Windows in which our own space shows a child's segment and its data segment.
#[derive(Clone, Copy)]
struct Views {
    segment: Window,
    data: Option<Window>,
}

impl Views {
    fn of(&self, is_data: bool) -> Window {
        self.data.filter(|_| is_data).unwrap_or(self.segment)
    }
}

fn copy_data<S: ResourceSource>(plan: &Plan, views: Views, files: &mut [Loaded<S::File>]) -> Result<(), SpawnError> {
    for copy in &plan.copies {
        for done in (0..copy.size).step_by(MAX_BYTES as usize) {
            let piece = part(views.of(copy.is_data), copy.to + done, (copy.size - done).min(MAX_BYTES));
            files[copy.image].file.read(copy.offset + done, piece)?;
        }
    }
    Ok(())
}

/// The dynamic linker of a foreign program.
fn linker<F>(loaded: &[Loaded<F>]) -> Option<&Image> {
    if loaded.len() > 2 { Some(&loaded[1].image) } else { None }
}

/// Returns the auxiliary vector of every program, except for what points at strings, from the
/// program, its dynamic linker, and real and effective user and group.
pub fn auxiliary_of(program: &Image, linker: Option<&Image>, [user, effective, group, effective_group]: [u32; 4]) -> [(u64, u64); 14] {
    [
        (auxiliary::HEADERS, program.headers_address),
        (auxiliary::HEADER_ENTRY, elf::HEADER_ENTRY_SIZE),
        (auxiliary::HEADER_COUNT, program.header_count),
        (auxiliary::PAGE_SIZE, PAGE_SIZE),
        (auxiliary::BASE, linker.map_or(0, Image::base)),
        (auxiliary::FLAGS, 0),
        (auxiliary::ENTRY, program.entry),
        (auxiliary::USER, user.into()),
        (auxiliary::EFFECTIVE_USER, effective.into()),
        (auxiliary::GROUP, group.into()),
        (auxiliary::EFFECTIVE_GROUP, effective_group.into()),
        (auxiliary::HARDWARE, 0),
        (auxiliary::CLOCK_TICKS, 100),
        (auxiliary::SECURE, u64::from(user != effective || group != effective_group)),
    ]
}

/// Returns the auxiliary vector of a child, with the entries that only the library looks at.
fn auxiliary_vector<F>(plan: &Plan, loaded: &[Loaded<F>], heritage: &Heritage<'_>) -> Vec<(u64, u64)> {
    let program = &loaded[0].image;
    let linker = linker(loaded);
    let own = [
        (environment::AT_OBJECTS_PAGES, plan.objects_pages),
        (environment::AT_STACK_END, plan.stack_end),
        (environment::AT_STACK_SIZE, plan.stack_size),
        (environment::AT_TABLE_PAGES, plan.pool_pages),
        (environment::AT_FOREIGN_ENTRY, linker.unwrap_or(program).entry),
        (environment::AT_WINDOW_COUNT, plan.given as u64),
        (environment::AT_INHERITANCE, if plan.inheritance == 0 { 0 } else { INHERITANCE }),
        (environment::AT_INHERITANCE_SIZE, heritage.bytes.len() as u64),
        (environment::AT_INHERITED_COUNT, heritage.references.len() as u64),
        (environment::AT_DATA_SIZE, plan.data_size.unwrap_or(0)),
    ];
    auxiliary_of(program, linker, [0; 4]).into_iter().chain(own).collect()
}

/// Returns the number of bytes that arguments may take of a stack of `size` bytes that grows.
pub fn arguments_limit(size: u64) -> u64 {
    leaving(size, GROWING_REST)
}

fn leaving(size: u64, rest: u64) -> u64 {
    (size / 4).max(size.saturating_sub(rest))
}

/// Returns the address of a reference that the child inherits, behind the mappings that it is
/// given.
fn inherited_slot(given: usize, number: usize) -> u64 {
    plan::given_slot(given) + number as u64 * ObjectType::Reference.size()
}

/// Bytes of a stack that arguments must leave free, and of one that grows.
const STACK_REST: u64 = 192 << 10;
const GROWING_REST: u64 = 32 << 10;

/// Writes the inheritance and the stack; where its pointer is.
fn write_stack<S: ResourceSource>(
    plan: &Plan,
    views: Views,
    loaded: &[Loaded<S::File>],
    program: &Program<'_>,
    heritage: &Heritage<'_>,
) -> Result<u64, SpawnError> {
    part(views.segment, plan.inheritance, heritage.bytes.len() as u64).copy_from(heritage.bytes.into());
    // A fork's child has the table of its areas in the inheritance.
    let windows = plan.windows.iter().enumerate().take(if heritage.areas.is_empty() { plan.given } else { 0 });
    let in_data = |window: &plan::Window| if window.from == From::Data { window.offset } else { u64::MAX };
    let windows: Vec<[u64; 5]> = windows.map(|(number, window)| [window.start, window.size, window.rights.0, plan::given_slot(number), in_data(window)]).collect();
    let contents = stack::Contents {
        path: program.path,
        directory: program.directory,
        arguments: program.arguments,
        environment: program.environment,
        random: program.random,
        auxiliary: &auxiliary_vector(plan, loaded, heritage),
        windows: &windows,
    };
    let rest = if plan.stack_end == FOREIGN_STACK_END { GROWING_REST } else { STACK_REST };
    let limit = if heritage.areas.is_empty() { leaving(plan.stack_size, rest) } else { plan.stack_size };
    let bytes = stack::compose(plan.stack_end, limit as usize, &contents)?;
    let size = bytes.len() as u64;
    part(views.of(plan.stack_is_data), plan.stack + plan.stack_size - size, size).copy_from((&bytes[..]).into());
    Ok(plan.stack_end - size)
}

/// Puts the references that it is born with into the child's object area: to whom it belongs, and
/// what it inherits.
fn give_references(plan: &Plan, (base, data): (u64, Option<&Data>), heritage: &Heritage<'_>, ports: Ports, (space, thread): (Space, Thread)) -> Result<(), Status> {
    let slot = |address: u64| Reference(base + plan.objects + (address - OBJECTS));
    ports.parent.reference(slot(environment::PARENT), REFERENCE_USE)?;
    space.reference(slot(environment::SPACE), REFERENCE_ALL)?;
    thread.reference(slot(environment::THREAD), REFERENCE_ALL)?;
    let own = data.into_iter().flat_map(Data::references);
    let mut inherited = heritage.references.iter().copied().chain(own).enumerate();
    inherited.try_for_each(|(number, reference)| reference.reference(slot(inherited_slot(plan.given, number)), REFERENCE_USE))
}

fn make_thread(slot: u64, space: Space, entry: u64, stack: u64) -> Result<Thread, Status> {
    let thread = Thread::create(slot, space)?;
    let state = ThreadState { flags: ThreadState::STOPPED, rip: entry, rsp: stack, rflags: FLAGS, ..ThreadState::default() };
    thread.set_state(&state)?;
    Ok(thread)
}

/// Makes a child from a program. It is stopped: [`Child::start`] lets it run.
pub fn spawn<S: ResourceSource>(supplier: &mut S, program: &Program<'_>, ports: Ports) -> Result<Child<S>, SpawnError> {
    spawn_heir(supplier, program, &Heritage::default(), ports)
}

/// Makes a child as [`spawn`] does, which takes over a heritage if it is foreign.
pub fn spawn_heir<S: ResourceSource>(supplier: &mut S, program: &Program<'_>, heritage: &Heritage<'_>, ports: Ports) -> Result<Child<S>, SpawnError> {
    let loaded = load_all(supplier, program.path)?;
    make(supplier, loaded, program, heritage, ports)
}

/// Makes a child with the library of foreign calls and what it inherits, areas among that. It is
/// stopped, and its areas of fresh memory are zeros.
pub fn fork<S: ResourceSource>(supplier: &mut S, heritage: &Heritage<'_>, sizes: Sizes, ports: Ports) -> Result<Child<S>, SpawnError> {
    let library = supplier.library()?;
    let program = Program { path: b"", arguments: &[], environment: &[], directory: b"", random: [0; 16], sizes };
    make(supplier, Vec::from([library]), &program, heritage, ports)
}

fn make<S: ResourceSource>(
    supplier: &mut S,
    mut loaded: Vec<Loaded<S::File>>,
    program: &Program<'_>,
    heritage: &Heritage<'_>,
    ports: Ports,
) -> Result<Child<S>, SpawnError> {
    let images: Vec<(&Image, bool)> = loaded.iter().map(|one| (&one.image, one.file.region().is_some())).collect();
    let native = loaded[0].image.native_version.is_some();
    let pool = if native { None } else { supplier.data_pool() };
    let plan = plan::plan(&images, program.sizes, heritage, pool.is_some())?;
    let segment = supplier.segment(plan.size)?;
    let data = pool.zip(plan.data_size.filter(|size| *size != 0)).map(|(pool, size)| Data::new(pool, size)).transpose()?;
    let views = Views { segment: segment.window(), data: data.as_ref().map(Data::window) };
    let space = make_space::<S>(&plan, (&segment, data.as_ref()), &loaded, ports.keeper)?;
    copy_data::<S>(&plan, views, &mut loaded)?;
    let stack = write_stack::<S>(&plan, views, &loaded, program, heritage)?;
    // A foreign program's library is entered first, and finds the program in the auxiliary vector.
    let entry = loaded[loaded.len() - 1].image.entry;
    let base = segment.window().start();
    let thread = make_thread(base, space, entry, stack).map_err(kernel("its thread"))?;
    give_references(&plan, (base, data.as_ref()), heritage, ports, (space, thread)).map_err(kernel("its references"))?;
    let place = |window: &plan::Window| match window.from {
        From::Segment => base + window.offset,
        From::Data => views.of(true).start() + window.offset,
        From::File(_) | From::Region(_) => 0,
    };
    let areas = fallible::collect(plan.windows.iter().take(heritage.areas.len()).map(place)).map_err(|error| SpawnError::Service("memory for its areas", error.into()))?;
    Ok(Child { segment, _data: data, space, thread, native, entry, areas, _files: loaded.into_iter().map(|one| one.file).collect() })
}
