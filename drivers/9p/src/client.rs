//! The client: one message out, one answer in.

use crate::answer::{Answer, Status, Time};
use crate::message::{Message, append, read_header};
use crate::names::{Entry, Listing, is_name};
use crate::paths::{MAX_PATH, Paths};
use crate::{Error, MAX_MESSAGE, PAYLOAD};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// The way to a server and back.
pub trait Wire {
    /// Sends a request and waits for the answer, of at most [`MAX_MESSAGE`] bytes, which replaces
    /// what is in `answer`.
    fn exchange(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<(), Error>;

    /// Returns true if a request may have several messages, one behind the other. They are carried
    /// out up to the first one that fails, and the answer is that one's or the last one's.
    fn takes_chains(&self) -> bool {
        false
    }
}

impl<W: Wire + ?Sized> Wire for Box<W> {
    fn exchange(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<(), Error> {
        (**self).exchange(request, answer)
    }

    fn takes_chains(&self) -> bool {
        (**self).takes_chains()
    }
}

/// A number for a file of the server's, which the client chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fid(pub u32);

/// The directory that was attached.
pub const ROOT: Fid = Fid(0);

/// Flags of an open, as Linux has them.
pub mod open {
    #![allow(missing_docs)]
    pub const READ: u32 = 0;
    pub const READ_WRITE: u32 = 2;
    pub const DIRECTORY: u32 = 0o200_000;
}

/// Kinds of messages; an answer has the next number.
pub(crate) mod kind {
    pub const SPACE: u8 = 8;
    pub const OPEN: u8 = 12;
    pub const CREATE: u8 = 14;
    pub const SYMBOLIC_LINK: u8 = 16;
    pub const MAKE_NODE: u8 = 18;
    pub const READ_LINK: u8 = 22;
    pub const STATUS: u8 = 24;
    pub const CHANGE: u8 = 26;
    pub const ATTRIBUTE_WALK: u8 = 30;
    pub const ATTRIBUTE_CREATE: u8 = 32;
    pub const LIST: u8 = 40;
    pub const SYNC: u8 = 50;
    pub const LINK: u8 = 70;
    pub const MAKE_DIRECTORY: u8 = 72;
    pub const RENAME: u8 = 74;
    pub const REMOVE: u8 = 76;
    pub const VERSION: u8 = 100;
    pub const ATTACH: u8 = 104;
    pub const WALK: u8 = 110;
    pub const READ: u8 = 116;
    pub const WRITE: u8 = 118;
    pub const FORGET: u8 = 120;
    pub const ALLOCATE: u8 = 130;
    pub const SEEK: u8 = 132;
    pub const PUNCH: u8 = 134;
}

const VERSION: &[u8] = b"9P2000.L";
/// Tag of the first message, and of all others.
const NO_TAG: u16 = 0xffff;
const TAG: u16 = 1;
/// Number of no file.
const NONE: u32 = u32::MAX;
/// Fields of a status that are asked for: all of `stat`.
const BASIC: u64 = 0x7ff;
/// Flag of a removal: the name is a directory's.
const REMOVE_DIRECTORY: u32 = 0x200;
/// Largest number of files with a number.
const MAX_FIDS: u32 = 1 << 20;
/// Number of clients that one after the other have numbers of their own.
const GENERATIONS: u32 = u32::MAX / MAX_FIDS;

/// Bytes of messages that go before another one, at most, but for a few more.
const MAX_CHAIN: usize = 1024;

/// Changes of a file's attributes; `None`: they stay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes {
    /// Permissions.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Last read.
    pub accessed: Option<Time>,
    /// Last change of the content.
    pub modified: Option<Time>,
}

/// Capacity of a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Bytes of a block.
    pub block_size: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of blocks that are free.
    pub free: u64,
    /// Number of files that there can be.
    pub files: u64,
    /// Number of files that can be made.
    pub files_free: u64,
}

/// A client. The head of this module describes it.
pub struct Client<W> {
    wire: W,
    /// Messages that go before the next one.
    chain: Vec<u8>,
    request: Vec<u8>,
    answer: Vec<u8>,
    /// Numbers that are free again, and the first that was never used.
    free: Vec<u32>,
    next: u32,
    /// Number that is larger than any.
    end: u32,
    /// Largest number of bytes of a file in one message.
    payload: u32,
    /// Paths that the server keeps, if that must be seen to.
    paths: Option<Paths>,
}

