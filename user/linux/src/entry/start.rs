//! What happens between the library's first instruction and the program's.

use crate::abi::errno::{EINVAL, ENOMEM, Errno};
use crate::abi::fork_record::{Copy, Inheritance};
use crate::abi::registers::Frame;
use crate::calls::files::directories;
use crate::entry::assembly;
use crate::entry::signal_thread;
use crate::operations::fork_state::WINDOWS;
use crate::operations::grow_stack;
use crate::operations::paths::path_of;
use crate::operations::program_image::{Auxiliary, WINDOW as WINDOW_SIZE, data_segment, enter_windows, program_end};
use crate::operations::restore_state::{self, Given};
use crate::operations::signal_setup;
use crate::process::{Process, lock};
use crate::raw::memory_words;
use crate::raw::thread_area;
use crate::raw::thread_block::Block;
use crate::raw::thread_position;
use crate::services::segment::Segment;
use crate::state::files::descriptor_table::Descriptors;
use crate::state::memory::{Memory, user_access};
use crate::state::memory::address_map::{Area, Map};
use crate::state::memory::mapped_part::Fill;
use crate::state::memory::page_table_pool::Tables;
use crate::state::random::Random;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_nest::stack::auxiliary;
use nacre_rt::{Arguments, heap};
use nacre_rt::memory::{HEAP_END, HEAP_START};
use nacre_sys::Thread;

/// Bytes of the program headers and the path are read before there is a map to check them with: the
/// parent wrote where they are.
fn auxiliary(arguments: &Arguments) -> Auxiliary {
    let mut auxiliary = Auxiliary::default();
    for (key, value) in arguments.auxiliary_all() {
        auxiliary.take(key, value);
    }
    auxiliary
}

/// The program's memory as the parent left it. The library's heap is in the map too, so that
/// nothing else is put there.
fn memory(auxiliary: &Auxiliary, data: Option<&Rc<Segment>>) -> Result<Memory, Errno> {
    let mut map = Map::new();
    let headers = memory_words::given(auxiliary.headers, auxiliary.header_size.saturating_mul(auxiliary.header_count));
    let end = program_end(auxiliary, headers)?;
    enter_windows(&mut map, auxiliary, memory_words::given(auxiliary.windows, auxiliary.window_count.saturating_mul(WINDOW_SIZE as u64)), data)?;
    for range in [HEAP_START..HEAP_END, WINDOWS] {
        map.insert(Area { start: range.start, end: range.end, rights: Rights::NONE, backing: Fill::Library(Rights::NONE) })?;
    }
    Ok(Memory::new(map, end, Tables::of(auxiliary.table_pages)))
}

/// Sets up the process of the program that the parent laid out, or of a fork's child.
fn set_up(auxiliary: &Auxiliary, arguments: &Arguments, inheritance: Option<&mut Inheritance>) -> Result<(), Errno> {
    let copy = inheritance.as_ref().and_then(|inheritance| inheritance.copy.as_ref());
    let mut given = restore_state::given(auxiliary);
    let data = data_segment(auxiliary);
    let memory = match copy {
        Some(copy) => restore_state::memory(auxiliary, &mut given, copy, data.as_ref())?,
        None => memory(auxiliary, data.as_ref())?,
    };
    let executable = memory.path(auxiliary.path).map(Vec::from).unwrap_or_default();
    let process = Process::new(memory, executable, thread_area::prepare_first_block());
    lock::set_process(process, |process| complete(process, auxiliary, arguments, inheritance.map(|inheritance| (inheritance, given))))
}

/// Fills in the state that is known only after the process exists.
fn complete(process: &mut Process, auxiliary: &Auxiliary, arguments: &Arguments, inheritance: Option<(&mut Inheritance, Given)>) -> Result<(), Errno> {
    process.signal_thread = signal_thread::run;
    process.strings = strings(arguments);
    grow_stack::find_stack(process);
    process.random = random(auxiliary);
    match inheritance {
        Some((inheritance, given)) => {
            restore_state::take_over(process, given, inheritance)?;
            if inheritance.copy.is_none() && process.identity.owner() != [0; 6] {
                tell_owner(process, arguments.auxiliary_address())?;
            }
        }
        None => {
            process.descriptors = Descriptors::standard()?;
            if auxiliary.directory != 0 {
                directories::start_in(process, auxiliary.directory);
            }
        }
    }
    if !process.executable.starts_with(b"/") {
        // It was found from where the program begins.
        let place = path_of::current_path(process).unwrap_or_default();
        process.executable = [&place, &b"/"[..], &process.executable].concat();
    }
    Ok(())
}

