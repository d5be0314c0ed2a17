//! Names: files that are found by a path, made, linked, renamed and removed.

use crate::core::Core;
use crate::directory::{Found, check_name, kind_of};
use crate::disk::{Disk, errno};
use crate::extents;
use crate::geometry::read_only;
use crate::inode::{self, Inode, Moment, flag};
use nacre_machine_9p::{Errno, Path};

/// Largest number of names of a file.
const MAX_LINKS: u16 = 65000;
/// Bit of a directory's mode: files in it get its group.
const SET_GROUP: u32 = 0o2000;

/// Splits a path into that of the directory and the name there.
fn split(path: &Path) -> (&Path, &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

/// Returns true if a path leads to something below another one.
fn is_below(path: &Path, above: &Path) -> bool {
    path.strip_prefix(above).is_some_and(|rest| above.is_empty() || rest.first() == Some(&b'/'))
}

/// File that has lost a name.
pub struct Unnamed {
    /// The inode. It is not written yet.
    pub inode: Inode,
}

impl<D: Disk> Core<D> {
    /// Finds a file.
    pub fn lookup(&mut self, path: &Path) -> Result<Inode, Errno> {
        if let Some(number) = self.known.get(path) {
            return self.named_inode(number);
        }
        // The nearest directory around it that is known.
        let mut above = split(path).0;
        let number = loop {
            match self.known.get(above) {
                Some(number) => break number,
                None if above.is_empty() => break inode::ROOT,
                None => above = split(above).0,
            }
        };
        let mut inode = self.named_inode(number)?;
        for name in path[above.len()..].split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let found = self.entry(&inode, name)?.ok_or(errno::NOENT)?;
            inode = self.named_inode(found.inode)?;
        }
        if !path.is_empty() {
            self.known.note(path, inode.number);
        }
        Ok(inode)
    }

    fn entry(&mut self, directory: &Inode, name: &[u8]) -> Result<Option<Found>, Errno> {
        check_name(name)?;
        if !directory.is_directory() {
            return Err(errno::NOTDIR);
        }
        self.find_entry(directory, name)
    }

    /// Finds the directory of a path, and the entry there.
    fn lookup_entry<'a>(
        &mut self, path: &'a Path,
    ) -> Result<(Inode, &'a [u8], Option<Found>), Errno> {
        let (above, name) = split(path);
        let directory = self.lookup(above)?;
        let found = self.entry(&directory, name)?;
        Ok((directory, name, found))
    }

    fn touch(&mut self, inode: &mut Inode, moments: &[Moment]) {
        let now = self.now();
        moments.iter().for_each(|moment| inode.set_time(*moment, now));
    }

    /// Writes an inode whose contents or status have just changed.
    pub fn set_changed(&mut self, inode: &mut Inode, has_contents: bool) -> Result<(), Errno> {
        let moments = [Moment::Changed, Moment::Modified];
        self.touch(inode, if has_contents { &moments } else { &moments[..1] });
        self.set_inode(inode)
    }

    /// Makes a file, whose contents `fill` makes. Returns the inode's number.
    pub fn make(
        &mut self, path: &Path, mode: u32, fill: impl FnOnce(&mut Self, &mut Inode) -> Result<(), Errno>,
    ) -> Result<u32, Errno> {
        let (mut above, name, found) = self.lookup_entry(path)?;
        if found.is_some() {
            return Err(errno::EXIST);
        }
        check_change(&above, false)?;
        let is_directory = mode & inode::KIND == inode::DIRECTORY;
        let number = self.take_inode(above.number, is_directory)?;
        let mut inode = self.new_inode(number, mode, &above);
        if is_directory {
            self.init_directory(&mut inode, above.number)?;
            self.count_link(&mut above, 1)?;
        }
        fill(self, &mut inode)?;
        self.set_inode(&inode)?;
        self.add_entry(&mut above, name, number, kind_of(mode))?;
        self.set_changed(&mut above, true)?;
        self.known.note_new(path, number);
        Ok(number)
    }

    fn new_inode(&mut self, number: u32, mode: u32, above: &Inode) -> Inode {
        let mut inode = Inode::new(number, self.geometry.inode_size, self.geometry.extra_size);
        let inherits = above.mode() & SET_GROUP != 0;
        let is_directory = mode & inode::KIND == inode::DIRECTORY;
        inode.set_mode(if inherits && is_directory { mode | SET_GROUP } else { mode });
        inode.set_owner(0, if inherits { above.owner().1 } else { 0 });
        inode.set_links(if is_directory { 2 } else { 1 });
        self.touch(&mut inode, &[Moment::Accessed, Moment::Changed, Moment::Modified, Moment::Made]);
        let now = self.now();
        let generation = now.seconds.wrapping_mul(0x9e37_79b9).wrapping_add(now.nanoseconds);
        inode.set_generation((generation as u32) ^ number);
        let kind = mode & inode::KIND;
        if self.geometry.has_extents() && matches!(kind, inode::REGULAR | inode::DIRECTORY) {
            self.use_extents(&mut inode);
        }
        inode
    }

    /// Gives an inode an empty map of blocks.
    pub fn use_extents(&self, inode: &mut Inode) {
        if self.geometry.has_extents() {
            inode.set_flags(inode.flags() | flag::EXTENTS);
            extents::clear(inode);
        }
    }

    /// Changes the number of names of a file. That of a directory with too many stays at 1.
    fn count_link(&mut self, inode: &mut Inode, change: i16) -> Result<(), Errno> {
        let links = inode.links();
        if inode.is_directory() && links == 1 && change != 0 {
            return Ok(());
        }
        let links = links.checked_add_signed(change).ok_or(errno::CORRUPT)?;
        let can_overflow = self.geometry.read_only & read_only::DIR_NLINK != 0;
        match links >= MAX_LINKS {
            true if change < 0 => {}
            true if inode.is_directory() && can_overflow => return { inode.set_links(1); Ok(()) },
            true => return Err(errno::MLINK),
            false => {}
        }
        inode.set_links(links);
        Ok(())
    }

    /// Gives a file one more name.
    pub fn link(&mut self, from: &Path, to: &Path) -> Result<(), Errno> {
        let mut inode = self.lookup(from)?;
        if inode.is_directory() {
            return Err(errno::PERM);
        }
        let (mut above, name, found) = self.lookup_entry(to)?;
        if found.is_some() {
            return Err(errno::EXIST);
        }
        check_change(&above, false)?;
        check_change(&inode, true)?;
        self.count_link(&mut inode, 1)?;
        self.set_changed(&mut inode, false)?;
        self.add_entry(&mut above, name, inode.number, kind_of(inode.mode()))?;
        self.set_changed(&mut above, true)
    }

    /// Removes a name.
    pub fn unlink(&mut self, path: &Path, is_directory: bool) -> Result<Unnamed, Errno> {
        let (mut above, _, found) = self.lookup_entry(path)?;
        let found = found.ok_or(errno::NOENT)?;
        let mut inode = self.named_inode(found.inode)?;
        check_change(&above, true)?;
        check_change(&inode, true)?;
        match (is_directory, inode.is_directory()) {
            (true, false) => return Err(errno::NOTDIR),
            (false, true) => return Err(errno::ISDIR),
            _ => {}
        }
        self.lose_name(&mut inode, &mut above)?;
        self.remove_entry(&above, found)?;
        self.known.remove(path);
        self.set_changed(&mut above, true)?;
        Ok(Unnamed { inode })
    }

    /// Counts a name less for a file whose entry goes.
    fn lose_name(&mut self, inode: &mut Inode, above: &mut Inode) -> Result<(), Errno> {
        if inode.is_directory() {
            if inode.number == inode::ROOT || !self.is_directory_empty(inode)? {
                return Err(errno::NOTEMPTY);
            }
            inode.set_links(0);
            self.count_link(above, -1)?;
        } else {
            self.count_link(inode, -1)?;
        }
        self.touch(inode, &[Moment::Changed]);
        Ok(())
    }

    /// Gives a file another name. Returns the file that had that name before.
    pub fn rename(&mut self, from: &Path, to: &Path) -> Result<Option<Unnamed>, Errno> {
        if from.is_empty() || to.is_empty() || (is_below(to, from) && to != from) {
            return Err(errno::INVAL);
        }
        let (mut old, name, found) = self.lookup_entry(from)?;
        let found = found.ok_or(errno::NOENT)?;
        let mut inode = self.named_inode(found.inode)?;
        let (mut new, new_name, there) = self.lookup_entry(to)?;
        if let Some(there) = there && there.inode == inode.number {
            return Ok(None);
        }
        [&old, &new, &inode].into_iter().try_for_each(|inode| check_change(inode, true))?;
        if inode.is_directory() {
            // Paths of what is in it lead elsewhere, too.
            self.known.clear();
        }
        [from, to].into_iter().for_each(|path| self.known.remove(path));
        let is_same = old.number == new.number;
        let mut gone = None;
        if let Some(there) = there {
            let mut other = self.named_inode(there.inode)?;
            check_replace(&inode, &other)?;
            self.lose_name(&mut other, &mut new)?;
            self.change_entry(&new, there, inode.number, kind_of(inode.mode()))?;
            gone = Some(Unnamed { inode: other });
        } else {
            self.add_entry(&mut new, new_name, inode.number, kind_of(inode.mode()))?;
        }
        if inode.is_directory() && !is_same {
            self.count_link(&mut new, 1)?;
            self.set_parent(&inode, new.number)?;
        }
        self.set_changed(&mut new, true)?;
        if is_same {
            old = new;
        }
        // The entry may have moved when the new one was added.
        let found = self.find_entry(&old, name)?.ok_or(errno::CORRUPT)?;
        self.remove_entry(&old, found)?;
        if inode.is_directory() && !is_same {
            self.count_link(&mut old, -1)?;
        }
        self.set_changed(&mut old, true)?;
        self.set_changed(&mut inode, false)?;
        Ok(gone)
    }
}

/// Returns an error if a file's status or entries must not be changed.
pub fn check_change(inode: &Inode, takes_away: bool) -> Result<(), Errno> {
    let flags = if takes_away { flag::IMMUTABLE | flag::APPEND } else { flag::IMMUTABLE };
    if inode.has_flag(flags) { Err(errno::PERM) } else { Ok(()) }
}

/// Returns an error if a file cannot take the name of another.
fn check_replace(inode: &Inode, other: &Inode) -> Result<(), Errno> {
    match (inode.is_directory(), other.is_directory()) {
        (true, false) => Err(errno::NOTDIR),
        (false, true) => Err(errno::ISDIR),
        _ => check_change(other, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split() {
        assert_eq!(split(b"a/b/c"), (&b"a/b"[..], &b"c"[..]));
        assert_eq!(split(b"a"), (&b""[..], &b"a"[..]));
        assert!(is_below(b"a/b", b"a") && !is_below(b"ab", b"a") && is_below(b"a", b""));
    }
}
