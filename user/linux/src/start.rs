//! What happens between the library's first instruction and the program's.

use crate::block::Block;
use crate::errno::{ENOMEM, Errno};
use crate::life::PID;
use crate::map::{Area, Map};
use crate::memory::{Fill, Memory};
use crate::process::Process;
use crate::program::{Auxiliary, WINDOW, enter_windows, program_end};
use crate::{entry, user};
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_rt::Arguments;
use nacre_rt::memory::{HEAP_END, HEAP_START};
use nacre_sys::Thread;

/// Bytes of the program headers and the path are read before there is a map to check them with: the parent wrote where they are.
fn auxiliary(arguments: &Arguments) -> Auxiliary {
    let mut auxiliary = Auxiliary::default();
    for (key, value) in arguments.auxiliary_all() {
        auxiliary.take(key, value);
    }
    auxiliary
}

/// The program's memory as the parent left it. The library's heap is in the map too, so that nothing else is put there.
fn memory(auxiliary: &Auxiliary) -> Result<Memory, Errno> {
    let mut map = Map::new();
    let headers = user::given(auxiliary.headers, auxiliary.header_size.saturating_mul(auxiliary.header_count));
    let end = program_end(auxiliary, headers)?;
    enter_windows(&mut map, auxiliary, user::given(auxiliary.windows, auxiliary.window_count.saturating_mul(WINDOW as u64)))?;
    map.insert(Area { start: HEAP_START, end: HEAP_END, rights: Rights::NONE, backing: Fill::Library(Rights::NONE) })?;
    Ok(Memory::new(map, end))
}

/// The process of the program that the parent laid out.
fn process(auxiliary: &Auxiliary) -> Result<Process, Errno> {
    let memory = memory(auxiliary)?;
    let executable = memory.path(auxiliary.path).map(Vec::from).unwrap_or_default();
    Process::new(memory, auxiliary.stack_size, executable, entry::first_block())
}

/// Prepares everything; the program's entry point.
pub fn start(arguments: &Arguments) -> u64 {
    let auxiliary = auxiliary(arguments);
    let prepared = process(&auxiliary).and_then(|mut process| {
        process.set_quick_numbers(PID, Some(0));
        entry::set_process(process);
        Thread::set_gs_base(entry::first_block() as *const Block as u64).map_err(|_| ENOMEM)?;
        Thread::OWN.set_foreign(entry::foreign_entry as *const () as u64).map_err(|_| ENOMEM)
    });
    if let Err(error) = prepared {
        nacre_rt::report!("the library for Linux programs cannot start: {error:?}");
        nacre_rt::exit(127);
    }
    auxiliary.entry
}
