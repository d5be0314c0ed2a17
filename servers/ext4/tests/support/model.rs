//! A file system in memory, random operations on it and on a volume, and a comparison of the two.

use super::Memory;
use nacre_ext4::{Errno, Open, Tree, Volume};
use nacre_machine_9p::{Changes, OpenFlags, Part, Sought};
use std::collections::BTreeMap;

/// Source of random numbers.
pub struct Seed(pub u64);

impl Seed {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// A file of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Directory,
    Link(Vec<u8>),
    /// Number of contents, which several names may share.
    File(u64),
}

/// A file system in memory.
#[derive(Clone, Default)]
pub struct Model {
    pub names: BTreeMap<String, Node>,
    pub contents: BTreeMap<u64, Vec<u8>>,
    pub next: u64,
}

fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

impl Model {
    fn is_directory(&self, path: &str) -> bool {
        path.is_empty() || self.names.get(path) == Some(&Node::Directory)
    }

    /// Returns an error if there is no directory for a path.
    fn check_above(&self, path: &str) -> Result<(), u32> {
        let mut end = 0;
        let above = above(path);
        while end < above.len() {
            end = above[end + 1..].find('/').map_or(above.len(), |at| end + 1 + at);
            match self.names.get(&above[..end]) {
                Some(Node::Directory) => {}
                Some(_) => return Err(20),
                None => return Err(2),
            }
        }
        Ok(())
    }

    fn get(&self, path: &str) -> Result<&Node, u32> {
        self.check_above(path)?;
        if path.is_empty() { Ok(&Node::Directory) } else { self.names.get(path).ok_or(2) }
    }

    fn make(&mut self, path: &str, node: Node) -> Result<(), u32> {
        self.check_above(path)?;
        if self.names.contains_key(path) {
            return Err(17);
        }
        self.names.insert(path.to_string(), node);
        Ok(())
    }

    fn is_empty(&self, path: &str) -> bool {
        !self.names.keys().any(|name| above(name) == path)
    }

    fn remove(&mut self, path: &str, is_directory: bool) -> Result<(), u32> {
        match (self.get(path)?, is_directory) {
            (Node::Directory, false) => return Err(21),
            (Node::Directory, true) if !self.is_empty(path) => return Err(39),
            (Node::Directory, true) | (_, false) => {}
            _ => return Err(20),
        }
        self.names.remove(path);
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), u32> {
        if to.starts_with(&format!("{from}/")) {
            return Err(22);
        }
        let node = self.get(from)?.clone();
        self.check_above(to)?;
        let other = self.names.get(to);
        if other == Some(&node) && (node != Node::Directory && !matches!(node, Node::Link(_)) || from == to) {
            return Ok(());
        }
        match (&node, other) {
            (Node::Directory, Some(Node::Directory)) if !self.is_empty(to) => return Err(39),
            (Node::Directory, Some(Node::Directory)) | (_, None) => {}
            (Node::Directory, Some(_)) => return Err(20),
            (_, Some(Node::Directory)) => return Err(21),
            _ => {}
        }
        let prefix = format!("{from}/");
        let moved: Vec<String> = self.names.keys().filter(|name| *name == from || name.starts_with(&prefix)).cloned().collect();
        self.names.remove(to);
        for name in moved {
            let node = self.names.remove(&name).unwrap();
            self.names.insert(format!("{to}{}", &name[from.len()..]), node);
        }
        Ok(())
    }

