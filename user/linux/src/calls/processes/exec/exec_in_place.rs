//! `execve` where the process is: another program in the same environment (proposal 0018).
//!
//! All that can be refused is done first. Then the old program's memory goes, and there is no way
//! back: what fails from there on ends the process, as on Linux. The library stays as it is, and
//! with it all that a process keeps. Who runs as somebody else than its caller, has threads, or is
//! a program of our own, begins elsewhere.

use crate::abi::errno::{EINVAL, Errno};
use crate::abi::fork_record::Inheritance;
use crate::abi::registers::Frame;
use crate::abi::signal_numbers::SIGKILL;
use crate::calls::files::file_locks;
use crate::calls::processes::exec::{Command, Outcome, STACK, names, slices, tell_owner};
use crate::operations::fork_state::{ForkState, WINDOWS};
use crate::operations::grow_stack;
use crate::operations::restore_state;
use crate::process::{Process, futex_wake};
use crate::process::end::end_by_signal;
use crate::process::wait::NoReturn;
use crate::services::resource_source::{self, Maker, Source};
use crate::services::segment::Segment;
use crate::state::memory::Memory;
use crate::state::memory::address_map::{Area, Map};
use crate::state::memory::mapped_part::{Fill, effective};
use crate::state::memory::user_access::fpu;
use crate::state::signals::dispositions::Signals;
use crate::state::threads::futex_queues::FutexQueues;
use crate::state::timers::Timers;
use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::Ordering;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_abi::message::MAX_BYTES;
use nacre_nest::{Loaded, SpawnError, stack};
use nacre_nest::elf::{self, Image};
use nacre_nest::plan::{FOREIGN_STACK_END, MAX_FOREIGN_STACK};
use nacre_nest::spawn::{arguments_limit, auxiliary_of};
use nacre_nest::supply::File as _;
use nacre_proto::{keyed, process as manager};
use nacre_rt::memory::{HEAP_END, HEAP_START};
use nacre_sys::{Reference, SpanMut, Thread};

/// Ranges that a program cannot use.
const OWN: [Range<u64>; 2] = [HEAP_START..HEAP_END, WINDOWS];
/// Free stack at first, in bytes. The stack grows; a fork's child leaves a little more free.
const FREE_STACK: u64 = 0x7000;

/// Address space of the new program, before it exists.
struct Plan {
    /// The program, and its dynamic linker.
    loaded: Vec<Loaded<Source>>,
    /// Bytes of the stack.
    stack_size: u64,
    /// Last bytes of the stack.
    stack: Vec<u8>,
    /// Start and end of the arguments, then of the environment.
    strings: [u64; 4],
}

/// The process becomes the program, if it can here.
pub fn renew(process: &mut Process, frame: &mut Frame, maker: &mut Maker, command: &Command, legacy: &mut ForkState) -> Result<Outcome, SpawnError> {
    let loaded = nacre_nest::load_program(maker, &command.path)?;
    if loaded[0].image.native_version.is_some() {
        return Ok(Outcome::Elsewhere);
    }
    let plan = plan(process, loaded, command, &legacy.data)?;
    if let Err(error) = become_it(process, frame, plan, command, legacy) {
        process.report(format_args!("execve: the old program is gone, and there is no room for the new one: {error:?}"));
        end_by_signal(process, SIGKILL);
    }
    Ok(Outcome::Done(Ok(0)))
}

fn plan(process: &mut Process, loaded: Vec<Loaded<Source>>, command: &Command, data: &Inheritance) -> Result<Plan, SpawnError> {
    check(&loaded)?;
    let size = (STACK + command.size()).next_multiple_of(PAGE_SIZE).min(MAX_FOREIGN_STACK);
    let [user, effective, _, group, effective_group, _] = data.owner;
    let (arguments, environment) = (slices(&command.arguments)?, slices(&command.environment)?);
    // Not made of what the old program was given: the new one may have secrets from it.
    let mut random = [0; 16];
    process.services.random(&mut random).map_err(|error| SpawnError::Service("random bytes", error))?;
    let contents = stack::Contents {
        path: &command.path,
        directory: b"",
        arguments: &arguments,
        environment: &environment,
        random,
        auxiliary: &auxiliary_of(&loaded[0].image, loaded.get(1).map(|linker| &linker.image), [user, effective, group, effective_group]),
        windows: &[],
    };
    let stack = stack::compose(FOREIGN_STACK_END, arguments_limit(size) as usize, &contents)?;
    let strings = strings(&stack, command);
    let stack_size = (stack.len() as u64).next_multiple_of(PAGE_SIZE) + FREE_STACK;
    Ok(Plan { loaded, stack_size, stack, strings })
}

/// Checks that all parts of the images lie apart from each other and from the library.
fn check(loaded: &[Loaded<Source>]) -> Result<(), SpawnError> {
    let parts = loaded.iter().flat_map(|one| &one.image.segments).map(elf::Segment::pages);
    let mut all: Vec<Range<u64>> = parts.chain(OWN).collect();
    all.sort_by_key(|range| range.start);
    let overlap = all.array_windows().find(|[one, next]| one.end > next.start);
    overlap.map_or(Ok(()), |[one, next]| Err(SpawnError::TooLarge(one.end - next.start, None)))
}

/// Returns the ranges of the arguments' and the environment's strings, which follow each other from
/// the target of the stack's second word.
fn strings(stack: &[u8], command: &Command) -> [u64; 4] {
    let first = stack.as_chunks::<8>().0.get(1).map_or(0, |word| u64::from_le_bytes(*word));
    let size = |texts: &[Vec<u8>]| texts.iter().map(|text| text.len() as u64 + 1).sum::<u64>();
    let middle = first + size(&command.arguments);
    let end = middle + size(&command.environment);
    [first, middle, if end == middle { 0 } else { middle }, if end == middle { 0 } else { end }]
}

