//! A directory that a guest has mounted: messages of 9P, whole, cut off and altered.

use crate::bytes::Bytes;
use nacre_machine_9p::{
    Changes, Entry, Errno, FileSystem, Lock, OpenFlags, Path, Server, Status, Tree,
};
use nacre_machine_virtio::FileServer;

/// Kinds of messages that the server knows, and one that it does not.
const KINDS: [u8; 27] = [
    8, 12, 14, 16, 18, 20, 22, 24, 26, 30, 32, 40, 50, 52, 54, 70, 72, 74, 76, 100, 104, 108, 110, 116,
    118, 120, 122,
];

/// Tree in which every name is there. Names with an even first byte are directories.
struct Everything;

/// Checks that a path is one of names, and stays below the shared directory.
fn check(path: &Path) {
    let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
    assert!(path.is_empty() || path.split(|byte| *byte == b'/').all(is_name), "{path:?}");
}

/// Fails for a path whose length is a multiple of 7, so that errors come, too.
fn found(path: &Path) -> Result<(), Errno> {
    check(path);
    if path.len() % 7 == 6 { Err(Errno(2)) } else { Ok(()) }
}

impl Tree for Everything {
    type Open = Vec<u8>;

    fn status(&mut self, path: &Path) -> Result<Status, Errno> {
        found(path)?;
        let is_directory = path.last().is_none_or(|byte| byte % 2 == 0);
        let mode = if is_directory { 0o040755 } else { 0o100644 };
        Ok(Status { inode: path.len() as u64, mode, ..Status::default() })
    }

    fn status_open(&mut self, file: &Vec<u8>) -> Result<Status, Errno> {
        self.status(file)
    }

    fn open(&mut self, path: &Path, _: OpenFlags) -> Result<Vec<u8>, Errno> {
        found(path).map(|()| path.to_vec())
    }

    fn read(&mut self, _: &Vec<u8>, _: u64, into: &mut [u8]) -> Result<usize, Errno> {
        into.fill(1);
        Ok(into.len())
    }

    fn write(&mut self, _: &Vec<u8>, _: u64, bytes: &[u8]) -> Result<usize, Errno> {
        Ok(bytes.len())
    }

    fn list(
        &mut self, _: &Vec<u8>, cookie: u64, each: &mut dyn FnMut(Entry<'_>),
    ) -> Result<u64, Errno> {
        (0..cookie % 3).for_each(|inode| each(Entry { inode, mode: 0o100644, name: b"name" }));
        Ok(if cookie < 9 { cookie + 1 } else { 0 })
    }

    fn sync(&mut self, _: &Vec<u8>) -> Result<(), Errno> {
        Ok(())
    }

    fn lock(&mut self, _: &Vec<u8>, _: Lock, first: u64, last: u64) -> Result<(), Errno> {
        assert!(first <= last);
        Err(Errno(11))
    }

    fn change(
        &mut self, path: &Path, _: Option<&Vec<u8>>, _: &Changes,
    ) -> Result<(), Errno> {
        found(path)
    }

    fn attribute(
        &mut self, path: &Path, _: Option<&Vec<u8>>, name: &[u8],
    ) -> Result<Vec<u8>, Errno> {
        found(path).map(|()| name.to_vec())
    }

    fn set_attribute(
        &mut self, path: &Path, _: Option<&Vec<u8>>, name: &[u8], value: Option<&[u8]>, _: u32,
    ) -> Result<(), Errno> {
        assert!(!name.is_empty() && value.is_none_or(|value| value.len() <= 1 << 16));
        found(path)
    }

    fn make_directory(&mut self, path: &Path, _: u32) -> Result<(), Errno> {
        found(path)
    }

    fn make_node(&mut self, path: &Path, _: u32, _: u64) -> Result<(), Errno> {
        found(path)
    }

    fn symbolic_link(&mut self, _: &[u8], path: &Path) -> Result<(), Errno> {
        found(path)
    }

    fn read_link(&mut self, path: &Path) -> Result<Vec<u8>, Errno> {
        found(path).map(|()| vec![b'x'; path.len() * 99])
    }

    fn link(&mut self, from: &Path, to: &Path) -> Result<(), Errno> {
        found(from).and(found(to))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), Errno> {
        found(from).and(found(to))
    }

    fn remove(&mut self, path: &Path, _: bool) -> Result<(), Errno> {
        found(path)
    }

    fn file_system(&mut self) -> Result<FileSystem, Errno> {
        Ok(FileSystem::default())
    }
}

/// A guest's messages. Each is a kind, words of it, and at times a size that is wrong.
pub fn shares(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut server = Server::new(Everything);
    let mut answer = [0; 1024];
    while !bytes.is_over() {
        let mut message = vec![0, 0, 0, 0, bytes.of(&KINDS), 1, 0];
        for _ in 0..bytes.byte() % 12 {
            match bytes.below(5) {
                0 => message.push(bytes.byte()),
                1 => message.extend(u32::from(bytes.byte() % 4).to_le_bytes()),
                2 => message.extend(bytes.word().to_le_bytes()),
                3 => message.extend((bytes.byte() as u16).to_le_bytes()),
                _ => {
                    let name = bytes.some();
                    message.extend((name.len() as u16).to_le_bytes());
                    message.extend(name);
                }
            }
        }
        let size = message.len() as u32;
        message[..4].copy_from_slice(&size.to_le_bytes());
        let room = usize::from(bytes.byte()) * 4;
        let count = server.request(&message, &mut answer[..room]);
        assert!(count <= room);
        assert!(count == 0 || answer[..4] == (count as u32).to_le_bytes());
    }
}
