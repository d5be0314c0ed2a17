//! Values of extended attributes that come in several messages.

use crate::tree::MAX_VALUE;
use alloc::borrow::Cow;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Values that come at a time, at most: the oldest goes.
const MAX_VALUES: usize = 8;

/// A value of which parts are there.
struct Begun {
    /// Word of the open file.
    file: u64,
    name: Vec<u8>,
    size: usize,
    bytes: Vec<u8>,
}

/// Values of which parts are there. They are at most half a megabyte.
#[derive(Default)]
pub struct Values(VecDeque<Begun>);

impl Values {
    /// Takes a part of a value of `size` bytes for an attribute of an open file. Returns the value
    /// once it is whole. `EAGAIN`: what comes before the part is not there.
    pub fn add<'a>(&mut self, file: u64, (name, part): (&[u8], &'a [u8]), offset: u64, size: u64) -> Result<Option<Cow<'a, [u8]>>, Errno> {
        let size = usize::try_from(size).ok().filter(|size| *size <= MAX_VALUE).ok_or(Errno::E2BIG)?;
        if offset == 0 && part.len() == size {
            return Ok(Some(Cow::Borrowed(part)));
        }
        let found = self.0.iter().position(|begun| begun.file == file && begun.name == name && begun.size == size);
        let begun = found.and_then(|index| self.0.remove(index)).filter(|_| offset != 0);
        let mut begun = begun.unwrap_or_else(|| Begun { file, name: name.to_vec(), size, bytes: Vec::new() });
        if begun.bytes.len() as u64 != offset {
            return Err(Errno::EAGAIN);
        }
        if part.is_empty() || part.len() > size - begun.bytes.len() {
            return Err(Errno::EINVAL);
        }
        begun.bytes.extend_from_slice(part);
        if begun.bytes.len() == size {
            return Ok(Some(Cow::Owned(begun.bytes)));
        }
        if self.0.len() >= MAX_VALUES {
            self.0.pop_front();
        }
        self.0.push_back(begun);
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_a_value_in_their_order_alone() {
        let mut values = Values::default();
        assert_eq!(values.add(1, (b"n", b"all"), 0, 3).unwrap().as_deref(), Some(&b"all"[..]));
        assert_eq!(values.add(1, (b"n", b"al"), 0, 3), Ok(None));
        assert_eq!(values.add(2, (b"n", b"l"), 2, 3), Err(Errno::EAGAIN), "another file");
        assert_eq!(values.add(1, (b"n", b"l"), 2, 3).unwrap().as_deref(), Some(&b"all"[..]));
        assert_eq!(values.add(1, (b"n", b"l"), 2, 3), Err(Errno::EAGAIN), "it is set");
        assert_eq!(values.add(1, (b"n", b"long"), 0, 3), Err(Errno::EINVAL));
        assert_eq!(values.add(1, (b"n", b"x"), 0, 1 << 20), Err(Errno::E2BIG));
        (0..9).for_each(|file| drop(values.add(file, (b"n", b"al"), 0, 3)));
        assert_eq!(values.add(0, (b"n", b"l"), 2, 3), Err(Errno::EAGAIN), "the oldest has gone");
        assert_eq!(values.add(8, (b"n", b"l"), 2, 3).unwrap().as_deref(), Some(&b"all"[..]));
    }
}
