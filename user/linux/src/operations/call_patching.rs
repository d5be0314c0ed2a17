//! Calls without the kernel: where a program's code says `mov $number, %eax; syscall` and does so
//! often, the first of the two becomes a jump to a stub that goes to the library as the kernel
//! would have.
//!
//! The `syscall` stays where it is, for those who jump to it and for calls that are made again. A
//! stub loads what the kernel would have left in `rax` and jumps on: a thread that is stopped in it
//! is as good as in the program. Stubs lie in a page of the program's memory that its code reaches;
//! a fork's child has them as it has the code.
//!
//! Every so many calls that come through the kernel the entry shows one ([`PatchedCalls::is_hot`]);
//! a place that is shown often enough is worth the page that becomes the process's own when it is
//! written. See proposal 0015.

use crate::abi::errno::{EINVAL, ENOMEM, Errno};
use crate::process::Process;
use crate::raw::thread_block::{Block, QUICK};
use crate::raw::thread_position;
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::{Fill, HIGHEST, LOWEST};
use crate::state::memory::patched_calls::REACH;
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_abi::call::FOREIGN_NUMBER_SHIFT;
use nacre_sys::Thread;

/// Bytes of a stub, and of what comes before the first: the addresses of the two entries.
const STUB: u64 = 16;
/// Bytes of `syscall`, of a jump, and of the two forms in which `rax` is loaded.
const CALL: u64 = 2;
const JUMP: u64 = 5;
const LONG: u64 = 7;

/// Returns the distance, from the end of these bytes, of an instruction that loads `number` into
/// `rax` right before the final `syscall`.
fn load(code: &[u8; (LONG + CALL) as usize], number: u32) -> Option<u64> {
    let [first, second, third, a, b, c, d, 0x0f, 0x05] = *code else { return None };
    if u32::from_le_bytes([a, b, c, d]) != number {
        return None;
    }
    // A byte before `mov` that would make another instruction of it.
    let is_prefix = (0x40..0x50).contains(&second);
    match third {
        0xb8 if !is_prefix => Some(JUMP + CALL),
        0xc0 if [first, second] == [0x48, 0xc7] => Some(LONG + CALL),
        _ => None,
    }
}

/// `jmp` from one address to another.
fn jump(from: u64, to: u64) -> Option<[u8; JUMP as usize]> {
    let distance = i32::try_from(to.wrapping_sub(from + JUMP).cast_signed()).ok()?;
    let [a, b, c, d] = distance.to_le_bytes();
    Some([0xe9, a, b, c, d])
}

/// The stub at `at` for a call with this number that goes on at `next`:
/// `movabs $word, %rax; jmp *entry(%rip)`.
fn stub(at: u64, number: u64, next: u64, entry: u64) -> [u8; STUB as usize] {
    let mut bytes = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0];
    bytes[2..10].copy_from_slice(&(number << FOREIGN_NUMBER_SHIFT | next).to_le_bytes());
    bytes[12..].copy_from_slice(&(entry.wrapping_sub(at + STUB) as u32).to_le_bytes());
    bytes
}

/// A call with this number came through the kernel, and goes on at `next`.
pub fn shown(process: &mut Process, block: &Block, number: usize, next: u64) {
    if process.sites.is_hot(next) {
        // What cannot be rewritten works as it did.
        let _ = rewrite(process, block, number, next);
    }
}

const CODE: Rights = Rights::READ.union(Rights::EXECUTE);

fn rewrite(process: &mut Process, block: &Block, number: usize, next: u64) -> Result<(), Errno> {
    let before = next.checked_sub(LONG + CALL).ok_or(EINVAL)?;
    let code: &[u8; (LONG + CALL) as usize] = process.memory.readable(before, LONG + CALL)?.try_into().map_err(|_| EINVAL)?;
    let at = next - load(code, number as u32).ok_or(EINVAL)?;
    let page = at & !(PAGE_SIZE - 1);
    let is_own = process.sites.own.contains(&page);
    if (at + JUMP - 1) & !(PAGE_SIZE - 1) != page || process.sites.guests != 0 || !process.memory.map.area(at).is_some_and(|area| is_code(area, is_own)) {
        return Err(EINVAL);
    }
    let stopped = stop_others(process);
    let done = write(process, block, (number, next), (at, page));
    for thread in stopped {
        // One that has ended meanwhile does not go on.
        let _ = thread.start();
    }
    done
}

/// Returns true if an area holds code that no thread writes: a file's, or a page that was made the
/// process's own for patching.
fn is_code(area: &Area<Fill>, is_own: bool) -> bool {
    area.rights == CODE && matches!(&area.backing, Fill::Own(part) if !part.shared && part.is_writable() == is_own && !part.is_lazy())
}

/// Stops the other threads, between two instructions each.
fn stop_others(process: &mut Process) -> Vec<Thread> {
    let caller = process.caller;
    let others = process.threads.all().filter(|(index, _)| *index != caller);
    others.map(|(_, thread)| thread.kernel).filter(|thread| thread.stop().is_ok()).collect()
}

