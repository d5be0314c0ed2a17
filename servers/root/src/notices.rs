//! Who wants to hear what happens to files, and what they have not heard yet: watches of nodes, as
//! `inotify` has them.
//!
//! A watcher has a number for each node that it watches. What happens to a node is told to who
//! watches it, and with its name to who watches its directory.

use crate::table::Key;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Events and flags of watches, with Linux's numbers.
pub mod event {
    #![allow(missing_docs)]
    pub const ACCESS: u64 = 1;
    pub const MODIFY: u64 = 2;
    pub const ATTRIB: u64 = 4;
    pub const CLOSE_WRITE: u64 = 8;
    pub const CLOSE_NOWRITE: u64 = 0x10;
    pub const OPEN: u64 = 0x20;
    pub const MOVED_FROM: u64 = 0x40;
    pub const MOVED_TO: u64 = 0x80;
    pub const CREATE: u64 = 0x100;
    pub const DELETE: u64 = 0x200;
    pub const DELETE_SELF: u64 = 0x400;
    pub const MOVE_SELF: u64 = 0x800;
    pub const ALL: u64 = 0xfff;
    pub const OVERFLOW: u64 = 0x4000;
    pub const IGNORED: u64 = 0x8000;
    pub const MASK_CREATE: u64 = 0x1000_0000;
    pub const MASK_ADD: u64 = 0x2000_0000;
    pub const IS_DIRECTORY: u64 = 0x4000_0000;
    pub const ONCE: u64 = 0x8000_0000;
}

/// Largest number of watches of one watcher.
const MOST: usize = 8192;
/// Memory that an event takes beside its own bytes, until it is read.
const EVENT: usize = 48;
/// Memory of all events of one watcher, in bytes. A watcher pays for all of it when it is made.
pub const QUEUE: usize = 64 << 10;
/// Bytes of an event before its name, and what the name is filled up to.
const HEADER: usize = 16;

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEvent {
    /// Node that the event concerns, or its directory.
    pub node: Key,
    /// Kind of the event, and whether it concerns a directory.
    pub mask: u64,
    /// The name in the directory; empty: the node itself.
    pub name: Vec<u8>,
    /// Number that both events of a move share.
    pub cookie: u64,
}

struct Watch {
    watcher: Key,
    number: u64,
    mask: u64,
}

#[derive(Default)]
struct Watcher {
    last: u64,
    nodes: BTreeMap<u64, Key>,
    events: VecDeque<Vec<u8>>,
    /// Memory of the events.
    size: usize,
}

impl Watcher {
    /// Adds an event, unless it is the same as the last one. Where there is no room the last event
    /// says that some are lost.
    fn add(&mut self, number: u64, mask: u64, cookie: u64, name: &[u8]) {
        let bytes = encode(number, mask, cookie, name);
        let is_full = self.size + EVENT + bytes.len() + EVENT + HEADER > QUEUE;
        let bytes = if is_full { encode(u64::MAX, event::OVERFLOW, 0, &[]) } else { bytes };
        // Every other event leaves room for the one that says that some are lost.
        if self.events.back() != Some(&bytes) {
            self.size += EVENT + bytes.len();
            self.events.push_back(bytes);
        }
    }
}

/// An event as it is read.
fn encode(number: u64, mask: u64, cookie: u64, name: &[u8]) -> Vec<u8> {
    let size = if name.is_empty() { 0 } else { (name.len() + 1).next_multiple_of(HEADER) };
    let mut bytes = Vec::with_capacity(HEADER + size);
    for word in [number, mask, cookie, size as u64] {
        bytes.extend((word as u32).to_le_bytes());
    }
    bytes.extend(name);
    bytes.resize(HEADER + size, 0);
    bytes
}

/// Watchers of files and the events that wait for them. The head of this module describes them.
#[derive(Default)]
pub struct Notices {
    watchers: BTreeMap<Key, Watcher>,
    watches: BTreeMap<Key, Vec<Watch>>,
    count: usize,
    /// Watchers whose watches have ended since this was taken last, once for each.
    ended: Vec<Key>,
}

impl Notices {
    /// Returns true if anybody watches anything.
    pub fn is_wanted(&self) -> bool {
        self.count != 0
    }

    /// Returns true if anybody watches this node.
    pub fn watches(&self, node: Key) -> bool {
        self.watches.contains_key(&node)
    }

    /// Adds a watcher.
    pub fn add_watcher(&mut self, watcher: Key) {
        self.watchers.insert(watcher, Watcher::default());
    }

