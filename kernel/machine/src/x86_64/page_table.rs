//! The hardware's tables of one space: a radix tree of four levels, a cache of what composition
//! says.
//!
//! Every entry that leads to a table is exactly `frame | TABLE` (accessed is set from the start, so
//! hardware adds nothing), and every leaf carries its rights and kind in bits that hardware
//! ignores: a lookup is four loads and four byte comparisons. Bits of a leaf:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 1 2 | present (if there is something that users or a guest's kernel may do), writable, user |
//! | 3 4 | write-through, uncached (devices) |
//! | 5 6 | accessed, dirty: always set |
//! | 7 | a large page |
//! | 12-51 | physical address |
//! | 52-55 | `Rights`; none in a view that is all of its space |
//! | 56 57 | a device, an object page |
//! | 63 | not executable |
#![forbid(unsafe_code)]

use nacre_abi::{PAGE_SIZE, Rights};
use nacre_core::machine::{TableSweep, Frame, Leaf, LeafKind, PageSize, Physical, PoolExhausted, SharedWord, TablePool};

/// Access to the frames of tables.
pub trait TableMemory {
    /// The entries of the table in this frame.
    fn table(&self, at: Physical) -> &[SharedWord; 512];
    /// Makes all of them 0.
    fn clear_table(&self, at: Physical);
}

const PRESENT: u64 = 1;
const WRITABLE: u64 = 2;
const USER: u64 = 4;
const UNCACHED: u64 = 0x18;
const TOUCHED: u64 = 0x60;
const LARGE: u64 = 0x80;
const NO_EXECUTE: u64 = 1 << 63;
const RIGHTS_SHIFT: u32 = 52;
const DEVICE: u64 = 1 << 56;
const OBJECTS: u64 = 1 << 57;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
/// Present, writable, user, accessed: what a table entry has beside the address.
const TABLE: u64 = 0x27;
/// Number of entries of a root table that belong to the user: the first ones.
pub const USER_ENTRIES: usize = 256;
/// Entries that one sweep looks at.
const SWEEP: u32 = 300;

const fn index(address: u64, shift: u32) -> usize {
    (address >> shift & 511) as usize
}

/// The table that `entry` leads to, if it leads to one.
#[inline(always)]
pub fn table_of(entry: u64) -> Option<Physical> {
    if entry as u8 == TABLE as u8 { Some(Physical(entry - TABLE)) } else { None }
}

/// Decodes the entry of a page.
#[inline(always)]
fn leaf_of(entry: u64, address: u64, size: PageSize) -> Option<Leaf> {
    if entry & TOUCHED == 0 {
        return None;
    }
    let kind = if entry & OBJECTS != 0 {
        LeafKind::Objects
    } else if entry & DEVICE != 0 {
        LeafKind::Device
    } else if entry & (PRESENT | USER) == PRESENT {
        LeafKind::Privileged
    } else {
        LeafKind::Memory
    };
    Some(Leaf { physical: Physical(entry & ADDRESS | address & 0xfff), kind, rights: Rights(entry >> RIGHTS_SHIFT & 15), size })
}

/// The entry that a small page around `address` would have, out of that of a large one. Out of the
/// way of small pages, which all objects lie in.
#[cold]
#[inline(never)]
fn small_entry_of(entry: u64, address: u64, size: PageSize) -> u64 {
    entry & !(ADDRESS & (size.bytes() - 1)) | address & ADDRESS & (size.bytes() - 1)
}