fn write(process: &mut Process, block: &Block, (number, next): (usize, u64), (at, page): (u64, u64)) -> Result<(), Errno> {
    let (start, used) = stubs_near(process, at)?;
    let place = start + used;
    let bytes = jump(at, place).ok_or(EINVAL)?;
    let is_quick = number < QUICK && block.is_quick(number);
    let stub = stub(place, number as u64, next, start + if is_quick { 8 } else { 0 });
    patch(process, start, place, &stub)?;
    process.sites.pages.iter_mut().filter(|page| page.0 == start).for_each(|page| page.1 += STUB);
    patch(process, page, at, &bytes)?;
    if !process.sites.own.contains(&page) {
        process.sites.own.push(page);
    }
    Ok(())
}

/// Writes to a page that nobody writes otherwise.
fn patch(process: &mut Process, page: u64, at: u64, bytes: &[u8]) -> Result<(), Errno> {
    let Process { memory, services, .. } = process;
    memory.protect(services, page, page + PAGE_SIZE, CODE.union(Rights::WRITE))?;
    let written = memory.writable(at, bytes.len() as u64).map(|place| place.copy_from_slice(bytes));
    memory.protect(services, page, page + PAGE_SIZE, CODE)?;
    written
}

/// A page with room for a stub that a jump at `at` reaches, and how much of it is in use.
fn stubs_near(process: &mut Process, at: u64) -> Result<(u64, u64), Errno> {
    let is_near = |start: u64| start.abs_diff(at) < REACH;
    let map = &process.memory.map;
    let is_there = |start: u64| map.area(start).is_some_and(|area| area.rights == CODE && matches!(area.backing, Fill::Own(_)));
    if let Some(page) = process.sites.pages.iter().find(|page| is_near(page.0) && page.1 < PAGE_SIZE && is_there(page.0)) {
        return Ok(*page);
    }
    let lowest = at.saturating_sub(REACH).max(LOWEST);
    let highest = (at & !(PAGE_SIZE - 1)).min(HIGHEST);
    let start = map.find_free_below(PAGE_SIZE, lowest, highest).ok_or(ENOMEM)?;
    let Process { memory, services, .. } = process;
    memory.add(services, start, PAGE_SIZE, CODE.union(Rights::WRITE))?;
    memory.write_words(start, &thread_position::site_entries())?;
    memory.protect(services, start, start + PAGE_SIZE, CODE)?;
    process.sites.pages.push((start, STUB));
    Ok((start, STUB))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_load_of_the_number_right_before_is_taken() {
        assert_eq!(load(&[0x90, 0x90, 0xb8, 1, 0, 0, 0, 0x0f, 5], 1), Some(7));
        assert_eq!(load(&[0x48, 0xc7, 0xc0, 39, 0, 0, 0, 0x0f, 5], 39), Some(9));
        // Another number, another register, another instruction behind.
        assert_eq!(load(&[0x90, 0x90, 0xb8, 1, 0, 0, 0, 0x0f, 5], 2), None);
        assert_eq!(load(&[0x90, 0x41, 0xb8, 1, 0, 0, 0, 0x0f, 5], 1), None);
        assert_eq!(load(&[0x48, 0xc7, 0xc1, 1, 0, 0, 0, 0x0f, 5], 1), None);
        assert_eq!(load(&[0x90, 0x90, 0xb8, 1, 0, 0, 0, 0x0f, 0x34], 1), None);
    }

    #[test]
    fn jumps_and_stubs_lead_where_they_are_to() {
        assert_eq!(jump(0x40_1000, 0x40_0010), Some([0xe9, 0x0b, 0xf0, 0xff, 0xff]));
        assert_eq!((jump(0x40_1000, 0x1_0040_1000), jump(0x7000_0000_0000, 0x40_0000)), (None, None));
        let bytes = stub(0x3f_f010, 1, 0x40_1007, 0x3f_f000);
        assert_eq!(bytes[..10], [0x48, 0xb8, 0x07, 0x10, 0x40, 0, 0, 0, 1, 0]);
        assert_eq!((&bytes[10..12], i32::from_le_bytes(bytes[12..].try_into().unwrap())), (&[0xff, 0x25][..], -0x20));
    }

    #[test]
    fn what_is_shown_often_is_hot_and_what_is_not_makes_room() {
        let mut sites = crate::state::memory::patched_calls::PatchedCalls::default();
        let times = (0..200).filter(|_| sites.is_hot(7)).count();
        assert_eq!(times, 200 / crate::state::memory::patched_calls::OFTEN as usize);
        // Two places that take turns with many others that come once.
        let mut sites = crate::state::memory::patched_calls::PatchedCalls::default();
        let hot = (0..4000u64).filter(|number| if number % 3 == 0 { sites.is_hot(1000 + number) } else { sites.is_hot(number % 3) }).count();
        assert!(hot > 50, "{hot}");
        assert!((0..4000u64).all(|number| !sites.is_hot(10_000 + number)));
    }
}
