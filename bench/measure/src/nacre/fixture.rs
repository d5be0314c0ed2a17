//! Memory for measurements: from the parent's pool, at one address in every space of this program,
//! for objects, stacks and pools.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use nacre_abi::environment::{AT_OBJECTS_PAGES, OBJECTS, OBJECTS_PAGES};
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::state::ThreadState;
use nacre_abi::{ObjectType, PAGE_SIZE, Rights};
use nacre_proto::{Errno, flags, memory, parent};
use nacre_rt::Arguments;
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{FOREVER, Mapping, OwnedMapping, OwnedReference, OwnedRegion, OwnedSpace, OwnedThread, Reference, Region, Space, SpanMut, Thread, slots};

use crate::program_path;

/// Address of the memory in every space.
const START: u64 = 0x1800_0000_0000;
/// Size of the memory.
const SIZE: u64 = 48 << 20;
/// Pages of it that hold objects.
const OBJECT_PAGES: u64 = 128;
/// The first of those, which always hold one.
const SETTLED_PAGES: u64 = 32;
/// Pages of the pool of a space.
const POOL_PAGES: u64 = 12;
/// Bytes of a thread's stack.
const STACK: u64 = 32 << 10;

/// The next byte of the memory that was never used.
static NEXT: AtomicU64 = AtomicU64::new(START + OBJECT_PAGES * PAGE_SIZE);

unsafe extern "C" {
    /// First byte of the program's image, by the linker.
    static __executable_start: u8;
    /// The byte behind it.
    static _end: u8;
}

/// Memory for measurements.
pub struct Fixture {
    /// The region of the memory.
    memory: Reference,
    /// The program's image.
    image: OwnedRegion,
    /// Path of this program.
    pub path: &'static [u8],
    /// The pool that the memory comes from.
    pub pool: Reference,
    environment: Cell<Option<Arguments>>,
}

/// A space of its own for a part of this program, which finds everything at the addresses that it
/// has here.
pub struct Domain {
    /// The space.
    pub space: OwnedSpace,
    _memory: OwnedMapping,
    _image: OwnedMapping,
}

/// Takes `pages` pages of the memory, for ever.
pub fn pages(pages: u64) -> Result<u64, Errno> {
    let start = NEXT.fetch_add(pages * PAGE_SIZE, Ordering::Relaxed);
    if start + pages * PAGE_SIZE <= START + SIZE { Ok(start) } else { Err(Errno::ENOMEM) }
}

fn heap_source(size: usize) -> Option<(usize, usize)> {
    let count = (size as u64).div_ceil(PAGE_SIZE);
    pages(count).ok().map(|start| (start as usize, (count * PAGE_SIZE) as usize))
}

/// The program's image: where it starts, and its size.
pub fn image_range() -> (u64, u64) {
    let (start, end) = (&raw const __executable_start as u64, &raw const _end as u64);
    (start, (end - start).next_multiple_of(PAGE_SIZE))
}

impl Fixture {
    /// Gets the memory. The library for Linux programs has the object area, but does not come to
    /// its last page; so the first references are put there.
    pub fn prepare(arguments: &Arguments) -> Result<Fixture, Errno> {
        let count = arguments.auxiliary(AT_OBJECTS_PAGES).unwrap_or(OBJECTS_PAGES);
        let slot = |number: u64| OBJECTS + (count - 1) * PAGE_SIZE + number * 128;
        let [pool, segment, memory] = [0, 1, 2].map(|number| Reference(slot(number)));
        ask(Reference::PARENT, parent::find::LABEL, flags::SERVICE_OBJECTS, &[pool])?;
        ask(pool, memory::segment_create::LABEL, SIZE, &[segment, memory])?;
        Mapping::create(slot(3), Space::OWN, START, SIZE, Region::through(memory), 0, Rights::ALL)?;
        slots::add_area(START, OBJECT_PAGES as usize)?;
        settle()?;
        nacre_rt::heap::set_source(heap_source);
        let (start, size) = image_range();
        let image = OwnedRegion::new(Space::OWN, start, size, Rights(7), Reference::NONE)?;
        let shown = OwnedReference::copy_of(memory, REFERENCE_USE)?.leak();
        let path = program_path::path(arguments);
        Ok(Fixture { memory: shown, image, path, pool, environment: Cell::new(Some(*arguments)) })
    }

