//! The calls that change the program's map of addresses.

use crate::abi::errno::{Answer, EACCES, EEXIST, EFAULT, EINVAL, ENODEV, ENOMEM, ENOSYS, EOVERFLOW, EPERM, Errno};
use crate::abi::file_flags::{S_IFCHR, S_IFMT};
use crate::abi::registers::Frame;
use crate::abi::user_fault_layouts::{EVENT_MOVED, EVENT_UNMAPPED, FEATURE_MOVED, FEATURE_UNMAPPED};
use crate::calls::memory::memory_locks;
use crate::operations::limit_checks;
use crate::operations::paths::file_status;
use crate::operations::user_faults as fault_files;
use crate::process::Process;
use crate::services::file_memory;
use crate::services::segment::Segment;
use crate::state::files::open_file::OpenFile;
use crate::state::memory::address_map::{is_page, round_up};
use crate::state::memory::residence;
use crate::state::memory::user_faults;
use crate::state::memory::mapped_part::{Fill, HIGHEST, LOWEST, effective};
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::plan::FOREIGN_STACK_END;

const MAP_PRIVATE: u64 = 2;
const MAP_TYPE: u64 = 0xf;
const MAP_FIXED: u64 = 0x10;
const MAP_ANONYMOUS: u64 = 0x20;
const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;
const MAP_32BIT: u64 = 0x40;
const MAP_GROWSDOWN: u64 = 0x100;
const MAP_LOCKED: u64 = 0x2000;
const MAP_NORESERVE: u64 = 0x4000;
const MAP_POPULATE: u64 = 0x8000;
const MAP_NONBLOCK: u64 = 0x1_0000;
/// Bytes of memory that every pool has: less is taken as usual, though `MAP_NORESERVE` is given.
const PROMISED: u64 = 0x10_0000;
/// Areas from this size on may be larger than the memory that there is.
const LARGE: u64 = 128 << 20;
/// End of that range.
const LOW_END: u64 = 1 << 31;
const MREMAP_MAYMOVE: u64 = 1;
const MREMAP_FIXED: u64 = 2;
const MREMAP_DONTUNMAP: u64 = 4;
/// Flag: the change begins where the mapping does, which grows downward.
const PROT_GROWSDOWN: u64 = 0x100_0000;

/// Rights for `PROT_` bits.
fn rights(protection: u64) -> Result<Rights, Errno> {
    Rights::from_bits(protection).filter(|rights| !rights.contains(Rights::OBJECTS)).map(effective).ok_or(EINVAL)
}

/// Whole pages, at least one, that fit below [`HIGHEST`].
fn pages(size: u64) -> Result<u64, Errno> {
    if size == 0 {
        return Err(EINVAL);
    }
    round_up(size).filter(|size| *size <= HIGHEST).ok_or(ENOMEM)
}

/// Chooses where `size` bytes go, and frees the place if `MAP_FIXED` says so.
pub fn place(process: &mut Process, hint: u64, size: u64, flags: u64) -> Result<u64, Errno> {
    let map = &mut process.memory.map;
    if flags & (MAP_FIXED | MAP_FIXED_NOREPLACE) == 0 {
        let start = hint & !(PAGE_SIZE - 1);
        let usable = start >= LOWEST && start <= HIGHEST - size && map.is_free(start, start + size);
        let found = match flags & MAP_32BIT {
            // As on Linux, what the program wishes for may lie higher.
            _ if usable => Some(start),
            0 => map.find_free(size, LOWEST, HIGHEST),
            _ => map.find_free_below(size, LOWEST, LOW_END),
        };
        return found.ok_or(ENOMEM);
    }
    if !is_page(hint) {
        return Err(EINVAL);
    }
    if hint < LOWEST || hint > HIGHEST - size {
        return Err(ENOMEM);
    }
    if flags & MAP_FIXED_NOREPLACE != 0 && !map.is_free(hint, hint + size) {
        return Err(EEXIST);
    }
    if map.from(hint).take_while(|area| area.start < hint + size).any(|area| matches!(area.backing, Fill::Library(_))) {
        return Err(ENOMEM);
    }
    process.memory.remove(hint, hint + size)?;
    Ok(hint)
}