fn checked(name: &[u8]) -> Result<(), Error> {
    if is_name(name) { Ok(()) } else { Err(Error::NO_NAME) }
}

impl<W: Wire> Client<W> {
    /// Greets the server and attaches its directory, which becomes [`ROOT`].
    pub fn start(wire: W) -> Result<Client<W>, Error> {
        Client::start_again(wire, 0)
    }

    /// Greets a server that has started anew, for the `generation`th time. All numbers but [`ROOT`]
    /// are others than those that clients of earlier generations had.
    pub fn start_again(wire: W, generation: u32) -> Result<Client<W>, Error> {
        let first = generation % GENERATIONS * MAX_FIDS;
        let mut client = Client { wire, chain: Vec::new(), request: Vec::new(), answer: Vec::new(), free: Vec::new(), next: first + 1, end: first + MAX_FIDS, payload: 0, paths: None };
        let mut answer = client.ask_tagged(NO_TAG, kind::VERSION, |message| message.words(&[MAX_MESSAGE]).string(VERSION))?;
        let size = answer.word()?;
        if answer.string()? != VERSION || !(4096..=MAX_MESSAGE).contains(&size) {
            return Err(Error::BROKEN);
        }
        client.payload = PAYLOAD.min(size - 24);
        client.ask(kind::ATTACH, |message| message.words(&[ROOT.0, NONE]).string(b"root").string(b"").words(&[0]))?;
        Ok(client)
    }

    /// Sees to it from now on, while there is no number but [`ROOT`], that no path which the server
    /// keeps for a number becomes longer than [`MAX_PATH`]. `ENAMETOOLONG`: one would.
    pub fn bound_paths(mut self) -> Self {
        self.paths = Some(Paths::new(ROOT.0));
        self
    }

    /// Returns the names that lead to a number's file, from [`ROOT`] on. `None`: it is none of this
    /// client's, or paths are not bounded.
    pub fn names(&self, fid: Fid) -> Option<Vec<Rc<[u8]>>> {
        self.paths.as_ref()?.names(fid.0)
    }

    fn check_path(&self, directory: Fid, name: &[u8]) -> Result<(), Error> {
        checked(name)?;
        let is_short = self.paths.as_ref().is_none_or(|paths| paths.length_of(directory.0, name) <= MAX_PATH);
        if is_short { Ok(()) } else { Err(Error::TOO_LONG) }
    }

    pub(crate) fn note_path(&mut self, note: impl FnOnce(&mut Paths)) {
        if let Some(paths) = &mut self.paths {
            note(paths);
        }
    }

    /// Returns the way to the server.
    pub fn wire(&mut self) -> &mut W {
        &mut self.wire
    }

    pub(crate) fn ask(&mut self, kind: u8, fill: impl for<'a> FnOnce(Message<'a>) -> Message<'a>) -> Result<Answer<'_>, Error> {
        self.ask_tagged(TAG, kind, fill)
    }

    fn ask_tagged(&mut self, tag: u16, kind: u8, fill: impl for<'a> FnOnce(Message<'a>) -> Message<'a>) -> Result<Answer<'_>, Error> {
        self.request.clear();
        self.request.append(&mut self.chain);
        append(&mut self.request, (kind, tag), fill);
        self.wire.exchange(&self.request, &mut self.answer)?;
        read_header(&self.answer, kind, tag)
    }

