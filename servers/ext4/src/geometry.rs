//! Facts of a volume that do not change while it is mounted, from its superblock.

use crate::bytes::{halves, u16_at, u32_at};
use crate::checksum::crc32c;
use crate::mount_error::MountError;

/// Size of the superblock, and its position on the disk.
pub const SUPERBLOCK_SIZE: usize = 1024;
const MAGIC: u16 = 0xef53;
/// Number of the checksum's algorithm: CRC-32C.
const CRC32C: u8 = 1;
const CREATOR_REVISION: u32 = 1;

/// Features that other programs may ignore.
pub mod compatible {
    pub const HAS_JOURNAL: u32 = 4;
    pub const RESIZE_INODE: u32 = 0x10;
    pub const DIR_INDEX: u32 = 0x20;
    pub const SPARSE_SUPER2: u32 = 0x200;
}

/// Features without which a volume cannot be read.
pub mod incompatible {
    pub const FILE_TYPE: u32 = 2;
    pub const RECOVER: u32 = 4;
    pub const EXTENTS: u32 = 0x40;
    pub const BITS_64: u32 = 0x80;
    pub const FLEX_GROUPS: u32 = 0x200;
    pub const CHECKSUM_SEED: u32 = 0x2000;
    pub const KNOWN: u32 = FILE_TYPE | RECOVER | EXTENTS | BITS_64 | FLEX_GROUPS | CHECKSUM_SEED;
}

/// Features without which a volume cannot be written.
pub mod read_only {
    pub const SPARSE_SUPER: u32 = 1;
    pub const LARGE_FILE: u32 = 2;
    pub const HUGE_FILE: u32 = 8;
    pub const GROUP_CHECKSUMS: u32 = 0x10;
    pub const DIR_NLINK: u32 = 0x20;
    pub const EXTRA_SIZE: u32 = 0x40;
    pub const CHECKSUMS: u32 = 0x400;
    pub const CLUSTERS: u32 = 0x200;
    pub const KNOWN: u32 =
        SPARSE_SUPER | LARGE_FILE | HUGE_FILE | GROUP_CHECKSUMS | DIR_NLINK | EXTRA_SIZE | CHECKSUMS;
}

/// Places in a superblock.
pub mod at {
    pub const INODES: usize = 0;
    pub const BLOCKS: usize = 4;
    pub const FREE_BLOCKS: usize = 12;
    pub const FREE_INODES: usize = 16;
    pub const FIRST_BLOCK: usize = 20;
    pub const BLOCK_SIZE_LOG: usize = 24;
    pub const BLOCKS_PER_GROUP: usize = 32;
    pub const INODES_PER_GROUP: usize = 40;
    pub const WRITE_TIME: usize = 48;
    pub const MAGIC: usize = 56;
    pub const STATE: usize = 58;
    pub const REVISION: usize = 76;
    pub const FIRST_INODE: usize = 84;
    pub const INODE_SIZE: usize = 88;
    pub const COMPATIBLE: usize = 92;
    pub const INCOMPATIBLE: usize = 96;
    pub const READ_ONLY: usize = 100;
    pub const UUID: usize = 104;
    pub const RESERVED_TABLE: usize = 206;
    pub const JOURNAL_INODE: usize = 224;
    pub const LAST_ORPHAN: usize = 232;
    pub const HASH_SEED: usize = 236;
    pub const HASH_VERSION: usize = 252;
    pub const DESCRIPTOR_SIZE: usize = 254;
    pub const BLOCKS_HIGH: usize = 336;
    pub const FREE_BLOCKS_HIGH: usize = 344;
    pub const WANTED_EXTRA: usize = 350;
    pub const FLAGS: usize = 352;
    pub const CHECKSUM_TYPE: usize = 373;
    pub const BACKUP_GROUPS: usize = 0x24c;
    pub const CHECKSUM_SEED: usize = 0x270;
    pub const CHECKSUM: usize = 1020;
}

/// Flag of a superblock: hashes of names take bytes as unsigned.
const UNSIGNED_HASH: u32 = 2;

/// Facts of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Size of a block in bytes.
    pub block_size: usize,
    /// Number of blocks, those before the first group among them.
    pub blocks: u64,
    /// Number of inodes.
    pub inodes: u32,
    /// First block of the first group.
    pub first_block: u64,
    /// Blocks of a group.
    pub blocks_per_group: u32,
    /// Inodes of a group.
    pub inodes_per_group: u32,
    /// Number of groups.
    pub groups: u32,
    /// Size of an inode in bytes.
    pub inode_size: usize,
    /// Bytes of a new inode that are used beyond the first 128.
    pub extra_size: u16,
    /// First inode that is not reserved.
    pub first_inode: u32,
    /// Size of a group descriptor in bytes.
    pub descriptor_size: usize,
    /// Blocks that are kept for the table of groups to grow.
    pub reserved_table: u32,
    /// Inode of the journal; 0: there is none.
    pub journal_inode: u32,
    /// Features of the three kinds.
    pub compatible: u32,
    pub incompatible: u32,
    pub read_only: u32,
    /// Groups with a copy of the superblock, where there are but two.
    pub backup_groups: [u32; 2],
    /// Seed of all checksums.
    pub seed: u32,
    /// Name of the volume as bytes.
    pub uuid: [u8; 16],
    /// Seed of hashes of names, number of the function, and whether bytes are unsigned.
    pub hash_seed: [u32; 4],
    pub hash_version: u8,
    pub hash_unsigned: bool,
}