    /// Number of watches of a watcher.
    pub fn count(&self, watcher: Key) -> usize {
        self.watchers.get(&watcher).map_or(0, |listener| listener.nodes.len())
    }

    /// Takes the watchers whose watches have ended, once for each watch.
    pub fn take_ended(&mut self) -> Vec<Key> {
        core::mem::take(&mut self.ended)
    }

    /// Removes a watcher: nobody listens any more.
    pub fn remove_watcher(&mut self, watcher: Key) {
        let nodes = self.watchers.remove(&watcher).map(|listener| listener.nodes);
        for node in nodes.into_iter().flat_map(BTreeMap::into_values) {
            self.forget(watcher, node);
        }
    }

    fn forget(&mut self, watcher: Key, node: Key) {
        let Some(watches) = self.watches.get_mut(&node) else { return };
        let before = watches.len();
        watches.retain(|watch| watch.watcher != watcher);
        self.count -= before - watches.len();
        if watches.is_empty() {
            self.watches.remove(&node);
        }
    }

    /// Watches a node, or watches it for something else; the number of the watch.
    pub fn watch(&mut self, watcher: Key, node: Key, mask: u64) -> Result<u64, Errno> {
        let listener = self.watchers.get_mut(&watcher).ok_or(Errno::EINVAL)?;
        let kept = event::ALL | event::ONCE;
        if mask & event::ALL == 0 || mask & event::MASK_ADD != 0 && mask & event::MASK_CREATE != 0 {
            return Err(Errno::EINVAL);
        }
        if let Some(known) = self.watches.get_mut(&node).and_then(|watches| watches.iter_mut().find(|watch| watch.watcher == watcher)) {
            if mask & event::MASK_CREATE != 0 {
                return Err(Errno::EEXIST);
            }
            known.mask = mask & kept | if mask & event::MASK_ADD != 0 { known.mask } else { 0 };
            return Ok(known.number);
        }
        if listener.nodes.len() >= MOST {
            return Err(Errno::ENOSPC);
        }
        listener.last += 1;
        listener.nodes.insert(listener.last, node);
        self.watches.entry(node).or_default().push(Watch { watcher, number: listener.last, mask: mask & kept });
        self.count += 1;
        Ok(listener.last)
    }

    /// Ends a watch.
    pub fn unwatch(&mut self, watcher: Key, number: u64) -> Result<(), Errno> {
        let listener = self.watchers.get_mut(&watcher).ok_or(Errno::EINVAL)?;
        let node = listener.nodes.remove(&number).ok_or(Errno::EINVAL)?;
        listener.add(number, event::IGNORED, 0, &[]);
        self.ended.push(watcher);
        self.forget(watcher, node);
        Ok(())
    }

    /// Tells who wants to know; those are returned.
    pub fn tell(&mut self, happened: &FileEvent) -> Vec<Key> {
        let mut told = Vec::new();
        let mut over = Vec::new();
        for watch in self.watches.get(&happened.node).into_iter().flatten() {
            let Some(listener) = self.watchers.get_mut(&watch.watcher) else { continue };
            let is_wanted = happened.mask & watch.mask & event::ALL != 0;
            if is_wanted {
                listener.add(watch.number, happened.mask, happened.cookie, &happened.name);
                told.push(watch.watcher);
            }
            if happened.mask & event::DELETE_SELF != 0 || is_wanted && watch.mask & event::ONCE != 0 {
                over.push((watch.watcher, watch.number));
                told.push(watch.watcher);
            }
        }
        for (watcher, number) in over {
            let _ = self.unwatch(watcher, number);
        }
        told
    }

    /// Returns true if there is an event to read.
    pub fn has_some(&self, watcher: Key) -> bool {
        self.watchers.get(&watcher).is_some_and(|listener| !listener.events.is_empty())
    }

    /// Bytes that can be read.
    pub fn waiting(&self, watcher: Key) -> usize {
        self.watchers.get(&watcher).map_or(0, |listener| listener.events.iter().map(Vec::len).sum())
    }

    /// Returns as many events as fit; `None`: there are none. `EINVAL`: not even one fits.
    /// [`Notices::consume`] takes them.
    pub fn look(&self, watcher: Key, size: usize) -> Result<Option<Vec<u8>>, Errno> {
        let listener = self.watchers.get(&watcher).ok_or(Errno::EINVAL)?;
        let mut bytes = Vec::new();
        for event in &listener.events {
            if bytes.len() + event.len() > size {
                return if bytes.is_empty() { Err(Errno::EINVAL) } else { Ok(Some(bytes)) };
            }
            bytes.extend(event);
        }
        Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }

