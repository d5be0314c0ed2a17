//! Header of a bzImage (Linux's boot protocol, `Documentation/x86/boot.rst`).

use crate::{ByteSource, LoadError};

/// Offset of the header in the file, and in the zero page.
pub const HEADER: usize = 0x1f1;
/// End of the header's longest form that the zero page has room for.
const HEADER_LIMIT: usize = 0x290;
/// Bytes of the file that hold the header.
const HEAD_SIZE: usize = 0x290;
/// Protocol version that has the memory that a kernel needs.
const MIN_VERSION: u16 = 0x20a;
/// Protocol version that has the field of the 64-bit entry.
const LONG_VERSION: u16 = 0x20c;
/// Bit of the flags for loaders: the kernel lies at 1 MiB or above.
const IS_HIGH: u8 = 1;
/// Bit of `xloadflags`: the kernel has a 64-bit entry.
const HAS_64_BIT_ENTRY: u16 = 1;
const SECTOR: u64 = 512;
/// Sectors of the 16-bit part, if the header says 0.
const DEFAULT_SECTORS: u8 = 4;
/// Address of kernels that do not say where they want to be.
const DEFAULT_ADDRESS: u64 = 0x100_0000;
/// Lowest address of a kernel.
const MIN_ADDRESS: u64 = 0x10_0000;
/// Offset of the 64-bit entry from the kernel's first byte, where the 32-bit entry is.
const ENTRY: u64 = 0x200;

/// Entry by which a kernel starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// 64-bit mode with paging.
    Long,
    /// 32-bit protected mode without paging.
    Protected,
}

/// Facts of a header that was checked.
#[derive(Clone, Debug)]
pub struct Header {
    /// Bytes of the header as they go into the zero page, from `HEADER` on.
    pub bytes: [u8; HEADER_LIMIT - HEADER],
    /// Number of those bytes that belong to the header.
    pub length: usize,
    /// The 64-bit entry, or else that of 32 bits.
    pub entry: Entry,
    /// Offset of the kernel in the file.
    pub offset: u64,
    /// Size of the kernel in the file.
    pub size: u64,
    /// Address of the kernel in memory.
    pub address: u64,
    /// End of the memory that the kernel needs until it is unpacked.
    pub end: u64,
    /// Last address of an initial file system.
    pub max_initrd: u64,
    /// Maximum length of the command line, without the zero behind it.
    pub max_command_line: u64,
}

impl Header {
    /// Reads and checks the header of a file.
    pub fn decode(kernel: &dyn ByteSource) -> Result<Self, LoadError> {
        let mut head = [0; HEAD_SIZE];
        if kernel.len() < HEAD_SIZE as u64 {
            return Err(LoadError::NotLinux);
        }
        kernel.read_at(0, &mut head).map_err(|_| LoadError::KernelUnreadable)?;
        let fields = Fields(&head);
        let end = 0x202 + usize::from(head[0x201]);
        if fields.half(0x1fe) != 0xaa55 || head[0x202..0x206] != *b"HdrS" {
            return Err(LoadError::NotLinux);
        }
        // A header whose length leaves out `init_size` has none of these entries either.
        if fields.half(0x206) < MIN_VERSION || end < 0x264 || head[0x211] & IS_HIGH == 0 {
            return Err(LoadError::OldLinux);
        }
        fields.header(end.min(HEADER_LIMIT), kernel.len())
    }

    /// Returns the address of the first instruction.
    pub fn start(&self) -> u64 {
        match self.entry {
            Entry::Long => self.address + ENTRY,
            Entry::Protected => self.address,
        }
    }
}

/// First bytes of the file.
struct Fields<'a>(&'a [u8; HEAD_SIZE]);

impl Fields<'_> {
    fn half(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    fn word(&self, at: usize) -> u64 {
        u64::from(self.half(at)) | u64::from(self.half(at + 2)) << 16
    }

    fn long(&self, at: usize) -> u64 {
        self.word(at) | self.word(at + 4) << 32
    }

    fn entry(&self) -> Entry {
        let has_long = self.half(0x206) >= LONG_VERSION && self.half(0x236) & HAS_64_BIT_ENTRY != 0;
        if has_long { Entry::Long } else { Entry::Protected }
    }

    /// Returns where the kernel lies while it unpacks itself, and where it runs. One that cannot be
    /// moved does the latter itself; its 64-bit entry is used where it runs.
    fn places(&self) -> (u64, u64) {
        let wanted = if self.long(0x258) == 0 { DEFAULT_ADDRESS } else { self.long(0x258) };
        let is_relocatable = self.0[0x234] != 0;
        match self.entry() {
            Entry::Protected if !is_relocatable => (self.word(0x214), wanted),
            _ => (wanted, wanted),
        }
    }

    fn header(&self, end: usize, file_size: u64) -> Result<Header, LoadError> {
        let sectors = if self.0[HEADER] == 0 { DEFAULT_SECTORS } else { self.0[HEADER] };
        let offset = (u64::from(sectors) + 1) * SECTOR;
        let size = file_size.checked_sub(offset).filter(|size| *size > ENTRY);
        let size = size.ok_or(LoadError::Truncated)?;
        let (address, run) = self.places();
        let memory_end = [address.checked_add(size), run.checked_add(self.word(0x260))];
        let [Some(file_end), Some(run_end)] = memory_end else { return Err(LoadError::BadAddress) };
        if address % 0x1000 != 0 || address < MIN_ADDRESS || run < MIN_ADDRESS {
            return Err(LoadError::BadAddress);
        }
        let mut bytes = [0; HEADER_LIMIT - HEADER];
        bytes.copy_from_slice(&self.0[HEADER..HEADER_LIMIT]);
        Ok(Header {
            bytes,
            length: end - HEADER,
            entry: self.entry(),
            offset,
            size,
            address,
            end: file_end.max(run_end),
            max_initrd: self.word(0x22c),
            max_command_line: self.word(0x238),
        })
    }
}
