//! What the kernel tells of the machine, read from the page it gave us, and the start of the boot
//! image.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::offset_of;
use core::ops::Range;
use nacre_abi::boot_image::{self, FILE_SIZE, HEADER_SIZE, Header};
use nacre_abi::boot_info::{BootInfo, MAX_RANGES, MemoryRange};
use nacre_abi::environment::BOOT_INFO;
use nacre_abi::{PAGE_SIZE, VERSION};
use nacre_sys::Window;
use nacre_sys::clock::Scale;

/// Maximum number of bytes of the kernel's command line.
const COMMAND_LINE: usize = 256;

/// The parts of [`BootInfo`] that matter here.
#[derive(Debug)]
pub struct BootFacts {
    /// Range of the boot image in the physical region.
    pub image: MemoryRange,
    /// Memory that is ours.
    pub ranges: Vec<MemoryRange>,
    /// Memory behind all other that lasts: a file of the host. Empty if there is none.
    pub store: MemoryRange,
    /// The host gives commands (`control=1`).
    pub has_commands: bool,
    /// Number of ports to the host.
    pub ports: u64,
    /// A directory of the host lies below the boot files: 1, changes are kept in memory; 2, they
    /// are refused; 3, the host gets them; 0, there is none.
    pub directory: u64,
    /// The machine has a network card that is to be used (`network=1`).
    pub has_card: bool,
    /// The machine has a source of random bytes that is to be used (`random=1`).
    pub has_source: bool,
    /// Address of the ACPI root pointer, or 0.
    pub acpi_root: u64,
}

impl BootFacts {
    /// Ranges of addresses that are memory, and so no device's.
    pub fn own_ranges(&self) -> Vec<Range<u64>> {
        self.ranges.iter().chain([&self.image, &self.store]).map(|range| range.start..range.start + range.size).collect()
    }

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
        let mut ranges: Vec<MemoryRange> = (0..count).map(range).collect::<Option<_>>()?;
        let line = command_line(&page)?;
        let (store, has_commands) = (take_store(&mut ranges, option(&line, b"store").unwrap_or(0)), option(&line, b"control") == Some(1));
        let (ports, directory) = (option(&line, b"ports").unwrap_or(0), option(&line, b"directory").unwrap_or(0));
        let image = MemoryRange { start: word(offset_of!(BootInfo, image_start))?, size: word(offset_of!(BootInfo, image_size))? };
        let [has_card, has_source] = [&b"network"[..], b"random"].map(|name| option(&line, name) == Some(1));
        let acpi_root = word(offset_of!(BootInfo, acpi_root))?;
        Some(BootFacts { image, ranges, store, has_commands, ports, directory, has_card, has_source, acpi_root })
    }
}

/// The kernel's command line.
fn command_line(page: &Window) -> Option<Vec<u8>> {
    let size = page.read_word(offset_of!(BootInfo, command_line_size) as u64)?.min(COMMAND_LINE as u64);
    let mut line = vec![0; size as usize];
    page.read(offset_of!(BootInfo, command_line) as u64, &mut line)?;
    Some(line)
}

/// The number after `name=` in a command line.
fn option(line: &[u8], name: &[u8]) -> Option<u64> {
    let word = line.split(|&byte| byte == b' ').find_map(|word| word.strip_prefix(name)?.strip_prefix(b"="))?;
    core::str::from_utf8(word).ok()?.parse().ok()
}

/// Takes the last `size` bytes out of the highest range, unless they are all of the machine's
/// memory or no whole pages.
fn take_store(ranges: &mut Vec<MemoryRange>, size: u64) -> MemoryRange {
    let only = ranges.len() == 1;
    let Some(last) = ranges.iter_mut().max_by_key(|range| range.start) else { return MemoryRange::default() };
    let fits = size > 0 && size.is_multiple_of(PAGE_SIZE) && (size < last.size || size == last.size && !only);
    if !fits {
        return MemoryRange::default();
    }
    last.size -= size;
    let store = MemoryRange { start: last.start + last.size, size };
    ranges.retain(|range| range.size > 0);
    store
}

/// Returns the number of processors of the machine; 1 if the page does not say.
pub fn processors() -> u64 {
    let count = Window::new(BOOT_INFO, PAGE_SIZE).and_then(|page| page.read_word(offset_of!(BootInfo, cpus) as u64));
    count.unwrap_or(1).max(1)
}

/// Returns the scale of the processor's counter, or `None` if the page does not say.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(list: &[(u64, u64)]) -> Vec<MemoryRange> {
        list.iter().map(|&(start, size)| MemoryRange { start, size }).collect()
    }

    #[test]
    fn a_store_is_the_end_of_the_highest_range() {
        let mut all = ranges(&[(0x10_0000, 0x10_0000), (1 << 32, 0x20_0000)]);
        assert_eq!(take_store(&mut all, 0x20_0000), MemoryRange { start: 1 << 32, size: 0x20_0000 });
        assert_eq!(all, ranges(&[(0x10_0000, 0x10_0000)]));
        assert_eq!(take_store(&mut all, 0x1000), MemoryRange { start: 0x1f_f000, size: 0x1000 });
        assert_eq!(all, ranges(&[(0x10_0000, 0xf_f000)]));
    }

    #[test]
    fn a_store_that_cannot_be_is_none() {
        for size in [0, 5, 0x10_0000, 0x20_0000, u64::MAX & !0xfff] {
            let mut all = ranges(&[(0x10_0000, 0x10_0000)]);
            assert_eq!((take_store(&mut all, size).size, all), (0, ranges(&[(0x10_0000, 0x10_0000)])), "{size:x}");
        }
    }

    #[test]
    fn options_are_words_of_their_own() {
        assert_eq!(option(b"cpus=2 store=4096 xstore=5", b"store"), Some(4096));
        assert_eq!((option(b"store=", b"store"), option(b"cpus=2", b"store"), option(b"store=-1", b"store")), (None, None, None));
    }
}
