//! Contents of a file that is to be a disk, as far as they are no volume that the guest can use:
//! known by what stands at their beginning.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes at an offset by which a kind is known, and what a person calls it.
type Sign = (u64, &'static [u8], &'static str);

/// Place and value by which ext2, ext3 and ext4 are known.
const EXT: (u64, [u8; 2]) = (1080, [0x53, 0xef]);

/// Signs of others, the surest first.
const SIGNS: [Sign; 17] = [
    (0, b"XFSB", "an xfs volume"),
    (0x1_0040, b"_BHRfS_M", "a btrfs volume"),
    (1024, &[0x10, 0x20, 0xf5, 0xf2], "an f2fs volume"),
    (0, b"hsqs", "a squashfs volume"),
    (32_769, b"CD001", "a volume of a disc (ISO 9660)"),
    (4086, b"SWAPSPACE2", "swap space"),
    (0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
    (536, b"LVM2 001", "a part of a group of volumes (LVM)"),
    (3, b"NTFS    ", "an NTFS volume"),
    (82, b"FAT32", "a FAT volume"),
    (54, b"FAT1", "a FAT volume"),
    (0, b"QFI\xfb", "a qcow2 image"),
    (0, &[0x1f, 0x8b], "gzip's data"),
    (0, b"\xfd7zXZ\0", "xz's data"),
    (0, &[0x28, 0xb5, 0x2f, 0xfd], "zstd's data"),
    (512, b"EFI PART", "a table of partitions"),
    (510, &[0x55, 0xaa], "a table of partitions"),
];

/// Returns what is in the file, if it is known, and is nothing that the guest can use.
pub fn foreign(file: &File) -> Option<&'static str> {
    let has = |at: u64, sign: &[u8]| {
        let mut there = vec![0; sign.len()];
        file.read_exact_at(&mut there, at).is_ok() && there == sign
    };
    if has(EXT.0, &EXT.1) {
        return None;
    }
    SIGNS.iter().find(|(at, sign, _)| has(*at, sign)).map(|(_, _, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn what_is_no_volume_of_ours_is_named() {
        let folder = Folder::new("contents").unwrap();
        let path = folder.path().join("disk");
        let of = |parts: &[(usize, &[u8])]| {
            let mut bytes = vec![0; 70_000];
            parts.iter().for_each(|(at, part)| bytes[*at..at + part.len()].copy_from_slice(part));
            std::fs::write(&path, bytes).unwrap();
            foreign(&File::open(&path).unwrap())
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(0, b"XFSB")]), Some("an xfs volume"));
        assert_eq!(of(&[(0x1_0040, b"_BHRfS_M")]), Some("a btrfs volume"));
        assert_eq!(of(&[(510, &[0x55, 0xaa])]), Some("a table of partitions"));
        assert_eq!(of(&[(510, &[0x55, 0xaa]), (82, b"FAT32   ")]), Some("a FAT volume"));
        // A volume of ours may have anything in its first sector.
        assert_eq!(of(&[(510, &[0x55, 0xaa]), (1080, &[0x53, 0xef])]), None);
        std::fs::write(&path, b"").unwrap();
        assert_eq!(foreign(&File::open(&path).unwrap()), None);
    }
}
