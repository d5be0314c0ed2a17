//! The server: one message in, one answer out.

mod locks;
mod room;

use crate::attributes::{self, is_directory, number_of};
use crate::fids::{BUDGET, Fids};
use crate::list::{Batch, Directory};
use crate::message::{HEADER, MAX_MESSAGE, Reader, Writer};
use crate::names;
use crate::tree::{Errno, OpenFlags, Tree};
use crate::values::{Value, Values, Written};
use alloc::vec::Vec;
use nacre_machine_virtio::FileServer;

/// Version that is spoken.
const VERSION: &[u8] = b"9P2000.L";
/// Answer to another version.
const UNKNOWN_VERSION: &[u8] = b"unknown";
/// Smallest message size that a guest may choose.
const MIN_MESSAGE: u32 = 4096;
/// Bytes of an answer or a message with data beside the data.
const DATA_HEADER: u32 = 24;
/// Largest number of names of one walk.
const MAX_WALK: u16 = 16;
/// Kind of the answer that tells of an error.
const ERROR: u8 = 7;
/// Kind of the message that forgets a file.
const FORGET: u8 = 120;
/// Kinds of messages that are ours: room for a part of a file, and its parts.
const ALLOCATE: u8 = 130;
const SEEK: u8 = 132;
const PUNCH: u8 = 134;
/// Place of a message's kind.
const KIND: usize = 4;

/// Flags of an open, as Linux has them.
const ACCESS: u32 = 3;
const WRITE_ONLY: u32 = 1;
const READ_WRITE: u32 = 2;
const TRUNCATE: u32 = 0o1000;
const DIRECTORY: u32 = 0o200000;
/// Flag of a removal: the name is a directory's.
const REMOVE_DIRECTORY: u32 = 0x200;

/// Server of a tree for one guest.
pub struct Server<T: Tree> {
    tree: T,
    fids: Fids<T::Open>,
    values: Values,
    batch: Batch,
    /// Size of the longest message of all guests, and of the longest that this one takes.
    max_message: u32,
    message_size: u32,
}

type Step = Result<(), Errno>;

fn open_flags(flags: u32) -> OpenFlags {
    let access = flags & ACCESS;
    OpenFlags {
        reads: access != WRITE_ONLY,
        writes: matches!(access, WRITE_ONLY | READ_WRITE),
        truncates: flags & TRUNCATE != 0,
        is_directory: flags & DIRECTORY != 0,
        creates: None,
    }
}

impl<T: Tree<Open: Send> + Send> FileServer for Server<T> {
    fn max_message(&self) -> usize {
        self.max_message as usize
    }

    fn request(&mut self, message: &[u8], answer: &mut [u8]) -> usize {
        let mut reader = Reader(message);
        let Ok((size, kind, tag)) = header(&mut reader) else { return 0 };
        let limit = answer.len().min(self.message_size as usize);
        let Some(mut writer) = Writer::new(&mut answer[..limit]) else { return 0 };
        let is_whole = size as usize == message.len();
        let served = if is_whole { self.serve(kind, &mut reader, &mut writer) } else { Err(Errno::INVAL) };
        match served {
            Ok(()) => writer.finish(kind.wrapping_add(1), tag),
            Err(Errno(errno)) => {
                writer.clear();
                if writer.put(&errno.to_le_bytes()).is_err() {
                    return 0;
                }
                writer.finish(ERROR, tag)
            }
        }
    }
}

impl<T: Tree<Open: Send> + Send> Server<T> {
    /// Carries out messages that stand one behind the other, up to the first one that fails, and
    /// writes the answer to that one or to the last one. A file that cannot be forgotten is no
    /// failure.
    pub fn requests(&mut self, messages: &[u8], answer: &mut [u8]) -> usize {
        let mut rest = messages;
        loop {
            let size = Reader(rest).u32().map_or(0, |size| size as usize);
            let (message, others) = rest.split_at_checked(size).filter(|_| size >= HEADER).unwrap_or((rest, &[]));
            let length = self.request(message, answer);
            let has_failed = length < HEADER || (answer[KIND] == ERROR && message[KIND] != FORGET);
            if has_failed || others.is_empty() {
                return length;
            }
            rest = others;
        }
    }
}

fn header(reader: &mut Reader<'_>) -> Result<(u32, u8, u16), Errno> {
    Ok((reader.u32()?, reader.u8()?, reader.u16()?))
}

