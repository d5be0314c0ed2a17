//! What goes beside the bytes of a message: descriptors and credentials. The program sees them as
//! `cmsghdr`s; on their way, of each descriptor there is a reference, and eight bytes that say what
//! kind of file it is.

use crate::abi::errno::{EBADF, EINVAL, EPERM, Errno};
use crate::abi::file_flags::{FOREIGN, O_ACCESS, O_APPEND, O_NONBLOCK, O_PATH};
use crate::abi::socket_flags::{SOL_SOCKET, SO_TIMESTAMP};
use crate::abi::time_units::{MICROSECOND, REALTIME, SECOND};
use crate::operations::clock_reading;
use crate::operations::sockets::packet_facts;
use crate::process::Process;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::watch::Watch;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_sys::OwnedReference;

const SCM_RIGHTS: u32 = 1;
const SCM_CREDENTIALS: u32 = 2;
/// Bytes of a `cmsghdr`.
const HEADER: usize = 16;
/// Bytes of a `struct ucred`.
const CREDENTIALS: usize = 12;
/// Maximum number of descriptors in one message.
const MAX_FILES: usize = 253;
/// Bytes that say what kind of file a reference is.
pub const RECORD: usize = 8;

/// Ancillary data that a program sends.
#[derive(Default)]
pub struct Outgoing {
    /// Files.
    pub files: Vec<Rc<OpenFile>>,
    /// Process, user, group, if they are not its own.
    pub credentials: Option<[u32; 3]>,
}

/// A `cmsghdr` among bytes: level, type, and what is behind it; and what is behind that. `None`:
/// there is none any more.
fn header(bytes: &[u8]) -> Result<Option<(u32, u32, &[u8], &[u8])>, Errno> {
    let Some((head, _)) = bytes.split_at_checked(HEADER) else { return Ok(None) };
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let size = u64::from(word(0)) | u64::from(word(4)) << 32;
    let size = usize::try_from(size).ok().filter(|size| (HEADER..=bytes.len()).contains(size)).ok_or(EINVAL)?;
    let next = size.next_multiple_of(8).min(bytes.len());
    Ok(Some((word(8), word(12), &bytes[HEADER..size], &bytes[next..])))
}

/// Reads what a program wants to send.
pub fn parse(process: &mut Process, mut bytes: &[u8]) -> Result<Outgoing, Errno> {
    let mut outgoing = Outgoing::default();
    while let Some((level, kind, data, rest)) = header(bytes)? {
        bytes = rest;
        match (level, kind) {
            (SOL_SOCKET, SCM_RIGHTS) => add_files(process, &mut outgoing.files, data)?,
            (SOL_SOCKET, SCM_CREDENTIALS) => outgoing.credentials = Some(credentials(process, data)?),
            (SOL_SOCKET, _) => return Err(EINVAL),
            _ => {}
        }
    }
    Ok(outgoing)
}

fn add_files(process: &Process, files: &mut Vec<Rc<OpenFile>>, data: &[u8]) -> Result<(), Errno> {
    let numbers = data.chunks_exact(4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    if files.len() + numbers.len() > MAX_FILES {
        return Err(EINVAL);
    }
    for number in numbers {
        files.push(process.descriptors.get(number.into()).map_err(|_| EBADF)?);
    }
    Ok(())
}

/// Credentials that a program claims: the superuser's may be any.
fn credentials(process: &mut Process, data: &[u8]) -> Result<[u32; 3], Errno> {
    let bytes: &[u8; CREDENTIALS] = data.try_into().map_err(|_| EINVAL)?;
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let claimed = [word(0), word(4), word(8)];
    let own = process.owner();
    let [user, effective, saved, group, effective_group, saved_group] = process.identity.owner();
    let is_own =
        u64::from(claimed[0]) == own[0] && [user, effective, saved].contains(&claimed[1]) && [group, effective_group, saved_group].contains(&claimed[2]);
    if is_own || effective == 0 { Ok(claimed) } else { Err(EPERM) }
}

/// Returns the record that describes a file to the receiver of its reference.
pub fn record(file: &OpenFile) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    bytes[..4].copy_from_slice(&file.mode.get().to_le_bytes());
    bytes[4..].copy_from_slice(&file.flags.get().to_le_bytes());
    bytes
}

