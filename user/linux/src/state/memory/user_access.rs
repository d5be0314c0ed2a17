//! The program's memory, as its calls name it: addresses are allegations until the map has
//! confirmed them.
//!
//! The library shares the space with the program. What the map confirms stays so while the
//! library's lock is held: whoever changes the map has it. Other threads of the program may write
//! the bytes meanwhile, as any two of its threads may. While the lock is given up, only the kernel
//! touches what was confirmed, and says so if it has gone.

use crate::abi::errno::{EFAULT, EINVAL, ENAMETOOLONG, ENOMEM, Errno};
use crate::raw::guarded_touch;
use crate::raw::thread_area;
use crate::raw::thread_block::Block;
use crate::state::memory::Memory;
use crate::state::memory::address_map::or_fault;
use crate::state::memory::mapped_part::{Fill, HIGHEST, LOWEST};
use crate::state::memory::user_faults;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_rt::memory::Segment;

/// Maximum length of a path with its final zero.
pub const PATH_MAX: u64 = 4096;

/// The block and library stack of a thread, in memory that nobody has used.
pub fn block_in(area: Segment) -> &'static Block {
    let (start, _) = area.leak();
    // SAFETY: a fresh segment of at least `AREA_SIZE` bytes, full of zeros, mapped to be written,
    // which is kept for ever.
    unsafe { thread_area::block_in(start) }
}

/// Touches every page of a range. Returns false at the first that does not come, or is not mapped.
pub fn touch_pages(address: u64, size: u64) -> bool {
    let mut pages = (address & !(PAGE_SIZE - 1)..address + size).step_by(PAGE_SIZE as usize);
    pages.all(|page| guarded_touch::touch(page.max(address)))
}

