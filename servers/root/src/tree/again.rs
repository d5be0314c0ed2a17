//! A side whose server has ended, and has a successor: the files are the same, and have other
//! numbers.

use super::node::{Away, Id, Lasting, NodeContent, format};
use super::outside::{Changes, Found, Origin};
use super::Tree;
use crate::store::Store;
use crate::table::Key;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Names that lead from a side's outermost directory to a file.
type Names = Vec<Rc<[u8]>>;

/// A way from a side's outermost directory, with what each name leads to. Numbers that nobody keeps
/// are given back when the way no longer leads there.
struct Way {
    start: Id,
    /// Names, what they lead to, and whether that number stays.
    steps: Vec<(Rc<[u8]>, Option<Found>, bool)>,
}

impl Way {
    /// Goes to other names. Returns what they lead to.
    fn go(&mut self, origin: &mut dyn Origin, names: &[Rc<[u8]>]) -> Result<Option<Found>, Errno> {
        let common = self.steps.iter().zip(names).take_while(|((step, ..), name)| step == *name).count();
        self.back(origin, common);
        for name in &names[common..] {
            let found = match self.end() {
                Some(id) => origin.find(id, name).or_else(|errno| if errno == Errno::EIO { Err(errno) } else { Ok(None) })?,
                None => None,
            };
            self.steps.push((name.clone(), found, false));
        }
        Ok(self.steps.last().and_then(|(_, found, is_kept)| found.filter(|_| !is_kept)))
    }

    /// Number of what the way leads to.
    fn end(&self) -> Option<Id> {
        self.steps.last().map_or(Some(self.start), |(_, found, _)| found.map(|found| found.id))
    }

    /// The number of what the way leads to stays.
    fn keep(&mut self) {
        if let Some((.., is_kept)) = self.steps.last_mut() {
            *is_kept = true;
        }
    }

    /// Goes back to the first so many names.
    fn back(&mut self, origin: &mut dyn Origin, count: usize) {
        for (_, found, is_kept) in self.steps.drain(count..).rev() {
            if let (Some(found), false) = (found, is_kept) {
                origin.forget(found.id);
            }
        }
    }
}

impl<S: Store> Tree<S> {
    /// Puts a server in the place of the one that served a side before, and finds every file that
    /// is known here by its name again. What is there no more, as a file without a name, gives
    /// `EIO` from now on; and so does the next `sync` of a file that was written since the last
    /// one, if that `may_be_lost`. `ESTALE`: it has other files.
    pub fn join_again(&mut self, mount: Key, mut origin: Box<dyn Origin>, may_be_lost: bool) -> Result<(), Errno> {
        let found = origin.root()?;
        let node = self.node(mount)?;
        let away = node.origin.ok_or(Errno::EIO)?;
        if found.inode != node.outside_inode || found.mode & format::MASK != format::DIRECTORY {
            return Err(Errno::ESTALE);
        }
        let outside = self.sides.of_mut(away).ok_or(Errno::EIO)?;
        if outside.changes == Changes::Kept {
            return self.find_by_old_names(mount, away.side, (origin, found));
        }
        outside.replace(origin);
        if may_be_lost {
            self.note_lost(away.side);
        }
        self.take_again(mount, away.side, &found);
        let (mut directories, mut known) = (Vec::from([mount]), BTreeSet::new());
        while let Some(directory) = directories.pop() {
            let Ok(body) = self.directory(directory) else { continue };
            let names: Vec<(Vec<u8>, Key)> = body.entries().iter().map(|(name, entry)| (name.to_vec(), entry.node)).collect();
            for (name, key) in names {
                let is_its = self.node(key).is_ok_and(|node| node.origin.is_some_and(|its| its.side == away.side));
                if !is_its || self.sides.is_mount(key) {
                    continue;
                }
                if !self.find_by_name(directory, &name, key, &mut known)? {
                    self.drop_gone(directory, &name);
                } else if known.contains(&key) && self.directory(key).is_ok() {
                    directories.push(key);
                }
            }
        }
        // It may have ended on the way.
        self.sides.of_mut(away).ok_or(Errno::EIO)?.origin.root().map(drop)
    }

