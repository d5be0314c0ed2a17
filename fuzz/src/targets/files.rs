//! Root's file tree: any operation with any path.

use crate::bytes::Bytes;
use nacre_root::store::fake::Fake;
use nacre_root::table::Key;
use nacre_root::tree::{Time, Tree, open};

const MEMORY: u64 = 1 << 18;
const NOW: Time = Time { seconds: 1000, nanoseconds: 5 };
const PARTS: [&[u8]; 10] = [b"a", b"b", b"c", b"link", b"..", b".", b"", b"a/b", b"/", b"a-longer-name"];
const SIZES: [u64; 8] = [0, 1, 4095, 4096, 5000, 1 << 17, 1 << 40, u64::MAX];

struct World<'a> {
    bytes: Bytes<'a>,
    tree: Tree<Fake>,
    /// Nodes that are held open.
    held: Vec<Key>,
}

impl World<'_> {
    fn path(&mut self) -> Vec<u8> {
        match self.bytes.below(12) {
            0 => self.bytes.some().to_vec(),
            1 => vec![b'x'; 16 * usize::from(self.bytes.byte())],
            count => (0..count.min(4)).map(|_| self.bytes.of(&PARTS)).collect::<Vec<_>>().join(&b'/'),
        }
    }

    /// A place to start from: the root, or what is open, which may be no directory.
    fn start(&mut self) -> Key {
        let number = self.bytes.below(self.held.len() + 1);
        self.held.get(number).copied().unwrap_or(self.tree.root())
    }

    fn step(&mut self) {
        let (start, path) = (self.start(), self.path());
        match self.bytes.below(16) {
            0..4 => self.open(start, &path),
            4 => _ = self.tree.make_directory(start, &path, 0o755, NOW),
            5 => _ = self.tree.make_link(start, &self.bytes.of(&PARTS).to_vec(), &path, NOW),
            6 => _ = self.tree.make_node(start, &path, self.bytes.word() as u32, self.bytes.word(), NOW),
            7 => _ = self.tree.remove(start, &path, self.bytes.below(2) == 0, NOW),
            8 | 9 => self.rename(start, &path),
            10 => self.change(start),
            11 => _ = self.tree.resolve(start, &path, self.bytes.below(2) == 0).and_then(|place| self.tree.facts(place.existing()?)),
            12 => self.list(start),
            13 => self.close(),
            _ => self.transfer(start),
        }
    }

    fn open(&mut self, start: Key, path: &[u8]) {
        let flags = (0..3).fold(self.bytes.word() & 3, |flags, _| {
            let more = [0, open::CREATE, open::EXCLUSIVE, open::TRUNCATE, open::DIRECTORY, open::NOFOLLOW, open::PATH, open::TEMPORARY];
            flags | self.bytes.of(&more)
        });
        if self.held.len() < 12
            && let Ok(key) = self.tree.open(start, path, flags, self.bytes.word() as u32, NOW)
        {
            self.held.push(key);
        }
    }

    fn rename(&mut self, start: Key, path: &[u8]) {
        let (other, to) = (self.start(), self.path());
        match self.bytes.below(2) {
            0 => _ = self.tree.rename((start, path), (other, &to), self.bytes.word() & 7, NOW),
            _ => _ = self.tree.link((start, path), (other, &to), self.bytes.below(2) == 0, NOW),
        }
        let _ = self.tree.path_of(other);
    }

    fn change(&mut self, key: Key) {
        let words = self.bytes.words();
        let _ = self.tree.set_mode(key, words[0], NOW);
        let _ = self.tree.set_owner(key, words[1], words[2], NOW);
        let _ = self.tree.set_times(key, [(words[0], words[3]), (words[4], words[5])], NOW);
    }

    fn list(&mut self, key: Key) {
        let mut entries = Vec::new();
        let capacity = self.bytes.of(&SIZES).min(65536) as usize;
        let _ = self.tree.list(key, self.bytes.word(), &mut entries, capacity);
        assert!(entries.len() <= capacity, "a listing of {} bytes in {capacity}", entries.len());
    }

    fn close(&mut self) {
        if !self.held.is_empty() {
            let number = self.bytes.below(self.held.len());
            self.tree.closed(self.held.swap_remove(number));
        }
    }

    fn transfer(&mut self, key: Key) {
        let (offset, size) = (self.bytes.of(&SIZES).wrapping_add(u64::from(self.bytes.byte())), self.bytes.of(&SIZES));
        match self.bytes.below(3) {
            0 => _ = self.tree.write(key, offset, &vec![7; size.min(9000) as usize], NOW),
            1 => _ = self.tree.set_size(key, size, NOW),
            _ => {
                if let Ok((content, store)) = self.tree.content(key) {
                    let mut into = vec![0; size.min(9000) as usize];
                    assert!(content.read(store, offset, &mut into) <= into.len());
                    content.piece(store, offset, size);
                    content.contiguous(offset, size);
                }
            }
        }
    }

    /// Removes what is in a directory, and says how much there was.
    fn empty(&mut self, directory: Key) -> usize {
        let mut entries = Vec::new();
        let mut cookie = 0;
        loop {
            let mut some = Vec::new();
            cookie = self.tree.list(directory, cookie, &mut some, 65536).unwrap_or(0);
            entries.extend(some);
            if cookie == 0 {
                break;
            }
        }
        let names: Vec<Vec<u8>> = nacre_proto::structures::Entries(&entries).map(|entry| entry.name.to_vec()).collect();
        let names: Vec<_> = names.into_iter().filter(|name| name != b"." && name != b"..").collect();
        for name in &names {
            let inner = self.tree.resolve(directory, name, false).and_then(|place| place.existing()).expect("what is listed is there");
            let is_directory = self.tree.get(inner).is_some_and(|node| node.is_directory());
            if is_directory {
                self.empty(inner);
            }
            self.tree.remove(directory, name, is_directory, NOW).expect("what is empty can be removed");
        }
        names.len()
    }
}

pub fn tree(bytes: &[u8]) {
    let tree = Tree::new(Fake::new(MEMORY), NOW);
    let free = tree.store().free_bytes();
    let mut world = World { bytes: Bytes(bytes), tree, held: Vec::new() };
    while !world.bytes.is_over() {
        world.step();
    }
    world.held.drain(..).for_each(|key| world.tree.closed(key));
    world.empty(world.tree.root());
    assert_eq!(world.tree.len(), 1, "nodes are left that have no name");
    assert_eq!(world.tree.store().free_bytes(), free, "memory is lost");
}
