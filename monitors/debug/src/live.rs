//! State of watched memory of a program that runs.

use crate::threads::Mode;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_abi::environment::OBJECTS;
use nacre_nest::plan::{FOREIGN_STACK_END, MAX_FOREIGN_STACK, PROGRAM_END};
use nacre_sys::Mapping;

/// A thread that makes one instruction with all watched pages open, while all others stand still.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writer {
    /// Address at which the thread was found. Its number may change meanwhile.
    pub slot: u64,
    /// Purpose for which it ran before.
    pub mode: Mode,
    /// A breakpoint behind the instruction, which writes again and again.
    pub behind: Option<u64>,
}

/// State of watched memory of a program that runs.
#[derive(Default)]
pub struct Live {
    /// Mappings by which the program has the pages.
    pub mappings: BTreeMap<u64, Mapping>,
    /// Thread that writes.
    pub writer: Option<Writer>,
    /// Threads that stand still meanwhile, by the addresses at which they were found.
    pub held: Vec<u64>,
    /// The library changes mappings, so pages are open.
    pub is_changing: bool,
}

/// Returns true if a range is the program's, and not the library's.
pub fn is_programs((address, size): (u64, u64)) -> bool {
    let Some(end) = address.checked_add(size) else { return false };
    end <= PROGRAM_END || (OBJECTS..FOREIGN_STACK_END).contains(&address) && address >= FOREIGN_STACK_END - MAX_FOREIGN_STACK && end <= FOREIGN_STACK_END
}

#[cfg(test)]
mod tests {
    use super::is_programs;

    #[test]
    fn memory_of_the_library_is_not_the_programs() {
        assert!(is_programs((0x40_0000, 8)) && is_programs((0x7f00_00ff_f000, 4096)));
        assert!(!is_programs((0x7e00_0000_0000, 8)) && !is_programs((0x7f00_0000_0000, 8)) && !is_programs((0x7f00_00ff_f001, 4096)) && !is_programs((u64::MAX, 8)));
        assert!(!is_programs((0x6fff_ffff_fffc, 8)));
    }
}
