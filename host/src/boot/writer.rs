//! Writes a boot image in the format of `nacre_abi::boot_image`.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;

use nacre_abi::PAGE_SIZE;
use nacre_abi::boot_image::{FILE_SIZE, HEADER_SIZE, MAGIC, MAX_SEGMENTS, SEGMENT_SIZE, SEGMENTS_OFFSET, VERSION};

use super::elf::Segment;
use super::files::Files;

/// Root as it starts: its first instruction and its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Address of the first instruction.
    pub entry: u64,
    /// Segments, `MAX_SEGMENTS` at most.
    pub segments: Vec<Segment>,
}

/// Positions of all parts, worked out before a byte is written.
struct Layout {
    files_offset: u64,
    name_offsets: Vec<u64>,
    segment_offsets: Vec<u64>,
    content_offsets: Vec<u64>,
    total: u64,
}

impl Layout {
    fn new(root: &Root, files: &Files) -> Layout {
        let files_offset = SEGMENTS_OFFSET + root.segments.len() as u64 * SEGMENT_SIZE;
        let mut at = files_offset + files.iter().len() as u64 * FILE_SIZE;
        let name_offsets = files.iter().map(|(path, _)| advance(&mut at, path.as_os_str().len(), 1)).collect();
        let segment_offsets =
            root.segments.iter().map(|segment| advance(&mut at, segment.bytes.len(), PAGE_SIZE)).collect();
        let content_offsets = content_offsets(files, &mut at);
        let total = at.next_multiple_of(PAGE_SIZE);
        Layout { files_offset, name_offsets, segment_offsets, content_offsets, total }
    }
}

/// Bytes at the start of a content by which equal ones are looked for.
const HEAD: usize = 64;

/// Offsets of the contents. Files with the same bytes share them: a file that is changed gets a
/// copy first.
fn content_offsets(files: &Files, at: &mut u64) -> Vec<u64> {
    let mut known: HashMap<(usize, &[u8]), Vec<(&[u8], u64)>> = HashMap::new();
    let mut offset = |content| {
        let alike = known.entry((<[u8]>::len(content), &content[..content.len().min(HEAD)])).or_default();
        if let Some((_, offset)) = alike.iter().find(|(other, _)| *other == content) {
            return *offset;
        }
        let offset = advance(at, content.len(), PAGE_SIZE);
        alike.push((content, offset));
        offset
    };
    files.iter().map(|(_, entry)| offset(&entry.content[..])).collect()
}

/// Rounds `at` up to `alignment`, returns that, and moves `at` behind `size` bytes.
fn advance(at: &mut u64, size: usize, alignment: u64) -> u64 {
    let start = at.next_multiple_of(alignment);
    *at = start + size as u64;
    start
}

/// The image's bytes, or how many segments are too many.
pub fn image(root: &Root, files: &Files) -> Result<Vec<u8>, String> {
    if root.segments.len() as u64 > MAX_SEGMENTS {
        return Err(format!("root has {} segments, and {MAX_SEGMENTS} fit an image", root.segments.len()));
    }
    let layout = Layout::new(root, files);
    let mut image = vec![0; layout.total as usize];
    put_header(&mut image, root, files, &layout);
    for (index, segment) in root.segments.iter().enumerate() {
        let offset = layout.segment_offsets[index];
        let words = [offset, segment.address, segment.bytes.len() as u64, segment.rights];
        put_words(&mut image, SEGMENTS_OFFSET + index as u64 * SEGMENT_SIZE, &words);
        put(&mut image, offset, &segment.bytes);
    }
    for (index, (path, entry)) in files.iter().enumerate() {
        let (name, content) = (layout.name_offsets[index], layout.content_offsets[index]);
        let path = path.as_os_str().as_bytes();
        let sizes = path.len() as u64 | u64::from(entry.mode) << 32;
        let words = [name, sizes, content, entry.content.len() as u64, entry.modified as u64, 0];
        put_words(&mut image, layout.files_offset + index as u64 * FILE_SIZE, &words);
        put(&mut image, name, path);
        put(&mut image, content, &entry.content);
    }
    Ok(image)
}