/// `mmap(address, size, protection, flags, descriptor, offset)`.
pub fn mmap(process: &mut Process, frame: &mut Frame) -> Answer {
    let [_, size, _, flags, ..] = frame.arguments();
    let is_locked = flags & MAP_LOCKED != 0;
    memory_locks::check_locked(process, size, is_locked)?;
    let replaced = match flags & MAP_FIXED {
        0 => Vec::new(),
        _ => fault_files::told_of(process, frame.arguments()[0], frame.arguments()[0].saturating_add(size), FEATURE_UNMAPPED),
    };
    let start = map(process, frame)?;
    fault_files::tell_parts(process, EVENT_UNMAPPED, &replaced);
    let end = start + round_up(size).unwrap_or(0);
    memory_locks::lock_mapped(process, start, end, is_locked);
    if flags & (MAP_POPULATE | MAP_NONBLOCK) == MAP_POPULATE {
        memory_locks::bring(process, start, end);
    }
    Ok(start)
}

fn map(process: &mut Process, frame: &mut Frame) -> Answer {
    let [address, size, protection, flags, descriptor, offset] = frame.arguments();
    let rights = rights(protection)?;
    if !is_page(offset) || !matches!(flags & MAP_TYPE, 1..=3) {
        return Err(EINVAL);
    }
    if process.memory.map.is_full() {
        return Err(ENOMEM);
    }
    let is_data = rights.contains(Rights::WRITE) && flags & MAP_TYPE == MAP_PRIVATE;
    if flags & MAP_ANONYMOUS == 0 {
        let file = process.descriptors.get(descriptor)?;
        let size = pages(size)?;
        limit_checks::check_memory(process, size, is_data)?;
        if is_zero_device(process, &file)? {
            return map_anonymous(process, address, size, flags, rights);
        }
        check_file(&file, rights, flags)?;
        if flags & MAP_TYPE != MAP_PRIVATE
            && let Some(segment) = shared_file(&file, size, offset, rights)?
        {
            let start = place(process, address, size, flags)?;
            process.memory.add_part(segment, start, size, offset, rights)?;
            process.memory.share(start, start + size)?;
            note_file(process, &file, start, size, offset);
            return Ok(start);
        }
        let start = place(process, address, size, flags)?;
        map_file(process, &file, start, size, offset, rights)?;
        if flags & MAP_TYPE == MAP_PRIVATE && rights.contains(Rights::WRITE) {
            process.memory.set_origin(start, &file, offset);
        }
        note_file(process, &file, start, size, offset);
        return Ok(start);
    }
    let size = pages(size)?;
    limit_checks::check_memory(process, size, is_data)?;
    map_anonymous(process, address, size, flags, rights)
}

/// Notes what file is shown, for who asks.
fn note_file(process: &mut Process, file: &OpenFile, start: u64, size: u64, offset: u64) {
    if let Some(opened) = file.opened_by.borrow().clone() {
        process.memory.files.add(start, start + size, offset, opened);
    }
}

/// Fresh memory.
fn map_anonymous(process: &mut Process, address: u64, size: u64, flags: u64, rights: Rights) -> Answer {
    if flags & MAP_TYPE != MAP_PRIVATE {
        // A segment of its own lives until its last holder goes, whoever made it, and shows other
        // processes nothing else of this one.
        let segment = process.services.segment(size)?;
        let start = place(process, address, size, flags)?;
        process.memory.add_part(segment, start, size, 0, rights)?;
        process.memory.share(start, start + size)?;
        return Ok(start);
    }
    let start = place(process, address, size, flags)?;
    if rights == Rights::NONE {
        process.memory.reserve(start, size)?;
    } else if flags & MAP_NORESERVE != 0 && size > PROMISED {
        let services = &mut process.services;
        process.memory.add_overcommitted(start, size, rights).or_else(|_| process.memory.add(services, start, size, rights))?;
    } else if let Err(error) = process.memory.add(&mut process.services, start, size, rights) {
        // So much memory is seldom used whole: as on Linux, it is refused only if it is more than
        // all that there is. Less is refused, as C programs expect.
        if size < LARGE || size > process.services.memory_status().map_or(0, |(limit, _)| limit) {
            return Err(error);
        }
        process.memory.add_overcommitted(start, size, rights)?;
    }
    if size >= LARGE {
        // A program that touches more than there is ends by `SIGKILL`. Without memory for a
        // keeper, it ends by `SIGSEGV`.
        let _ = process.need_exceptions();
    }
    if flags & MAP_GROWSDOWN != 0 {
        process.need_exceptions()?;
        process.memory.growing.add(start, start + size);
    }
    Ok(start)
}

