//! The head of a generation: one block that says where its table is.

use super::checksum;
use crate::{PAGE, Page};

/// First bytes of a head.
const MAGIC: [u8; 16] = *b"nacre generation";
/// Version of all that stands in the file.
pub const VERSION: u64 = 1;
/// Bytes before the checksum: the magic bytes and six words.
const SIZE: usize = 64;

/// Contents of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Blocks of the file.
    pub blocks: u64,
    /// Number of the generation.
    pub generation: u64,
    /// Bytes of the table.
    pub size: u64,
    /// First block of the table, or 0.
    pub first: u64,
    /// Checksum of the table.
    pub sum: u64,
}

/// Contents of a head's block.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// A head.
    Head(Head),
    /// A head of another version.
    Version(u64),
    /// A head whose checksum is wrong.
    Damaged,
    /// Zeros.
    Nothing,
    /// Something else.
    Other,
}

impl Head {
    /// The head of a file without dataspaces.
    pub fn empty(blocks: u64) -> Head {
        Head { blocks, sum: checksum(&[]), ..Head::default() }
    }

    /// The block in which this generation's head stands.
    pub fn place(&self) -> u64 {
        self.generation % super::HEADS
    }

    /// The block that holds the head.
    pub fn encode(&self) -> Page {
        let mut block = [0; PAGE];
        block[..16].copy_from_slice(&MAGIC);
        let words = [VERSION, self.blocks, self.generation, self.size, self.first, self.sum];
        for (place, word) in block[16..SIZE].chunks_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let sum = checksum(&block[..SIZE]);
        block[SIZE..SIZE + 8].copy_from_slice(&sum.to_le_bytes());
        block
    }
}

/// Reads a head's block.
pub fn decode(block: &Page) -> Found {
    let word = |index: usize| block[16 + 8 * index..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    if *block == [0; PAGE] {
        Found::Nothing
    } else if block[..16] != MAGIC {
        Found::Other
    } else if word(6) != checksum(&block[..SIZE]) {
        Found::Damaged
    } else if word(0) != VERSION {
        Found::Version(word(0))
    } else {
        Found::Head(Head { blocks: word(1), generation: word(2), size: word(3), first: word(4), sum: word(5) })
    }
}

/// Returns true if the block is a first head that was not written to its end.
pub fn is_begun(block: &Page, blocks: u64) -> bool {
    block.iter().zip(&Head::empty(blocks).encode()).all(|(found, whole)| *found == 0 || found == whole)
}
