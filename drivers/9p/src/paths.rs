//! Paths that a server keeps for its fids, as QEMU's does: a fid has the path by which it was
//! walked to, and a rename changes all paths that begin with the old one.
//!
//! QEMU (7.2, `hw/9pfs`) has the size of such a path in 16 bits, and what is longer leads anywhere.
//! So no path may become longer than [`MAX_PATH`], whatever fids are held and whoever else moves
//! directories. The paths are kept as a tree of names, apart from the files that stand there now:
//! the server does not look at those either.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

/// Bytes of a path, at most. One more name, as a listing looks at each, still fits into 16 bits.
pub const MAX_PATH: usize = 65_000;

/// Number of a place in [`Paths`].
type Place = u32;

/// Place of the directory that was attached.
const TOP: Place = 0;

/// A path: a name behind another path.
struct Node {
    parent: Place,
    name: Rc<[u8]>,
    /// Fids with this path.
    fids: Vec<u32>,
    /// Number of names behind it.
    children: u32,
}

/// Paths of all fids. The head of this module describes them.
pub struct Paths {
    nodes: Vec<Node>,
    free: Vec<Place>,
    names: BTreeMap<(Place, Rc<[u8]>), Place>,
    places: BTreeMap<u32, Place>,
    /// Length that no path exceeds.
    longest: usize,
}

impl Paths {
    /// Returns the paths of a client that has one fid, of the directory that was attached.
    pub fn new(root: u32) -> Paths {
        let top = Node { parent: TOP, name: Rc::from(&b"."[..]), fids: vec![root], children: 0 };
        Paths { nodes: vec![top], free: Vec::new(), names: BTreeMap::new(), places: BTreeMap::from([(root, TOP)]), longest: 1 }
    }

    fn node(&self, place: Place) -> &Node {
        &self.nodes[place as usize]
    }

    fn node_mut(&mut self, place: Place) -> &mut Node {
        &mut self.nodes[place as usize]
    }

    fn length(&self, mut place: Place) -> usize {
        let mut length = self.node(TOP).name.len();
        while place != TOP {
            length += 1 + self.node(place).name.len();
            place = self.node(place).parent;
        }
        length
    }

    /// Returns the names of a fid's path behind the directory that was attached.
    pub fn names(&self, fid: u32) -> Option<Vec<Rc<[u8]>>> {
        let (mut place, mut names) = (*self.places.get(&fid)?, Vec::new());
        while place != TOP {
            names.push(self.node(place).name.clone());
            place = self.node(place).parent;
        }
        names.reverse();
        Some(names)
    }

    /// Returns the length of the path that a name in a directory has.
    pub fn length_of(&self, directory: u32, name: &[u8]) -> usize {
        self.places.get(&directory).map_or(0, |place| self.length(*place)) + 1 + name.len()
    }

    /// Notes that a fid has the path of another one.
    pub fn copy(&mut self, from: u32, fid: u32) {
        if let Some(place) = self.places.get(&from).copied() {
            self.set(fid, place);
        }
    }

    /// Notes that a fid has the path of a name in a directory.
    pub fn walk(&mut self, directory: u32, name: &[u8], fid: u32) {
        let Some(at) = self.places.get(&directory).copied() else { return };
        let place = self.child(at, name);
        self.longest = self.longest.max(self.length(place));
        self.set(fid, place);
    }

    fn set(&mut self, fid: u32, place: Place) {
        self.node_mut(place).fids.push(fid);
        if let Some(old) = self.places.insert(fid, place) {
            self.take(fid, old);
        }
    }

    /// Notes that there is a fid no more.
    pub fn forget(&mut self, fid: u32) {
        if let Some(place) = self.places.remove(&fid) {
            self.take(fid, place);
        }
    }

    fn take(&mut self, fid: u32, place: Place) {
        let fids = &mut self.node_mut(place).fids;
        if let Some(at) = fids.iter().position(|other| *other == fid) {
            fids.swap_remove(at);
        }
        self.tidy(place);
    }

    /// Removes paths that no fid has, and that no path begins with.
    fn tidy(&mut self, mut place: Place) {
        while place != TOP && self.node(place).fids.is_empty() && self.node(place).children == 0 {
            let parent = self.detach(place);
            self.free.push(place);
            place = parent;
        }
    }

