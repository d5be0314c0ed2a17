//! Questions for extended attributes of nodes, and their changes.
//!
//! Those of a file of another side's are that side's. If its changes are kept here, the first
//! change brings all of them here.

use super::attributes::{Attributes, MAX_VALUE, check_flags, check_name};
use super::outside::Changes;
use super::{Time, Tree};
use crate::notices::event;
use crate::store::Store;
use crate::table::Key;
use alloc::boxed::Box;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Bytes of names and values that come here with a file of another side's, at most.
const MAX_BROUGHT: usize = 1 << 20;

impl<S: Store> Tree<S> {
    /// Returns true if another side tells a node's attributes: it gets the changes, or there was
    /// none.
    fn has_attributes_outside(&mut self, key: Key) -> Result<bool, Errno> {
        if self.is_passed(key) {
            // A number of a file without a name leads to another file.
            return Ok(self.status_there(key)?.is_some());
        }
        let node = self.node(key)?;
        Ok(node.origin.is_some_and(|away| self.sides.of(away).is_some_and(|side| side.changes != Changes::Passed)) && node.attributes.is_none())
    }

    /// Returns the value of an attribute. `ENODATA`: there is none of this name.
    pub fn attribute(&mut self, key: Key, name: &[u8]) -> Result<Vec<u8>, Errno> {
        check_name(name)?;
        if self.has_attributes_outside(key)? {
            let is_kept = !self.is_passed(key);
            let away = self.node(key)?.origin.ok_or(Errno::EIO)?;
            return match self.sides.of_mut(away).ok_or(Errno::EIO)?.origin.attribute(away.id, name) {
                Err(Errno::EOPNOTSUPP) if is_kept => Err(Errno::ENODATA),
                value => value,
            };
        }
        let known = self.node(key)?.attributes.as_ref().and_then(|known| known.get(name));
        known.map(<[u8]>::to_vec).ok_or(Errno::ENODATA)
    }

    /// Returns the names of all attributes, a zero behind each.
    pub fn attributes(&mut self, key: Key) -> Result<Vec<u8>, Errno> {
        if !self.has_attributes_outside(key)? {
            return Ok(self.node(key)?.attributes.as_ref().map_or(Vec::new(), |known| known.names()));
        }
        let away = self.node(key)?.origin.ok_or(Errno::EIO)?;
        let names = match self.sides.of_mut(away).ok_or(Errno::EIO)?.origin.attributes(away.id) {
            Err(Errno::EOPNOTSUPP) => Vec::new(),
            names => names?,
        };
        Ok(names.split(|byte| *byte == 0).filter(|name| check_name(name).is_ok()).flat_map(|name| [name, &[0]].concat()).collect())
    }

    /// Sets an attribute, or removes it. `EEXIST`, `ENODATA`: it is there, or is not.
    pub fn set_attribute(&mut self, key: Key, name: &[u8], value: Option<&[u8]>, flags: u64, now: Time) -> Result<(), Errno> {
        check_name(name)?;
        if value.is_some_and(|value| value.len() > MAX_VALUE) {
            return Err(Errno::E2BIG);
        }
        self.check_change(key)?;
        if self.is_passed(key) && self.has_attributes_outside(key)? {
            let size = name.len() + value.map_or(0, <[u8]>::len);
            if value.is_some() && !self.store.spend(size as u64) {
                return Err(Errno::ENOSPC);
            }
            self.pass_attribute(key, name, value, flags)?;
        } else {
            self.bring_attributes(key)?;
            self.change_attribute(key, name, value, flags)?;
        }
        self.node_mut(key)?.changed = now;
        self.note(key, event::ATTRIB);
        Ok(())
    }

    fn change_attribute(&mut self, key: Key, name: &[u8], value: Option<&[u8]>, flags: u64) -> Result<(), Errno> {
        let node = self.nodes.get_mut(key).ok_or(Errno::EIO)?;
        let known = node.attributes.get_or_insert_default();
        check_flags(known.get(name).is_some(), flags)?;
        match value {
            Some(value) => known.set(&mut self.store, name, value),
            None => known.remove(&mut self.store, name).ok_or(Errno::ENODATA),
        }
    }

