//! The root of a shadow guest's tables. The kernel's own half is in no guest's tables.
//!
//! In long mode, the lower half of one space's root is its lower half, and that of another's its
//! upper half. With 32-bit addresses the root has four entries of 1 GiB: the first three are of the
//! one space, the last is of the other.
//!
//! It is made anew each time a guest is entered, behind all locks. Whoever takes a table away
//! meanwhile asks this CPU (`entry::uses`), whose guest is left before it answers, and enters with
//! another root. What stands here is used by a guest alone.

use super::super::direct_map::DirectTables;
use super::super::page_table::{TableMemory, USER_ENTRIES, table_of};
use nacre_core::machine::Physical;

/// Number of entries of a root for 32-bit addresses, and of the one of the upper space.
const DIRECTORIES: usize = 4;
const UPPER_DIRECTORY: usize = 3;
const PRESENT: u64 = 1;

/// Fills the table at `root`. False: the processor cannot have it there.
pub fn join(root: Physical, lower: Physical, upper: Physical, is_long: bool) -> bool {
    let to = DirectTables.table(root);
    if is_long {
        let (to_lower, to_upper) = to.split_at(USER_ENTRIES);
        for (to, from) in [(to_lower, lower), (to_upper, upper)] {
            to.iter().zip(DirectTables.table(from)).for_each(|(to, from)| to.set(from.get()));
        }
        return true;
    }
    for (number, to) in to.iter().take(DIRECTORIES).enumerate() {
        to.set(directory(if number == UPPER_DIRECTORY { upper } else { lower }, number));
    }
    // The register has 32 bits in this mode.
    root.0 >> 32 == 0
}

/// The entry for 1 GiB of a space. A page of 1 GiB is none: the processor has no such entries here,
/// and would take the page for a table.
fn directory(space: Physical, number: usize) -> u64 {
    let third = table_of(DirectTables.table(space)[0].get());
    let second = third.and_then(|third| table_of(DirectTables.table(third)[number].get()));
    second.map_or(0, |second| second.0 | PRESENT)
}
