//! The boot image: root's segments and the boot files, as one module beside the kernel. Little
//! endian, all offsets from its start.
//!
//! `Header`, then `Segment`s, then `File`s; then names, then contents, each content at a multiple
//! of 4096. The first path component of every name is `/`; directories stand before what is in
//! them.

/// First eight bytes.
pub const MAGIC: [u8; 8] = *b"NACREIMG";
/// Version of this format.
pub const VERSION: u32 = 1;

/// Size of the header: `magic [8]`, `version u32`, `segment_count u32`, `root_entry u64`,
/// `file_count u64`, `files_offset u64`, `total_size u64`, then zeros.
pub const HEADER_SIZE: u64 = 64;
/// Offset of the segments. Each is `offset u64, address u64, size u64, rights u64`; offset, address
/// and size are multiples of 4096. Zero-filled parts are in the image.
pub const SEGMENTS_OFFSET: u64 = 64;
/// Size of one segment entry.
pub const SEGMENT_SIZE: u64 = 32;
/// Maximum number of segments.
pub const MAX_SEGMENTS: u64 = 16;
/// Size of one file entry: `name_offset u64, name_size u32, mode u32, content_offset u64, size u64,
/// modified i64 (seconds), reserved u64`. `mode` is Linux's `st_mode`; a symbolic link's content is
/// its target.
pub const FILE_SIZE: u64 = 48;

fn u64_at(bytes: &[u8], offset: u64) -> Option<u64> {
    let start = usize::try_from(offset).ok()?;
    let part = bytes.get(start..start.checked_add(8)?)?;
    Some(u64::from_le_bytes(part.try_into().ok()?))
}

fn u32_at(bytes: &[u8], offset: u64) -> Option<u32> {
    let start = usize::try_from(offset).ok()?;
    let part = bytes.get(start..start.checked_add(4)?)?;
    Some(u32::from_le_bytes(part.try_into().ok()?))
}

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of root's segments.
    pub segment_count: u64,
    /// Root's first instruction.
    pub root_entry: u64,
    /// Number of files.
    pub file_count: u64,
    /// Offset of the file entries.
    pub files_offset: u64,
    /// Size of the whole image.
    pub total_size: u64,
}

/// One segment of root: `size` bytes at `offset` of the image appear at `address`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset in the image.
    pub offset: u64,
    /// Address in root's space.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// [`Rights`](crate::Rights).
    pub rights: u64,
}

/// One boot file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'image> {
    /// Absolute path.
    pub name: &'image [u8],
    /// Linux's `st_mode`.
    pub mode: u32,
    /// Offset of the content.
    pub offset: u64,
    /// Size of the content.
    pub size: u64,
    /// Time of the last change, in seconds since 1970.
    pub modified: i64,
}

/// Reads the header of `bytes` (at least its first 64); `None` if it is not an image of this
/// version.
pub fn header(bytes: &[u8]) -> Option<Header> {
    let segment_count = u64::from(u32_at(bytes, 12)?);
    if bytes.get(..8)? != MAGIC || u32_at(bytes, 8)? != VERSION || segment_count > MAX_SEGMENTS {
        return None;
    }
    Some(Header {
        segment_count,
        root_entry: u64_at(bytes, 16)?,
        file_count: u64_at(bytes, 24)?,
        files_offset: u64_at(bytes, 32)?,
        total_size: u64_at(bytes, 40)?,
    })
}

/// Reads segment `index`.
pub fn segment(bytes: &[u8], index: u64) -> Option<Segment> {
    let at = SEGMENTS_OFFSET + index.checked_mul(SEGMENT_SIZE)?;
    Some(Segment {
        offset: u64_at(bytes, at)?,
        address: u64_at(bytes, at + 8)?,
        size: u64_at(bytes, at + 16)?,
        rights: u64_at(bytes, at + 24)?,
    })
}

/// Reads file `index`; the name is checked to lie in `bytes`, which may be only the start of the
/// image, and the content in the whole image.
pub fn file<'image>(bytes: &'image [u8], header: &Header, index: u64) -> Option<File<'image>> {
    let at = header.files_offset.checked_add(index.checked_mul(FILE_SIZE)?)?;
    let name_offset = usize::try_from(u64_at(bytes, at)?).ok()?;
    let name_size = u32_at(bytes, at.checked_add(8)?)? as usize;
    let offset = u64_at(bytes, at + 16)?;
    let size = u64_at(bytes, at + 24)?;
    let name = bytes.get(name_offset..name_offset.checked_add(name_size)?)?;
    (offset.checked_add(size)? <= header.total_size).then_some(File {
        name,
        mode: u32_at(bytes, at + 12)?,
        offset,
        size,
        modified: u64_at(bytes, at + 32)? as i64,
    })
}