fn check(is_right: bool, what: &'static str) -> Result<(), MountError> {
    if is_right { Ok(()) } else { Err(MountError::Corrupt(what)) }
}

impl Geometry {
    /// Reads a superblock, and checks it against the size of the disk in bytes.
    pub fn decode(bytes: &[u8], disk_size: u64) -> Result<Geometry, MountError> {
        let word = |at| u32_at(bytes, at);
        if bytes.len() < SUPERBLOCK_SIZE || u16_at(bytes, at::MAGIC) != MAGIC {
            return Err(MountError::NotExt4);
        }
        let unknown = word(at::INCOMPATIBLE) & !incompatible::KNOWN;
        if unknown != 0 || word(at::REVISION) < CREATOR_REVISION {
            return Err(MountError::Features(unknown));
        }
        if word(at::INCOMPATIBLE) & incompatible::FILE_TYPE == 0 {
            return Err(MountError::Missing("filetype"));
        }
        if word(at::READ_ONLY) & read_only::CLUSTERS != 0 {
            return Err(MountError::Missing("plain blocks: bigalloc is not known"));
        }
        if word(at::BLOCK_SIZE_LOG) > 5 {
            return Err(MountError::Missing("a block size of at most 32 KiB"));
        }
        let geometry = Self::fields(bytes);
        geometry.check_sizes(disk_size)?;
        geometry.check_sum(bytes)?;
        Ok(geometry)
    }