fn entry_of(leaf: Leaf) -> u64 {
    let (kind, access) = match leaf.kind {
        LeafKind::Memory => (0, USER),
        LeafKind::Device => (DEVICE, USER | UNCACHED),
        LeafKind::Objects => (OBJECTS, 0),
        LeafKind::Privileged => (0, PRESENT),
    };
    let any = leaf.rights.0 & (Rights::READ.0 | Rights::WRITE.0 | Rights::EXECUTE.0) != 0;
    // A guest's kernel may run on these tables: it sees all that is present, user or not.
    let shown = if any && access != 0 { PRESENT | access & USER } else { 0 };
    let writable = shown != 0 && leaf.rights.contains(Rights::WRITE);
    let executable = shown != 0 && leaf.rights.contains(Rights::EXECUTE);
    TOUCHED
        | access & UNCACHED
        | shown
        | if writable { WRITABLE } else { 0 }
        | if executable { 0 } else { NO_EXECUTE }
        | if leaf.size == PageSize::Small { 0 } else { LARGE }
        | leaf.physical.0 & ADDRESS & !(leaf.size.bytes() - 1)
        | if leaf.rights.contains(Rights::VIEW) { 0 } else { leaf.rights.0 << RIGHTS_SHIFT }
        | kind
}

/// Returns the leaf for `address`, which is below `USER_END`.
#[inline(always)]
pub fn lookup(memory: &impl TableMemory, root: Physical, address: u64) -> Option<Leaf> {
    let third = table_of(memory.table(root)[index(address, 39)].get())?;
    let entry = memory.table(third)[index(address, 30)].get();
    let Some(second) = table_of(entry) else { return leaf_of(small_entry_of(entry, address, PageSize::Huge), address, PageSize::Huge) };
    let entry = memory.table(second)[index(address, 21)].get();
    let Some(first) = table_of(entry) else { return leaf_of(small_entry_of(entry, address, PageSize::Large), address, PageSize::Large) };
    leaf_of(memory.table(first)[index(address, 12)].get(), address, PageSize::Small)
}

/// Returns the physical address of `address`, below `USER_END`, if a small page of objects is shown
/// there.
#[inline(always)]
pub fn object_lookup(memory: &impl TableMemory, root: Physical, address: u64) -> Option<Physical> {
    let third = table_of(memory.table(root)[index(address, 39)].get())?;
    let second = table_of(memory.table(third)[index(address, 30)].get())?;
    let first = table_of(memory.table(second)[index(address, 21)].get())?;
    let entry = memory.table(first)[index(address, 12)].get();
    (entry & OBJECTS != 0).then_some(Physical(entry & ADDRESS | address & 0xfff))
}

/// Enters a leaf; true if it took the place of a table. `huge`: the CPU has pages of 1 GiB; without
/// them such a leaf becomes a table of 2 MiB pages.
pub fn enter(memory: &impl TableMemory, root: Physical, address: u64, leaf: Leaf, pool: &impl TablePool, huge: bool) -> Result<bool, PoolExhausted> {
    if leaf.size == PageSize::Huge && !huge {
        return enter_split(memory, root, address, leaf, pool);
    }
    let table = descend(memory, root, address, leaf.size as u32, pool)?;
    let slot = &memory.table(table)[index(address, leaf.size as u32)];
    let replaced = slot.get();
    slot.set(entry_of(leaf));
    Ok(leaf.size != PageSize::Small && table_of(replaced).is_some())
}

/// Enters small leaves in a row below one table, if it is there, for the pages whose frames are
/// plain memory and that have no entry.
pub fn enter_row(memory: &impl TableMemory, root: Physical, address: u64, leaf: Leaf, frames: &[Frame]) {
    let below = |table, shift| table_of(memory.table(table)[index(address, shift)].get());
    let Some(table) = below(root, 39).and_then(|table| below(table, 30)).and_then(|table| below(table, 21)) else { return };
    let mut entry = entry_of(leaf);
    for (slot, frame) in memory.table(table)[index(address, 12)..].iter().zip(frames) {
        if frame.kind.get() == Frame::PLAIN && slot.get() == 0 {
            slot.set(entry);
        }
        entry += PAGE_SIZE;
    }
}

/// The table whose entries cover `1 << shift` bytes each and that `address` lies in; made if it is
/// not there.
fn descend(memory: &impl TableMemory, root: Physical, address: u64, shift: u32, pool: &impl TablePool) -> Result<Physical, PoolExhausted> {
    let (mut table, mut level) = (root, 39);
    while level > shift {
        let slot = &memory.table(table)[index(address, level)];
        table = match table_of(slot.get()) {
            Some(below) => below,
            None => {
                let below = pool.take().ok_or(PoolExhausted)?;
                memory.clear_table(below);
                slot.set(below.0 | TABLE);
                below
            }
        };
        level -= 9;
    }
    Ok(table)
}