fn put_header(image: &mut [u8], root: &Root, files: &Files, layout: &Layout) {
    put(image, 0, &MAGIC);
    put(image, 8, &VERSION.to_le_bytes());
    put(image, 12, &(root.segments.len() as u32).to_le_bytes());
    put_words(image, 16, &[root.entry, files.iter().len() as u64, layout.files_offset, layout.total]);
    debug_assert_eq!(HEADER_SIZE, SEGMENTS_OFFSET);
}

fn put_words(image: &mut [u8], at: u64, words: &[u64]) {
    for (index, word) in words.iter().enumerate() {
        put(image, at + index as u64 * 8, &word.to_le_bytes());
    }
}

fn put(image: &mut [u8], at: u64, bytes: &[u8]) {
    image[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_abi::boot_image::{file, header, segment};
    use std::ffi::OsStr;
    use std::path::Path;

    fn root() -> Root {
        let segment = |address, rights, byte| Segment { address, rights, bytes: vec![byte; 0x2000] };
        Root { entry: 0x40_1000, segments: vec![segment(0x40_0000, 5, 0x90), segment(0x60_0000, 3, 7)] }
    }

    #[test]
    fn reads_back_as_it_was_written() {
        let mut files = Files::default();
        files.add_file(Path::new("/bin/tool"), 0o755, *b"bytes");
        files.add_link(Path::new("/bin/alias"), OsStr::new("tool"));
        files.add_file(Path::new("/empty"), 0o600, *b"");
        let image = image(&root(), &files).unwrap();
        let header = header(&image).unwrap();
        assert_eq!((header.root_entry, header.segment_count, header.file_count), (0x40_1000, 2, 4));
        assert_eq!(header.total_size, image.len() as u64);
        let second = segment(&image, 1).unwrap();
        assert_eq!((second.address, second.size, second.rights), (0x60_0000, 0x2000, 3));
        assert_eq!(image[second.offset as usize], 7);
        let listed: Vec<_> = (0..4)
            .map(|index| file(&image, &header, index).unwrap())
            .map(|file| (file.name, file.mode, &image[file.offset as usize..][..file.size as usize]))
            .collect();
        let wanted: [(&[u8], u32, &[u8]); 4] = [
            (b"/bin", 0o040755, b""),
            (b"/bin/alias", 0o120777, b"tool"),
            (b"/bin/tool", 0o100755, b"bytes"),
            (b"/empty", 0o100600, b""),
        ];
        assert_eq!(listed, wanted);
    }

    #[test]
    fn contents_start_at_pages() {
        let mut files = Files::default();
        files.add_file(Path::new("/a"), 0o644, vec![1; 5000]);
        files.add_file(Path::new("/b"), 0o644, *b"b");
        let image = image(&root(), &files).unwrap();
        let header = header(&image).unwrap();
        assert!((0..2).all(|index| file(&image, &header, index).unwrap().offset % PAGE_SIZE == 0));
        assert!((0..2).all(|index| segment(&image, index).unwrap().offset % PAGE_SIZE == 0));
    }

    #[test]
    fn equal_contents_are_stored_once() {
        let mut files = Files::default();
        ["/a", "/b", "/c"].iter().for_each(|path| files.add_file(Path::new(path), 0o644, vec![1; 5000]));
        files.add_file(Path::new("/d"), 0o644, vec![2; 5000]);
        let image = image(&root(), &files).unwrap();
        let header = header(&image).unwrap();
        let offsets: Vec<_> = (0..4).map(|index| file(&image, &header, index).unwrap().offset).collect();
        assert!(offsets[0] == offsets[1] && offsets[1] == offsets[2] && offsets[2] != offsets[3], "{offsets:?}");
    }

    #[test]
    fn too_many_segments_are_refused() {
        let many = Root { entry: 0, segments: vec![root().segments[0].clone(); 17] };
        assert!(image(&many, &Files::default()).is_err());
    }
}