/// Returns true if a mapping of the file is fresh memory.
fn is_zero_device(process: &mut Process, file: &OpenFile) -> Result<bool, Errno> {
    const ZERO_DEVICE: u64 = 0x105;
    let is_device = file.mode.get() & S_IFMT == S_IFCHR && !file.is_null;
    Ok(is_device && file_status::of_file(process, file)?.rdevice == ZERO_DEVICE)
}

/// The file's contents as they change. `None`: its server does not give them so, and the file as it
/// is will do.
fn shared_file(file: &OpenFile, size: u64, offset: u64, rights: Rights) -> Result<Option<Rc<Segment>>, Errno> {
    let end = offset.checked_add(size).filter(|end| *end <= i64::MAX as u64).ok_or(EOVERFLOW)?;
    match file.share_contents(end) {
        Ok(segment) if rights.contains(Rights::WRITE) && !segment.is_writable() => Err(EPERM),
        Ok(segment) => Ok(Some(segment)),
        Err(ENOSYS | ENODEV) if !rights.contains(Rights::WRITE) => Ok(None),
        Err(ENOSYS) => Err(ENODEV),
        Err(error) => Err(error),
    }
}

/// Checks that a file was opened in a way that allows the mapping.
fn check_file(file: &OpenFile, rights: Rights, flags: u64) -> Result<(), Errno> {
    if !file.can_read() {
        return Err(EACCES);
    }
    let shared_write = flags & MAP_TYPE != MAP_PRIVATE && rights.contains(Rights::WRITE);
    if shared_write && !file.can_write() {
        return Err(EACCES);
    }
    if file.is_mailbox() { Err(ENODEV) } else { Ok(()) }
}

/// Shows a file at `start`: the server's own pages if they are only read, else a copy.
fn map_file(process: &mut Process, file: &OpenFile, start: u64, size: u64, offset: u64, rights: Rights) -> Answer {
    if !rights.contains(Rights::WRITE)
        && let Some(contents) = file.map_contents()
        && show_file(process, &contents, start, size, offset, rights).is_ok()
    {
        return Ok(start);
    }
    let there = match file_status::of_file(process, file)? {
        status if file.is_regular() => round_up(status.size).ok_or(ENODEV)?.saturating_sub(offset).min(size),
        _ => size,
    };
    if there != size {
        process.memory.keep_beyond(start + there, size - there, rights)?;
    }
    if file.is_regular()
        && let Ok(reference) = file.reference()
    {
        file_memory::write_back(reference);
    }
    let whole = size;
    let size = there;
    if size == 0 {
        return Ok(start);
    }
    process.memory.add(&mut process.services, start, size, Rights::READ.union(Rights::WRITE))?;
    let filled = fill(process, file, start, size, offset);
    let done = filled.and_then(|()| process.memory.protect(&mut process.services, start, start + size, rights));
    if let Err(error) = done {
        process.memory.remove(start, start + whole)?;
        return Err(error);
    }
    Ok(start)
}

/// Maps a file's contents as far as they go; the rest is kept empty.
fn show_file(process: &mut Process, contents: &Rc<Segment>, start: u64, size: u64, offset: u64, rights: Rights) -> Result<(), Errno> {
    let there = round_up(contents.size()).and_then(|end| end.checked_sub(offset)).ok_or(ENODEV)?.min(size);
    if there != 0 {
        process.memory.add_part(contents.clone(), start, there, offset, rights)?;
    }
    if there != size {
        process.memory.keep_beyond(start + there, size - there, rights)?;
    }
    Ok(())
}

