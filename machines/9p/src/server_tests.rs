//! Tests of the server, as a Linux guest uses it, on a tree in memory.

use super::*;
use crate::tree::Lock;
use crate::tree::{Changes, Entry, FileSystem, Path, Status};
use alloc::collections::BTreeMap;
use alloc::vec;

/// Files by their paths: mode, and contents or target; and attributes by paths and names.
#[derive(Default)]
struct Fake(BTreeMap<Vec<u8>, (u32, Vec<u8>)>, BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>);

const FILE: u32 = 0o100000;

impl Fake {
    fn find(&mut self, path: &Path) -> Result<&mut (u32, Vec<u8>), Errno> {
        self.0.get_mut(path).ok_or(Errno::NOENT)
    }

    fn make(&mut self, path: &Path, mode: u32, content: &[u8]) -> Step {
        match self.0.insert(path.to_vec(), (mode, content.to_vec())) {
            None => Ok(()),
            Some(_) => Err(Errno::EXIST),
        }
    }
}

impl Tree for Fake {
    type Open = Vec<u8>;

    fn status(&mut self, path: &Path) -> Result<Status, Errno> {
        let inode = path.len() as u64 + 1;
        let (mode, content) = self.find(path)?;
        Ok(Status { inode, mode: *mode, size: content.len() as u64, ..Status::default() })
    }

    fn status_open(&mut self, file: &Vec<u8>) -> Result<Status, Errno> {
        self.status(file)
    }

    fn open(&mut self, path: &Path, flags: OpenFlags) -> Result<Vec<u8>, Errno> {
        if let Some(mode) = flags.creates {
            self.make(path, FILE | mode, b"")?;
        }
        self.find(path).map(|_| path.to_vec())
    }

    fn read(&mut self, file: &Vec<u8>, at: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let content = self.find(file)?.1.get(at as usize..).unwrap_or_default();
        let count = content.len().min(into.len());
        into[..count].copy_from_slice(&content[..count]);
        Ok(count)
    }

