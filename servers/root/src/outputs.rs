//! Files that the host gets when the program has ended: those that the command line asks for, and
//! those of the host's own that have changed.

use crate::store::Store;
use crate::table::Key;
use crate::tree::{Time, Tree};
use alloc::vec::Vec;
use nacre_proto::Errno;

/// File of the host's that goes back to it if it changes.
struct Kept {
    path: Vec<u8>,
    node: Key,
    /// Time of the last change before the program started.
    modified: Time,
}

/// Paths of the files. The head of this module describes them.
#[derive(Default)]
pub struct Outputs {
    asked: Vec<Vec<u8>>,
    /// Paths of files that are handed out if they change, until the program starts.
    named: Vec<Vec<u8>>,
    kept: Vec<Kept>,
}

impl Outputs {
    /// Makes the lists of files that the command line asks for, and of the host's own.
    pub fn new(asked: Vec<Vec<u8>>, named: Vec<Vec<u8>>) -> Outputs {
        Outputs { asked, named, kept: Vec::new() }
    }

    /// Notes what the host's own files are before the program starts. One that is asked for comes
    /// as that.
    pub fn begin<S: Store>(&mut self, tree: &mut Tree<S>) {
        for path in core::mem::take(&mut self.named) {
            let found = find(tree, &path).and_then(|node| Ok((node, tree.node(node)?.modified)));
            if let Ok((node, modified)) = found && !self.asked.contains(&path) {
                self.kept.push(Kept { path, node, modified });
            }
        }
    }

    /// Takes the files to hand out: the path of each, and what it leads to.
    pub fn take<S: Store>(&mut self, tree: &mut Tree<S>) -> Vec<(Vec<u8>, Result<Key, Errno>)> {
        let asked = core::mem::take(&mut self.asked).into_iter().map(|path| {
            let found = find(tree, &path);
            (path, found)
        });
        let mut all: Vec<_> = asked.collect();
        let changed = core::mem::take(&mut self.kept).into_iter().filter(|kept| tree.get(kept.node).is_some_and(|node| node.modified != kept.modified));
        all.extend(changed.map(|kept| (kept.path, Ok(kept.node))));
        all
    }
}

/// Returns the file that a path leads to.
fn find<S: Store>(tree: &mut Tree<S>, path: &[u8]) -> Result<Key, Errno> {
    tree.prepare(tree.root(), path, true)?;
    tree.resolve(tree.root(), path, true)?.existing()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fake::Fake;
    use crate::tree::open;

    const BEFORE: Time = Time { seconds: 1, nanoseconds: 0 };
    const AFTER: Time = Time { seconds: 1, nanoseconds: 1 };

    #[test]
    fn files_of_the_hosts_go_back_if_they_have_changed() {
        let mut tree = Tree::new(Fake::new(1 << 20), BEFORE);
        let root = tree.root();
        let mut open_file = |path: &[u8]| tree.open(root, path, open::CREATE | open::READ_WRITE, 0o644, BEFORE).unwrap();
        let files = [b"/same", b"/less", b"/more", b"/gone", b"/both"].map(|path| open_file(path));
        let paths = |all: &[&[u8]]| all.iter().map(|path| path.to_vec()).collect::<Vec<_>>();
        let mut outputs = Outputs::new(paths(&[b"/none", b"/both"]), paths(&[b"/same", b"/less", b"/more", b"/gone", b"/both", b"/absent"]));
        outputs.begin(&mut tree);
        for file in &files[2..] {
            tree.write(*file, 0, b"text", AFTER).unwrap();
        }
        tree.closed(files[3]);
        tree.remove(root, b"/gone", false, AFTER).unwrap();
        let found = outputs.take(&mut tree);
        let expected = [(b"/none".to_vec(), Err(Errno::ENOENT)), (b"/both".to_vec(), Ok(files[4])), (b"/more".to_vec(), Ok(files[2]))];
        assert_eq!(found, expected);
        assert!(outputs.take(&mut tree).is_empty());
    }
}
