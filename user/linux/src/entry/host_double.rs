//! A program's calls without a kernel, for tests on the host: each is decoded as ever, and every
//! message that it leads to fails.

use crate::abi::file_flags::O_RDWR;
use crate::abi::registers::Frame;
use crate::entry::call_table;
use crate::process::Process;
use crate::state::files::descriptor_table::Descriptors;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::socket_kind::REHEARSED;
use crate::state::memory::Memory;
use crate::state::memory::address_map::{Area, Map};
use crate::state::memory::mapped_part::Fill;
use crate::state::memory::page_table_pool::Tables;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::OnceCell;
use nacre_abi::Rights;

/// Calls that end the program or may wait for ever: `pause`, `nanosleep`, `exit`, `kill` and its
/// like, `rt_sigreturn`, waits for signals, `futex`, `poll`, `select` and `epoll`,
/// `clock_nanosleep`.
const NOT_MADE: [usize; 22] = [7, 15, 23, 34, 35, 60, 62, 128, 129, 130, 200, 202, 230, 231, 232, 234, 270, 271, 281, 297, 441, 449];
const PAGE: usize = nacre_abi::PAGE_SIZE as usize;

/// A process whose only memory is a buffer of this program.
pub struct Rehearsal {
    process: Process,
    /// Memory that the process's address map names and nothing else uses.
    _memory: Vec<u8>,
}

impl Rehearsal {
    /// A process with `2 * half` pages of memory, of which it may do what it likes with the first
    /// half and only read the rest. `fill` gets the address of the first byte, and the bytes.
    pub fn new(half: usize, fill: impl FnOnce(u64, &mut [u8])) -> Option<Rehearsal> {
        let size = half * PAGE;
        let mut memory = alloc::vec![0; 2 * size + PAGE];
        let skipped = memory.as_ptr().align_offset(PAGE);
        let start = memory.as_ptr() as u64 + skipped as u64;
        fill(start, &mut memory[skipped..skipped + 2 * size]);
        let mut map = Map::new();
        for (start, rights) in [(start, Rights::READ.union(Rights::WRITE)), (start + size as u64, Rights::READ)] {
            map.insert(Area { start, end: start + size as u64, rights, backing: Fill::Library(rights) }).ok()?;
        }
        let end = start + 2 * size as u64;
        let mut process = Process::new(Memory::new(map, end, Tables::of(64)), Vec::from(b"/bin/test"), Box::leak(Box::default()));
        process.descriptors = Descriptors::standard().ok()?;
        process.open(OpenFile::new(Kind::Stream(7, OnceCell::new()), 0, O_RDWR), true).ok()?;
        for mode in REHEARSED {
            process.open(OpenFile::new(Kind::Stream(7, OnceCell::new()), mode, O_RDWR), true).ok()?;
        }
        Some(Rehearsal { process, _memory: memory })
    }

    /// Makes a call; what the program finds in `rax`, or `None` if it is one that would not come
    /// back.
    pub fn call(&mut self, number: usize, arguments: [u64; 6]) -> Option<u64> {
        if NOT_MADE.contains(&number) {
            return None;
        }
        let mut frame = Frame::default();
        frame.set_arguments(arguments);
        Some(call_table::call(&mut self.process, number, &mut frame))
    }
}
