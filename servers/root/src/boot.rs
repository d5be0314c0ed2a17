//! What the kernel tells of the machine, read from the page it gave us, and the start of the boot image.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::offset_of;
use nacre_abi::boot_image::{self, FILE_SIZE, HEADER_SIZE, Header};
use nacre_abi::boot_info::{BootInfo, MAX_RANGES, MemoryRange};
use nacre_abi::environment::BOOT_INFO;
use nacre_abi::{PAGE_SIZE, VERSION};
use nacre_sys::Window;
use nacre_sys::clock::Scale;

/// The parts of [`BootInfo`] that matter here.
#[derive(Debug)]
pub struct BootFacts {
    /// Where the boot image is, in the physical region.
    pub image: MemoryRange,
    /// Memory that is ours.
    pub ranges: Vec<MemoryRange>,
}

impl BootFacts {
    /// Reads the page; `None` if it is of another version.
    pub fn read() -> Option<BootFacts> {
        let page = Window::new(BOOT_INFO, PAGE_SIZE)?;
        let word = |offset: usize| page.read_word(offset as u64);
        if word(offset_of!(BootInfo, version))? != u64::from(VERSION) {
            return None;
        }
        let count = word(offset_of!(BootInfo, range_count))?.min(MAX_RANGES as u64) as usize;
        let range = |number: usize| {
            let at = offset_of!(BootInfo, ranges) + 16 * number;
            Some(MemoryRange { start: word(at)?, size: word(at + 8)? })
        };
        Some(BootFacts {
            image: MemoryRange { start: word(offset_of!(BootInfo, image_start))?, size: word(offset_of!(BootInfo, image_size))? },
            ranges: (0..count).map(range).collect::<Option<_>>()?,
        })
    }
}

/// How many processors the machine has; 1 if the page does not say.
pub fn processors() -> u64 {
    let count = Window::new(BOOT_INFO, PAGE_SIZE).and_then(|page| page.read_word(offset_of!(BootInfo, cpus) as u64));
    count.unwrap_or(1).max(1)
}

/// How the processor's counter becomes time; `None` if the page does not say.
pub fn clock_scale() -> Option<Scale> {
    let page = Window::new(BOOT_INFO, PAGE_SIZE)?;
    let word = |offset: usize| page.read_word(offset as u64);
    Scale::new(word(offset_of!(BootInfo, tsc_at_entry))?, word(offset_of!(BootInfo, tsc_frequency))?)
}

/// The boot image's header and everything in it up to the last name; `None` if it makes no sense.
pub fn image_start(image: Window) -> Option<(&'static [u8], Header)> {
    let mut head = [0; HEADER_SIZE as usize];
    image.read(0, &mut head)?;
    let header = boot_image::header(&head).filter(|header| header.total_size <= image.size())?;
    let mut end = header.files_offset.checked_add(header.file_count.checked_mul(FILE_SIZE)?)?;
    for number in 0..header.file_count {
        let at = header.files_offset + number * FILE_SIZE;
        end = end.max(image.read_word(at)?.checked_add(image.read_word(at + 8)? & 0xffff_ffff)?);
    }
    let part = image.part(0, end)?;
    let mut bytes = vec![0; part.size() as usize];
    part.read(0, &mut bytes)?;
    Some((bytes.leak(), header))
}