    /// The program's environment.
    pub fn environment(&self) -> impl Iterator<Item = &'static [u8]> {
        self.environment.get().into_iter().flat_map(|arguments| arguments.environment())
    }

    /// The region of the memory.
    pub fn region(&self) -> Region {
        Region::through(self.memory)
    }

    /// Returns the offset in that region of an address of the memory.
    pub fn offset(address: u64) -> u64 {
        address - START
    }

    /// Maps it into a space, at the addresses that it has here.
    pub fn show(&self, slot: u64, space: Space) -> Result<Mapping, Errno> {
        Ok(Mapping::create(slot, space, START, SIZE, self.region(), 0, Rights::ALL)?)
    }

    /// A fresh space with all that this program has.
    pub fn domain(&self) -> Result<Domain, Errno> {
        let pool = pages(POOL_PAGES)?;
        let space = OwnedSpace::make(|slot| Space::create(slot, pool, POOL_PAGES, Reference::NONE))?;
        let (start, size) = image_range();
        let image = OwnedMapping::new(space.handle(), start, size, self.image.handle(), 0, Rights(7))?;
        let memory = OwnedMapping::new(space.handle(), START, SIZE, self.region(), 0, Rights::ALL)?;
        Ok(Domain { space, _memory: memory, _image: image })
    }
}

impl Domain {
    /// Starts a thread in it.
    pub fn start(&self, function: extern "C" fn(u64) -> !, argument: u64) -> Result<OwnedThread, Errno> {
        start(self.space.handle(), function, argument)
    }
}

/// Puts an object into each of the first pages, for ever: so that objects which come and go do not
/// make pages of objects come and go too, which costs more than the object and is measured on its
/// own.
fn settle() -> Result<(), Errno> {
    for address in (START..START + SETTLED_PAGES * PAGE_SIZE).step_by(PAGE_SIZE as usize) {
        slots::claim(address, ObjectType::Reference);
        Reference::create(address)?;
    }
    Ok(())
}

/// The first slot of a page without any object.
pub fn lonely_slot() -> Result<u64, Errno> {
    slot(ObjectType::Thread)
}

/// A message of one word, answered with references.
fn ask(target: Reference, label: u32, word: u64, slots: &[Reference]) -> Result<(), Errno> {
    // Flags of a segment are the second word; who else is asked takes one word.
    let message = Message::new(label, [word, if label == memory::segment_create::LABEL { flags::SEGMENT_OBJECTS } else { 0 }, 0, 0, 0, 0]);
    let received = ipc::call(target, &message, Buffers::new(SpanMut::EMPTY, slots), FOREVER)?;
    Errno::result(received.label())
}

/// The state of a thread that is to run `function(argument)` on the stack that ends at `stack`.
pub fn first_state(function: extern "C" fn(u64) -> !, argument: u64, stack: u64) -> ThreadState {
    let rip = function as *const () as u64;
    // As if it had been called: the stack pointer is a multiple of 16 before the return address.
    ThreadState { flags: ThreadState::STOPPED, rip, rdi: argument, rsp: stack - 8, ..ThreadState::default() }
}

/// A stack: where it ends.
pub fn stack() -> Result<u64, Errno> {
    Ok(pages(STACK / PAGE_SIZE)? + STACK)
}

/// Starts a thread in `space`; it is gone when this is dropped.
pub fn start(space: Space, function: extern "C" fn(u64) -> !, argument: u64) -> Result<OwnedThread, Errno> {
    let thread = OwnedThread::make(|slot| Thread::create(slot, space))?;
    thread.set_state(&first_state(function, argument, stack()?))?;
    thread.handle().start()?;
    Ok(thread)
}

/// Parks a thread that cannot go on, until it is destroyed.
pub fn rest() -> ! {
    loop {
        // However the wait ends, it begins again.
        let _ = Thread::sleep(u64::MAX);
    }
}

/// A slot, taken for ever.
pub fn slot(kind: ObjectType) -> Result<u64, Errno> {
    Ok(slots::allocate(kind)?)
}
