//! Reasons for which a volume is not mounted.

use core::fmt::{self, Display, Formatter};
use nacre_machine_9p::Errno;

/// Reason for which a volume is not mounted. Nothing has been written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// The disk has no superblock.
    NotExt4,
    /// The volume has features that are not known: bits of `s_feature_incompat`. 0: a volume from
    /// before 1997, without features.
    Features(u32),
    /// The volume's journal has features that are not known: bits of the journal's superblock.
    JournalFeatures(u32),
    /// The volume lacks something that must be there.
    Missing(&'static str),
    /// A fact of the superblock, of the table of groups or of the journal contradicts others.
    Corrupt(&'static str),
    /// The journal must be replayed first, and the volume must not be written.
    NeedsRecovery,
    /// The disk failed.
    Disk(Errno),
}

impl From<Errno> for MountError {
    fn from(errno: Errno) -> Self {
        match errno {
            crate::disk::errno::CORRUPT => MountError::Corrupt("tables of the volume"),
            errno => MountError::Disk(errno),
        }
    }
}

/// Names of features, by their bit.
const NAMES: [(u32, &str); 12] = [
    (1, "compression"),
    (8, "journal_dev"),
    (0x10, "meta_bg"),
    (0x100, "mmp"),
    (0x400, "ea_inode"),
    (0x1000, "dirdata"),
    (0x4000, "large_dir"),
    (0x8000, "inline_data"),
    (0x1_0000, "encrypt"),
    (0x2_0000, "casefold"),
    (0x20, "an unknown one"),
    (0x800, "an unknown one"),
];

impl Display for MountError {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            MountError::NotExt4 => write!(to, "no ext2, ext3 or ext4 is on this disk"),
            MountError::Features(0) => write!(to, "the volume's format is older than features"),
            MountError::Features(bits) => {
                write!(to, "the volume has features that are not known ({bits:#x}):")?;
                let named = NAMES.iter().filter(|(bit, _)| bits & bit != 0);
                named.into_iter().try_for_each(|(_, name)| write!(to, " {name}"))
            }
            MountError::JournalFeatures(bits) => {
                write!(to, "the volume's journal has features that are not known ({bits:#x})")
            }
            MountError::Missing(what) => write!(to, "the volume has not {what}"),
            MountError::Corrupt(what) => write!(to, "the volume is damaged: {what}"),
            MountError::NeedsRecovery => {
                write!(to, "the journal must be replayed, which a read-only volume forbids")
            }
            MountError::Disk(Errno(number)) => write!(to, "the disk failed with error {number}"),
        }
    }
}
