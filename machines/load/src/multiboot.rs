//! Common part of the two multiboot protocols: the kernel's places in memory, and those of what it
//! is told. Kernels start in 32-bit protected mode without paging.
//!
//! | address | content |
//! | --- | --- |
//! | 0x40e, 0x413 | where low memory ends, as a BIOS says it |
//! | 0x500 | descriptors |
//! | 0x10000, or the next page below 0x9fc00 that the kernel leaves | information |
//! | 0x1000 to 0x9fc00, 1 MiB and above | kernel where its file says |
//! | next page behind the kernel, and behind each module | modules |

use crate::elf::{Image, word};
use crate::linux::{HIGH_START, LOW_END, PAGE, checked_size, checked_text, copy};
use crate::place::{Low, Part, check_parts, load_parts, low_place};
use crate::start::prepare_protected;
use crate::{ByteSource, GuestMemory, LoadError, Start};
use alloc::{vec, vec::Vec};

/// Lowest address of the information.
const INFORMATION: u64 = 0x1_0000;
/// Name of this loader, with the zero that ends it.
pub(crate) const LOADER: &[u8] = b"Nacre machine\0";
/// Memory below 1 MiB and above it, in KiB.
const KIB: u64 = 1024;
/// Words of a BIOS's data: the segment of its memory behind the low one, and the size of that in
/// KiB. Xen believes them rather than what it is told.
const BIOS_SEGMENT: u64 = 0x40e;
const BIOS_SIZE: u64 = 0x413;
/// Kinds of memory: it may be used, or it is reserved.
const USABLE: u32 = 1;
const RESERVED: u32 = 2;

/// File that goes along with a kernel.
#[derive(Clone, Copy)]
pub struct Module<'a> {
    /// The file.
    pub file: &'a dyn ByteSource,
    /// Text that the kernel is told of it.
    pub text: &'a str,
}

/// Kernel to start, and what goes with it.
#[derive(Clone, Copy)]
pub struct Boot<'a> {
    /// The kernel's file.
    pub kernel: &'a dyn ByteSource,
    /// Modules, in order. Those without bytes are left out.
    pub modules: &'a [Module<'a>],
    /// Command line.
    pub command_line: &'a str,
}

/// A kernel's parts and the physical address of its entry.
pub(crate) struct Program {
    pub parts: Vec<Part>,
    pub entry: u64,
}

/// Addresses by which a header says where a file goes, whatever its format.
#[derive(Clone, Copy)]
pub(crate) struct Addresses {
    /// Place of the header in the file.
    pub header_offset: u64,
    /// Addresses of the header, of the first byte to load, and behind the last one and its zeros.
    /// An end of 0 says that there are none but the file's.
    pub words: [u32; 4],
}

/// Places of what a kernel is told of.
pub(crate) struct Places {
    /// Address of the information.
    pub information: u64,
    /// First address of each module, and the address behind it.
    pub modules: Vec<[u32; 2]>,
    /// Memory's size.
    pub memory: u64,
}

impl Places {
    /// Returns the memory below 1 MiB and above it, in KiB.
    pub fn sizes(&self) -> [u32; 2] {
        [LOW_END, self.memory - HIGH_START].map(|size| (size / KIB) as u32)
    }

    /// Returns the memory map: start, size and kind of each range.
    pub fn map(&self) -> [(u64, u64, u32); 3] {
        [(0, LOW_END, USABLE), (LOW_END, HIGH_START - LOW_END, RESERVED), (HIGH_START, self.memory - HIGH_START, USABLE)]
    }
}

