//! Files that go into the guest's memory.

use alloc::format;
use alloc::string::String;
use nacre_machine_load::{ByteSource, Unreadable};
use nacre_nest::Services;
use nacre_nest::command::lossy;
use nacre_proto::flags::O_RDONLY;
use nacre_proto::structures::Status;
use nacre_proto::{directory, file};
use nacre_sys::OwnedReference;

/// Bytes that one message carries.
const PIECE: usize = 16 << 10;

/// An open file.
pub struct File {
    port: OwnedReference,
    size: u64,
}

/// Opens a file.
pub fn open(services: &Services, path: &[u8]) -> Result<File, String> {
    let refused = |doing: &str, errno| format!("cannot {doing} {}: {errno}", lossy(path));
    let opened = directory::open(services.files(), O_RDONLY, 0, path).map_err(|errno| refused("open", errno))?;
    let mut bytes = [0; Status::SIZE];
    file::status(opened.file.handle(), &mut bytes).map_err(|errno| refused("read", errno))?;
    Ok(File { port: opened.file, size: Status::from_bytes(&bytes).map_or(0, |status| status.size) })
}

impl ByteSource for File {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        let mut at = at;
        for piece in into.chunks_mut(PIECE) {
            let size = piece.len() as u64;
            match file::read(self.port.handle(), at, size, piece) {
                Ok(reply) if reply.count == size => at += size,
                _ => return Err(Unreadable),
            }
        }
        Ok(())
    }
}
