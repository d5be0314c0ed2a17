//! `smaps`, `smaps_rollup`, `statm` and `pagemap` in `/proc`: which of the process's memory is
//! there.

use crate::abi::errno::Errno;
use crate::operations::proc::map_lines;
use crate::process::Process;
use crate::state::memory::mapped_part::Fill;
use crate::state::memory::residence;
use crate::state::memory::soft_dirty;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use nacre_abi::{PAGE_SIZE, Rights};

/// Bytes that the text of an area in `smaps` takes at most.
const MAX_TEXT: usize = 1024;
/// Bytes that a page has in `pagemap`.
const ENTRY: u64 = 8;
/// Bits of an entry: the page is there; it was put away; it is a file's or shared; nobody else has
/// it.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const SHARED: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;
/// The page was written since `clear_refs` was, or may have been.
const SOFT_DIRTY: u64 = 1 << 55;

/// Kilobytes of an area, or of all: its size, what is there, what of that is shared, what is
/// locked, what was put away.
#[derive(Default)]
struct Sizes {
    size: u64,
    resident: u64,
    shared: u64,
    locked: u64,
    away: u64,
}

impl Sizes {
    fn of(process: &Process, start: u64, end: u64, is_shared: bool) -> Sizes {
        let resident = residence::resident_bytes(&process.memory, start, end) / 1024;
        let shared = if is_shared { resident } else { 0 };
        let (locked, away) = (process.memory.locked.within(start, end) / 1024, residence::away_bytes(&process.memory, start, end) / 1024);
        Sizes { size: (end - start) / 1024, resident, shared, locked, away }
    }

    fn write(&self, all: &mut String) {
        let Sizes { resident, shared, locked, away, .. } = *self;
        let own = resident - shared;
        let lines: [(&str, u64); 19] = [
            ("Rss", resident),
            ("Pss", resident),
            ("Pss_Dirty", own),
            ("Shared_Clean", 0),
            ("Shared_Dirty", shared),
            ("Private_Clean", 0),
            ("Private_Dirty", own),
            ("Referenced", resident),
            ("Anonymous", own),
            ("LazyFree", 0),
            ("AnonHugePages", 0),
            ("ShmemPmdMapped", 0),
            ("FilePmdMapped", 0),
            ("Shared_Hugetlb", 0),
            ("Private_Hugetlb", 0),
            ("Swap", away),
            ("SwapPss", away),
            ("Locked", locked),
            ("THPeligible", 0),
        ];
        for (name, value) in lines {
            let unit = if name == "THPeligible" { "" } else { " kB" };
            let _ = writeln!(all, "{:<15}{value:9}{unit}", format!("{name}:"));
        }
    }
}

/// Flags of an area, as `smaps` has them.
fn flags(rights: Rights, is_shared: bool, is_locked: bool) -> String {
    let may = |right: Rights, name: &'static str| if rights.contains(right) { name } else { "" };
    let shared = if is_shared { "sh " } else { "" };
    let locked = if is_locked { "lo " } else { "" };
    let [read, write, execute] = [may(Rights::READ, "rd "), may(Rights::WRITE, "wr "), may(Rights::EXECUTE, "ex ")];
    format!("VmFlags: {read}{write}{execute}{shared}mr mw me {locked}ac \n")
}

/// Returns `smaps`: each line of `maps`, with what is there of the area.
pub fn smaps(process: &mut Process) -> Result<String, Errno> {
    let lines = map_lines::maps(process)?;
    let areas = process.memory.map.areas().filter(|area| !matches!(area.backing, Fill::Library(_)));
    let mut all = String::new();
    for (area, line) in areas.zip(lines.lines()) {
        all.try_reserve(MAX_TEXT)?;
        let sizes = Sizes::of(process, area.start, area.end, area.backing.is_shared());
        let _ = writeln!(all, "{line}\nSize:           {:9} kB\nKernelPageSize:         4 kB\nMMUPageSize:            4 kB", sizes.size);
        sizes.write(&mut all);
        all.push_str(&flags(area.rights, area.backing.is_shared(), sizes.locked != 0));
    }
    Ok(all)
}

/// Returns `smaps_rollup`: the sums of `smaps`.
pub fn rollup(process: &mut Process) -> String {
    let areas = process.memory.map.areas().filter(|area| !matches!(area.backing, Fill::Library(_)));
    let (mut sum, mut bounds) = (Sizes::default(), (u64::MAX, 0));
    for area in areas {
        let sizes = Sizes::of(process, area.start, area.end, area.backing.is_shared());
        bounds = (bounds.0.min(area.start), bounds.1.max(area.end));
        sum.resident += sizes.resident;
        sum.shared += sizes.shared;
        sum.locked += sizes.locked;
        sum.away += sizes.away;
    }
    let mut all = format!("{:08x}-{:08x} ---p 00000000 00:00 0                          [rollup]\n", bounds.0, bounds.1);
    sum.write(&mut all);
    all
}

/// Returns `statm`: pages of all memory, of what is there, of what is shared, and of data.
pub fn statm(process: &Process) -> String {
    let memory = &process.memory;
    let shared = memory.map.areas().filter(|area| area.backing.is_shared());
    let shared: u64 = shared.map(|area| residence::resident_bytes(memory, area.start, area.end)).sum();
    let pages = |bytes: u64| bytes / PAGE_SIZE;
    format!("{} {} {} 0 0 {} 0\n", pages(memory.size()), pages(residence::all_resident(memory)), pages(shared), pages(memory.data()))
}

/// Returns the part of `pagemap` at a position, of at most so many bytes. Numbers of frames are
/// secret, as they are on Linux for who has no privileges.
pub fn pagemap(process: &Process, position: u64, size: usize) -> Vec<u8> {
    const MOST: u64 = 0x8000;
    let last = nacre_abi::USER_END / PAGE_SIZE;
    let (first, end) = (position / ENTRY, (position / ENTRY).saturating_add((size as u64).min(MOST) / ENTRY).min(last));
    if first >= end {
        return Vec::new();
    }
    let mut entries = alloc::vec![0u64; (end - first) as usize];
    for (start, stop) in residence::resident(&process.memory, first * PAGE_SIZE, end * PAGE_SIZE) {
        for page in (start..stop).step_by(PAGE_SIZE as usize) {
            let is_private = process.memory.map.area(page).is_some_and(|area| matches!(&area.backing, Fill::Own(part) if part.is_writable() && !part.shared));
            if let Some(entry) = entries.get_mut((page / PAGE_SIZE - first) as usize) {
                *entry = PRESENT | if is_private { EXCLUSIVE } else { SHARED };
            }
        }
    }
    for (start, stop) in residence::put_away(&process.memory, first * PAGE_SIZE, end * PAGE_SIZE) {
        for page in (start..stop).step_by(PAGE_SIZE as usize) {
            if let Some(entry) = entries.get_mut((page / PAGE_SIZE - first) as usize) {
                *entry = SWAPPED;
            }
        }
    }
    for area in process.memory.map.from(first * PAGE_SIZE).take_while(|area| area.start < end * PAGE_SIZE) {
        let (start, stop) = (area.start.max(first * PAGE_SIZE), area.end.min(end * PAGE_SIZE));
        for page in (start..stop).step_by(PAGE_SIZE as usize).filter(|page| soft_dirty::is_written(area, *page)) {
            if let Some(entry) = entries.get_mut((page / PAGE_SIZE - first) as usize) {
                *entry |= SOFT_DIRTY;
            }
        }
    }
    entries.iter().flat_map(|entry| entry.to_le_bytes()).collect()
}