/// Makes the process the program that was planned. There is no way back.
fn become_it(process: &mut Process, frame: &mut Frame, plan: Plan, command: &Command, legacy: &mut ForkState) -> Result<(), Errno> {
    let end = process.halt_others();
    futex_wake::release_all_robust(process, &end);
    close_files(process, &end);
    detach(process, &end);
    tell_owner(process, legacy.data.owner, &end);
    let (entry, strings, stack) = (entry(&plan.loaded), plan.strings, FOREIGN_STACK_END - plan.stack.len() as u64);
    lay_out(process, plan, &end)?;
    // Signals that have come since the call began wait for the new program, too.
    legacy.add_pending(process);
    forget(process);
    let data = &legacy.data;
    restore_state::take_traits(process, data);
    process.strings = strings;
    process.executable = if data.executable.is_empty() { command.path.clone() } else { data.executable.clone() };
    grow_stack::find_stack(process);
    Thread::set_fs_base(0).map_err(|_| EINVAL)?;
    fpu::reset();
    *frame = Frame::of_program(entry, stack);
    let block = process.me().block;
    block.whole.store(1, Ordering::Relaxed);
    // The way out is the one that restores all registers.
    block.set_attention(true);
    // A manager that does not hear of it thinks that it is still the old program.
    let _ = manager::renew(Reference::PARENT, data.ignored, names(&data.name, &command.arguments).as_slice());
    Ok(())
}

/// Returns the address of the first instruction: the program's, or its dynamic linker's.
fn entry(loaded: &[Loaded<Source>]) -> u64 {
    loaded.last().map_or(0, |last| last.image.entry)
}

/// Closes the descriptors that do not survive an exec.
fn close_files(process: &mut Process, _: &NoReturn) {
    let mut next = 0;
    while let Some(number) = process.descriptors.open_from(next) {
        next = number + 1;
        if process.descriptors.close_on_exec(number).is_ok_and(|closes| closes)
            && let Ok(file) = process.descriptors.close(number)
        {
            file_locks::closed(process, &file);
        }
    }
}

/// Segments of System V are in the old program's memory.
fn detach(process: &mut Process, _: &NoReturn) {
    let attached = core::mem::take(&mut process.keyed.attached);
    let Some(port) = &process.keyed.port else { return };
    for one in attached {
        // If it has gone, nobody counts.
        let _ = keyed::detach(port.handle(), one.number);
    }
}

/// Forgets all that the library knows of the old program alone.
fn forget(process: &mut Process) {
    process.me().renew();
    process.signals = Signals::new();
    process.timers = Timers::new();
    process.services.forget_makers_files();
    process.queues = FutexQueues::new();
    process.sites = Default::default();
    process.barriers = 0;
}

/// The old program's memory goes, and the new one's comes.
fn lay_out(process: &mut Process, plan: Plan, _: &NoReturn) -> Result<(), Errno> {
    let end = plan.loaded[0].image.segments.last().map_or(0, |segment| segment.pages().end);
    let mut map = Map::new();
    for range in OWN {
        map.insert(Area { start: range.start, end: range.end, rights: Rights::NONE, backing: Fill::Library(Rights::NONE) })?;
    }
    let tables = process.memory.tables.again();
    let left = core::mem::replace(&mut process.memory, Memory::new(map, end, tables)).give_up();
    process.memory.use_again(left);
    process.memory.add(&mut process.services, FOREIGN_STACK_END - plan.stack_size, plan.stack_size, Rights::READ.union(Rights::WRITE))?;
    process.memory.write_bytes(FOREIGN_STACK_END - plan.stack.len() as u64, &plan.stack)?;
    plan.loaded.into_iter().try_for_each(|mut one| {
        add_copies(process, &mut one)?;
        add_shown(process, one)
    })
}

/// Returns true if the file's own memory is mapped for a part of an image.
fn is_shown(one: &Loaded<Source>, segment: &elf::Segment) -> bool {
    segment.can_share() && one.file.region().is_some()
}

/// The parts of an image that the process has for itself.
fn add_copies(process: &mut Process, one: &mut Loaded<Source>) -> Result<(), Errno> {
    let Image { segments, .. } = &one.image;
    for segment in segments.iter().filter(|segment| !is_shown(one, segment)).copied().collect::<Vec<_>>() {
        let pages = segment.pages();
        process.memory.add(&mut process.services, pages.start, pages.end - pages.start, Rights::READ.union(Rights::WRITE))?;
        for done in (0..segment.file_size).step_by(MAX_BYTES as usize) {
            let piece = process.memory.writable(segment.address + done, (segment.file_size - done).min(MAX_BYTES))?;
            one.file.read(segment.offset + done, SpanMut::from(piece)).map_err(|refusal| resource_source::errno(&refusal))?;
        }
        process.memory.protect(&mut process.services, pages.start, pages.end, effective(segment.rights))?;
    }
    Ok(())
}

/// The parts of an image that are the file's own.
fn add_shown(process: &mut Process, one: Loaded<Source>) -> Result<(), Errno> {
    let shown: Vec<_> = one.image.segments.iter().filter(|segment| is_shown(&one, segment)).copied().collect();
    let Some(region) = one.file.into_region() else { return Ok(()) };
    let contents = Segment::given(region, false);
    shown.into_iter().try_for_each(|segment| {
        let (pages, offset) = (segment.pages(), segment.offset - segment.offset % PAGE_SIZE);
        process.memory.add_part(contents.clone(), pages.start, pages.end - pages.start, offset, effective(segment.rights))
    })
}