impl Memory {
    /// A 32-bit word that may be written, for one access that others see whole.
    fn atomic(&mut self, address: u64, rights: Rights) -> Result<&'static AtomicU32, Errno> {
        if address % 4 != 0 {
            return Err(EINVAL);
        }
        self.check_allowed(address, 4, rights)?;
        self.need(address, 4, rights)?;
        if rights.contains(Rights::WRITE) {
            self.own(address, 4)?;
        }
        // SAFETY: the map says that the aligned word is there, and it stays so while the library's
        // lock is held. The library reaches it as an atomic only.
        Ok(unsafe { AtomicU32::from_ptr(address as *mut u32) })
    }

    /// Reads a 32-bit word that other threads change.
    pub fn read_atomic(&mut self, address: u64) -> Result<u32, Errno> {
        self.atomic(address, Rights::READ).map(|word| word.load(Ordering::SeqCst))
    }

    /// Changes a 32-bit word that other threads change too; what was there, or `None` if `change`
    /// left it alone.
    pub fn update_atomic(&mut self, address: u64, mut change: impl FnMut(u32) -> Option<u32>) -> Result<Option<u32>, Errno> {
        let word = self.atomic(address, Rights::WRITE)?;
        Ok(word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, &mut change).ok())
    }

    /// The bytes of a range that the program may read.
    pub fn readable(&self, address: u64, size: u64) -> Result<&'static [u8], Errno> {
        if size == 0 {
            return Ok(&[]);
        }
        self.check_allowed(address, size, Rights::READ)?;
        self.need(address, size, Rights::READ)?;
        // SAFETY: the map says that these bytes are there and readable, and they stay so while the
        // library's lock is held.
        Ok(unsafe { core::slice::from_raw_parts(address as *const u8, size as usize) })
    }

    /// The bytes of a range that the program may write.
    pub fn writable(&mut self, address: u64, size: u64) -> Result<&'static mut [u8], Errno> {
        if size == 0 {
            return Ok(&mut []);
        }
        self.check_allowed(address, size, Rights::WRITE)?;
        self.need(address, size, Rights::WRITE)?;
        self.own(address, size)?;
        if self.is_paged(address, size) {
            self.touch(address, size)?;
        }
        // SAFETY: as above, writable; callers hold one such slice at a time.
        Ok(unsafe { core::slice::from_raw_parts_mut(address as *mut u8, size as usize) })
    }

    /// Confirms once more bytes that a call is about to read or write, after a wait without the
    /// library's lock: another thread may have unmapped them, or left them to a fork's child as
    /// well. The library's own are always there.
    pub fn confirm(&mut self, bytes: &[u8], rights: Rights) -> Result<(), Errno> {
        self.confirm_at(bytes.as_ptr() as u64, bytes.len() as u64, rights)
    }

    /// [`confirm`](Memory::confirm), of bytes that are named by their address.
    pub fn confirm_at(&mut self, start: u64, size: u64, rights: Rights) -> Result<(), Errno> {
        if size == 0 {
            return Ok(());
        }
        if !self.map.allows(start, size, rights) {
            return if (LOWEST..HIGHEST).contains(&start) && !self.is_library(start) { Err(EFAULT) } else { Ok(()) };
        }
        self.need(start, size, rights)?;
        if rights.contains(Rights::WRITE) {
            self.own(start, size)?;
            // Another thread may have emptied promised memory, or have mapped other memory there.
            if self.is_paged(start, size) {
                self.touch(start, size)?;
            }
        }
        Ok(())
    }

    /// Returns true if an address is the library's own, such as its heap.
    fn is_library(&self, address: u64) -> bool {
        self.map.area(address).is_some_and(|area| matches!(area.backing, Fill::Library(_)))
    }

    /// Touches every page of a range that may be read, so that an answer of a server finds it
    /// there. `EFAULT`: a page does not come, because memory is out, or its file was cut off.
    pub fn touch(&self, address: u64, size: u64) -> Result<(), Errno> {
        or_fault(touch_pages(address, size))
    }

    /// Reads `N` 64-bit words.
    pub fn read_words<const N: usize>(&self, address: u64) -> Result<[u64; N], Errno> {
        let bytes = self.readable(address, 8 * N as u64)?;
        let mut words = [0; N];
        // SAFETY: as many bytes as the words have; any bytes are words.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), words.as_mut_ptr().cast(), bytes.len()) };
        Ok(words)
    }

    /// Writes 64-bit words.
    pub fn write_words(&mut self, address: u64, words: &[u64]) -> Result<(), Errno> {
        let bytes = self.writable(address, 8 * words.len() as u64)?;
        // SAFETY: as many bytes as the words have, which are not the program's.
        unsafe { core::ptr::copy_nonoverlapping(words.as_ptr().cast(), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Writes words to `address`, and gives the `size` bytes at `behind`: all from the words to
    /// there may be written.
    pub fn write_words_before(&mut self, address: u64, words: &[u64], behind: u64, size: u64) -> Result<&'static mut [u8], Errno> {
        let distance = behind.checked_sub(address).filter(|distance| *distance >= 8 * words.len() as u64).ok_or(EFAULT)?;
        let bytes = self.writable(address, distance + size)?;
        // SAFETY: the words fit before `behind`, so into these bytes, which are not the words'.
        unsafe { core::ptr::copy_nonoverlapping(words.as_ptr().cast(), bytes.as_mut_ptr(), 8 * words.len()) };
        bytes.get_mut(distance as usize..).ok_or(EFAULT)
    }

    /// Reads a 32-bit number.
    pub fn read_half(&self, address: u64) -> Result<u32, Errno> {
        let bytes = self.readable(address, 4)?;
        Ok(u32::from_le_bytes(bytes.try_into().map_err(|_| EFAULT)?))
    }

    /// Writes a 32-bit number.
    pub fn write_half(&mut self, address: u64, value: u32) -> Result<(), Errno> {
        self.write_bytes(address, &value.to_le_bytes())
    }

    /// Writes bytes.
    pub fn write_bytes(&mut self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.writable(address, bytes.len() as u64)?.copy_from_slice(bytes);
        Ok(())
    }

    /// A string that ends with a zero byte, which is not part of what is returned.
    pub fn string(&self, address: u64, limit: u64) -> Result<&'static [u8], Errno> {
        let size = self.map.extent(address, limit, Rights::READ);
        let there = user_faults::lacking(self, address, size, Rights::READ).map_or(size, |lacking| lacking.page.saturating_sub(address));
        let bytes = self.readable(address, there)?;
        match bytes.iter().position(|byte| *byte == 0) {
            Some(end) => Ok(&bytes[..end]),
            None if there < size => self.need(address, size, Rights::READ).map(|()| &[][..]),
            None if size == limit => Err(ENAMETOOLONG),
            None => Err(EFAULT),
        }
    }

    /// A path: a string of at most [`PATH_MAX`] bytes.
    pub fn path(&self, address: u64) -> Result<&'static [u8], Errno> {
        self.string(address, PATH_MAX)
    }

    /// The pieces of an `iovec` array: addresses and sizes, not yet looked up.
    pub fn vectors(&self, address: u64, count: u64) -> Result<Vec<(u64, u64)>, Errno> {
        const MOST: u64 = 1024;
        if count > MOST {
            return Err(EINVAL);
        }
        let mut pieces = Vec::new();
        pieces.try_reserve(count as usize).map_err(|_| ENOMEM)?;
        for index in 0..count {
            let [start, size] = self.read_words(address.wrapping_add(16 * index))?;
            pieces.push((start, size));
        }
        Ok(pieces)
    }

    /// Writes bytes into one piece after the other.
    pub fn scatter(&mut self, pieces: &[(u64, u64)], mut bytes: &[u8]) -> Result<(), Errno> {
        for (at, size) in pieces {
            let (first, rest) = bytes.split_at(bytes.len().min(*size as usize));
            self.write_bytes(*at, first)?;
            bytes = rest;
        }
        Ok(())
    }

    /// Fills a range with zeros.
    pub fn clear(&mut self, address: u64, size: u64) -> Result<(), Errno> {
        self.writable(address, size)?.fill(0);
        Ok(())
    }
}