    /// Has the next `sync` tell of files of a side whose last changes may be lost.
    fn note_lost(&mut self, side: u8) {
        let unknown = self.nodes.iter_mut().filter(|(_, node)| node.origin.is_some_and(|away| away.side == side) && node.lasting == Lasting::Unknown);
        unknown.for_each(|(_, node)| node.lasting = Lasting::Lost);
    }

    /// Finds the files of a side whose changes are kept here. Names here tell nothing of the side,
    /// so each file is looked for by those by which it was found. Nothing changes before all were
    /// looked for, since the new server can end, too.
    fn find_by_old_names(&mut self, mount: Key, side: u8, (mut origin, found): (Box<dyn Origin>, Found)) -> Result<(), Errno> {
        let old = self.sides.of_mut(Away { side, id: found.id }).ok_or(Errno::EIO)?;
        let of_side = self.nodes.iter().filter_map(|(key, node)| Some((key, node, node.origin.filter(|away| away.side == side)?)));
        let mut wanted: Vec<(Names, Key)> = of_side.filter(|(key, ..)| *key != mount).filter_map(|(key, _, away)| Some((old.origin.names_to(away.id)?, key))).collect();
        // A directory comes before what is in it.
        wanted.sort();
        let (mut way, mut numbers) = (Way { start: found.id, steps: Vec::new() }, Vec::from([(mount, found.id)]));
        for (names, key) in wanted {
            let Some(found) = way.go(&mut *origin, &names)? else { continue };
            if self.nodes.get(key).is_some_and(|node| found.inode == node.outside_inode && found.mode & format::MASK == node.kind()) {
                way.keep();
                numbers.push((key, found.id));
            }
        }
        way.back(&mut *origin, 0);
        self.sides.of_mut(Away { side, id: found.id }).ok_or(Errno::EIO)?.replace(origin);
        for (key, id) in numbers {
            self.node_mut(key)?.origin = Some(Away { side, id });
        }
        Ok(())
    }

    /// Looks for a file by its name. False: the name leads to nothing, or to something else.
    fn find_by_name(&mut self, directory: Key, name: &[u8], key: Key, known: &mut BTreeSet<Key>) -> Result<bool, Errno> {
        let parent = self.node(directory)?.origin.ok_or(Errno::EIO)?;
        let outside = self.sides.of_mut(parent).ok_or(Errno::EIO)?;
        let found = match outside.origin.find(parent.id, name) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(false),
            // What cannot be looked at keeps its old number, which leads to nothing.
            Err(_) => return Ok(true),
        };
        let node = self.nodes.get(key).ok_or(Errno::EIO)?;
        // A link is read anew: it may have had another target.
        let is_link = node.kind() == format::LINK;
        let is_same = !is_link && found.inode == node.outside_inode && found.mode & format::MASK == node.kind();
        if is_same && known.insert(key) {
            self.take_again(key, parent.side, &found);
        } else {
            // The file has its number by another name already.
            outside.origin.forget(found.id);
        }
        Ok(is_same)
    }

    /// A file has a new number, and what is known of it may not be so any more.
    fn take_again(&mut self, key: Key, side: u8, found: &Found) {
        let Some(node) = self.nodes.get_mut(key) else { return };
        node.origin = Some(Away { side, id: found.id });
        node.take_status(found);
        match &mut node.body {
            NodeContent::File(content) => content.renew(&mut self.store, found.size),
            // Names that were removed may be there again.
            NodeContent::Directory(body) => body.is_listed = false,
            _ => {}
        }
        if node.writers > 0 {
            // Who may write no more is told so when he writes.
            let _ = self.start_passing_writes(key);
        }
    }
}