    fn write(&mut self, file: &Vec<u8>, at: u64, bytes: &[u8]) -> Result<usize, Errno> {
        let content = &mut self.find(file)?.1;
        content.resize(content.len().max(at as usize + bytes.len()), 0);
        content[at as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Two entries at a time.
    fn list(
        &mut self, file: &Vec<u8>, cookie: u64, each: &mut dyn FnMut(Entry<'_>),
    ) -> Result<u64, Errno> {
        let entries: Vec<_> = self.0.iter().filter(|(path, _)| !path.is_empty() && names::above(path) == file).collect();
        for (path, (mode, _)) in entries.iter().skip(cookie as usize).take(2) {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap();
            each(Entry { inode: path.len() as u64 + 1, mode: *mode, name });
        }
        Ok(if entries.len() as u64 > cookie + 2 { cookie + 2 } else { 0 })
    }

    fn sync(&mut self, _: &Vec<u8>) -> Step {
        Ok(())
    }

    fn lock(&mut self, _: &Vec<u8>, lock: Lock, _: u64, last: u64) -> Step {
        if lock == Lock::Write && last == u64::MAX { Err(Errno::AGAIN) } else { Ok(()) }
    }

    fn change(&mut self, path: &Path, file: Option<&Vec<u8>>, changes: &Changes) -> Step {
        let found = self.find(file.map_or(path, |file| file))?;
        if let Some(size) = changes.size {
            found.1.resize(size as usize, 0);
        }
        Ok(())
    }

    fn attribute(&mut self, path: &Path, _: Option<&Vec<u8>>, name: &[u8]) -> Result<Vec<u8>, Errno> {
        self.1.get(&(path.to_vec(), name.to_vec())).cloned().ok_or(Errno(61))
    }

    fn set_attribute(
        &mut self, path: &Path, _: Option<&Vec<u8>>, name: &[u8], value: Option<&[u8]>, _: u32,
    ) -> Step {
        let key = (path.to_vec(), name.to_vec());
        match value {
            Some(value) => drop(self.1.insert(key, value.to_vec())),
            None => drop(self.1.remove(&key).ok_or(Errno(61))?),
        }
        Ok(())
    }

    fn make_directory(&mut self, path: &Path, mode: u32) -> Step {
        self.make(path, attributes::DIRECTORY | mode, b"")
    }

    fn make_node(&mut self, path: &Path, mode: u32, _: u64) -> Step {
        self.make(path, mode, b"")
    }

    fn symbolic_link(&mut self, target: &[u8], path: &Path) -> Step {
        self.make(path, attributes::LINK, target)
    }

    fn read_link(&mut self, path: &Path) -> Result<Vec<u8>, Errno> {
        Ok(self.find(path)?.1.clone())
    }

    fn link(&mut self, from: &Path, to: &Path) -> Step {
        let (mode, content) = self.find(from)?.clone();
        self.make(to, mode, &content)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Step {
        let all: Vec<_> = self.0.keys().filter_map(|path| Some((path.clone(), names::moved(path, from, to)?))).collect();
        for (old, new) in all {
            let file = self.0.remove(&old).unwrap();
            self.0.insert(new, file);
        }
        Ok(())
    }

    fn remove(&mut self, path: &Path, _: bool) -> Step {
        self.0.remove(path).map(drop).ok_or(Errno::NOENT)
    }

    fn file_system(&mut self) -> Result<FileSystem, Errno> {
        Ok(FileSystem { block_size: 4096, blocks: 7, ..FileSystem::default() })
    }
}

/// Part of a message.
enum Word<'a> {
    Byte(u8),
    Half(u32),
    Whole(u64),
    Text(&'a [u8]),
}

use Word::{Byte, Half, Text, Whole};

fn message(kind: u8, words: &[Word<'_>]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, kind, 9, 0];
    for word in words {
        match word {
            Byte(value) => bytes.push(*value),
            Half(value) => bytes.extend(value.to_le_bytes()),
            Whole(value) => bytes.extend(value.to_le_bytes()),
            Text(text) => {
                bytes.extend((text.len() as u16).to_le_bytes());
                bytes.extend(*text);
            }
        }
    }
    let size = bytes.len() as u32;
    bytes[..4].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// Server that a guest has greeted, with the shared directory as file 0.
fn server() -> Server<Fake> {
    let mut server = Server::new(Fake::default());
    server.tree.make_directory(b"", 0o755).unwrap();
    ask(&mut server, 100, &[Half(8192), Text(b"9P2000.L")]).unwrap();
    ask(&mut server, 104, &[Half(0), Half(u32::MAX), Text(b"root"), Text(b""), Half(0)]).unwrap();
    server
}

/// Sends a message. Returns what the answer says, or the error.
fn ask(server: &mut Server<Fake>, kind: u8, words: &[Word<'_>]) -> Result<Vec<u8>, u32> {
    let mut answer = vec![0; 8192];
    let size = server.request(&message(kind, words), &mut answer);
    assert_eq!(answer[..4], (size as u32).to_le_bytes());
    assert_eq!(answer[5..7], [9, 0]);
    if answer[4] == ERROR {
        return Err(u32::from_le_bytes(answer[7..11].try_into().unwrap()));
    }
    assert_eq!(answer[4], kind + 1);
    Ok(answer[7..size].to_vec())
}

/// Walks from file 0 by names to a new file.
fn walk(server: &mut Server<Fake>, to: u32, names: &[&[u8]]) -> Result<Vec<u8>, u32> {
    let count = [names.len() as u8, 0].map(Byte);
    let words = [Half(0), Half(to)].into_iter().chain(count).chain(names.iter().map(|name| Text(name)));
    ask(server, 110, &words.collect::<Vec<_>>())
}

fn create(server: &mut Server<Fake>, fid: u32, name: &[u8]) -> Result<Vec<u8>, u32> {
    walk(server, fid, &[])?;
    ask(server, 14, &[Half(fid), Text(name), Half(0o102), Half(0o644), Half(0)])
}

#[test]
fn files_are_made_written_and_read() {
    let mut server = server();
    assert!(create(&mut server, 1, b"f").is_ok());
    let write = message(118, &[Half(1), Whole(2), Half(3)]);
    let mut whole = [write, b"abc".to_vec()].concat();
    whole[0] += 3;
    let mut answer = [0; 64];
    assert_eq!(server.request(&whole, &mut answer), 11);
    assert_eq!((answer[4], answer[7]), (119, 3));
    assert_eq!(ask(&mut server, 116, &[Half(1), Whole(1), Half(100)]), Ok(b"\x04\0\0\0\0abc".to_vec()));
    assert_eq!(ask(&mut server, 24, &[Half(1), Whole(u64::MAX)]).unwrap()[49], 5, "size");
    let time = [0; 5].map(Whole);
    let words = [Half(1), Half(8), Half(0), Half(0), Half(0), Whole(2)];
    assert!(ask(&mut server, 26, &words.into_iter().chain(time).collect::<Vec<_>>()[..10]).is_ok());
    assert_eq!(server.tree.0[&b"f".to_vec()].1, b"\0\0");
    assert!(ask(&mut server, 50, &[Half(1), Half(0)]).is_ok());
    assert!(ask(&mut server, 120, &[Half(1)]).is_ok());
    assert_eq!(ask(&mut server, 116, &[Half(1), Whole(1), Half(100)]), Err(9));
    assert_eq!(create(&mut server, 2, b"f"), Err(17));
}

#[test]
fn walks_stay_inside() {
    let mut server = server();
    ask(&mut server, 72, &[Half(0), Text(b"d"), Half(0o755), Half(0)]).unwrap();
    assert_eq!(walk(&mut server, 1, &[b"d", b"..", b"..", b"..", b"d"]).unwrap().len(), 2 + 5 * 13);
    assert_eq!(server.fids.path(1), Ok(&b"d"[..]));
    assert_eq!(walk(&mut server, 1, &[]), Err(17), "the number is taken");
    assert_eq!(walk(&mut server, 2, &[b"d", b"x"]).unwrap().len(), 2 + 13, "part of the way");
    assert_eq!(server.fids.path(2), Err(Errno::BADF));
    for name in [&b"."[..], b"a/b", b"a\0b", b""] {
        assert_eq!(walk(&mut server, 3, &[name]), Err(22), "{name:?}");
        assert_eq!(ask(&mut server, 72, &[Half(0), Text(name), Half(0), Half(0)]), Err(22));
    }
    assert_eq!(ask(&mut server, 72, &[Half(0), Text(b".."), Half(0), Half(0)]), Err(22));
}

#[test]
fn a_directory_is_listed_from_any_entry() {
    let mut server = server();
    for name in [b"a", b"b", b"c", b"d", b"e"] {
        ask(&mut server, 72, &[Half(0), Text(name), Half(0o755), Half(0)]).unwrap();
    }
    walk(&mut server, 1, &[]).unwrap();
    assert_eq!(ask(&mut server, 40, &[Half(1), Whole(0), Half(100)]), Err(9), "not open");
    ask(&mut server, 12, &[Half(1), Half(0o200000)]).unwrap();
    let (mut offset, mut found) = (0, Vec::new());
    loop {
        // Two entries fit, and a part of a third.
        let listed = ask(&mut server, 40, &[Half(1), Whole(offset), Half(60)]).unwrap();
        let entries = &listed[4..];
        assert_eq!(entries.len() % 25, 0);
        let Some(last) = entries.chunks(25).next_back() else { break };
        found.extend(entries.chunks(25).map(|entry| entry[24]));
        offset = u64::from_le_bytes(last[13..21].try_into().unwrap());
    }
    assert_eq!(found, b"abcde");
    let all = ask(&mut server, 40, &[Half(1), Whole(0), Half(4000)]).unwrap();
    assert_eq!(all.len(), 4 + 5 * 25);
    let second = u64::from_le_bytes(all[4 + 25 + 13..][..8].try_into().unwrap());
    assert_eq!(ask(&mut server, 40, &[Half(1), Whole(second), Half(30)]).unwrap()[28], b'c');
    assert_eq!(ask(&mut server, 40, &[Half(1), Whole(u64::MAX), Half(100)]), Ok(vec![0; 4]));
}

#[test]
fn names_are_linked_renamed_and_removed() {
    let mut server = server();
    ask(&mut server, 72, &[Half(0), Text(b"d"), Half(0o755), Half(0)]).unwrap();
    ask(&mut server, 16, &[Half(0), Text(b"l"), Text(b"to/there"), Half(0)]).unwrap();
    walk(&mut server, 1, &[b"l"]).unwrap();
    assert_eq!(ask(&mut server, 22, &[Half(1)]), Ok(b"\x08\0to/there".to_vec()));
    walk(&mut server, 2, &[b"d"]).unwrap();
    ask(&mut server, 70, &[Half(2), Half(1), Text(b"m")]).unwrap();
    walk(&mut server, 3, &[b"d", b"m"]).unwrap();
    ask(&mut server, 74, &[Half(0), Text(b"d"), Half(0), Text(b"e")]).unwrap();
    assert_eq!(server.fids.path(3), Ok(&b"e/m"[..]), "what the guest holds goes along");
    assert!(ask(&mut server, 22, &[Half(3)]).is_ok());
    ask(&mut server, 20, &[Half(3), Half(0), Text(b"n")]).unwrap();
    ask(&mut server, 76, &[Half(0), Text(b"e"), Half(0x200)]).unwrap();
    assert!(ask(&mut server, 122, &[Half(3)]).is_ok());
    assert_eq!(server.tree.0.keys().collect::<Vec<_>>(), [&b""[..], b"l"]);
    assert_eq!(ask(&mut server, 20, &[Half(0), Half(0), Text(b"n")]), Err(22), "the top");
}

#[test]
fn locks_that_others_have_are_told() {
    let mut server = server();
    create(&mut server, 1, b"f").unwrap();
    let mut lock = |kind, length| {
        let words = [Half(1), Byte(kind), Half(0), Whole(0), Whole(length), Half(1), Text(b"")];
        ask(&mut server, 52, &words)
    };
    assert_eq!((lock(0, 0), lock(1, 5), lock(1, 0)), (Ok(vec![0]), Ok(vec![0]), Ok(vec![1])));
    assert_eq!(lock(9, 0), Err(22));
}

#[test]
fn messages_that_are_not_whole_are_refused() {
    let mut server = server();
    let mut answer = vec![0; 8192];
    let whole = message(110, &[Half(0), Half(1), Byte(1), Byte(0), Text(b"d")]);
    assert_eq!(server.request(&whole[..6], &mut answer), 0);
    assert_eq!((server.request(&whole[..12], &mut answer), answer[4]), (11, ERROR));
    assert_eq!(server.request(&whole, &mut answer[..6]), 0, "no room for an answer");
    assert_eq!(server.request(&whole, &mut answer[..10]), 0, "no room for an error");
    let mut cut = message(110, &[Half(0), Half(1), Byte(2), Byte(0), Text(b"")]);
    assert_eq!((server.request(&cut, &mut answer), answer[7]), (11, 22));
    cut[4] = 28;
    assert_eq!((server.request(&cut, &mut answer), answer[7]), (11, 95), "no such message");
    assert_eq!(ask(&mut server, 100, &[Half(100), Text(b"9P2000.L")]), Err(22));
    assert_eq!(ask(&mut server, 100, &[Half(9000), Text(b"9P2000")]).unwrap()[6..], *b"unknown");
    assert_eq!(ask(&mut server, 24, &[Half(0), Whole(0)]), Err(9), "all is forgotten");
}

#[test]
fn a_guest_cannot_hold_files_without_end() {
    let mut server = server();
    let refused = (1..).find_map(|fid| walk(&mut server, fid, &[]).err().map(|errno| (fid, errno)));
    assert_eq!(refused, Some((32768, 23)));
    assert!(ask(&mut server, 120, &[Half(5)]).is_ok());
    assert!(walk(&mut server, 5, &[]).is_ok());
}

#[test]
fn messages_in_a_chain_end_with_the_first_that_fails() {
    let mut server = server();
    let mut chain = |messages: &[Vec<u8>]| {
        let mut answer = vec![0; 8192];
        let size = server.requests(&messages.concat(), &mut answer);
        (answer[4], answer[7..size.max(7)].to_vec(), server.fids.path(2).is_ok())
    };
    let forget = message(120, &[Half(9)]);
    let copy = message(110, &[Half(0), Half(1), Byte(0), Byte(0)]);
    let create = message(14, &[Half(1), Text(b"f"), Half(0o102), Half(0o644), Half(0)]);
    let walk = message(110, &[Half(0), Half(2), Byte(1), Byte(0), Text(b"f")]);
    let status = message(24, &[Half(2), Whole(u64::MAX)]);
    assert_eq!(chain(&[walk.clone(), status.clone()]), (ERROR, vec![2, 0, 0, 0], false));
    let (kind, answer, is_known) = chain(&[forget, copy, create, walk, status.clone()]);
    assert_eq!((kind, answer.len(), is_known), (25, 153, true));
    // What is cut off, or too short for a message, is none.
    assert_eq!(chain(&[status.clone(), status[..9].to_vec()]).0, ERROR);
    assert_eq!(chain(&[status.clone(), vec![3, 0, 0, 0]]).0, 25);
    assert_eq!(chain(&[status, vec![0; 16]]).0, ERROR);
    assert_eq!(server.requests(&[], &mut [0; 64]), 0);
}

#[test]
fn attributes_are_read_and_written_by_numbers() {
    let mut server = server();
    create(&mut server, 1, b"f").unwrap();
    let set = |server: &mut Server<Fake>, value: &[u8], size, flags| {
        walk(server, 2, &[b"f"])?;
        ask(server, 32, &[Half(2), Text(b"user.a"), Whole(size), Half(flags)])?;
        if !value.is_empty() {
            let mut write = message(118, &[Half(2), Whole(0), Half(value.len() as u32)]);
            write.extend(value);
            write[0] += value.len() as u8;
            let mut answer = [0; 64];
            assert_eq!(server.request(&write, &mut answer), 11);
        }
        ask(server, 120, &[Half(2)])
    };
    assert!(set(&mut server, b"value", 5, 0).is_ok());
    assert_eq!(ask(&mut server, 30, &[Half(1), Half(3), Text(b"user.a")]), Ok(5_u64.to_le_bytes().to_vec()));
    assert_eq!(ask(&mut server, 116, &[Half(3), Whole(1), Half(3)]), Ok(b"\x03\0\0\0alu".to_vec()));
    assert_eq!(ask(&mut server, 116, &[Half(3), Whole(9), Half(3)]), Ok(vec![0; 4]));
    assert!(ask(&mut server, 120, &[Half(3)]).is_ok());
    assert_eq!(ask(&mut server, 30, &[Half(1), Half(3), Text(b"user.b")]), Err(61));
    assert_eq!(set(&mut server, b"val", 5, 0), Err(22), "a part is not there");
    assert_eq!(server.tree.1.len(), 1);
    assert!(set(&mut server, b"", 0, 0).is_ok() && set(&mut server, b"", 0, 2).is_ok());
    assert_eq!(set(&mut server, b"", 0, 2), Err(61), "it was removed");
    walk(&mut server, 4, &[b"f"]).unwrap();
    assert_eq!(ask(&mut server, 32, &[Half(4), Text(b"user.a"), Whole(1 << 17), Half(0)]), Err(7));
    for fid in 100..200 {
        walk(&mut server, fid, &[b"f"]).unwrap();
    }
    let refused = (100..200).find_map(|fid| ask(&mut server, 32, &[Half(fid), Text(b"user.a"), Whole(1), Half(0)]).err());
    assert_eq!(refused, Some(23), "a guest cannot hold values without end");
}
