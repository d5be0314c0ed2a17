//! Extended attributes: names with values that the server keeps for a file. What a user may do with
//! them is judged here, by the beginning of the name, as Linux does.

use crate::abi::errno::{Answer, E2BIG, EINVAL, ENODATA, ENOSYS, EOPNOTSUPP, EPERM, ERANGE, Errno};
use crate::abi::file_flags::{AT_SYMLINK_NOFOLLOW, CURRENT, O_PATH};
use crate::abi::registers::Frame;
use crate::operations::paths::attribute_target::{self, Subject};
use crate::operations::paths::file_status;
use crate::operations::paths::permissions::{self, READ, S_IFMT, WRITE};
use crate::process::Process;
use crate::process::exchange::Place;
use crate::state::capabilities::{FILE_CAPABILITIES, SYSTEM};
use crate::state::files::open_file::OpenFile;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_proto::attribute_values::{self, MAX_VALUE};
use nacre_proto::flags::O_NOFOLLOW;
use nacre_proto::structures::Status;
use nacre_proto::{directory, file};
use nacre_sys::{OwnedReference, Reference};

/// Bytes of a name, at most.
const MAX_NAME: u64 = 255;
/// Flags of `setxattr`: the attribute must not be there, or must be.
const FLAGS: u64 = 3;
/// Name of the attribute that gives a program capabilities.
const CAPABILITY: &[u8] = b"security.capability";
const S_IFDIR: u64 = 0o040000;
const S_IFREG: u64 = 0o100000;
const STICKY: u64 = 0o1000;

/// File of a call, as the server knows it.
enum Target {
    /// A file that was opened as a place for the call, and its status if modes say anything to the
    /// user.
    Place(OwnedReference, Option<Status>),
    /// An open file of the program's.
    Open(Rc<OpenFile>),
    /// A file that keeps no attributes, such as a pipe.
    Nothing,
}

impl Target {
    fn reference(&self) -> Result<Reference, Errno> {
        match self {
            Target::Place(reference, _) => Ok(reference.handle()),
            Target::Open(open) => open.reference().map_err(|_| EOPNOTSUPP),
            Target::Nothing => Err(EOPNOTSUPP),
        }
    }

    fn status(&self, process: &mut Process) -> Result<Status, Errno> {
        match self {
            Target::Open(open) => file_status::of_file(process, open),
            Target::Place(_, Some(status)) => Ok(*status),
            Target::Place(reference, None) => {
                let mut bytes = [0; Status::SIZE];
                file::status(reference.handle(), &mut bytes[..])?;
                Status::from_bytes(&bytes).ok_or(EINVAL)
            }
            Target::Nothing => Err(EOPNOTSUPP),
        }
    }
}

/// Way in which a call names its file.
#[derive(Clone, Copy)]
enum Way {
    /// Path, whose last link is followed or not.
    Path(bool),
    /// Descriptor.
    Descriptor,
}

fn target(process: &mut Process, way: Way, frame: &Frame) -> Result<Target, Errno> {
    let subject = frame.arguments()[0];
    let Way::Path(follows) = way else {
        attribute_target::check_opened(process, subject)?;
        return process.descriptors.get(subject).map(Target::Open);
    };
    let flags = if follows { 0 } else { AT_SYMLINK_NOFOLLOW };
    match attribute_target::subject(process, CURRENT, subject, flags) {
        Ok(Subject::Descriptor(descriptor)) => process.descriptors.get(descriptor).map(Target::Open),
        Ok(Subject::Path(directory, path)) => {
            let place = Place { directory, path: &path };
            let status = permissions::judge(process, place, follows)?.and_then(|found| found.file);
            let flags = u64::from(O_PATH) | if follows { 0 } else { O_NOFOLLOW };
            let opened = directory::open(directory, flags, 0, &path[..])?;
            Ok(Target::Place(opened.file, status))
        }
        // Files of the tree of processes, and terminals.
        Ok(Subject::Terminal(_)) | Err(EPERM) => Ok(Target::Nothing),
        Err(errno) => Err(errno),
    }
}

