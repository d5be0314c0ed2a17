//! What a program says of a message: where its name, its bytes and what is beside them are.

use crate::abi::errno::{EINVAL, Errno};
use crate::process::Process;
use alloc::vec::Vec;

/// Maximum number of pieces of a message's bytes.
const MAX_PIECES: u64 = 1024;

/// A `struct msghdr`.
pub struct Header {
    /// Address of the name, and its size.
    pub name: u64,
    /// 0 without a name.
    pub name_size: u64,
    /// Pieces of the buffer: address and size.
    pub pieces: Vec<(u64, u64)>,
    /// Address of the control bytes.
    pub control: u64,
    /// Size of the control bytes.
    pub control_size: u64,
}

impl Header {
    /// Reads it, as far as it makes sense.
    pub fn read(process: &Process, at: u64) -> Result<Header, Errno> {
        let [name, name_size, pieces, count, control, control_size, _] = process.memory.read_words(at)?;
        let name_size = name_size & 0xffff_ffff;
        if name_size as i32 > 0x7fff_fff0 || (name_size as i32) < 0 {
            return Err(EINVAL);
        }
        if count > MAX_PIECES {
            return Err(Errno::EMSGSIZE);
        }
        let pieces = process.memory.vectors(pieces, count)?;
        if pieces.iter().try_fold(0u64, |sum, piece| sum.checked_add(piece.1)).is_none_or(|sum| (sum as i64) < 0) {
            return Err(EINVAL);
        }
        Ok(Header { name, name_size: if name == 0 { 0 } else { name_size }, pieces, control, control_size })
    }
}