impl<T: Tree> Server<T> {
    /// Makes a server that no guest has greeted yet.
    pub fn new(tree: T) -> Self {
        Server::with_budget(tree, BUDGET)
    }

    /// Makes a server whose guest's files take at most so many bytes, some 300 each.
    pub fn with_budget(tree: T, budget: usize) -> Self {
        let message_size = MAX_MESSAGE as u32;
        Server { tree, fids: Fids::new(budget), values: Values::default(), batch: Batch::default(), max_message: message_size, message_size }
    }

    /// Lets messages have up to so many bytes, either way.
    pub fn with_messages(self, size: u32) -> Self {
        Server { max_message: size, message_size: size, ..self }
    }

    /// Returns the tree.
    pub fn tree(&self) -> &T {
        &self.tree
    }

    /// Returns the tree, for its owner.
    pub fn tree_mut(&mut self) -> &mut T {
        &mut self.tree
    }

    /// Ends the server: files that the guest has open are closed.
    pub fn into_tree(mut self) -> T {
        self.fids.clear();
        self.tree
    }

    fn serve(&mut self, kind: u8, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        match kind {
            8 => self.file_system(message, answer),
            12 => self.open(message, answer),
            14 => self.create(message, answer),
            16 => self.symbolic_link(message, answer),
            18 => self.make_node(message, answer),
            20 => self.rename(message),
            22 => self.read_link(message, answer),
            24 => self.status(message, answer),
            26 => self.change(message),
            30 => self.attribute(message, answer),
            32 => self.set_attribute(message),
            40 => self.list(message, answer),
            50 => self.sync(message),
            52 => self.lock(message, answer),
            54 => self.lock_test(message, answer),
            70 => self.link(message),
            72 => self.make_directory(message, answer),
            74 => self.rename_at(message),
            76 => self.remove_at(message),
            100 => self.greet(message, answer),
            104 => self.attach(message, answer),
            // A request is done before the next one comes: there is nothing to take back.
            108 => message.u16().map(drop),
            110 => self.walk(message, answer),
            116 => self.read(message, answer),
            118 => self.write(message, answer),
            FORGET => self.close(message),
            122 => self.remove(message),
            ALLOCATE => self.allocate(message, answer),
            SEEK => self.seek(message, answer),
            PUNCH => self.punch(message, answer),
            _ => Err(Errno::OPNOTSUPP),
        }
    }

    fn greet(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (size, version) = (message.u32()?, message.string()?);
        if size < MIN_MESSAGE {
            return Err(Errno::INVAL);
        }
        self.fids.clear();
        self.values.clear();
        self.batch.clear();
        self.message_size = size.min(self.max_message);
        answer.put(&self.message_size.to_le_bytes())?;
        answer.string(if version == VERSION { VERSION } else { UNKNOWN_VERSION })
    }

    fn attach(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (fid, _authenticated) = (message.u32()?, message.u32()?);
        let (_user, _tree) = (message.string()?, message.string()?);
        let status = self.tree.status(b"")?;
        self.fids.add(fid, Vec::new())?;
        answer.put(&number_of(&status))
    }

    /// Goes from a file by names to another. If that is not there, the answer has the numbers of
    /// those on the way, and the guest has no new file.
    fn walk(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (from, to, count) = (message.u32()?, message.u32()?, message.u16()?);
        if count > MAX_WALK {
            return Err(Errno::INVAL);
        }
        let mut path = self.fids.path(from)?.to_vec();
        let mut numbers = Vec::new();
        for _ in 0..count {
            match self.step(&path, message.string()?) {
                Ok((next, number)) => {
                    path = next;
                    numbers.push(number);
                }
                Err(errno) if numbers.is_empty() => return Err(errno),
                Err(_) => break,
            }
        }
        if numbers.len() == usize::from(count) {
            self.hold(from, to, path)?;
        }
        answer.put(&(numbers.len() as u16).to_le_bytes())?;
        numbers.iter().try_for_each(|number| answer.put(number))
    }

    fn hold(&mut self, from: u32, to: u32, path: Vec<u8>) -> Step {
        if from != to {
            return self.fids.add(to, path);
        }
        match self.fids.get(from)?.open {
            Some(_) => Err(Errno::BADF),
            None => self.fids.set_path(from, path),
        }
    }