fn enter_split(memory: &impl TableMemory, root: Physical, address: u64, leaf: Leaf, pool: &impl TablePool) -> Result<bool, PoolExhausted> {
    let table = descend(memory, root, address, PageSize::Large as u32, pool)?;
    let mut over_table = false;
    for (number, slot) in memory.table(table).iter().enumerate() {
        let physical = leaf.physical.add(number as u64 * PageSize::Large.bytes());
        over_table |= table_of(slot.get()).is_some();
        slot.set(entry_of(Leaf { physical, size: PageSize::Large, ..leaf }));
    }
    Ok(over_table)
}

/// Removes leaves that touch `low..high`, both below the end of the user's half, until [`SWEEP`]
/// entries were looked at.
pub fn clear(memory: &impl TableMemory, root: Physical, low: u64, high: u64) -> TableSweep {
    if high.wrapping_sub(low) == PAGE_SIZE {
        return TableSweep { found: clear_page(memory, root, low), next: high };
    }
    let mut sweep = Sweep { found: false, left: SWEEP };
    let next = clear_level(memory, root, 39, low, high, &mut sweep);
    TableSweep { found: sweep.found, next }
}

/// Removes the leaf that `address` lies in; whether there was one.
fn clear_page(memory: &impl TableMemory, root: Physical, address: u64) -> bool {
    let mut table = root;
    for shift in [39, 30, 21, 12] {
        let slot = &memory.table(table)[index(address, shift)];
        let entry = slot.get();
        match table_of(entry).filter(|_| shift > 12) {
            Some(below) => table = below,
            None => {
                slot.set(0);
                return entry != 0;
            }
        }
    }
    false
}

/// A sweep under way.
struct Sweep {
    found: bool,
    left: u32,
}

/// Clears below one table; where it came to.
fn clear_level(memory: &impl TableMemory, table: Physical, shift: u32, low: u64, high: u64, sweep: &mut Sweep) -> u64 {
    if shift == 12 {
        return clear_leaves(memory, table, low, high, sweep);
    }
    let mut at = low;
    while at < high {
        if sweep.left == 0 {
            return at;
        }
        sweep.left -= 1;
        let next = (at | ((1 << shift) - 1)) + 1;
        let slot = &memory.table(table)[index(at, shift)];
        let entry = slot.get();
        match table_of(entry) {
            Some(below) => {
                let end = next.min(high);
                let reached = clear_level(memory, below, shift - 9, at, end, sweep);
                if reached < end {
                    return reached;
                }
            }
            None if entry != 0 => {
                slot.set(0);
                sweep.found = true;
            }
            None => {}
        }
        at = next;
    }
    high.max(low)
}

/// Clears entries of a table of the lowest level, all of one table at most; where it came to. Most
/// are empty: they are looked at eight at a time.
fn clear_leaves(memory: &impl TableMemory, table: Physical, low: u64, high: u64, sweep: &mut Sweep) -> u64 {
    let low = low & !(PAGE_SIZE - 1);
    let count = high.saturating_sub(low).div_ceil(PAGE_SIZE).min(sweep.left.into());
    sweep.left -= count as u32;
    let first = index(low, 12);
    let (eights, rest) = memory.table(table)[first..first + count as usize].as_chunks::<8>();
    for slots in eights.iter().map(|eight| &eight[..]).chain([rest]) {
        if slots.iter().fold(0, |all, slot| all | slot.get()) != 0 {
            slots.iter().for_each(|slot| slot.set(0));
            sweep.found = true;
        }
    }
    (low + count * PAGE_SIZE).min(high)
}

/// Forgets the user's part of the tables.
pub fn reset(memory: &impl TableMemory, root: Physical) {
    memory.table(root)[..USER_ENTRIES].iter().for_each(|slot| slot.set(0));
}

#[cfg(test)]
#[path = "page_table_tests.rs"]
mod tests;
