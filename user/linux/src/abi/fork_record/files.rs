//! Open files of a record: entries of one size, so that each can be found without reading those
//! before it, and behind them the paths of all.

use super::{Reader, Writer};
use crate::abi::errno::Errno;
use alloc::vec::Vec;
use nacre_rt::fallible;

/// Words of an entry: stream, reference, mode and flags, where the path starts in `paths`, its
/// size, position. The first two are one more than the number, or 0.
const ENTRY: usize = 6;
/// Maximum size of a path, in bytes.
const MAX_PATH: u64 = 4096;
/// Maximum size of all paths, in bytes.
const MAX_PATHS: u64 = 1 << 30;

/// An open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct File<'a> {
    /// The initial stream that it is, if it is one.
    pub stream: Option<u64>,
    /// Number of the reference to the file. A stream that was never used has none yet.
    pub reference: Option<u64>,
    /// Linux's `st_mode`.
    pub mode: u32,
    /// Flags of `open`.
    pub flags: u32,
    /// The path of one that the library makes itself, or by which it was opened; may be empty.
    pub path: &'a [u8],
    /// Position of the next read in a directory or generated file.
    pub position: u64,
}

impl File<'_> {
    /// Returns true if the file has a server, so that a reference or a stream's number is all that
    /// is needed to open it.
    pub fn has_server(&self) -> bool {
        self.stream.is_some() || self.reference.is_some()
    }
}

/// All open files of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    entries: Vec<[u64; ENTRY]>,
    paths: Vec<u8>,
}

impl Files {
    /// Returns the number of files.
    pub fn count(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Adds a file, and returns its index. `ENOMEM`: there is no memory for it.
    pub fn add(&mut self, file: &File<'_>) -> Result<u64, Errno> {
        let (start, size) = (self.paths.len(), file.path.len());
        self.paths.try_reserve(size)?;
        let option = |number: Option<u64>| number.map_or(0, |number| number + 1);
        let modes = u64::from(file.mode) | u64::from(file.flags) << 32;
        fallible::push(&mut self.entries, [option(file.stream), option(file.reference), modes, start as u64, size as u64, file.position])?;
        self.paths.extend_from_slice(file.path);
        Ok(self.count() - 1)
    }

    /// Returns the file with this index.
    pub fn get(&self, index: u64) -> Option<File<'_>> {
        let [stream, reference, modes, start, size, position] = *self.entries.get(usize::try_from(index).ok()?)?;
        let path = self.paths.get(start as usize..)?.get(..size as usize)?;
        Some(File { stream: stream.checked_sub(1), reference: reference.checked_sub(1), mode: modes as u32, flags: (modes >> 32) as u32, path, position })
    }

    /// Returns for each file whether it has a server, and the number of its reference.
    pub fn servers(&self) -> impl Iterator<Item = (bool, Option<u64>)> {
        self.entries.iter().map(|[stream, reference, ..]| (stream | reference != 0, reference.checked_sub(1)))
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.word(self.count());
        to.words(self.entries.as_flattened());
        to.bytes(&self.paths);
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Option<Files> {
        let references = from.references;
        let entries: Vec<[u64; ENTRY]> = from.list(Reader::words)?;
        let paths = from.bytes(MAX_PATHS)?;
        let is_sound = |[stream, reference, _, start, size, _]: &[u64; ENTRY]| {
            let ends_inside = start.checked_add(*size).is_some_and(|end| end <= paths.len() as u64);
            let is_there = *stream != 0 || *reference != 0 || *size != 0;
            *stream <= 1 << 32 && *reference <= references && *size <= MAX_PATH && ends_inside && is_there
        };
        entries.iter().all(is_sound).then(|| Files { entries, paths: paths.to_vec() })
    }
}
