//! What processes ask each other: limits, memory and open files. The library of whoever is asked
//! answers, by Linux's rules; a thread that the manager has made in its space brings the questions.
//! It has no place among the program's threads, and holds the lock while it answers.

use crate::abi::errno::{EFAULT, EINVAL, EPERM, Errno};
use crate::calls::memory::process_memory::MOST;
use crate::operations::limit_checks;
use crate::operations::proc;
use crate::operations::proc::remote_query::Owner;
use crate::operations::proc::thread_facts;
use crate::operations::processors;
use crate::operations::sockets::ancillary_data::record;
use crate::process::{Process, lock};
use crate::raw::sending_thread::{self, Servant};
use crate::services::segment::Segment;
use crate::state::memory::residence;
use alloc::vec::Vec;
use core::sync::atomic::AtomicU64;
use nacre_abi::Rights;
use nacre_proto::flags::{ASK_FILE, ASK_LIMIT, ASK_LIMIT_SET, ASK_LINK, ASK_MANAGER, ASK_MEMORY, ASK_MEMORY_SET, ASK_NUMBERS};
use nacre_proto::flags::{ASK_PRIVILEGED, ASK_PROCESSORS, ASK_PROCESSORS_SET, ASK_TEXT, ASK_THREADS};
use nacre_proto::process::visit;
use nacre_proto::process as manager;
use nacre_sys::{Reference, Span, Thread};

/// Thread index that stands for a query thread.
const NOBODY: usize = usize::MAX;
/// Wait of a query thread for a process that has not begun, in nanoseconds.
const SOON: u64 = 1_000_000;

/// The stack of a visitor, of whom there is one at a time: whole words, which only its own
/// instructions touch.
#[repr(C, align(4096))]
pub struct Stack([AtomicU64; 1024]);

/// Stack of the query thread.
pub static STACK: Stack = Stack([const { AtomicU64::new(0) }; 1024]);

/// Answers queries for as long as the process lives here.
pub fn serve() -> ! {
    sending_thread::serves(Servant::Queries);
    while lock::with_process(NOBODY, |_| ()).is_none() {
        let _ = Thread::sleep(SOON);
    }
    let mut data = Vec::new();
    data.resize(MOST as usize, 0);
    loop {
        // A manager that does not answer is asked again.
        match manager::visit(Reference::PARENT, &mut data[..]) {
            Ok(asked) => drop(lock::with_process(NOBODY, |process| answer(process, &asked, &data[..asked.data.min(MOST as usize)]))),
            Err(_) => drop(Thread::sleep(SOON)),
        }
    }
}

fn answer(process: &mut Process, asked: &visit::Reply, data: &[u8]) {
    let shown;
    let answered = match asked.question & !ASK_PRIVILEGED {
        ASK_LIMIT | ASK_LIMIT_SET => answer_limit(process, asked).map(|limit| (limit, Span::EMPTY)),
        ASK_MEMORY => answer_memory(process, asked).map(|bytes| ([bytes.len() as u64, 0], Span::from(bytes))),
        ASK_MEMORY_SET => set_memory(process, asked, data).map(|count| ([count, 0], Span::EMPTY)),
        ASK_PROCESSORS => Ok(([processors::processors_of(process, asked.first), 0], Span::EMPTY)),
        ASK_PROCESSORS_SET => answer_processors(process, asked).map(|()| ([asked.second, 0], Span::EMPTY)),
        ASK_TEXT | ASK_LINK | ASK_NUMBERS => match proc::answer_process::answer_shown(process, asked, data) {
            Ok(bytes) => {
                shown = bytes;
                Ok(([shown.len() as u64, 0], Span::from(&shown[..])))
            }
            Err(error) => Err(error),
        },
        ASK_THREADS => {
            shown = thread_facts::threads_told(process, MOST as usize);
            Ok(([residence::all_resident(&process.memory), 0], Span::from(&shown[..])))
        }
        ASK_MANAGER => answer_manager(process, asked, data).map(|moved| (moved, Span::EMPTY)),
        ASK_FILE => match answer_file(process, asked) {
            Ok(()) => return,
            Err(error) => Err(error),
        },
        _ => Err(EINVAL),
    };
    let refuse = |error: Errno| manager::answer(Reference::PARENT, error.0.into(), 0, 0, Span::EMPTY);
    let sent = match answered {
        Ok(([first, second], bytes)) => manager::answer(Reference::PARENT, 0, first, second, bytes).or_else(|_| refuse(EFAULT)),
        Err(error) => refuse(error),
    };
    // Who does not want to know does not care.
    drop(sent);
}

fn answer_limit(process: &mut Process, asked: &visit::Reply) -> Result<[u64; 2], Errno> {
    let owner = Owner::of(asked.question, asked.owner);
    if !owner.is_privileged && !owner.is_all(process.identity.owner()) {
        return Err(EPERM);
    }
    let before = process.limits.get(asked.first)?;
    if asked.question & !ASK_PRIVILEGED == ASK_LIMIT_SET {
        limit_checks::set_limit(process, asked.first, [asked.second, asked.third], owner.is_privileged)?;
    }
    Ok(before)
}

/// The processors of a thread are set by the user whom the process belongs to.
fn answer_processors(process: &mut Process, asked: &visit::Reply) -> Result<(), Errno> {
    let owner = Owner::of(asked.question, asked.owner);
    let [real, effective, ..] = process.identity.owner();
    if !owner.is_privileged && ![real, effective].contains(&owner.user) {
        return Err(EPERM);
    }
    processors::set_processors(process, asked.first, asked.second)
}

fn answer_memory(process: &mut Process, asked: &visit::Reply) -> Result<&'static [u8], Errno> {
    proc::remote_query::check_looked_at(process, asked)?;
    let size = process.memory.map.extent(asked.first, asked.second.min(MOST), Rights::READ);
    if size == 0 { Err(EFAULT) } else { process.memory.readable(asked.first, size) }
}

fn set_memory(process: &mut Process, asked: &visit::Reply, data: &[u8]) -> Result<u64, Errno> {
    proc::remote_query::check_looked_at(process, asked)?;
    let size = process.memory.map.extent(asked.first, data.len() as u64, Rights::WRITE);
    if size == 0 {
        return Err(EFAULT);
    }
    process.memory.write_bytes(asked.first, &data[..size as usize])?;
    Ok(size)
}

/// Moves the process's memory to another manager, for a caller that may look into the process.
fn answer_manager(process: &mut Process, asked: &visit::Reply, manager: &[u8]) -> Result<[u64; 2], Errno> {
    proc::remote_query::check_looked_at(process, asked)?;
    let moved = process.memory.transfer_all(manager)?;
    if asked.first != 0
        && let Some(name) = process.memory.present_manager()
    {
        Segment::set_later_manager(&name);
    }
    Ok(moved)
}

fn answer_file(process: &mut Process, asked: &visit::Reply) -> Result<(), Errno> {
    proc::remote_query::check_looked_at(process, asked)?;
    let file = process.descriptors.get(asked.first)?;
    let reference = match file.moved.get() {
        Some(moved) => moved.handle(),
        None => file.reference().map_err(|_| EPERM)?,
    };
    manager::answer_file(Reference::PARENT, u64::from_le_bytes(record(&file)), 0, reference)?;
    Ok(())
}