/// Reads a file from `offset` on into memory; what lies behind its end stays zero.
pub fn fill(process: &mut Process, file: &OpenFile, start: u64, size: u64, offset: u64) -> Result<(), Errno> {
    let mut done = 0;
    while done < size {
        let into = process.memory.writable(start + done, size - done)?;
        match process.read(file, offset + done, into) {
            Ok(0) => break,
            Ok(count) => done += count as u64,
            Err(_) if done != 0 => break,
            Err(_) => return Err(ENODEV),
        }
    }
    Ok(())
}

/// Checks a range of whole pages; its end.
fn range(start: u64, size: u64) -> Result<u64, Errno> {
    if !is_page(start) {
        return Err(EINVAL);
    }
    let size = round_up(size).ok_or(EINVAL)?;
    start.checked_add(size).ok_or(EINVAL)
}

/// `munmap(address, size)`.
pub fn munmap(process: &mut Process, frame: &mut Frame) -> Answer {
    let [address, size, ..] = frame.arguments();
    let end = range(address, size)?;
    if end == address || end > nacre_abi::USER_END {
        return Err(EINVAL);
    }
    let told = fault_files::told_of(process, address, end, FEATURE_UNMAPPED);
    process.memory.remove(address, end)?;
    fault_files::tell_parts(process, EVENT_UNMAPPED, &told);
    Ok(0)
}

/// `mprotect(address, size, protection)`. What lies before a gap is changed all the same.
pub fn mprotect(process: &mut Process, frame: &mut Frame) -> Answer {
    let [mut address, size, protection, ..] = frame.arguments();
    let end = range(address, size).map_err(|error| if is_page(address) { ENOMEM } else { error })?;
    let rights = rights(protection & !PROT_GROWSDOWN)?;
    if protection & PROT_GROWSDOWN != 0 && end != address {
        let is_stack = process.growth.low != 0 && (process.growth.low..FOREIGN_STACK_END).contains(&address);
        let area = process.memory.map.area(address).ok_or(ENOMEM)?;
        if !is_stack && !process.memory.growing.touches(area.start, area.start + 1) {
            return Err(EINVAL);
        }
        address = if is_stack { process.growth.low } else { process.memory.growing.start_of(area.start) };
    }
    if rights.contains(Rights::WRITE) {
        limit_checks::check_memory_as_data(process, address, end)?;
    }
    let reached = memory_locks::reach(process, address, end);
    if reached != address {
        process.memory.protect(&mut process.services, address, reached, rights)?;
    }
    if reached == end { Ok(0) } else { Err(ENOMEM) }
}

/// `brk(end)`: gives the break that holds afterwards; it never fails with a number.
pub fn brk(process: &mut Process, frame: &mut Frame) -> Answer {
    let end = frame.arguments()[0];
    let more = end.saturating_sub(process.memory.break_end());
    // A break that cannot be had leaves the old one, which is the answer.
    let _ = limit_checks::check_memory(process, more, true).and_then(|()| process.memory.set_break(&mut process.services, end));
    Ok(process.memory.break_end())
}

/// Returns true if a range is one mapping, as Linux would see it: areas that lie side by side are
/// one if they are of one kind.
fn is_one_mapping(process: &Process, start: u64, end: u64) -> bool {
    let kind = |fill: &Fill| matches!(fill, Fill::Own(part) if !part.is_anonymous()) || fill.is_shared();
    let mut areas = process.memory.map.from(start).take_while(|area| area.start < end);
    let Some(first) = areas.next() else { return false };
    let first = (first.rights, kind(&first.backing), first.backing.is_shared());
    memory_locks::reach(process, start, end) == end && areas.all(|area| (area.rights, kind(&area.backing), area.backing.is_shared()) == first)
}