/// The open file that a reference and what is said of it make.
pub fn open_file(reference: OwnedReference, record: &[u8]) -> OpenFile {
    let word = |at: usize| record.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
    let known = O_ACCESS | O_NONBLOCK | O_APPEND | O_PATH;
    let file = OpenFile::new(Kind::Remote(reference), word(0) & !FOREIGN, word(4) & known);
    // Whoever sent it may serve it.
    file.watch.set(Watch { is_foreign: true, ..Watch::default() });
    file
}

/// Buffer for ancillary data that a program receives.
pub struct Incoming {
    at: u64,
    room: u64,
    used: u64,
    /// Something did not fit.
    pub is_cut: bool,
}

impl Incoming {
    /// The place that a `msghdr` names.
    pub fn new(at: u64, room: u64) -> Incoming {
        Incoming { at, room: if at == 0 { 0 } else { room }, used: 0, is_cut: false }
    }

    /// Bytes that have been written.
    pub fn used(&self) -> u64 {
        self.used
    }

    fn left(&self) -> u64 {
        self.room - self.used
    }

    /// Returns the number of descriptors that fit, after credentials if those come.
    pub fn files(&self, with_credentials: bool) -> usize {
        let before = if with_credentials { (HEADER + CREDENTIALS).next_multiple_of(8) as u64 } else { 0 };
        let room = self.room.saturating_sub(before);
        (room.saturating_sub(HEADER as u64) / 4).min(MAX_FILES as u64) as usize
    }

    /// Writes one `cmsghdr`, cut off where there is no room.
    fn put(&mut self, process: &mut Process, (level, kind): (u32, u32), data: &[u8]) -> Result<(), Errno> {
        if self.left() < HEADER as u64 {
            self.is_cut = true;
            return Ok(());
        }
        let whole = (HEADER + data.len()) as u64;
        let size = whole.min(self.left());
        self.is_cut |= size < whole;
        let mut bytes = size.to_le_bytes().to_vec();
        bytes.extend(level.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(&data[..size as usize - HEADER]);
        process.memory.write_bytes(self.at + self.used, &bytes)?;
        self.used += whole.next_multiple_of(8).min(self.left());
        Ok(())
    }

    /// Tells who sent the message.
    pub fn put_credentials(&mut self, process: &mut Process, credentials: [u32; 3]) -> Result<(), Errno> {
        let bytes: Vec<u8> = credentials.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(process, (SOL_SOCKET, SCM_CREDENTIALS), &bytes)
    }

    /// Tells when a datagram of the internet was received, and facts about its packet, as far as
    /// the socket's options ask for that.
    pub fn put_facts(&mut self, process: &mut Process, file: &OpenFile, from: &[u8]) -> Result<(), Errno> {
        if file.options.get().switch(SO_TIMESTAMP) == Some(1) {
            let now = clock_reading::now(process, REALTIME)?;
            let words = [now / SECOND, now % SECOND / MICROSECOND];
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            self.put(process, (SOL_SOCKET, SO_TIMESTAMP), &bytes)?;
        }
        for (level, kind, data) in packet_facts::all(process, file, from)? {
            self.put(process, (level, kind), &data)?;
        }
        Ok(())
    }

    /// Gives the program the files that came.
    pub fn put_files(&mut self, process: &mut Process, files: Vec<OpenFile>, close_on_exec: bool) -> Result<(), Errno> {
        let mut numbers = Vec::new();
        for file in files {
            match process.open(file, close_on_exec) {
                Ok(number) => numbers.extend((number as u32).to_le_bytes()),
                Err(_) => {
                    self.is_cut = true;
                    break;
                }
            }
        }
        if numbers.is_empty() { Ok(()) } else { self.put(process, (SOL_SOCKET, SCM_RIGHTS), &numbers) }
    }
}