    fn fields(bytes: &[u8]) -> Geometry {
        let word = |at| u32_at(bytes, at);
        let (incompatible, compatible) = (word(at::INCOMPATIBLE), word(at::COMPATIBLE));
        let is_large = incompatible & incompatible::BITS_64 != 0;
        let blocks = halves(word(at::BLOCKS), if is_large { word(at::BLOCKS_HIGH) } else { 0 });
        let first_block = u64::from(word(at::FIRST_BLOCK));
        let blocks_per_group = word(at::BLOCKS_PER_GROUP);
        let in_groups = blocks.saturating_sub(first_block);
        let groups = in_groups.div_ceil(u64::from(blocks_per_group.max(1)));
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&bytes[at::UUID..at::UUID + 16]);
        let seeded = incompatible & incompatible::CHECKSUM_SEED != 0;
        let has_journal = compatible & compatible::HAS_JOURNAL != 0;
        let has_spare = compatible & compatible::RESIZE_INODE != 0;
        let descriptor_size = usize::from(u16_at(bytes, at::DESCRIPTOR_SIZE));
        Geometry {
            block_size: 1024 << word(at::BLOCK_SIZE_LOG).min(5),
            blocks,
            inodes: word(at::INODES),
            first_block,
            blocks_per_group,
            inodes_per_group: word(at::INODES_PER_GROUP),
            groups: u32::try_from(groups).unwrap_or(u32::MAX),
            inode_size: usize::from(u16_at(bytes, at::INODE_SIZE)),
            extra_size: u16_at(bytes, at::WANTED_EXTRA),
            first_inode: word(at::FIRST_INODE),
            descriptor_size: if is_large { descriptor_size } else { 32 },
            reserved_table: if has_spare { u16_at(bytes, at::RESERVED_TABLE).into() } else { 0 },
            journal_inode: if has_journal { word(at::JOURNAL_INODE) } else { 0 },
            compatible,
            incompatible,
            read_only: word(at::READ_ONLY),
            backup_groups: [word(at::BACKUP_GROUPS), word(at::BACKUP_GROUPS + 4)],
            seed: if seeded { word(at::CHECKSUM_SEED) } else { crc32c(!0, &uuid) },
            uuid,
            hash_seed: core::array::from_fn(|index| word(at::HASH_SEED + 4 * index)),
            hash_version: bytes[at::HASH_VERSION],
            hash_unsigned: word(at::FLAGS) & UNSIGNED_HASH != 0,
        }
    }

    fn check_sizes(&self, disk_size: u64) -> Result<(), MountError> {
        let size = self.block_size;
        let bits = 8 * size as u32;
        let is_group = |count: u32| count >= 8 && count <= bits && count.is_multiple_of(8);
        check(is_group(self.blocks_per_group), "blocks per group")?;
        check(is_group(self.inodes_per_group), "inodes per group")?;
        check(self.first_block == u64::from(size == 1024), "first block")?;
        check(self.blocks >= 8 && self.blocks <= disk_size / size as u64, "number of blocks")?;
        check(self.groups < u32::MAX / bits, "number of groups")?;
        let inodes = u64::from(self.groups) * u64::from(self.inodes_per_group);
        check(u64::from(self.inodes) == inodes, "number of inodes")?;
        let inode_size = self.inode_size;
        check(inode_size.is_power_of_two() && inode_size >= 128 && inode_size <= size, "inode size")?;
        check(self.first_inode >= 11 && self.first_inode <= self.inodes, "first inode")?;
        let descriptor = self.descriptor_size;
        let is_right = descriptor.is_power_of_two() && descriptor >= 32 && descriptor <= size;
        check(is_right && (descriptor >= 64 || !self.is_64_bit()), "size of a group descriptor")?;
        check(self.table_blocks() < u64::from(self.blocks_per_group), "table of groups")?;
        let is_tight = self.extra_size % 4 == 0 && usize::from(self.extra_size) + 128 <= inode_size;
        check(is_tight || inode_size == 128, "size of an inode's extra fields")
    }

    fn check_sum(&self, bytes: &[u8]) -> Result<(), MountError> {
        if !self.has_checksums() {
            return Ok(());
        }
        if bytes[at::CHECKSUM_TYPE] != CRC32C {
            return Err(MountError::Missing("checksums by CRC-32C"));
        }
        check(u32_at(bytes, at::CHECKSUM) == crc32c(!0, &bytes[..at::CHECKSUM]), "checksum of the superblock")
    }

    /// Returns true if block numbers have 64 bits.
    pub fn is_64_bit(&self) -> bool {
        self.incompatible & incompatible::BITS_64 != 0
    }

    /// Returns true if everything but data has a checksum.
    pub fn has_checksums(&self) -> bool {
        self.read_only & read_only::CHECKSUMS != 0
    }

    /// Returns true if group descriptors have a checksum, and tell which bitmaps are not filled in.
    pub fn has_group_flags(&self) -> bool {
        self.read_only & (read_only::CHECKSUMS | read_only::GROUP_CHECKSUMS) != 0
    }

    /// Returns true if directories have indices.
    pub fn has_index(&self) -> bool {
        self.compatible & compatible::DIR_INDEX != 0
    }

    /// Returns true if new files have extents.
    pub fn has_extents(&self) -> bool {
        self.incompatible & incompatible::EXTENTS != 0
    }

    /// Returns the block of the superblock, and its position there.
    pub fn superblock(&self) -> (u64, usize) {
        if self.block_size == SUPERBLOCK_SIZE { (1, 0) } else { (0, SUPERBLOCK_SIZE) }
    }

    /// Returns the number of blocks that the table of groups takes.
    pub fn table_blocks(&self) -> u64 {
        let each = (self.block_size / self.descriptor_size.max(32)) as u64;
        u64::from(self.groups).div_ceil(each.max(1))
    }

    /// Returns the block and the position of a group's descriptor.
    pub fn descriptor(&self, group: u32) -> (u64, usize) {
        let each = self.block_size / self.descriptor_size;
        let (block, place) = (group as usize / each, group as usize % each);
        (self.first_block + 1 + block as u64, place * self.descriptor_size)
    }

    /// Returns a group's first block.
    pub fn group_start(&self, group: u32) -> u64 {
        self.first_block + u64::from(group) * u64::from(self.blocks_per_group)
    }

    /// Returns the number of blocks of a group: the last one may have fewer.
    pub fn group_blocks(&self, group: u32) -> u32 {
        let left = self.blocks.saturating_sub(self.group_start(group));
        left.min(u64::from(self.blocks_per_group)) as u32
    }

    /// Returns the group and the place there of a block.
    pub fn group_of(&self, block: u64) -> (u32, u32) {
        let at = block.saturating_sub(self.first_block);
        let each = u64::from(self.blocks_per_group);
        ((at / each) as u32, (at % each) as u32)
    }

    /// Returns true if a group has a copy of the superblock.
    pub fn has_superblock(&self, group: u32) -> bool {
        let power = |base: u32| {
            let mut value = base;
            while value < group {
                value = value.saturating_mul(base);
            }
            value == group
        };
        if group == 0 {
            return true;
        }
        if self.compatible & compatible::SPARSE_SUPER2 != 0 {
            return self.backup_groups.contains(&group);
        }
        let is_sparse = self.read_only & read_only::SPARSE_SUPER != 0;
        !is_sparse || group == 1 || [3, 5, 7].into_iter().any(power)
    }
}