/// `mremap(address, size, new size, flags, new address)`.
pub fn mremap(process: &mut Process, frame: &mut Frame) -> Answer {
    let [start, size, new_size, flags, new_start, _] = frame.arguments();
    let new_size = pages(new_size)?;
    let end = range(start, size)?;
    let (may_move, is_fixed, leaves) = (flags & MREMAP_MAYMOVE != 0, flags & MREMAP_FIXED != 0, flags & MREMAP_DONTUNMAP != 0);
    if flags & !(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP) != 0 || end == start || (is_fixed || leaves) && !may_move || leaves && end - start != new_size {
        return Err(EINVAL);
    }
    let Some(area) = process.memory.map.area(start) else { return Err(EFAULT) };
    let (rights, size, is_data) = (area.rights, end - start, area.rights.contains(Rights::WRITE) && !area.backing.is_shared());
    if leaves && !matches!(&area.backing, Fill::Own(part) if part.is_anonymous()) {
        return Err(EINVAL);
    }
    if is_fixed && new_start < end && start < new_start.saturating_add(new_size) {
        return Err(EINVAL);
    }
    // What only becomes shorter may be of several mappings.
    if (is_fixed || leaves || new_size > size) && !is_one_mapping(process, start, start + size.min(new_size)) {
        return Err(EFAULT);
    }
    limit_checks::check_memory(process, if leaves { new_size } else { new_size.saturating_sub(size) }, is_data)?;
    if is_fixed {
        let to = place(process, new_start, new_size, MAP_FIXED)?;
        process.memory.remove(start + size.min(new_size), end)?;
        move_mapping(process, [start, size.min(new_size), new_size], rights, to)?;
        return leave_empty(process, [start, new_size], rights, leaves).map(|()| to);
    }
    if new_size <= size && !leaves {
        process.memory.remove(start + new_size, end)?;
        return Ok(start);
    }
    if !leaves && start + new_size <= HIGHEST && process.memory.map.is_free(end, start + new_size) {
        process.memory.add(&mut process.services, end, new_size - size, rights)?;
        return Ok(start);
    }
    if !may_move {
        return Err(ENOMEM);
    }
    let to = process.memory.map.find_free(new_size, LOWEST, HIGHEST).ok_or(ENOMEM)?;
    move_mapping(process, [start, size, new_size], rights, to)?;
    leave_empty(process, [start, new_size], rights, leaves).map(|()| to)
}

/// Puts fresh memory where a mapping has moved away from, if it is to stay mapped.
fn leave_empty(process: &mut Process, [start, size]: [u64; 2], rights: Rights, leaves: bool) -> Result<(), Errno> {
    if leaves { process.memory.add(&mut process.services, start, size, rights) } else { Ok(()) }
}

/// Puts fresh memory behind where the mapping will be, then moves it there.
fn move_mapping(process: &mut Process, [start, size, new_size]: [u64; 3], rights: Rights, to: u64) -> Answer {
    let moved = fault_files::told_of(process, start, start + size, FEATURE_MOVED);
    user_faults::unregister(&mut process.memory, start, start + size, None)?;
    if new_size > size {
        process.memory.add(&mut process.services, to + size, new_size - size, rights)?;
    }
    process.memory.move_range(start, start + size, to)?;
    for (from, end, registered) in &moved {
        // What lies behind the end of the old area is part of the new one.
        let end = if *end == start + size { to + new_size } else { to + (end - start) };
        user_faults::register(&mut process.memory, to + (from - start), end, *registered)?;
    }
    if let Some((_, _, registered)) = moved.first() {
        fault_files::tell(process, EVENT_MOVED, [(registered.file, [start, to, size])].into_iter());
    }
    Ok(to)
}

/// `mincore(address, size, vector)`.
pub fn mincore(process: &mut Process, frame: &mut Frame) -> Answer {
    let [address, size, vector, ..] = frame.arguments();
    let end = range(address, size)?;
    if !process.memory.map.is_covered(address, end) {
        return Err(ENOMEM);
    }
    let runs = residence::resident(&process.memory, address, end);
    let seen = process.memory.writable(vector, (end - address) / PAGE_SIZE)?;
    seen.fill(0);
    for (start, end) in runs {
        let pages = ((start - address) / PAGE_SIZE) as usize..((end - address) / PAGE_SIZE) as usize;
        seen.get_mut(pages).into_iter().for_each(|pages| pages.fill(1));
    }
    Ok(0)
}