    /// Sends a message whose answer says nothing but whether it failed: with the next one, if the
    /// wire takes chains. The next one fails then, too.
    fn ask_first(&mut self, kind: u8, fill: impl for<'a> FnOnce(Message<'a>) -> Message<'a>) -> Result<(), Error> {
        if !self.wire.takes_chains() {
            return self.ask(kind, fill).map(drop);
        }
        append(&mut self.chain, (kind, TAG), fill);
        Ok(())
    }

    /// Returns true for a number of this client's. Those of clients before it lead to nothing.
    pub fn has_given(&self, fid: Fid) -> bool {
        fid == ROOT || (self.end - MAX_FIDS < fid.0 && fid.0 < self.next)
    }

    fn new_fid(&mut self) -> Result<Fid, Error> {
        if let Some(fid) = self.free.pop() {
            return Ok(Fid(fid));
        }
        if self.next >= self.end {
            return Err(Error::TOO_MANY);
        }
        self.next += 1;
        Ok(Fid(self.next - 1))
    }

    /// Does something that makes a new fid, which stays free if that fails.
    pub(crate) fn with_new(&mut self, make: impl FnOnce(&mut Self, Fid) -> Result<(), Error>) -> Result<Fid, Error> {
        let fid = self.new_fid()?;
        match make(self, fid) {
            Ok(()) => Ok(fid),
            Err(error) => {
                self.free.push(fid.0);
                Err(error)
            }
        }
    }

    /// Returns a number for the file that `name` leads to from a directory.
    pub fn walk(&mut self, directory: Fid, name: &[u8]) -> Result<Fid, Error> {
        self.check_path(directory, name)?;
        let fid = self.with_new(|client, fid| {
            let mut answer = client.ask(kind::WALK, |message| message.words(&[directory.0, fid.0]).short(1).string(name))?;
            if answer.number(2)? == 1 { Ok(()) } else { Err(Error::NOT_FOUND) }
        })?;
        self.note_path(|paths| paths.walk(directory.0, name, fid.0));
        Ok(fid)
    }

    /// Returns a number for the file that `name` leads to from a directory, and its status.
    pub fn find(&mut self, directory: Fid, name: &[u8]) -> Result<(Fid, Status), Error> {
        if !self.wire.takes_chains() {
            let fid = self.walk(directory, name)?;
            return self.status(fid).map(|status| (fid, status)).inspect_err(|_| self.forget(fid));
        }
        self.check_path(directory, name)?;
        let fid = self.new_fid()?;
        self.ask_first(kind::WALK, |message| message.words(&[directory.0, fid.0]).short(1).string(name))?;
        self.status(fid).map(|status| (fid, status)).inspect_err(|_| self.forget(fid))
    }

    /// Returns another number for a file.
    pub(crate) fn copy(&mut self, fid: Fid) -> Result<Fid, Error> {
        let copy = self.with_new(|client, copy| client.ask(kind::WALK, |message| message.words(&[fid.0, copy.0]).short(0)).map(drop))?;
        self.note_path(|paths| paths.copy(fid.0, copy.0));
        Ok(copy)
    }

    /// Returns another number for a file, which is opened by it.
    pub fn open(&mut self, fid: Fid, flags: u32) -> Result<Fid, Error> {
        let copy = self.new_fid()?;
        let copied = self.ask_first(kind::WALK, |message| message.words(&[fid.0, copy.0]).short(0));
        let opened = copied.and_then(|()| self.ask(kind::OPEN, |message| message.words(&[copy.0, flags])).map(drop));
        opened.inspect_err(|_| self.forget(copy))?;
        self.note_path(|paths| paths.copy(fid.0, copy.0));
        Ok(copy)
    }

    /// Gives a number back.
    pub fn forget(&mut self, fid: Fid) {
        // The server forgets it whatever it answers.
        let _ = match self.chain.len() < MAX_CHAIN {
            true => self.ask_first(kind::FORGET, |message| message.words(&[fid.0])),
            false => self.ask(kind::FORGET, |message| message.words(&[fid.0])).map(drop),
        };
        self.note_forgotten(fid);
    }

    /// Gives a number back, and tells what the server says of what was done by it.
    pub(crate) fn close(&mut self, fid: Fid) -> Result<(), Error> {
        let closed = self.ask(kind::FORGET, |message| message.words(&[fid.0])).map(drop);
        self.note_forgotten(fid);
        closed
    }

    fn note_forgotten(&mut self, fid: Fid) {
        if fid != ROOT && self.has_given(fid) {
            self.free.push(fid.0);
            self.note_path(|paths| paths.forget(fid.0));
        }
    }

    /// Returns the status of a file.
    pub fn status(&mut self, fid: Fid) -> Result<Status, Error> {
        Status::read(&mut self.ask(kind::STATUS, |message| message.words(&[fid.0]).long(BASIC))?)
    }

    /// Returns the room of the file system that a file is in.
    pub fn capacity(&mut self, fid: Fid) -> Result<Capacity, Error> {
        let mut answer = self.ask(kind::SPACE, |message| message.words(&[fid.0]))?;
        let (_, block_size) = (answer.word()?, answer.word()?.into());
        let (blocks, free, _) = (answer.number(8)?, answer.number(8)?, answer.number(8)?);
        Ok(Capacity { block_size, blocks, free, files: answer.number(8)?, files_free: answer.number(8)? })
    }

    /// Returns the target of a symbolic link.
    pub fn read_link(&mut self, fid: Fid) -> Result<Vec<u8>, Error> {
        let mut answer = self.ask(kind::READ_LINK, |message| message.words(&[fid.0]))?;
        let target = answer.string()?;
        if target.is_empty() || target.contains(&0) { Err(Error::BROKEN) } else { Ok(target.to_vec()) }
    }

    /// Reads bytes of an open file; none at the end.
    pub fn read(&mut self, open: Fid, offset: u64, into: &mut [u8]) -> Result<usize, Error> {
        let limit = (into.len() as u64).min(self.payload.into()) as u32;
        let mut answer = self.ask(kind::READ, |message| message.words(&[open.0]).long(offset).words(&[limit]))?;
        let count = answer.word()?;
        if count > limit {
            return Err(Error::BROKEN);
        }
        let bytes = answer.bytes(count as usize)?;
        into[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Writes bytes to an open file; returns how many.
    pub fn write(&mut self, open: Fid, offset: u64, bytes: &[u8]) -> Result<usize, Error> {
        let bytes = &bytes[..bytes.len().min(self.payload as usize)];
        let mut answer = self.ask(kind::WRITE, |message| {
            message.words(&[open.0]).long(offset).words(&[bytes.len() as u32]).bytes(bytes)
        })?;
        let count = answer.word()? as usize;
        if count > bytes.len() { Err(Error::BROKEN) } else { Ok(count) }
    }

    /// Returns the entries of a directory, without `.` and `..`, in the order of their names.
    /// `EIO`: the server goes in a circle. `ENOMEM`: the names take too much memory.
    pub fn list(&mut self, directory: Fid) -> Result<Vec<Entry>, Error> {
        let open = self.open(directory, open::READ | open::DIRECTORY)?;
        let listed = self.list_open(open);
        self.forget(open);
        listed
    }

    fn list_open(&mut self, open: Fid) -> Result<Vec<Entry>, Error> {
        let (mut listing, mut offset, limit) = (Listing::default(), 0, self.payload);
        loop {
            let mut answer = self.ask(kind::LIST, |message| message.words(&[open.0]).long(offset).words(&[limit]))?;
            let count = answer.word()?;
            match listing.add(answer.bytes(count as usize)?)? {
                None => return Ok(listing.finish()),
                Some(next) => offset = next,
            }
        }
    }

    /// Makes a regular file in a directory, with nobody else's content in it. Returns the number by
    /// which the new file is open to be read and written, whatever its mode allows; another one;
    /// and its status.
    pub fn create(&mut self, directory: Fid, name: &[u8], mode: u32) -> Result<(Fid, Fid, Status), Error> {
        self.check_path(directory, name)?;
        let open = self.new_fid()?;
        let known = self.new_fid().inspect_err(|_| self.free.push(open.0))?;
        match self.create_as(directory, name, mode, (open, known)) {
            Ok(status) => {
                [open, known].into_iter().for_each(|fid| self.note_path(|paths| paths.walk(directory.0, name, fid.0)));
                Ok((open, known, status))
            }
            Err(error) => {
                [open, known].into_iter().for_each(|fid| self.forget(fid));
                Err(error)
            }
        }
    }

    fn create_as(&mut self, directory: Fid, name: &[u8], mode: u32, (open, known): (Fid, Fid)) -> Result<Status, Error> {
        const EXCLUSIVE: u32 = 0o300;
        self.ask_first(kind::WALK, |message| message.words(&[directory.0, open.0]).short(0))?;
        self.ask_first(kind::CREATE, |message| message.words(&[open.0]).string(name).words(&[EXCLUSIVE | open::READ_WRITE, mode, 0]))?;
        self.ask_first(kind::WALK, |message| message.words(&[directory.0, known.0]).short(1).string(name))?;
        self.status(known)
    }

    /// Makes a directory.
    pub fn make_directory(&mut self, directory: Fid, name: &[u8], mode: u32) -> Result<(), Error> {
        self.check_path(directory, name)?;
        self.ask(kind::MAKE_DIRECTORY, |message| message.words(&[directory.0]).string(name).words(&[mode, 0])).map(drop)
    }

    /// Makes a symbolic link.
    pub fn make_link(&mut self, directory: Fid, name: &[u8], target: &[u8]) -> Result<(), Error> {
        self.check_path(directory, name)?;
        self.ask(kind::SYMBOLIC_LINK, |message| message.words(&[directory.0]).string(name).string(target).words(&[0])).map(drop)
    }

    /// Makes a FIFO, socket or device of this number, as its mode says.
    pub fn make_node(&mut self, directory: Fid, name: &[u8], mode: u32, device: u64) -> Result<(), Error> {
        let (major, minor) = ((device >> 8 & 0xfff) as u32, (device & 0xff | device >> 12 & 0xf_ff00) as u32);
        self.check_path(directory, name)?;
        self.ask(kind::MAKE_NODE, |message| message.words(&[directory.0]).string(name).words(&[mode, major, minor, 0])).map(drop)
    }

    /// Gives a file another name.
    pub fn link(&mut self, fid: Fid, directory: Fid, name: &[u8]) -> Result<(), Error> {
        self.check_path(directory, name)?;
        self.ask(kind::LINK, |message| message.words(&[directory.0, fid.0]).string(name)).map(drop)
    }

    /// Moves a name, over whatever has the new one.
    pub fn rename(&mut self, from: (Fid, &[u8]), to: (Fid, &[u8])) -> Result<(), Error> {
        self.check_path(from.0, from.1)?;
        self.check_path(to.0, to.1)?;
        let names = ((from.0.0, from.1), (to.0.0, to.1));
        if self.paths.as_mut().is_some_and(|paths| !paths.may_rename(names.0, names.1)) {
            return Err(Error::TOO_LONG);
        }
        self.ask(kind::RENAME, |message| message.words(&[from.0.0]).string(from.1).words(&[to.0.0]).string(to.1)).map(drop)?;
        self.note_path(|paths| paths.rename(names.0, names.1));
        Ok(())
    }

    /// Removes a name, of an empty directory if `is_directory`.
    pub fn remove(&mut self, directory: Fid, name: &[u8], is_directory: bool) -> Result<(), Error> {
        self.check_path(directory, name)?;
        let flags = if is_directory { REMOVE_DIRECTORY } else { 0 };
        self.ask(kind::REMOVE, |message| message.words(&[directory.0]).string(name).words(&[flags])).map(drop)
    }

    /// Changes attributes of a file.
    pub fn change(&mut self, fid: Fid, changes: &Changes) -> Result<(), Error> {
        let Changes { mode, uid, gid, size, accessed, modified } = *changes;
        let bit = |is_there: bool, bits: u32| if is_there { bits } else { 0 };
        let valid = bit(mode.is_some(), 1) | bit(uid.is_some(), 2) | bit(gid.is_some(), 4) | bit(size.is_some(), 8);
        let valid = valid | bit(accessed.is_some(), 0x90) | bit(modified.is_some(), 0x120);
        self.ask(kind::CHANGE, |message| {
            let message = message.words(&[fid.0, valid, mode.unwrap_or(0), uid.unwrap_or(0), gid.unwrap_or(0)]).long(size.unwrap_or(0));
            [accessed, modified].map(Option::unwrap_or_default).iter().fold(message, |message, time| message.long(time.seconds).long(time.nanoseconds.into()))
        })
        .map(drop)
    }

    /// Waits until the content of an open file is on the server's disk.
    pub fn sync(&mut self, open: Fid) -> Result<(), Error> {
        self.ask(kind::SYNC, |message| message.words(&[open.0, 0])).map(drop)
    }
}
