//! Persistent memory as files: `/dev/persistent/NAME` is the dataspace NAME of the manager
//! `persistent`, where there is one.

use crate::abi::errno::{Answer, EEXIST, EIO, ENOENT, ENOTDIR, Errno};
use crate::abi::file_flags::{O_ACCESS, O_APPEND, O_CLOEXEC, O_NONBLOCK, O_PATH};
use crate::process::Process;
use crate::state::files::open_file::{Kind, OpenFile};
use nacre_proto::flags::ATTACH_READ;
use nacre_proto::structures::Status;
use nacre_proto::{dataspace, file};
use nacre_rt::memory::pool;
use nacre_sys::OwnedReference;

/// The folder of all of them, which cannot be listed.
const FOLDER: &[u8] = b"/dev/persistent/";
/// Prefix of names: the manager.
const MANAGER: &[u8] = b"persistent:";
const O_CREAT: u32 = 0o100;
const O_EXCL: u32 = 0o200;
const O_TRUNC: u32 = 0o1000;
const O_DIRECTORY: u32 = 0o200000;
/// Size of the longest name, with its manager's.
const MAX_NAME: usize = 255 + MANAGER.len();

/// A name with its manager's.
struct Name {
    bytes: [u8; MAX_NAME],
    size: usize,
}

impl Name {
    /// The name in a path. `None`: it is the path of something else, or of nothing.
    fn in_path(path: &[u8]) -> Option<Name> {
        let own = path.strip_prefix(FOLDER).filter(|own| !own.is_empty() && !own.contains(&b'/') && *own != b"." && *own != b"..")?;
        let (mut bytes, size) = ([0; MAX_NAME], MANAGER.len() + own.len());
        bytes[..MANAGER.len()].copy_from_slice(MANAGER);
        bytes.get_mut(MANAGER.len()..size)?.copy_from_slice(own);
        Some(Name { bytes, size })
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }

    /// The dataspace. `None`: there is no manager, so the name is a file's.
    fn find(&self) -> Option<Result<OwnedReference, Errno>> {
        let pool = pool().ok()?;
        dataspace::interrogate(pool, &MANAGER[..MANAGER.len() - 1], &mut [0; dataspace::NAME_SIZE][..]).ok()?;
        Some(dataspace::identify(pool, self.bytes()).map(|found| found.dataspace))
    }

    /// Makes the dataspace, as a file without bytes.
    fn make(&self) -> Result<OwnedReference, Errno> {
        let made = dataspace::create(pool()?, 1, self.bytes())?.dataspace;
        let open = dataspace::attach(made.handle(), 0)?;
        file::set_size(open.attachment.handle(), 0)?;
        Ok(open.attachment)
    }
}

/// Opens persistent memory by its path. `None`: the server of files is to do it.
pub fn open_named_memory(process: &mut Process, path: &[u8], flags: u32) -> Option<Answer> {
    let name = Name::in_path(path)?;
    let found = name.find()?;
    Some(found.map(Some).or_else(|errno| if errno == ENOENT && flags & O_CREAT != 0 { Ok(None) } else { Err(errno) }).and_then(|found| open_found(process, &name, found, path, flags)))
}

fn open_found(process: &mut Process, name: &Name, found: Option<OwnedReference>, path: &[u8], flags: u32) -> Answer {
    let reads = flags & O_ACCESS == 0;
    let attachment = match found {
        _ if flags & O_DIRECTORY != 0 => return Err(ENOTDIR),
        Some(_) if flags & (O_CREAT | O_EXCL) == O_CREAT | O_EXCL => return Err(EEXIST),
        None => name.make()?,
        Some(found) => {
            let open = dataspace::attach(found.handle(), if reads { ATTACH_READ } else { 0 })?.attachment;
            if flags & O_TRUNC != 0 && !reads {
                file::set_size(open.handle(), 0)?;
            }
            open
        }
    };
    if flags & O_APPEND != 0 {
        file::flags(attachment.handle(), u64::from(O_APPEND))?;
    }
    let file = OpenFile::new(Kind::Remote(attachment), status(&name.find().ok_or(EIO)??)?.mode as u32, flags & (O_ACCESS | O_APPEND | O_NONBLOCK | O_PATH));
    *file.opened_by.borrow_mut() = Some((None, path.to_vec()));
    process.open(file, flags & O_CLOEXEC != 0)
}

/// Returns the status of persistent memory. `None`: the path is none of its.
pub fn status_of_named_memory(path: &[u8]) -> Option<Result<Status, Errno>> {
    let found = Name::in_path(path)?.find()?;
    Some(found.and_then(|found| status(&found)))
}

/// Deletes persistent memory. `None`: the path is none of its.
pub fn remove_named_memory(path: &[u8], is_directory: bool) -> Option<Answer> {
    let found = Name::in_path(path)?.find()?;
    Some(found.and_then(|found| if is_directory { Err(ENOTDIR) } else { dataspace::delete(found.handle()).map(|_| 0) }))
}

fn status(found: &OwnedReference) -> Result<Status, Errno> {
    let mut bytes = [0; Status::SIZE];
    let open = dataspace::attach(found.handle(), ATTACH_READ)?;
    file::status(open.attachment.handle(), &mut bytes)?;
    Status::from_bytes(&bytes).ok_or(EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_not_too_long() {
        assert_eq!(Name::in_path(b"/dev/persistent/a b").map(|name| name.bytes().to_vec()), Some(b"persistent:a b".to_vec()));
        for path in [&b"/dev/persistent/"[..], b"/dev/persistent", b"/dev/persistent/a/b", b"/dev/persistent/..", b"dev/persistent/a"] {
            assert!(Name::in_path(path).is_none());
        }
        assert!(Name::in_path(&[FOLDER, &[b'n'; 255]].concat()).is_some() && Name::in_path(&[FOLDER, &[b'n'; 256]].concat()).is_none());
    }
}
