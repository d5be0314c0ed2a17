//! The root of a shadow guest's tables: the lower half of one space's is its lower half, and that
//! of another's its upper half. The kernel's own half is in neither.
//!
//! It is made anew each time a guest is entered, behind all locks. Whoever takes a table away
//! meanwhile asks this CPU (`entry::uses`), whose guest is left before it answers, and enters with
//! another root. What stands here is used by a guest alone.

use super::super::direct_map::DirectTables;
use super::super::page_table::{TableMemory, USER_ENTRIES};
use nacre_core::machine::Physical;

/// Fills the table at `root`.
pub fn join(root: Physical, lower: Physical, upper: Physical) {
    let (to_lower, to_upper) = DirectTables.table(root).split_at(USER_ENTRIES);
    for (to, from) in [(to_lower, lower), (to_upper, upper)] {
        to.iter().zip(DirectTables.table(from)).for_each(|(to, from)| to.set(from.get()));
    }
}