    /// Brings all attributes of a file here before the first of them changes here.
    fn bring_attributes(&mut self, key: Key) -> Result<(), Errno> {
        if !self.has_attributes_outside(key)? {
            return Ok(());
        }
        let (names, mut brought, mut size) = (self.attributes(key)?, Attributes::default(), 0);
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let value = match self.attribute(key, name) {
                Err(Errno::ENODATA) => continue,
                value => value,
            };
            let set = value.and_then(|value| {
                size += name.len() + value.len();
                if size > MAX_BROUGHT { Err(Errno::ENOSPC) } else { brought.set(&mut self.store, name, &value) }
            });
            if let Err(errno) = set {
                brought.release(&mut self.store);
                return Err(errno);
            }
        }
        self.node_mut(key)?.attributes = Some(Box::new(brought));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::outside::Changes;
    use super::super::outside_tests::{NOW, find, tree, world};
    use super::*;
    use crate::store::fake::Fake;
    use nacre_proto::flags::{XATTR_CREATE, XATTR_REPLACE};

    fn value(tree: &mut Tree<Fake>, key: Key) -> Result<Vec<u8>, Errno> {
        tree.attribute(key, b"user.a")
    }

    #[test]
    fn attributes_are_set_listed_and_removed_and_paid_for() {
        let mut tree = Tree::new(Fake::new(1 << 20), NOW);
        let root = tree.root();
        let key = tree.make_directory(root, b"/d", 0o755, NOW).unwrap();
        let mut set = |name: &[u8], value: &[u8], flags| tree.set_attribute(key, name, Some(value), flags, NOW);
        assert_eq!(set(b"user.a", b"1", XATTR_REPLACE), Err(Errno::ENODATA));
        assert_eq!((set(b"user.a", b"1", XATTR_CREATE), set(b"user.a", b"2", XATTR_CREATE)), (Ok(()), Err(Errno::EEXIST)));
        assert_eq!((set(b"user.a", b"", 0), set(b"trusted.t", &[7; MAX_VALUE], 0)), (Ok(()), Ok(())));
        assert_eq!(set(b"user.b", &[7; MAX_VALUE + 1], 0), Err(Errno::E2BIG));
        for name in [&b"user."[..], b"system.posix_acl_access", b"other.x"] {
            assert_eq!(set(name, b"1", 0), Err(Errno::EOPNOTSUPP));
        }
        assert_eq!([set(b"", b"", 0), set(&[b'u'; 256], b"", 0), set(b"user.\0", b"", 0)], [Err(Errno::ERANGE), Err(Errno::ERANGE), Err(Errno::EINVAL)]);
        assert_eq!((value(&mut tree, key), tree.attributes(key)), (Ok(Vec::new()), Ok(b"trusted.t\0user.a\0".to_vec())));
        assert_eq!(tree.set_attribute(key, b"user.a", None, 0, NOW), Ok(()));
        assert_eq!(tree.set_attribute(key, b"user.a", None, 0, NOW), Err(Errno::ENODATA));
        tree.remove(root, b"/d", true, NOW).unwrap();
        assert_eq!(tree.store().payers.0.names(), 0);
    }

    #[test]
    fn names_of_one_file_have_a_bound() {
        let mut tree = Tree::new(Fake::new(1 << 20), NOW);
        let root = tree.root();
        let name = |number: usize| std::format!("user.{number:0240}").into_bytes();
        let count = (0..1000).take_while(|number| tree.set_attribute(root, &name(*number), Some(b""), 0, NOW).is_ok()).count();
        assert_eq!(count, MAX_VALUE / 246);
    }

    #[test]
    fn changes_pass_or_stay_here_with_what_was_there() {
        for changes in [Changes::Kept, Changes::Passed, Changes::Refused] {
            let other = world();
            let mut tree = tree(&other, changes);
            let key = find(&mut tree, b"/large").unwrap();
            let id = tree.get(key).unwrap().origin.unwrap().id;
            other.0.borrow_mut().attributes.insert((id, b"user.a".to_vec()), b"there".to_vec());
            assert_eq!((value(&mut tree, key), tree.attributes(key)), (Ok(b"there".to_vec()), Ok(b"user.a\0".to_vec())));
            let expected = if changes == Changes::Refused { Err(Errno::EROFS) } else { Ok(()) };
            assert_eq!(tree.set_attribute(key, b"user.b", Some(b"here"), 0, NOW), expected);
            assert_eq!(other.0.borrow().attributes.len(), 1 + usize::from(changes == Changes::Passed));
            let names: &[u8] = if changes == Changes::Refused { b"user.a\0" } else { b"user.a\0user.b\0" };
            assert_eq!((value(&mut tree, key), tree.attributes(key)), (Ok(b"there".to_vec()), Ok(names.to_vec())));
            assert_eq!(tree.set_attribute(key, b"user.a", None, 0, NOW), expected);
            assert_eq!(value(&mut tree, key).is_err(), expected.is_ok());
        }
    }
}