/// The registers of the FPU, which are the program's: the library uses none of them.
pub mod fpu {
    use alloc::boxed::Box;
    use alloc::vec::Vec;
    use core::arch::asm;
    use core::arch::x86_64::{__cpuid, __cpuid_count};
    use core::sync::atomic::{AtomicU64, Ordering};

    /// Bytes of the legacy area.
    const LEGACY: usize = 512;
    /// Size of the extended header, which holds the components and the form.
    const HEADER: usize = 64;
    /// Maximum number of bytes that the processor writes, as the kernel allows it.
    const MOST: usize = nacre_abi::state::FPU_SIZE as usize;
    /// Offset of Linux's description of the state.
    const DESCRIPTION: usize = 464;
    const MAGIC_START: u32 = 0x4650_5853;
    const MAGIC_END: u32 = 0x4650_5845;
    const MXCSR: usize = 24;
    const MXCSR_MASK: usize = 28;

    /// A copy of the state, where the processor wants it.
    #[repr(C, align(64))]
    struct Area([u8; MOST]);

    /// Capabilities of the processor: components in the low half, bytes in the high one; 0 if not
    /// asked yet.
    static KNOWN: AtomicU64 = AtomicU64::new(0);

    /// The components that the kernel has switched on (0: only the legacy area), and the bytes that
    /// they take.
    fn known() -> (u64, usize) {
        let mut known = KNOWN.load(Ordering::Relaxed);
        if known == 0 {
            known = ask();
            KNOWN.store(known, Ordering::Relaxed);
        }
        (known & 0xffff_ffff, (known >> 32) as usize)
    }

    fn ask() -> u64 {
        const OSXSAVE: u32 = 1 << 27;
        if __cpuid(1).ecx & OSXSAVE == 0 {
            return (LEGACY as u64) << 32;
        }
        let components: u32;
        // SAFETY: the processor has said that the instruction is there; it only reads.
        unsafe { asm!("xgetbv", in("ecx") 0, out("eax") components, out("edx") _, options(nomem, nostack, preserves_flags)) };
        let size = (__cpuid_count(0xd, 0).ebx as usize).clamp(LEGACY + HEADER, MOST);
        (size as u64) << 32 | u64::from(components)
    }

    /// Bytes of the state in a signal's frame.
    pub fn size() -> u64 {
        let (components, size) = known();
        size as u64 + if components == 0 { 0 } else { 4 }
    }

    fn put(into: &mut [u8], at: usize, value: u32) {
        if let Some(place) = into.get_mut(at..at + 4) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }

