//! The library's own file, as the makers of environments use it: a process that forks more than
//! once does not ask for it again.

use crate::abi::errno::ENODEV;
use alloc::vec;
use alloc::vec::Vec;
use nacre_nest::{SpawnError, supply};
use nacre_nest::elf::Image;
use nacre_nest::services::File;
use nacre_sys::{OwnedReference, Region, SpanMut};
use supply::File as _;

/// Maximum number of bytes to keep of the parts that are copied for each environment.
const MOST: u64 = 4096;

/// Decoded library file after the file was closed. Most of it is mapped.
pub struct Library {
    region: OwnedReference,
    size: u64,
    image: Image,
    /// Parts that are copied for each environment: offset in the file, and bytes.
    data: Vec<(u64, Vec<u8>)>,
}

impl Library {
    /// Returns true if the parts to copy are small enough to be kept.
    pub fn is_small(file: &File, image: &Image) -> bool {
        let mut copied = image.segments.iter().filter(|segment| !segment.can_share()).map(|segment| segment.file_size);
        file.region().is_some() && copied.try_fold(0u64, |all, size| all.checked_add(size).filter(|all| *all <= MOST)).is_some()
    }

    /// Keeps what was loaded of a file that can be mapped.
    pub fn of(mut file: File, image: &Image) -> Result<Library, SpawnError> {
        let copied = image.segments.iter().filter(|segment| !segment.can_share() && segment.file_size != 0);
        let (size, mut data) = (file.size(), Vec::new());
        for segment in copied {
            let mut bytes = vec![0; segment.file_size as usize];
            file.read(segment.offset, SpanMut::from(&mut bytes[..]))?;
            data.push((segment.offset, bytes));
        }
        let region = file.into_region().ok_or(SpawnError::Service("mapping it", ENODEV))?;
        Ok(Library { region, size, image: image.clone(), data })
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the region with the file's pages.
    pub fn region(&self) -> Region {
        Region::through(self.region.handle())
    }

    /// Returns the decoded headers.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Copies the kept bytes at `offset`.
    pub fn read(&self, offset: u64, mut into: SpanMut<'_>) -> Result<(), SpawnError> {
        let known = self.data.iter().find(|(start, bytes)| *start == offset && bytes.len() == into.size());
        let (_, bytes) = known.ok_or(SpawnError::Truncated("last byte, as its size says"))?;
        into.copy_from((&bytes[..]).into());
        Ok(())
    }
}
