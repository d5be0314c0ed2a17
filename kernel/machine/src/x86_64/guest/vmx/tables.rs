//! Extended page tables: a cache of what the tables of a guest's space show, of each CPU, filled
//! page by page as the guest misses them. The space's own tables have bits that these may not have.
//!
//! Whoever takes something out of the space's tables (`entry::forget`) empties the cache of each
//! CPU that has them; a CPU whose guest runs is asked to leave it before.

use super::super::super::cpu::Cpu;
use super::super::super::direct_map::{DirectTables, thread_words};
use super::super::super::page_table;
use super::pages::{Pages, TABLES};
use super::{field, world};
use core::sync::atomic::Ordering;
use nacre_abi::Rights;
use nacre_core::machine::{LeafKind, Physical};

/// Four levels, written back.
const POINTER: u64 = 3 << 3 | 6;
const READ: u64 = 1;
const WRITE: u64 = 2;
const EXECUTE: u64 = 4;
const ALL: u64 = READ | WRITE | EXECUTE;
/// Type of a page that is written back; 0 is one that is not cached.
const WRITTEN_BACK: u64 = 6 << 3;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// Makes the tables those of a space.
pub fn prepare(cpu: &Cpu, pages: &Pages, root: Physical) {
    if cpu.guest_tables.swap(root.0, Ordering::AcqRel) != root.0 {
        empty(cpu, pages);
    }
    world::write(field::TABLES, pages.tables.0 | POINTER);
}

fn empty(cpu: &Cpu, pages: &Pages) {
    thread_words(pages.tables).iter().for_each(|word| word.set(0));
    cpu.guest_tables_used.set(0);
    world::forget();
}

/// Enters the page at `address` as the space's tables show it. Returns false if they do not allow
/// the access. Before this CPU says that its guest has left: the tables stay as long as it has not
/// said so.
pub fn fill(cpu: &Cpu, pages: &Pages, root: Physical, address: u64, needed: Rights) -> bool {
    if address >= nacre_abi::USER_END {
        return false;
    }
    let Some(leaf) = page_table::lookup(&DirectTables, root, address) else { return false };
    let is_shown = matches!(leaf.kind, LeafKind::Memory | LeafKind::Device) && leaf.rights.contains(needed);
    if !is_shown {
        return false;
    }
    // What can be written or executed can be read.
    let bit = |right, bit| if leaf.rights.contains(right) { bit } else { 0 };
    let kind = if leaf.kind == LeafKind::Device { 0 } else { WRITTEN_BACK };
    let entry = leaf.physical.0 & ADDRESS | kind | READ | bit(Rights::WRITE, WRITE) | bit(Rights::EXECUTE, EXECUTE);
    if cpu.guest_tables_used.get() + 3 > TABLES {
        empty(cpu, pages);
    }
    let mut table = pages.tables;
    for level in [39, 30, 21] {
        let slot = &thread_words(table)[(address >> level & 511) as usize];
        if slot.get() == 0 {
            let used = cpu.guest_tables_used.get() + 1;
            cpu.guest_tables_used.set(used);
            let below = pages.tables.add(used << 12);
            thread_words(below).iter().for_each(|word| word.set(0));
            slot.set(below.0 | ALL);
        }
        table = Physical(slot.get() & ADDRESS);
    }
    thread_words(table)[(address >> 12 & 511) as usize].set(entry);
    // One with fewer rights may be known.
    world::forget();
    true
}
