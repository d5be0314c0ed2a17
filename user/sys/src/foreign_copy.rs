//! Copies between memory that others may write at the same time.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::{Span, SpanMut};

/// Copies `size` bytes between ranges that are read and written by others too, as the machine does
/// it: no promise about what is seen of a write made meanwhile, but nothing else goes wrong.
///
/// # Safety
/// Each end is mapped memory (or its absence is an exception that the caller accepts), and no Rust
/// object that is borrowed otherwise.
unsafe fn copy(from: u64, to: u64, size: usize) {
    // SAFETY: the caller's promise; eight bytes at a time, then the rest, forwards.
    unsafe {
        asm!("rep movsq", "mov rcx, {rest}", "rep movsb", rest = in(reg) size & 7,
            inout("rcx") size >> 3 => _, inout("rsi") from => _, inout("rdi") to => _, options(nostack, preserves_flags));
    }
}

/// Copies out of a span of memory, as much as fits.
pub(crate) fn copy_out(from: Span<'_>, to: &mut [u8]) -> usize {
    let size = from.size().min(to.len());
    // SAFETY: a `Span` may be read, and `to` is ours.
    unsafe { copy(from.address(), to.as_mut_ptr() as u64, size) };
    size
}

/// Copies into a span of memory, as much as fits.
pub(crate) fn copy_in(from: Span<'_>, to: &mut SpanMut<'_>) -> usize {
    let size = from.size().min(to.size());
    // SAFETY: a `Span` may be read, a `SpanMut` written. If they overlap, bytes are copied
    // forwards: wrong bytes, not wrong memory.
    unsafe { copy(from.address(), to.address(), size) };
    size
}

/// Fills a span of memory with one byte.
pub(crate) fn fill(to: &mut SpanMut<'_>, byte: u8) {
    let pattern = u64::from(byte) * 0x0101_0101_0101_0101;
    // SAFETY: a `SpanMut` may be written; eight bytes at a time, then the rest.
    unsafe {
        asm!("rep stosq", "mov rcx, {rest}", "rep stosb", rest = in(reg) to.size() & 7,
            inout("rcx") to.size() >> 3 => _, inout("rdi") to.address() => _, in("rax") pattern, options(nostack, preserves_flags));
    }
}

/// Reads the whole of a span of 1, 2, 4 or 8 bytes in one access; `None` if it is of another size
/// or not aligned to it.
pub(crate) fn load_span(from: Span<'_>) -> Option<u64> {
    let (address, width) = aligned(from.address(), from.size())?;
    // SAFETY: a `Span` may be read, and this one is aligned.
    let value = unsafe {
        match width {
            1 => (address as *const u8).read_volatile().into(),
            2 => (address as *const u16).read_volatile().into(),
            4 => (address as *const u32).read_volatile().into(),
            _ => (address as *const u64).read_volatile(),
        }
    };
    Some(value)
}

/// Writes the whole of a span of 1, 2, 4 or 8 bytes in one access; `None` as for [`load_span`].
pub(crate) fn store_span(to: &mut SpanMut<'_>, value: u64) -> Option<()> {
    let (address, width) = aligned(to.address(), to.size())?;
    // SAFETY: a `SpanMut` may be written, and this one is aligned.
    unsafe {
        match width {
            1 => (address as *mut u8).write_volatile(value as u8),
            2 => (address as *mut u16).write_volatile(value as u16),
            4 => (address as *mut u32).write_volatile(value as u32),
            _ => (address as *mut u64).write_volatile(value),
        }
    }
    Some(())
}

/// Replaces the whole of a span of 4 or 8 bytes in one access, if it is `old`. Returns true if it
/// was; `None` as for [`load_span`].
pub(crate) fn replace_span(to: &mut SpanMut<'_>, old: u64, new: u64) -> Option<bool> {
    const BOTH: (Ordering, Ordering) = (Ordering::AcqRel, Ordering::Acquire);
    let (address, width) = aligned(to.address(), to.size())?;
    match width {
        // SAFETY: a `SpanMut` may be written, and this one is aligned.
        4 => Some(unsafe { AtomicU32::from_ptr(address as *mut u32) }.compare_exchange(old as u32, new as u32, BOTH.0, BOTH.1).is_ok()),
        // SAFETY: as above.
        8 => Some(unsafe { AtomicU64::from_ptr(address as *mut u64) }.compare_exchange(old, new, BOTH.0, BOTH.1).is_ok()),
        _ => None,
    }
}

fn aligned(address: u64, size: usize) -> Option<(u64, u64)> {
    let width = size as u64;
    (matches!(width, 1 | 2 | 4 | 8) && address.is_multiple_of(width)).then_some((address, width))
}