    /// Takes the first events of a watcher, so many bytes of them.
    pub fn consume(&mut self, watcher: Key, mut count: usize) {
        let Some(listener) = self.watchers.get_mut(&watcher) else { return };
        while let Some(event) = listener.events.pop_front_if(|event| event.len() <= count) {
            listener.size -= EVENT + event.len();
            count -= event.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WATCHER: Key = Key::from_word(1);
    const NODE: Key = Key::from_word(2);

    fn happened(mask: u64, name: &[u8]) -> FileEvent {
        FileEvent { node: NODE, mask, name: name.to_vec(), cookie: 0 }
    }

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    fn read(notices: &mut Notices, watcher: Key, size: usize) -> Result<Option<Vec<u8>>, Errno> {
        let bytes = notices.look(watcher, size)?;
        assert_eq!(notices.look(watcher, size).unwrap(), bytes, "a look takes nothing");
        notices.consume(watcher, bytes.as_ref().map_or(0, Vec::len));
        Ok(bytes)
    }

    #[test]
    fn events_are_told_to_who_wants_them() {
        let mut notices = Notices::default();
        notices.add_watcher(WATCHER);
        assert_eq!(notices.watch(WATCHER, NODE, 0), Err(Errno::EINVAL));
        assert_eq!(notices.watch(WATCHER, NODE, event::CREATE), Ok(1));
        assert_eq!(notices.watch(WATCHER, NODE, event::MODIFY | event::MASK_ADD), Ok(1));
        assert_eq!(notices.tell(&happened(event::OPEN, b"")), []);
        assert_eq!(notices.tell(&happened(event::CREATE, b"name")), [WATCHER]);
        notices.tell(&happened(event::CREATE, b"name"));
        notices.tell(&happened(event::MODIFY, b""));
        assert_eq!(read(&mut notices, WATCHER, 31), Err(Errno::EINVAL));
        let bytes = read(&mut notices, WATCHER, 100).unwrap().unwrap();
        assert_eq!(words(&bytes[..16]), [1, event::CREATE as u32, 0, 16]);
        assert_eq!(&bytes[16..21], b"name\0");
        assert_eq!(words(&bytes[32..]), [1, event::MODIFY as u32, 0, 0]);
        assert_eq!(read(&mut notices, WATCHER, 100), Ok(None));
    }

    #[test]
    fn a_watch_ends_with_its_node_or_after_once() {
        let mut notices = Notices::default();
        notices.add_watcher(WATCHER);
        notices.watch(WATCHER, NODE, event::MODIFY | event::ONCE).unwrap();
        notices.tell(&happened(event::MODIFY, b""));
        assert!(!notices.is_wanted());
        assert_eq!(notices.watch(WATCHER, NODE, event::MODIFY), Ok(2));
        notices.tell(&happened(event::DELETE_SELF, b""));
        let bytes = read(&mut notices, WATCHER, 100).unwrap().unwrap();
        let masks: Vec<u32> = bytes.chunks_exact(16).map(|event| words(event)[1]).collect();
        assert_eq!(masks, [event::MODIFY as u32, event::IGNORED as u32, event::IGNORED as u32]);
        assert_eq!(notices.unwatch(WATCHER, 2), Err(Errno::EINVAL));
    }

    #[test]
    fn who_does_not_read_learns_that_something_is_lost() {
        let mut notices = Notices::default();
        notices.add_watcher(WATCHER);
        notices.watch(WATCHER, NODE, event::ALL).unwrap();
        for number in 0..2 * QUEUE / (EVENT + HEADER) {
            notices.tell(&happened(if number % 2 == 0 { event::OPEN } else { event::ACCESS }, b""));
        }
        let bytes = read(&mut notices, WATCHER, 1 << 20).unwrap().unwrap();
        assert_eq!(bytes.len(), 16 * QUEUE / (EVENT + HEADER));
        assert_eq!(notices.watchers[&WATCHER].size, 0);
        assert_eq!(words(&bytes[bytes.len() - 16..])[..2], [u32::MAX, event::OVERFLOW as u32]);
        notices.remove_watcher(WATCHER);
        assert!(!notices.is_wanted() && !notices.has_some(WATCHER));
    }
}
