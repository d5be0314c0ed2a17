//! Files that monitors' options name.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nacre_manifest::{Given, Value, without_read_only};

use super::files::Files;
use crate::failure::{Class, Context, Outcome};

/// Files, as they are written in the options.
#[derive(Default)]
pub struct Named {
    /// Files that a monitor writes.
    pub outputs: BTreeSet<PathBuf>,
    /// Number of files that stay under the name of an output, if the monitor was told.
    pub kept: BTreeMap<PathBuf, u64>,
    /// Files that a monitor reads.
    pub inputs: BTreeSet<PathBuf>,
    /// Inputs that it writes in place, too.
    pub disks: BTreeSet<PathBuf>,
    /// Directories that a monitor uses.
    pub directories: BTreeSet<PathBuf>,
}

impl Named {
    /// Notes the files that the options of a monitor name.
    pub fn note(&mut self, given: &[Given<'_>]) {
        let kept = given.iter().rfind(|option| matches!(option.choice.value, Value::Kept(_))).and_then(|option| nacre_manifest::kept(option.value));
        for option in given.iter().filter(|option| option.value != b"-") {
            let path = || PathBuf::from(OsStr::from_bytes(option.value));
            match option.choice.value {
                Value::Output(_) => {
                    self.kept.extend(kept.map(|kept| (path(), kept)));
                    self.outputs.insert(path());
                }
                Value::Input(_) => drop(self.inputs.insert(path())),
                Value::Directory(_) => drop(self.directories.insert(path())),
                Value::Disk(_) => {
                    let (file, is_read_only) = without_read_only(option.value);
                    let path = PathBuf::from(OsStr::from_bytes(file));
                    if !is_read_only {
                        self.disks.insert(path.clone());
                    }
                    self.inputs.insert(path);
                }
                Value::Text(_) | Value::Kept(_) | Value::None => {}
            }
        }
    }
    /// Puts the files that monitors read into the guest, unless it has them: `is_there` tells that
    /// of the two paths of a file, and whether it is a disk. `paths` gives both paths of a name.
    /// Returns the disks, with their paths here, if changes of files are passed to this machine.
    pub fn bring_along(&self, paths: impl Fn(&PathBuf) -> (PathBuf, PathBuf), (is_there, passes): (impl Fn(&Path, &Path, bool) -> bool, bool), files: &mut Files) -> Outcome<BTreeMap<PathBuf, PathBuf>> {
        let mut disks = BTreeMap::new();
        for name in &self.inputs {
            let ((path, here), is_disk) = (paths(name), self.disks.contains(name));
            if files.contains(&path) || is_there(&path, &here, is_disk) || !here.is_file() {
                continue;
            }
            files.add_from_host(&here, &path)?;
            if is_disk && passes {
                check_disk(name, &here)?;
                disks.insert(path, here);
            }
        }
        Ok(disks)
    }
}

/// Checks that what a machine writes to a disk can be kept in its file.
fn check_disk(name: &Path, here: &Path) -> Outcome<()> {
    let opened = fs::OpenOptions::new().write(true).open(here).context(Class::File, || format!("cannot write {}", name.display()));
    opened.map(drop).map_err(|failure| failure.remedy(format!("let the machine only read it, with {}:ro", name.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn disks_that_may_change_are_handed_back() {
        let folder = Folder::new("named").unwrap();
        ["a", "b", "c"].iter().for_each(|name| fs::write(folder.path().join(name), name).unwrap());
        let set = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        let named = Named { inputs: set(&["a", "b", "c", "none"]), disks: set(&["a", "c", "none"]), ..Named::default() };
        let bring = |passes: bool| {
            let mut files = Files::default();
            let is_there = |path: &Path, _: &Path, is_disk: bool| path == Path::new("/d/c") && is_disk;
            let kept = named.bring_along(|name| (Path::new("/d").join(name), folder.path().join(name)), (is_there, passes), &mut files).unwrap();
            (kept, ["/d/a", "/d/b", "/d/c", "/d/none"].map(|path| files.contains(Path::new(path))))
        };
        assert_eq!(bring(true), (BTreeMap::from([("/d/a".into(), folder.path().join("a"))]), [true, true, false, false]));
        assert_eq!(bring(false), (BTreeMap::new(), [true, true, false, false]));
    }
}