    fn write(&mut self, file: u64, at: usize, bytes: &[u8]) {
        let content = self.contents.get_mut(&file).unwrap();
        content.resize(content.len().max(at + bytes.len()), 0);
        content[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// A volume, and what must be in it.
pub struct Pair {
    pub model: Model,
    pub volume: Volume<Memory>,
    /// Files that are open, and their contents' numbers.
    pub open: Vec<(Open, u64)>,
    pub seed: Seed,
    /// Limit of the sizes of files in bytes.
    pub longest: u64,
}

fn errno<T>(result: Result<T, Errno>) -> Result<T, u32> {
    result.map_err(|Errno(number)| number)
}

impl Pair {
    pub fn new(volume: Volume<Memory>, seed: u64, longest: u64) -> Self {
        let seed = Seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Pair { model: Model::default(), volume, open: Vec::new(), seed, longest }
    }

    fn path(&mut self) -> String {
        let depth = 1 + self.seed.below(3);
        let name = |seed: &mut Seed| match seed.below(12) {
            0 => format!("a longer name, of one of {} files{}", seed.below(4), "x".repeat(200)),
            _ => format!("f{}", seed.below(6)),
        };
        let names: Vec<String> = (0..depth).map(|_| name(&mut self.seed)).collect();
        names.join("/")
    }

    /// Does an operation on both, and compares the results.
    pub fn step(&mut self) {
        let (path, other) = (self.path(), self.path());
        let (bytes, text) = (path.as_bytes(), other.as_bytes());
        let kind = self.seed.below(23);
        let (made, expected) = match kind {
            0..=4 => return self.create(&path),
            5..=8 => return self.write(),
            9 => return self.truncate(),
            10 => return drop(self.open.pop()),
            11 | 12 => (self.volume.make_directory(bytes, 0o755), self.model.make(&path, Node::Directory)),
            13 => {
                let target = if self.seed.below(2) == 0 { text.to_vec() } else { text.repeat(4)[..text.len().min(225) * 4].to_vec() };
                let made = self.volume.symbolic_link(&target, bytes);
                (made, self.model.make(&path, Node::Link(target)))
            }
            14 => {
                let node = self.model.get(&path).cloned();
                let expected = match node {
                    Ok(Node::Directory) => Err(1),
                    Ok(Node::Link(_)) => return,
                    node => node.and_then(|node| self.model.make(&other, node)),
                };
                (self.volume.link(bytes, text), expected)
            }
            15 | 16 => (self.volume.rename(bytes, text), self.model.rename(&path, &other)),
            20 => return self.allocate(),
            21 => return self.look(),
            22 => return self.punch(),
            17 | 18 => (self.volume.remove(bytes, false), self.model.remove(&path, false)),
            _ => (self.volume.remove(bytes, true), self.model.remove(&path, true)),
        };
        assert_eq!(errno(made), expected, "operation {kind} of {path} and {other}");
    }

    fn create(&mut self, path: &str) {
        let flags = OpenFlags { reads: true, writes: true, creates: Some(0o644), ..OpenFlags::default() };
        let made = errno(self.volume.open(path.as_bytes(), flags));
        let number = self.model.next;
        let expected = self.model.make(path, Node::File(number));
        assert_eq!(made.as_ref().map(drop), expected.as_ref().map(drop).map_err(|errno| errno), "{path}");
        if let Ok(file) = made {
            self.model.next += 1;
            self.model.contents.insert(number, Vec::new());
            self.open.push((file, number));
            if self.open.len() > 5 {
                let index = self.seed.below(self.open.len() as u64) as usize;
                self.open.remove(index);
            }
        }
    }

    fn write(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let index = self.seed.below(self.open.len() as u64) as usize;
        let at = self.seed.below(self.longest);
        let size = self.seed.below(if self.seed.0.is_multiple_of(4) { 60_000 } else { 3_000 });
        let bytes: Vec<u8> = (0..size).map(|place| (place ^ self.seed.0) as u8).collect();
        let (file, number) = &self.open[index];
        let count = self.volume.write(file, at, &bytes).unwrap();
        assert_eq!(count, bytes.len());
        self.model.write(*number, at as usize, &bytes);
        let mut back = vec![0; bytes.len()];
        assert_eq!(self.volume.read(file, at, &mut back), Ok(bytes.len()));
        assert!(back == bytes);
    }

    fn truncate(&mut self) {
        let Some((file, number)) = self.open.last() else { return };
        let size = self.seed.below(self.longest);
        let changes = Changes { size: Some(size), ..Changes::default() };
        self.volume.change(b"", Some(file), &changes).unwrap();
        self.model.contents.get_mut(number).unwrap().resize(size as usize, 0);
    }

    /// Takes room for a part of a file.
    fn allocate(&mut self) {
        let Some((file, number)) = self.open.last() else { return };
        let (mut start, size) = (self.seed.below(self.longest), 1 + self.seed.below(self.longest / 8));
        let (end, keeps_size) = (start + size, self.seed.below(2) == 0);
        while start < end {
            match self.volume.allocate(file, start..end, keeps_size) {
                Ok(next) => {
                    assert!(start < next && next <= end);
                    start = next;
                }
                // The volume has no extents.
                Err(errno) => return assert_eq!(errno, Errno(95)),
            }
        }
        let content = self.model.contents.get_mut(number).unwrap();
        if !keeps_size && content.len() < end as usize {
            content.resize(end as usize, 0);
        }
    }

    /// Takes blocks of a part of a file away.
    fn punch(&mut self) {
        let Some((file, number)) = self.open.last() else { return };
        let start = self.seed.below(self.longest);
        let end = start + 1 + self.seed.below(self.longest / 4);
        let mut at = start;
        while at < end {
            match self.volume.punch(file, at..end) {
                Ok(next) => {
                    assert!(at < next && next <= end);
                    at = next;
                }
                Err(errno) => return assert_eq!(errno, Errno(95)),
            }
        }
        let content = self.model.contents.get_mut(number).unwrap();
        let length = content.len();
        content[length.min(start as usize)..length.min(end as usize)].fill(0);
    }

    /// Looks for data and holes: all that is not zero lies in data.
    fn look(&mut self) {
        let Some((file, number)) = self.open.last() else { return };
        let content = &self.model.contents[number];
        let (mut at, mut part) = (0, Part::Hole);
        while at < content.len() {
            part = if part == Part::Data { Part::Hole } else { Part::Data };
            let next = match self.volume.seek(file, at as u64, part) {
                Ok(Sought::At(next) | Sought::Behind(next)) => next as usize,
                Err(errno) => {
                    assert_eq!((errno, part), (Errno(6), Part::Data));
                    content.len()
                }
            };
            assert!(at <= next && next <= content.len());
            assert!(part == Part::Hole || content[at..next].iter().all(|byte| *byte == 0), "data in a hole");
            at = next;
        }
        assert_eq!(self.volume.seek(file, content.len() as u64, Part::Hole), Err(Errno(6)));
    }

    /// Fails unless the volume has what the model has.
    pub fn compare(&mut self) {
        compare(&mut self.volume, &self.model);
    }
}

/// Fails unless a volume has what a model has, and nothing else.
pub fn compare(volume: &mut Volume<Memory>, model: &Model) {
    assert_eq!(difference(volume, model, None), None);
}

/// Returns what a volume has and a model has not, or the other way round. Bytes of files may be
/// those of a later state, which was being written.
pub fn difference(
    volume: &mut Volume<Memory>, model: &Model, later: Option<&Model>,
) -> Option<String> {
    let mut found = BTreeMap::new();
    collect(volume, "", &mut found);
    found.remove("lost+found");
    let names: Vec<&String> = found.keys().collect();
    let expected: Vec<&String> = model.names.keys().collect();
    if names != expected {
        return Some(format!("the names are {names:?} in place of {expected:?}"));
    }
    model.names.iter().find_map(|(path, node)| {
        let is_right = match node {
            Node::Directory => found[path] & 0o170000 == 0o040000,
            Node::Link(target) => volume.read_link(path.as_bytes()).as_ref() == Ok(target),
            Node::File(number) => {
                let (bytes, expected) = (read(volume, path), &model.contents[number]);
                let later = later.map(|later| later.contents.get(number).map_or(&[][..], |bytes| bytes));
                is_like(&bytes, expected, later)
            }
        };
        (!is_right).then(|| format!("{path} differs"))
    })
}

/// Returns true if bytes are the expected ones, or at some places later ones.
fn is_like(bytes: &[u8], expected: &[u8], later: Option<&[u8]>) -> bool {
    let is_later = |at: usize| later.is_some_and(|later| later.get(at).copied().unwrap_or(0) == bytes[at]);
    bytes.len() == expected.len() && (0..bytes.len()).all(|at| bytes[at] == expected[at] || is_later(at))
}

/// Reads a file.
pub fn read(volume: &mut Volume<Memory>, path: &str) -> Vec<u8> {
    let file = volume.open(path.as_bytes(), OpenFlags { reads: true, ..OpenFlags::default() }).unwrap();
    let mut bytes = vec![0xaa; volume.status_open(&file).unwrap().size as usize + 10];
    let count = volume.read(&file, 0, &mut bytes).unwrap();
    bytes.truncate(count);
    bytes
}

fn collect(volume: &mut Volume<Memory>, path: &str, found: &mut BTreeMap<String, u32>) {
    let flags = OpenFlags { reads: true, is_directory: true, ..OpenFlags::default() };
    let file = volume.open(path.as_bytes(), flags).unwrap();
    let (mut cookie, mut names) = (0, Vec::new());
    loop {
        let each = &mut |entry: nacre_machine_9p::Entry<'_>| {
            names.push((String::from_utf8(entry.name.to_vec()).unwrap(), entry.mode));
        };
        cookie = volume.list(&file, cookie, each).unwrap();
        if cookie == 0 {
            break;
        }
    }
    for (name, mode) in names {
        let path = if path.is_empty() { name } else { format!("{path}/{name}") };
        assert_eq!(found.insert(path.clone(), mode), None, "{path} is listed twice");
        if mode & 0o170000 == 0o040000 {
            collect(volume, &path, found);
        }
    }
}