    fn word(bytes: &[u8], at: usize) -> u32 {
        bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    /// Writes the state to [`size`] bytes that start at a multiple of 64.
    pub fn save(into: &mut [u8]) {
        let (components, size) = known();
        if into.len() < size || into.as_ptr() as usize % 64 != 0 {
            return;
        }
        let start = into.as_mut_ptr();
        if components == 0 {
            // SAFETY: 512 bytes that may be written, aligned.
            unsafe { asm!("fxsave64 [{}]", in(reg) start, options(nostack, preserves_flags)) };
            return;
        }
        into[LEGACY..LEGACY + HEADER].fill(0);
        // SAFETY: as many bytes as the processor says that it writes, aligned.
        unsafe { asm!("xsave64 [{}]", in(reg) start, in("eax") components as u32, in("edx") 0, options(nostack, preserves_flags)) };
        put(into, DESCRIPTION, MAGIC_START);
        put(into, DESCRIPTION + 4, size as u32 + 4);
        put(into, DESCRIPTION + 8, components as u32);
        put(into, DESCRIPTION + 12, 0);
        put(into, DESCRIPTION + 16, size as u32);
        put(into, size, MAGIC_END);
    }

    /// The state, for another process to take over.
    pub fn saved() -> Vec<u8> {
        let mut area = Box::new(Area([0; MOST]));
        let size = size() as usize;
        save(&mut area.0[..size]);
        area.0[..size].to_vec()
    }

    /// The state that a program starts with.
    pub fn reset() {
        const CONTROL: u32 = 0x37f;
        const MXCSR_START: u32 = 0x1f80;
        let mut area = Box::new(Area([0; MOST]));
        let (components, size) = known();
        put(&mut area.0, 0, CONTROL);
        put(&mut area.0, MXCSR, MXCSR_START);
        if components != 0 {
            // No component is there: all of them begin anew.
            put(&mut area.0, DESCRIPTION, MAGIC_START);
            put(&mut area.0, size, MAGIC_END);
        }
        // What was put there is sound.
        let _ = restore(&area.0);
    }

    /// Returns true if the processor accepts a state: its components are switched on, its form is
    /// known, and its control bits exist.
    fn is_sound(from: &[u8], components: u64) -> bool {
        let mask = if word(from, MXCSR_MASK) == 0 { 0xffbf } else { word(from, MXCSR_MASK) & 0xffff };
        let rest = from.get(LEGACY + 8..LEGACY + HEADER).is_some_and(|rest| rest.as_chunks::<8>().0.iter().all(|word| u64::from_ne_bytes(*word) == 0));
        let present = u64::from(word(from, LEGACY)) | u64::from(word(from, LEGACY + 4)) << 32;
        word(from, MXCSR) & !mask == 0 && (components == 0 || rest && present & !components == 0)
    }

    /// Takes the state over from [`size`] bytes; `None` if they are not one. What starts at a
    /// multiple of 64 is not copied.
    pub fn restore(from: &[u8]) -> Option<()> {
        let (components, size) = known();
        if from.as_ptr() as usize % 64 != 0 {
            let mut area = Box::new(Area([0; MOST]));
            let taken = from.len().min(MOST);
            area.0[..taken].copy_from_slice(&from[..taken]);
            return restore(&area.0);
        }
        let whole = components != 0 && word(from, DESCRIPTION) == MAGIC_START && word(from, size) == MAGIC_END;
        let least = if whole { size } else { LEGACY };
        let components = if whole { components } else { 0 };
        if from.len() < least || !is_sound(from, components) {
            return None;
        }
        let start = from.as_ptr();
        if !whole {
            // SAFETY: 512 bytes, aligned. If another thread makes nonsense of them meanwhile the
            // instruction fails, and the process ends.
            unsafe { asm!("fxrstor64 [{}]", in(reg) start, options(nostack, preserves_flags)) };
            return Some(());
        }
        // SAFETY: a whole area, aligned; the same if another thread changes it.
        unsafe { asm!("xrstor64 [{}]", in(reg) start, in("eax") components as u32, in("edx") 0, options(nostack, preserves_flags)) };
        Some(())
    }
}