    fn step(&mut self, path: &[u8], name: &[u8]) -> Result<(Vec<u8>, [u8; 13]), Errno> {
        let path = if name == b".." { names::above(path).to_vec() } else { names::below(path, name)? };
        let status = self.tree.status(&path)?;
        Ok((path, number_of(&status)))
    }

    fn forget(&mut self, message: &mut Reader<'_>) -> Result<Vec<u8>, Errno> {
        let fid = message.u32()?;
        self.batch.clear();
        self.values.remove(fid);
        Ok(self.fids.remove(fid)?.path)
    }

    /// Forgets a file. An attribute that was written by its number is set.
    fn close(&mut self, message: &mut Reader<'_>) -> Step {
        let value = self.values.remove(Reader(message.0).u32()?);
        let path = self.forget(message)?;
        match value {
            Some(Value::Written(written)) => {
                let (name, value, flags) = written.whole()?;
                self.tree.set_attribute(&path, None, name, value, flags)
            }
            _ => Ok(()),
        }
    }

    /// Gives a new number to the value of an attribute, or to the names of all.
    fn attribute(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (from, to, name) = (message.u32()?, message.u32()?, message.string()?);
        let fid = self.fids.get(from)?;
        self.values.check_room()?;
        let value = self.tree.attribute(&fid.path, fid.open.as_ref(), name)?;
        let path = fid.path.clone();
        answer.put(&(value.len() as u64).to_le_bytes())?;
        self.fids.add(to, path)?;
        self.values.add(to, Value::Read(value))
    }

    /// Lets the value of an attribute be written by a file's number, which leads to nothing else
    /// from then on.
    fn set_attribute(&mut self, message: &mut Reader<'_>) -> Step {
        let (fid, name, size, flags) = (message.u32()?, message.string()?, message.u64()?, message.u32()?);
        self.fids.check_open(fid)?;
        self.values.add(fid, Value::Written(Written::new(name, size, flags)?))
    }

    /// Forgets a file and removes its name.
    fn remove(&mut self, message: &mut Reader<'_>) -> Step {
        let path = self.forget(message)?;
        let status = self.tree.status(&path)?;
        self.tree.remove(&path, is_directory(status.mode))
    }

    fn file_system(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        self.fids.get(message.u32()?)?;
        let sizes = self.tree.file_system()?;
        attributes::put_file_system(answer, &sizes)
    }

    fn open(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (fid, flags) = (message.u32()?, message.u32()?);
        self.fids.check_open(fid)?;
        let path = self.fids.path(fid)?;
        let file = self.tree.open(path, open_flags(flags))?;
        let status = self.tree.status_open(&file)?;
        self.fids.set_open(fid, file)?;
        answer.put(&number_of(&status))?;
        answer.put(&self.unit().to_le_bytes())
    }

    /// Returns the largest number of bytes of one read or write.
    fn unit(&self) -> u32 {
        self.message_size - DATA_HEADER
    }

    /// Makes a file in a directory and opens it. The directory's number becomes the file's.
    fn create(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (fid, name, flags) = (message.u32()?, message.string()?, message.u32()?);
        let (mode, _group) = (message.u32()?, message.u32()?);
        self.fids.check_open(fid)?;
        let path = names::below(self.fids.path(fid)?, name)?;
        self.fids.check_path(fid, &path)?;
        let flags = OpenFlags { creates: Some(mode & 0o7777), is_directory: false, ..open_flags(flags) };
        let file = self.tree.open(&path, flags)?;
        let status = self.tree.status_open(&file)?;
        self.fids.set_path(fid, path)?;
        self.fids.set_open(fid, file)?;
        answer.put(&number_of(&status))?;
        answer.put(&self.unit().to_le_bytes())
    }

    /// Returns the path of a new entry, of which directory and name come next in a message.
    fn entry(&self, message: &mut Reader<'_>) -> Result<Vec<u8>, Errno> {
        let directory = message.u32()?;
        names::below(self.fids.path(directory)?, message.string()?)
    }

    /// Answers with the number of a file that was made.
    fn made(&mut self, path: &[u8], answer: &mut Writer<'_>) -> Step {
        let status = self.tree.status(path)?;
        answer.put(&number_of(&status))
    }

    fn symbolic_link(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let path = self.entry(message)?;
        let target = message.string()?;
        if target.is_empty() || target.contains(&0) {
            return Err(Errno::NOENT);
        }
        self.tree.symbolic_link(target, &path)?;
        self.made(&path, answer)
    }

