//! The files of the boot image as they lie there: what root reads before there is a tree of files,
//! and programs that no other can take the place of.

use crate::boot::image_start;
use crate::memory::{self, Segment};
use crate::windows;
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_abi::boot_image::{self, Header};
use nacre_abi::boot_info::MemoryRange;
use nacre_nest::SpawnError;
use nacre_nest::supply::{self, ResourceSource};
use nacre_proto::Errno;
use nacre_sys::{OwnedRegion, Region, SpanMut};

/// Paths of files to hand out when the program has ended, each ended by a zero.
pub const OUTPUTS: &[u8] = b"/etc/nacre/outputs";
/// Paths of files of the host's to hand out when the program has ended if they have changed, each
/// ended by a zero.
pub const KEPT: &[u8] = b"/etc/nacre/kept";
/// Random bytes of the host, for this run alone.
pub const SEED: &[u8] = b"/etc/nacre/seed";
/// Bytes that are the same in each run, from which all random bytes follow.
pub const FIXED_SEED: &[u8] = b"/etc/nacre/fixed-seed";
/// Directories of the host's beside the one around the tree: of each the path at which it is to be,
/// and the fate of changes, with a zero behind either.
pub const DIRECTORIES: &[u8] = b"/etc/nacre/mounts";
/// Disks: of each what the list of directories has, and its name for people.
pub const DISKS: &[u8] = b"/etc/nacre/disks";
/// Files that no program is to read: they have no name in the tree.
pub const SECRETS: [&[u8]; 7] = [OUTPUTS, KEPT, SEED, FIXED_SEED, DIRECTORIES, DISKS, windows::LIST];

/// Largest file that is read here.
const MAX_SIZE: u64 = 1 << 20;

/// Files of the boot image. The head of this module describes them.
pub struct BootFiles {
    /// The image's start, up to the last name.
    pub bytes: &'static [u8],
    /// Header of the image.
    pub header: Header,
    /// Physical offset of the image.
    pub start: u64,
}

impl BootFiles {
    /// Finds them; `None` if there is no image, or it makes no sense.
    pub fn find(image: MemoryRange) -> Option<BootFiles> {
        let (bytes, header) = memory::window(image.start, image.size).and_then(image_start)?;
        Some(BootFiles { bytes, header, start: image.start })
    }

    /// Returns the place of a file in memory, and its size.
    fn place(&self, path: &[u8]) -> Option<(u64, u64)> {
        let mut files = (0..self.header.file_count).map_while(|index| boot_image::file(self.bytes, &self.header, index));
        files.find(|file| file.name == path).map(|file| (self.start + file.offset, file.size))
    }

    /// Reads a small file.
    pub fn read(&self, path: &[u8]) -> Option<Vec<u8>> {
        let (start, size) = self.place(path).filter(|(_, size)| *size <= MAX_SIZE)?;
        let mut bytes = vec![0; size as usize];
        memory::window(start, size)?.read(0, &mut bytes)?;
        Some(bytes)
    }
}

/// A program in the boot image.
pub struct BootProgram {
    start: u64,
    size: u64,
    region: OwnedRegion,
}

impl ResourceSource for BootFiles {
    type File = BootProgram;
    type Segment = Segment;

    fn open(&mut self, path: &[u8]) -> Result<BootProgram, SpawnError> {
        let (start, size) = self.place(path).ok_or(SpawnError::NotFound)?;
        let region = memory::region(start, size, Rights::READ.union(Rights::EXECUTE));
        Ok(BootProgram { start, size, region: region.map_err(|status| SpawnError::Service("opening it", Errno::from(status)))? })
    }

    fn segment(&mut self, size: u64) -> Result<Segment, SpawnError> {
        Segment::new(size, true).map_err(|_| SpawnError::TooLarge(size, Some(memory::available())))
    }
}

impl supply::File for BootProgram {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&mut self, offset: u64, mut into: SpanMut<'_>) -> Result<(), SpawnError> {
        let size = into.size() as u64;
        let part = memory::window(self.start, self.size).and_then(|window| window.span(offset, size));
        part.map(|span| into.copy_from(span)).map(drop).ok_or(SpawnError::Truncated("last byte, as its size says"))
    }

    fn region(&self) -> Option<Region> {
        Some(self.region.handle())
    }
}
