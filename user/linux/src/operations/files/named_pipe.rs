//! Named pipes: a file in a directory, and the pipe of the channel service that is found by the
//! file's number.

use crate::abi::errno::{EINTR, ERESTART, Errno};
use crate::abi::file_flags::{O_ACCESS, O_DIRECT, O_NONBLOCK, S_IFIFO, S_IFMT};
use crate::operations::paths::file_status;
use crate::process::Process;
use crate::state::files::open_file::{Kind, OpenFile};
use alloc::boxed::Box;
use nacre_proto::channel;
use nacre_proto::sender::words;
use nacre_proto::structures::Status;
use nacre_sys::{Reference, SpanMut, EmptySlot};
use nacre_sys::ipc::{Buffers, Message};

/// Returns the key of the pipe or socket whose file this is.
pub fn key(file: &Status) -> alloc::vec::Vec<u8> {
    let mut key = b"/".to_vec();
    key.extend(file.device.to_le_bytes());
    key.extend(file.inode.to_le_bytes());
    key
}

/// Opens the named pipe at a path, once it has its other side. `ENXIO`: there is something else.
pub fn open_fifo(process: &mut Process, directory: Reference, path: &[u8], flags: u32) -> Result<OpenFile, Errno> {
    let found = file_status::of_path(directory, path)?;
    if found.mode as u32 & S_IFMT != S_IFIFO {
        return Err(Errno::ENXIO);
    }
    let service = process.services.channels().map_err(|_| Errno::ENXIO)?;
    let slot = EmptySlot::<Reference>::new()?;
    let key = key(&found);
    let message = Message { bytes: (&key[..]).into(), ..Message::new(channel::fifo::LABEL, words([u64::from(flags & (O_ACCESS | O_NONBLOCK | O_DIRECT))])) };
    let buffers = Buffers { bytes: SpanMut::EMPTY, slots: &[slot.handle()] };
    process.exchange(service, &message, buffers).map_err(|error| if error == EINTR { ERESTART } else { error })?;
    let file = OpenFile::new(Kind::Remote(slot.occupied()), found.mode as u32, flags);
    // Programs compare it with what they have seen at the path.
    let _ = file.found_by.set(Box::new(found));
    Ok(file)
}