impl Boot<'_> {
    /// Reads the first bytes of the kernel's file, at most so many.
    pub(crate) fn head(&self, size: u64) -> Result<Vec<u8>, LoadError> {
        head(self.kernel, size)
    }

    /// Returns the modules that have bytes.
    fn modules(&self) -> impl Iterator<Item = &Module<'_>> {
        self.modules.iter().filter(|module| !module.file.is_empty())
    }

    /// Returns the command line and the modules' texts, each with the zero that ends it.
    pub(crate) fn texts(&self) -> Result<(Vec<u8>, Vec<Vec<u8>>), LoadError> {
        let with_zero = |text| checked_text(text).map(|text| [text.as_bytes(), &[0]].concat());
        let modules = self.modules().map(|module| with_zero(module.text)).collect::<Result<_, _>>()?;
        Ok((with_zero(self.command_line)?, modules))
    }

    /// Returns the places of the modules behind an address.
    fn places(&self, behind: u64, memory: u64) -> Result<Vec<[u32; 2]>, LoadError> {
        let mut end = behind;
        let mut place = |module: &Module| {
            let start = end.next_multiple_of(PAGE);
            end = start.checked_add(module.file.len()).filter(|end| *end <= memory).ok_or(LoadError::InitrdTooLarge)?;
            Ok([start as u32, end as u32])
        };
        self.modules().map(&mut place).collect()
    }

    /// Returns the kernel's parts by the addresses of its header or, without them, by those of ELF.
    pub(crate) fn program(&self, addresses: Option<Addresses>, entry: Option<u32>) -> Result<Program, LoadError> {
        if let Some(addresses) = addresses {
            let entry = entry.ok_or(LoadError::BadHeader)?.into();
            return Ok(Program { parts: vec![addresses.part(self.kernel.len())?], entry });
        }
        if !self.head(4)?.starts_with(b"\x7fELF") {
            return Err(LoadError::NoAddresses);
        }
        let image = Image::decode(self.kernel)?;
        Ok(Program { parts: image.parts, entry: entry.map_or(image.entry, u64::from) })
    }

    /// Loads everything. `information` makes what the kernel is told, of the same size whatever the
    /// places; the kernel starts with its address and with `magic`.
    pub(crate) fn load(&self, memory: &mut dyn GuestMemory, program: &Program, magic: u32, information: impl Fn(&Places) -> Vec<u8>) -> Result<Start, LoadError> {
        let size = checked_size(memory)?;
        let end = check_parts(&program.parts, program.entry, Low::Free, size)?;
        let mut places = Places { information: 0, modules: self.places(end, size)?, memory: size };
        places.information = low_place(&program.parts, INFORMATION, information(&places).len() as u64).ok_or(LoadError::NoLowMemory)?;
        load_parts(memory, self.kernel, &program.parts)?;
        for (module, [start, _]) in self.modules().zip(&places.modules) {
            copy(memory, module.file, 0, module.file.len(), u64::from(*start), LoadError::InitrdUnreadable)?;
        }
        memory.write(BIOS_SEGMENT, &((LOW_END >> 4) as u16).to_le_bytes())?;
        memory.write(BIOS_SIZE, &((LOW_END / KIB) as u16).to_le_bytes())?;
        memory.write(LOW_END, &[((0xa_0000 - LOW_END) / KIB) as u8])?;
        memory.write(places.information, &information(&places))?;
        Ok(prepare_protected(memory, program.entry, magic, places.information)?)
    }
}

/// Reads the first bytes of a file, at most so many.
pub(crate) fn head(kernel: &dyn ByteSource, size: u64) -> Result<Vec<u8>, LoadError> {
    let mut head = vec![0; kernel.len().min(size) as usize];
    kernel.read_at(0, &mut head).map_err(|_| LoadError::KernelUnreadable)?;
    Ok(head)
}

/// Returns the sum of so many words, which is 0 for a header.
pub(crate) fn sum(bytes: &[u8], at: usize, count: usize) -> u32 {
    (0..count).fold(0, |sum: u32, number| sum.wrapping_add(word(bytes, at + 4 * number)))
}

impl Addresses {
    /// Load address of a file that is loaded from its first byte on.
    const WHOLE: u32 = u32::MAX;

    /// Returns the one part that they make of a file of this size.
    fn part(&self, file_size: u64) -> Result<Part, LoadError> {
        let [header, load, load_end, zero_end] = self.words.map(u64::from);
        let load = if self.words[1] == Self::WHOLE { header.checked_sub(self.header_offset) } else { Some(load) };
        let load = load.ok_or(LoadError::BadHeader)?;
        let before = header.checked_sub(load).ok_or(LoadError::BadHeader)?;
        let offset = self.header_offset.checked_sub(before).ok_or(LoadError::BadHeader)?;
        let rest = file_size.checked_sub(offset).ok_or(LoadError::Truncated)?;
        let own = |end: u64, otherwise| if end == 0 { Ok(otherwise) } else { end.checked_sub(load).ok_or(LoadError::BadHeader) };
        let size = own(load_end, rest)?;
        if size > rest {
            return Err(LoadError::Truncated);
        }
        let memory_size = own(zero_end, size)?;
        if memory_size < size {
            return Err(LoadError::BadHeader);
        }
        Ok(Part { offset, address: load, file_size: size, memory_size })
    }
}