/// Makes the random generator from the bytes that the program finds. A fork's child gets other
/// words from its parent.
fn random(auxiliary: &Auxiliary) -> Random {
    let bytes = if auxiliary.random == 0 { &[][..] } else { memory_words::given(auxiliary.random, 16) };
    let mut words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    Random::of(core::array::from_fn(|_| words.next().unwrap_or(0)))
}

/// The program finds in its auxiliary vector whose it is, which stands there as the superuser's,
/// and whether it runs as somebody else's.
fn tell_owner(process: &mut Process, vector: u64) -> Result<(), Errno> {
    let [user, effective, _, group, effective_group, _] = process.identity.owner();
    for at in (vector..).step_by(16) {
        let [key, _] = process.memory.read_words(at)?;
        let value = match key {
            auxiliary::NULL => return Ok(()),
            auxiliary::USER => user.into(),
            auxiliary::EFFECTIVE_USER => effective.into(),
            auxiliary::GROUP => group.into(),
            auxiliary::EFFECTIVE_GROUP => effective_group.into(),
            auxiliary::SECURE => process.identity.is_others().into(),
            _ => continue,
        };
        process.memory.write_words(at + 8, &[value])?;
    }
    Ok(())
}

/// Returns start and end of the arguments, then of the environment.
fn strings(arguments: &Arguments) -> [u64; 4] {
    fn range(mut words: impl Iterator<Item = &'static [u8]>) -> [u64; 2] {
        let Some(first) = words.next() else { return [0; 2] };
        let last = words.last().unwrap_or(first);
        [first.as_ptr() as u64, last.as_ptr_range().end as u64 + 1]
    }
    let ([a, b], [c, d]) = (range(arguments.iter()), range(arguments.environment()));
    [a, b, c, d]
}

/// A fork's child returns from the call.
fn return_from_fork(copy: &Copy) -> Result<(), Errno> {
    user_access::fpu::restore(&copy.fpu).ok_or(EINVAL)?;
    Thread::set_fs_base(copy.fs_base).map_err(|_| ENOMEM)?;
    let _ = lock::with_process(0, |process| {
        let pid = process.pid();
        if copy.set_number != 0 {
            // As on Linux, a child that cannot be told its number lives all the same.
            let _ = process.memory.write_half(copy.set_number, pid as u32);
        }
    });
    assembly::enter(Box::leak(Box::new(Frame::from_words(copy.registers))))
}

/// Prepares everything; the program's entry point.
pub fn start(arguments: &Arguments) -> u64 {
    heap::keep_rest();
    let auxiliary = auxiliary(arguments);
    let mut inheritance = restore_state::read(&auxiliary);
    let set_up = inheritance.as_mut().map_err(|error| *error).and_then(|inheritance| set_up(&auxiliary, arguments, inheritance.as_mut()));
    let prepared = set_up.and_then(|()| {
        Thread::set_gs_base(thread_area::first_block() as *const Block as u64).map_err(|_| ENOMEM)?;
        Thread::OWN.set_foreign(thread_position::foreign_entry()).map_err(|_| ENOMEM)?;
        if inheritance.as_ref().is_ok_and(Option::is_some) {
            lock::with_process(0, signal_setup::take_up_signals).unwrap_or(Ok(()))?;
        }
        match inheritance.as_ref().ok().and_then(Option::as_ref).and_then(|inheritance| inheritance.copy.as_ref()) {
            Some(copy) => return_from_fork(copy),
            None => Ok(()),
        }
    });
    if let Err(error) = prepared {
        nacre_rt::report!("the library for Linux programs cannot start: {error:?}");
        nacre_rt::exit(127);
    }
    auxiliary.entry
}
