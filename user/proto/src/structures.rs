//! Structures that travel as bytes: little endian, without padding, the same on every machine.

/// Declares a structure of 64-bit words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: u64,)* }

        impl $name {
            /// Names of the words, in order.
            pub const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
            /// Size in bytes.
            pub const SIZE: usize = 8 * Self::FIELDS.len();

            /// As it travels.
            pub fn to_bytes(&self) -> [u8; Self::SIZE] {
                let mut bytes = [0; Self::SIZE];
                for (place, word) in bytes.chunks_exact_mut(8).zip([$(self.$field),*]) {
                    place.copy_from_slice(&word.to_le_bytes());
                }
                bytes
            }

            /// Decodes the first bytes; `None` if there are too few.
            pub fn from_bytes(bytes: &[u8]) -> Option<$name> {
                let mut words = bytes.chunks_exact(8).map(word);
                Some($name { $($field: words.next()?,)* })
            }
        }
    };
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

words! {
    /// Status of a file. The words mean what those of Linux's `struct stat` do.
    Status {
        /// The device that it is on.
        device,
        /// Inode number on the device.
        inode,
        /// Kind and permissions.
        mode,
        /// Number of its names.
        links,
        /// Owner.
        uid,
        /// Group.
        gid,
        /// Number of the device that the file is.
        rdevice,
        /// Size in bytes.
        size,
        /// Size for efficient transfers.
        block_size,
        /// Number of blocks of 512 bytes that it occupies.
        blocks,
        /// Last read: seconds since 1970.
        atime_sec,
        /// Nanoseconds of that time.
        atime_nsec,
        /// Last change of the contents: seconds since 1970.
        mtime_sec,
        /// Nanoseconds of that time.
        mtime_nsec,
        /// Last change of the file or of what is known of it: seconds since 1970.
        ctime_sec,
        /// Nanoseconds of that time.
        ctime_nsec,
    }
}

/// A terminal's attributes: the kernel form of Linux's `struct termios`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `c_iflag`.
    pub input: u32,
    /// `c_oflag`.
    pub output: u32,
    /// `c_cflag`.
    pub control: u32,
    /// `c_lflag`.
    pub local: u32,
    /// `c_line`.
    pub line: u8,
    /// `c_cc`.
    pub characters: [u8; 19],
}

impl Attributes {
    /// Size in bytes.
    pub const SIZE: usize = 36;

    /// As they travel.
    pub fn to_bytes(&self) -> [u8; Attributes::SIZE] {
        let mut bytes = [0; Attributes::SIZE];
        for (place, half) in bytes.chunks_exact_mut(4).zip([self.input, self.output, self.control, self.local]) {
            place.copy_from_slice(&half.to_le_bytes());
        }
        bytes[16] = self.line;
        bytes[17..].copy_from_slice(&self.characters);
        bytes
    }

    /// Decodes the first bytes; `None` if there are too few.
    pub fn from_bytes(bytes: &[u8]) -> Option<Attributes> {
        let bytes = bytes.get(..Attributes::SIZE)?;
        let mut halves = bytes.chunks_exact(4).map(|half| word(half) as u32);
        Some(Attributes {
            input: halves.next()?,
            output: halves.next()?,
            control: halves.next()?,
            local: halves.next()?,
            line: bytes[16],
            characters: bytes[17..].try_into().ok()?,
        })
    }
}

/// One entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Number of the file.
    pub inode: u64,
    /// Mode of the file; at least the kind is right.
    pub mode: u32,
    /// Name of the entry.
    pub name: &'a [u8],
}

/// Bytes before an entry's name.
const ENTRY_HEADER: usize = 16;

impl Entry<'_> {
    /// Returns the packed size: `inode` (8 bytes), `mode` (4), size of the name (4), the name,
    /// zeros up to a multiple of 8.
    pub const fn packed_size(&self) -> usize {
        (ENTRY_HEADER + self.name.len()).next_multiple_of(8)
    }

    /// Writes it at the start of `buffer`: how many bytes, or `None` if there is no room.
    pub fn pack(&self, buffer: &mut [u8]) -> Option<usize> {
        let place = buffer.get_mut(..self.packed_size())?;
        place[..8].copy_from_slice(&self.inode.to_le_bytes());
        place[8..12].copy_from_slice(&self.mode.to_le_bytes());
        place[12..16].copy_from_slice(&u32::try_from(self.name.len()).ok()?.to_le_bytes());
        let (name, rest) = place[ENTRY_HEADER..].split_at_mut(self.name.len());
        name.copy_from_slice(self.name);
        rest.fill(0);
        Some(self.packed_size())
    }
}

/// Entries that travelled; ends at the first that is not whole.
#[derive(Clone, Debug)]
pub struct Entries<'a>(pub &'a [u8]);

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let header = self.0.get(..ENTRY_HEADER)?;
        let name_size = word(&header[12..]) as usize;
        let name = self.0.get(ENTRY_HEADER..ENTRY_HEADER.checked_add(name_size)?)?;
        let entry = Entry { inode: word(&header[..8]), mode: word(&header[8..12]) as u32, name };
        self.0 = self.0.get(entry.packed_size()..).unwrap_or_default();
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_status_is_these_bytes() {
        let status = Status { device: 1, inode: 2, size: 0x1234, ctime_nsec: 9, ..Status::default() };
        let bytes = status.to_bytes();
        assert_eq!(Status::SIZE, 128);
        assert_eq!((bytes[0], bytes[8], bytes[56], bytes[57], bytes[120]), (1, 2, 0x34, 0x12, 9));
        assert_eq!(Status::from_bytes(&bytes), Some(status));
        assert_eq!(Status::from_bytes(&bytes[..127]), None);
    }

    #[test]
    fn attributes_are_these_bytes() {
        let attributes = Attributes { input: 0x500, output: 5, control: 0xbf, local: 0x8a3b, line: 0, characters: [3; 19] };
        let bytes = attributes.to_bytes();
        assert_eq!(&bytes[..5], &[0, 5, 0, 0, 5]);
        assert_eq!((bytes[16], bytes[17], bytes[35]), (0, 3, 3));
        assert_eq!(Attributes::from_bytes(&bytes), Some(attributes));
        assert_eq!(Attributes::from_bytes(&bytes[1..]), None);
    }

    #[test]
    fn entries_follow_each_other() {
        let all = [
            Entry { inode: 1, mode: 0o40755, name: b"." },
            Entry { inode: 7, mode: 0o100644, name: b"12345678" },
            Entry { inode: u64::MAX, mode: 0o120777, name: b"" },
        ];
        let mut bytes = [0xffu8; 128];
        let mut used = 0;
        for entry in &all {
            used += entry.pack(&mut bytes[used..]).unwrap();
        }
        assert_eq!(used, 24 + 24 + 16);
        assert_eq!(Entries(&bytes[..used]).collect::<Vec<_>>(), all);
        assert_eq!(Entries(&bytes[..used - 1]).count(), 2);
        assert_eq!(all[1].pack(&mut bytes[..23]), None);
    }

    #[test]
    fn a_wild_size_ends_the_list() {
        let mut bytes = [0u8; 64];
        bytes[12..16].fill(0xff);
        assert_eq!(Entries(&bytes).count(), 0);
    }
}