    /// Takes a path from the one before it, which is returned.
    fn detach(&mut self, place: Place) -> Place {
        let Node { parent, name, .. } = self.node(place);
        let (parent, name) = (*parent, name.clone());
        self.names.remove(&(parent, name));
        self.node_mut(parent).children -= 1;
        parent
    }

    fn attach(&mut self, place: Place, parent: Place, name: Rc<[u8]>) {
        self.names.insert((parent, name.clone()), place);
        self.node_mut(parent).children += 1;
        let node = self.node_mut(place);
        (node.parent, node.name) = (parent, name);
    }

    fn child(&mut self, parent: Place, name: &[u8]) -> Place {
        let name: Rc<[u8]> = Rc::from(name);
        if let Some(place) = self.names.get(&(parent, name.clone())) {
            return *place;
        }
        let fresh = Node { parent, name: name.clone(), fids: Vec::new(), children: 0 };
        let place = match self.free.pop() {
            Some(place) => {
                *self.node_mut(place) = fresh;
                place
            }
            None => {
                self.nodes.push(fresh);
                self.nodes.len() as Place - 1
            }
        };
        self.attach(place, parent, name);
        place
    }

    fn children(&self, place: Place) -> impl Iterator<Item = Place> {
        let first: Rc<[u8]> = Rc::from(&b""[..]);
        self.names.range((place, first.clone())..(place + 1, first)).map(|(_, child)| *child)
    }

    /// Returns the length of the longest path that begins with this one.
    fn longest_below(&self, place: Place) -> usize {
        let (mut longest, mut left) = (0, vec![(place, self.length(place))]);
        while let Some((place, length)) = left.pop() {
            longest = longest.max(length);
            left.extend(self.children(place).map(|child| (child, length + 1 + self.node(child).name.len())));
        }
        longest
    }

    /// Returns true if no path becomes too long by this rename.
    pub fn may_rename(&mut self, from: (u32, &[u8]), to: (u32, &[u8])) -> bool {
        let [old, new] = [from, to].map(|(directory, name)| self.length_of(directory, name));
        let growth = new.saturating_sub(old);
        if new > MAX_PATH || self.longest + growth <= MAX_PATH {
            return new <= MAX_PATH;
        }
        // What is known of all paths is no longer enough.
        self.longest = self.longest_below(TOP);
        let moved = self.place_of(from);
        moved.is_none_or(|place| self.longest_below(place) + growth <= MAX_PATH)
    }

    fn place_of(&self, (directory, name): (u32, &[u8])) -> Option<Place> {
        self.names.get(&(*self.places.get(&directory)?, Rc::from(name))).copied()
    }

    /// Notes that a rename was carried out.
    pub fn rename(&mut self, from: (u32, &[u8]), to: (u32, &[u8])) {
        let [old, new] = [from, to].map(|(directory, name)| self.length_of(directory, name));
        let (moved, parent) = (self.place_of(from), self.places.get(&to.0).copied());
        let (Some(moved), Some(parent)) = (moved, parent) else { return };
        if self.place_of(to) == Some(moved) || self.is_below(parent, moved) {
            return;
        }
        self.longest += new.saturating_sub(old);
        let left = self.detach(moved);
        self.join(moved, parent, Rc::from(to.1));
        self.tidy(left);
    }

    /// Returns true if a path begins with another one.
    fn is_below(&self, mut place: Place, above: Place) -> bool {
        while place != above && place != TOP {
            place = self.node(place).parent;
        }
        place == above
    }