    fn make_node(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let path = self.entry(message)?;
        let (mode, major, minor) = (message.u32()?, message.u32()?, message.u32()?);
        let device = u64::from(major & 0xfff) << 8 | u64::from(minor & 0xff) | u64::from(minor & 0xf_ff00) << 12;
        self.tree.make_node(&path, mode, device)?;
        self.made(&path, answer)
    }

    fn make_directory(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let path = self.entry(message)?;
        let mode = message.u32()?;
        self.tree.make_directory(&path, mode & 0o7777)?;
        self.made(&path, answer)
    }

    fn read_link(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let path = self.fids.path(message.u32()?)?;
        let target = self.tree.read_link(path)?;
        answer.string(&target)
    }

    fn status(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (fid, _fields) = (self.fids.get(message.u32()?)?, message.u64()?);
        let status = match &fid.open {
            Some(file) => self.tree.status_open(file)?,
            None => self.tree.status(&fid.path)?,
        };
        attributes::put(answer, &status)
    }

    fn change(&mut self, message: &mut Reader<'_>) -> Step {
        let fid = self.fids.get(message.u32()?)?;
        let changes = attributes::changes(message)?;
        self.tree.change(&fid.path, fid.open.as_ref(), &changes)
    }

    fn list(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (number, offset, count) = (message.u32()?, message.u64()?, message.u32()?);
        let fid = self.fids.get_mut(number)?;
        let file = fid.open.as_ref().ok_or(Errno::BADF)?;
        let (listing, batch) = (&mut fid.listing, &mut self.batch);
        let directory = Directory { number, file, listing, batch };
        directory.write(&mut self.tree, offset, count as usize, answer)
    }

    fn sync(&mut self, message: &mut Reader<'_>) -> Step {
        self.tree.sync(self.fids.open(message.u32()?)?)
    }

    fn read(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (fid, at, count) = (message.u32()?, message.u64()?, message.u32()?);
        if let Some(value) = self.values.get(fid) {
            let part = value.part(at, count)?;
            return answer.counted(|room| {
                let limit = room.len().min(part.len());
                room[..limit].copy_from_slice(&part[..limit]);
                Ok(limit)
            });
        }
        let (file, tree) = (self.fids.open(fid)?, &mut self.tree);
        answer.counted(|room| {
            let limit = room.len().min(count as usize);
            tree.read(file, at, &mut room[..limit])
        })
    }

    fn write(&mut self, message: &mut Reader<'_>, answer: &mut Writer<'_>) -> Step {
        let (fid, at, count) = (message.u32()?, message.u64()?, message.u32()?);
        let bytes = message.bytes(count as usize)?;
        if let Some(value) = self.values.get(fid) {
            value.write(at, bytes)?;
            return answer.put(&count.to_le_bytes());
        }
        let written = self.tree.write(self.fids.open(fid)?, at, bytes)?;
        answer.put(&(written.min(bytes.len()) as u32).to_le_bytes())
    }

    fn link(&mut self, message: &mut Reader<'_>) -> Step {
        let (directory, file) = (message.u32()?, message.u32()?);
        let to = names::below(self.fids.path(directory)?, message.string()?)?;
        self.tree.link(self.fids.path(file)?, &to)
    }

    fn rename(&mut self, message: &mut Reader<'_>) -> Step {
        let from = self.fids.path(message.u32()?)?.to_vec();
        let to = self.entry(message)?;
        self.rename_path(&from, &to)
    }

    fn rename_at(&mut self, message: &mut Reader<'_>) -> Step {
        let from = self.entry(message)?;
        let to = self.entry(message)?;
        self.rename_path(&from, &to)
    }

    /// Renames a file. Those that the guest holds below it go along, if there is room for their
    /// paths.
    fn rename_path(&mut self, from: &[u8], to: &[u8]) -> Step {
        if from.is_empty() {
            return Err(Errno::INVAL);
        }
        let moved = |path: &[u8]| names::moved(path, from, to);
        self.fids.check_paths(moved)?;
        self.tree.rename(from, to)?;
        self.fids.change_paths(moved);
        Ok(())
    }

    fn remove_at(&mut self, message: &mut Reader<'_>) -> Step {
        let path = self.entry(message)?;
        let flags = message.u32()?;
        self.tree.remove(&path, flags & REMOVE_DIRECTORY != 0)
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