/// Reads a name. `ERANGE`: it is empty or too long.
fn name(process: &Process, address: u64) -> Result<Vec<u8>, Errno> {
    match process.memory.string(address, MAX_NAME + 1) {
        Ok([]) => Err(ERANGE),
        Ok(name) => Ok(name.to_vec()),
        Err(crate::abi::errno::ENAMETOOLONG) => Err(ERANGE),
        Err(errno) => Err(errno),
    }
}

/// Kinds of attributes, by the beginning of their names.
#[derive(PartialEq, Eq)]
enum Kind {
    User,
    Trusted,
    Security,
}

fn kind(name: &[u8]) -> Result<Kind, Errno> {
    let beginnings = [(&b"user."[..], Kind::User), (b"trusted.", Kind::Trusted), (b"security.", Kind::Security)];
    let (beginning, kind) = beginnings.into_iter().find(|(beginning, _)| name.starts_with(beginning)).ok_or(EOPNOTSUPP)?;
    if name.len() > beginning.len() { Ok(kind) } else { Err(EINVAL) }
}

/// Refuses to let the user read an attribute as Linux does.
fn check_read(process: &mut Process, target: &Target, kind: &Kind) -> Result<(), Errno> {
    match kind {
        Kind::Trusted if !process.identity.capabilities.has(SYSTEM) => Err(ENODATA),
        Kind::User => {
            let status = target.status(process)?;
            if !matches!(status.mode & S_IFMT, S_IFREG | S_IFDIR) {
                return Err(ENODATA);
            }
            if permissions::minds_modes(process) { permissions::check_mode(process, &status, READ) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

/// Refuses to let the user set or remove an attribute as Linux does.
fn check_write(process: &mut Process, target: &Target, (kind, name): (&Kind, &[u8])) -> Result<(), Errno> {
    let needed = if name == CAPABILITY { FILE_CAPABILITIES } else { SYSTEM };
    if *kind != Kind::User {
        return if process.identity.capabilities.has(needed) { Ok(()) } else { Err(EPERM) };
    }
    let status = target.status(process)?;
    let is_shared = status.mode & S_IFMT == S_IFDIR && status.mode & STICKY != 0;
    match status.mode & S_IFMT {
        S_IFREG | S_IFDIR if is_shared && !permissions::owns(process, &status) => Err(EPERM),
        S_IFREG | S_IFDIR if permissions::minds_modes(process) => permissions::check_mode(process, &status, WRITE),
        S_IFREG | S_IFDIR => Ok(()),
        _ => Err(EPERM),
    }
}

/// `EINVAL` for a value that names no capabilities.
fn check_capability(name: &[u8], value: &[u8]) -> Result<(), Errno> {
    let is_sound = match (value.get(..4), value.len()) {
        (Some([.., 2]), 20) | (Some([.., 3]), 24) => true,
        (_, size) => size == 0 || name != CAPABILITY,
    };
    if is_sound { Ok(()) } else { Err(EINVAL) }
}

fn set(process: &mut Process, way: Way, frame: &Frame) -> Answer {
    let target = target(process, way, frame)?;
    let [_, name_at, value_at, size, flags, _] = frame.arguments();
    if flags & 0xffff_ffff & !FLAGS != 0 {
        return Err(EINVAL);
    }
    let name = name(process, name_at)?;
    if size > MAX_VALUE as u64 {
        return Err(E2BIG);
    }
    let value = if size == 0 { &[] } else { process.memory.readable(value_at, size)? }.to_vec();
    let kind = kind(&name)?;
    check_write(process, &target, (&kind, &name))?;
    check_capability(&name, &value)?;
    let reference = target.reference()?;
    process.unlocked(|| attribute_values::set(reference, &name, &value, flags & FLAGS)).map_err(unknown)?;
    Ok(0)
}

/// A server that does not know the question keeps no attributes.
fn unknown(errno: Errno) -> Errno {
    if errno == ENOSYS { EOPNOTSUPP } else { errno }
}

/// Writes a value or a list to the program. Size 0 asks for its size alone.
fn give(process: &mut Process, (address, room): (u64, u64), bytes: &[u8]) -> Answer {
    if room != 0 && bytes.len() as u64 > room {
        return Err(ERANGE);
    }
    if room != 0 {
        process.memory.write_bytes(address, bytes)?;
    }
    Ok(bytes.len() as u64)
}

fn get(process: &mut Process, way: Way, frame: &Frame) -> Answer {
    let target = target(process, way, frame)?;
    let [_, name_at, value_at, room, ..] = frame.arguments();
    let name = name(process, name_at)?;
    check_read(process, &target, &kind(&name)?)?;
    let reference = target.reference()?;
    let limit = room.min(MAX_VALUE as u64) as usize;
    let (size, value) = process.unlocked(|| attribute_values::read(reference, &name, limit)).map_err(unknown)?;
    match room {
        0 => Ok(size),
        _ if size > room => Err(ERANGE),
        _ => give(process, (value_at, room), &value),
    }
}

fn list(process: &mut Process, way: Way, frame: &Frame) -> Answer {
    let target = target(process, way, frame)?;
    let [_, list_at, room, ..] = frame.arguments();
    let Ok(reference) = target.reference() else { return Ok(0) };
    let names = match process.unlocked(|| attribute_values::read(reference, b"", MAX_VALUE)) {
        Err(ENOSYS | EOPNOTSUPP) => return Ok(0),
        names => names?.1,
    };
    let shows_trusted = process.identity.capabilities.has(SYSTEM);
    let shown = names.split_inclusive(|byte| *byte == 0).filter(|name| shows_trusted || !name.starts_with(b"trusted."));
    let shown: Vec<u8> = shown.flatten().copied().collect();
    give(process, (list_at, room), &shown)
}

fn remove(process: &mut Process, way: Way, frame: &Frame) -> Answer {
    let target = target(process, way, frame)?;
    let name = name(process, frame.arguments()[1])?;
    check_write(process, &target, (&kind(&name)?, &name))?;
    let reference = target.reference()?;
    process.unlocked(|| file::remove_attribute(reference, &name[..])).map(|_| 0).map_err(unknown)
}

/// `setxattr(path, name, value, size, flags)`.
pub fn setxattr(process: &mut Process, frame: &mut Frame) -> Answer {
    set(process, Way::Path(true), frame)
}

/// `lsetxattr(path, name, value, size, flags)`.
pub fn lsetxattr(process: &mut Process, frame: &mut Frame) -> Answer {
    set(process, Way::Path(false), frame)
}

/// `fsetxattr(descriptor, name, value, size, flags)`.
pub fn fsetxattr(process: &mut Process, frame: &mut Frame) -> Answer {
    set(process, Way::Descriptor, frame)
}

/// `getxattr(path, name, value, size)`.
pub fn getxattr(process: &mut Process, frame: &mut Frame) -> Answer {
    get(process, Way::Path(true), frame)
}

/// `lgetxattr(path, name, value, size)`.
pub fn lgetxattr(process: &mut Process, frame: &mut Frame) -> Answer {
    get(process, Way::Path(false), frame)
}

/// `fgetxattr(descriptor, name, value, size)`.
pub fn fgetxattr(process: &mut Process, frame: &mut Frame) -> Answer {
    get(process, Way::Descriptor, frame)
}

/// `listxattr(path, list, size)`.
pub fn listxattr(process: &mut Process, frame: &mut Frame) -> Answer {
    list(process, Way::Path(true), frame)
}

/// `llistxattr(path, list, size)`.
pub fn llistxattr(process: &mut Process, frame: &mut Frame) -> Answer {
    list(process, Way::Path(false), frame)
}

/// `flistxattr(descriptor, list, size)`.
pub fn flistxattr(process: &mut Process, frame: &mut Frame) -> Answer {
    list(process, Way::Descriptor, frame)
}

/// `removexattr(path, name)`.
pub fn removexattr(process: &mut Process, frame: &mut Frame) -> Answer {
    remove(process, Way::Path(true), frame)
}

/// `lremovexattr(path, name)`.
pub fn lremovexattr(process: &mut Process, frame: &mut Frame) -> Answer {
    remove(process, Way::Path(false), frame)
}

/// `fremovexattr(descriptor, name)`.
pub fn fremovexattr(process: &mut Process, frame: &mut Frame) -> Answer {
    remove(process, Way::Descriptor, frame)
}