    /// Attaches a path at a place where there may be one already, of fids whose file is gone.
    fn join(&mut self, moved: Place, parent: Place, name: Rc<[u8]>) {
        let mut left = vec![(moved, parent, name)];
        while let Some((moved, parent, name)) = left.pop() {
            let Some(kept) = self.names.get(&(parent, name.clone())).copied() else {
                self.attach(moved, parent, name);
                continue;
            };
            for fid in core::mem::take(&mut self.node_mut(moved).fids) {
                self.places.insert(fid, kept);
                self.node_mut(kept).fids.push(fid);
            }
            let children: Vec<Place> = self.children(moved).collect();
            for child in children {
                let name = self.node(child).name.clone();
                self.detach(child);
                left.push((child, kept, name));
            }
            self.free.push(moved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    /// The server's own way: a string for each fid.
    #[derive(Default)]
    struct Strings(BTreeMap<u32, String>);

    impl Strings {
        fn rename(&mut self, old: &str, new: &str) {
            for path in self.0.values_mut() {
                if path == old || path.starts_with(&alloc::format!("{old}/")) {
                    *path = alloc::format!("{new}{}", &path[old.len()..]);
                }
            }
        }
    }

    fn is_same(paths: &Paths, strings: &Strings) {
        for (fid, path) in &strings.0 {
            assert_eq!(paths.length(paths.places[fid]), path.len(), "{path}");
        }
        let longest = strings.0.values().map(String::len).max().unwrap_or(0);
        assert!(paths.longest >= longest && paths.longest_below(TOP) == longest.max(1));
        assert_eq!(paths.places.len(), strings.0.len());
    }

    #[test]
    fn paths_are_those_of_the_server_whatever_is_renamed() {
        for seed in 1..60u64 {
            let mut state = seed;
            let mut random = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let (mut paths, mut strings, mut next) = (Paths::new(0), Strings(BTreeMap::from([(0, String::from("."))])), 1);
            for _ in 0..400 {
                let fids: Vec<u32> = strings.0.keys().copied().collect();
                let mut fid = || fids[random(fids.len() as u64) as usize];
                let (one, other) = (fid(), fid());
                let name = |number: u64| ["a", "bb", "ccc", "dddd"][number as usize];
                let (from, to) = (name(random(4)), name(random(4)));
                match random(6) {
                    0..=2 => {
                        paths.walk(one, from.as_bytes(), next);
                        strings.0.insert(next, alloc::format!("{}/{from}", strings.0[&one]));
                        next += 1;
                    }
                    3 => {
                        paths.copy(one, next);
                        strings.0.insert(next, strings.0[&one].clone());
                        next += 1;
                    }
                    4 if one != 0 => {
                        paths.forget(one);
                        strings.0.remove(&one);
                    }
                    _ => {
                        let [old, new] = [(one, from), (other, to)].map(|(fid, name)| alloc::format!("{}/{name}", strings.0[&fid]));
                        // The server's file system refuses to put a directory into itself.
                        if !alloc::format!("{new}/").starts_with(&alloc::format!("{old}/")) {
                            paths.rename((one, from.as_bytes()), (other, to.as_bytes()));
                            strings.rename(&old, &new);
                        }
                    }
                }
                is_same(&paths, &strings);
            }
            strings.0.keys().filter(|fid| **fid != 0).for_each(|fid| paths.forget(*fid));
            assert!(paths.names.is_empty() && paths.free.len() + 1 == paths.nodes.len());
        }
    }

    #[test]
    fn a_rename_is_judged_by_the_longest_path_below() {
        let mut paths = Paths::new(0);
        let long = [b'n'; 255];
        (0..253).for_each(|depth| paths.walk(depth, if depth == 0 { b"m" } else { &long }, depth + 1));
        assert_eq!(paths.length_of(253, b"x"), 1 + 2 + 252 * 256 + 2);
        assert!(paths.may_rename((0, b"m"), (0, &long)));
        paths.rename((0, b"m"), (0, &long));
        paths.rename((0, &long), (0, b"m"));
        paths.walk(253, &[b'z'; 250], 300);
        assert!(!paths.may_rename((0, b"m"), (0, &long)));
        // What lies elsewhere may have long names, and short ones may come for long ones.
        paths.walk(0, b"o", 301);
        assert!(paths.may_rename((0, b"o"), (0, &long)) && paths.may_rename((0, b"m"), (0, b"n")));
        // Shorter and longer again a thousand times is nothing.
        for _ in 0..1000 {
            assert!(paths.may_rename((0, b"o"), (0, &long)));
            paths.rename((0, b"o"), (0, &long));
            paths.rename((0, &long), (0, b"o"));
        }
    }
}
