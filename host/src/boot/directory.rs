//! A directory of this machine that is the guest's root directory: `--root-overlay DIR` and its
//! like.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use clap::Args;

use super::files::{Files, MAX_LINKS};
use super::program::is_executable;
use crate::failure::{Class, Context, Failure, Outcome};

/// Folders in which a program is looked for, as Debian's login sets them.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Folders that are the guest's own: what the directory has of these names is hidden.
const OWN: [(&str, u32); 5] = [("/dev", 0o755), ("/proc", 0o555), ("/run", 0o755), ("/sys", 0o555), ("/tmp", 0o1777)];
/// Folder of the guest's own in which it can have any directory.
const OWN_FILES: &str = "/tmp";

/// Fate of what a guest changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Kept in the guest's memory, and gone with it.
    Kept,
    /// Refused.
    Refused,
    /// Passed to this machine's files.
    Passed,
}

/// Options that name the directory.
#[derive(Args, Clone, Debug, Default)]
pub struct RootArguments {
    /// Take DIR of this machine for the guest's root directory, as it is: what the guest changes
    /// there is changed here. /dev, /proc, /run, /sys and /tmp are the guest's own
    #[arg(long, value_name = "DIR", conflicts_with_all = ["root_overlay", "root_ro"])]
    pub root: Option<PathBuf>,
    /// Take DIR as --root does, and keep what the guest changes in its memory, to be gone with it
    #[arg(long, value_name = "DIR", conflicts_with = "root_ro")]
    pub root_overlay: Option<PathBuf>,
    /// Take DIR as --root does, and refuse what the guest would change there
    #[arg(long, value_name = "DIR")]
    pub root_ro: Option<PathBuf>,
}

impl RootArguments {
    /// The directory, if one is named.
    pub fn open(&self) -> Outcome<Option<Directory>> {
        let all = [(&self.root, Changes::Passed), (&self.root_overlay, Changes::Kept), (&self.root_ro, Changes::Refused)];
        let named = all.into_iter().find_map(|(path, changes)| Some((path.as_ref()?, changes)));
        named.map(|(path, changes)| Directory::open(path, changes)).transpose()
    }
}

/// The directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    path: PathBuf,
    changes: Changes,
}

impl Directory {
    /// The directory at `path`, if it is one.
    pub fn open(path: &Path, changes: Changes) -> Outcome<Directory> {
        let shown = path.display();
        let path = fs::canonicalize(path).context(Class::File, || format!("cannot use {shown} as a directory of the guest's"))?;
        if !path.is_dir() {
            return Err(Failure::new(Class::File, format!("cannot use {shown} as a directory of the guest's: it is none")));
        }
        fs::read_dir(&path).context(Class::File, || format!("cannot read the directory {shown}"))?;
        Ok(Directory { path, changes })
    }

    /// The word of the kernel's command line by which root knows of it, as the guest's root.
    pub fn word(&self) -> String {
        format!("directory={}", self.fate())
    }

    /// Fate of changes, as root reads it.
    pub fn fate(&self) -> &'static str {
        match self.changes {
            Changes::Kept => "1",
            Changes::Refused => "2",
            Changes::Passed => "3",
        }
    }

    /// QEMU's words for the device, with a name of its own. Nothing is written through it unless
    /// changes are to arrive.
    pub fn words(&self, name: &str) -> Vec<OsString> {
        // QEMU has a comma twice where it is part of a name.
        let readonly = if self.changes == Changes::Passed { "off" } else { "on" };
        let mut system = OsString::from(format!("local,id={name},security_model=none,readonly={readonly},multidevs=remap,path="));
        for part in self.path.as_os_str().to_string_lossy().split_inclusive(',') {
            system.push(part);
            system.push(if part.ends_with(',') { "," } else { "" });
        }
        ["-fsdev".into(), system, "-device".into(), format!("virtio-9p-pci,fsdev={name},mount_tag={name},disable-legacy=on").into()].to_vec()
    }

    /// The files that a guest has beside it.
    pub fn files(&self) -> Files {
        let mut files = Files::default();
        OWN.iter().for_each(|(path, permissions)| files.add_directory(Path::new(path), *permissions));
        files
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a directory of this machine from here, if it lies inside.
    pub fn inside(&self, here: &Path) -> Option<PathBuf> {
        Some(fs::canonicalize(here).ok()?.strip_prefix(&self.path).ok()?.to_path_buf())
    }

    /// The place in it of a directory of this machine.
    pub fn place_of(&self, here: &Path) -> PathBuf {
        let below = self.inside(here).map(|inside| Path::new("/").join(inside));
        let is_hidden = |place: &PathBuf| !Directory::is_own(place) && OWN.iter().any(|(own, _)| place.starts_with(own));
        below.filter(|place| !is_hidden(place)).unwrap_or_else(|| PathBuf::from("/"))
    }

    /// Returns true if a directory of the guest's is in its own files instead of this machine's.
    pub fn is_own(place: &Path) -> bool {
        place.starts_with(OWN_FILES)
    }

    /// Returns the file of this machine to which a path of the guest's leads, links followed as the
    /// guest does.
    pub fn find(&self, path: &Path) -> Option<PathBuf> {
        let mut found = PathBuf::from("/");
        let mut rest: VecDeque<OsString> = names(path).collect();
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                found.pop();
                continue;
            }
            let next = found.join(&name);
            let host = self.path.join(next.strip_prefix("/").ok()?);
            if !fs::symlink_metadata(&host).ok()?.is_symlink() {
                found = next;
                continue;
            }
            links += 1;
            let target = fs::read_link(&host).ok().filter(|_| links <= MAX_LINKS)?;
            if target.is_absolute() {
                found = PathBuf::from("/");
            }
            names(&target).collect::<Vec<_>>().into_iter().rev().for_each(|name| rest.push_front(name));
        }
        Some(self.path.join(found.strip_prefix("/").ok()?))
    }

    /// Returns true if what the guest changes in the directory is changed here.
    pub fn passes_changes(&self) -> bool {
        self.changes == Changes::Passed
    }

    /// Returns true if the guest's file at `path` is the file `here` of this machine, and what it
    /// changes there is changed here.
    pub fn passes(&self, path: &Path, here: &Path) -> bool {
        let is_hidden = OWN.iter().any(|(own, _)| path.starts_with(own));
        let real = |path: PathBuf| fs::canonicalize(path).ok();
        self.passes_changes() && !is_hidden && self.find(path).and_then(real).is_some_and(|found| real(here.to_path_buf()) == Some(found))
    }

    /// Checks that a path of the guest's leads to a program.
    pub fn check(&self, path: &Path) -> Outcome<()> {
        let (shown, directory) = (path.display(), self.path.display());
        match self.find(path) {
            Some(host) if is_executable(&host) => Ok(()),
            Some(host) if host.exists() => Err(Failure::new(Class::NotRunnable, format!("{shown} in {directory} is no program"))),
            _ => Err(Failure::new(Class::NotFound, format!("there is no program {shown} in {directory}")).remedy("name a program of that directory")),
        }
    }

    /// Checks that there is a program of this name.
    pub fn check_name(&self, name: &OsStr) -> Outcome<()> {
        let is_there = |folder: &str| self.find(&Path::new(folder).join(name)).is_some_and(|host| is_executable(&host));
        if PATH.split(':').any(is_there) {
            return Ok(());
        }
        let (name, directory) = (name.display(), self.path.display());
        Err(Failure::new(Class::NotFound, format!("there is no program called {name} in {directory}")).remedy(format!("look at {directory}/usr/bin, or write a path")))
    }
}

fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn directory() -> (Folder, Directory) {
        let folder = Folder::new("root").unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("usr/bin")).unwrap();
        fs::create_dir_all(at("etc")).unwrap();
        fs::write(at("usr/bin/tool"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(at("usr/bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(at("etc/text"), "").unwrap();
        symlink("usr/bin", at("bin")).unwrap();
        symlink("/usr/bin/tool", at("etc/absolute")).unwrap();
        symlink("../../../../../../etc/circle", at("etc/circle")).unwrap();
        let directory = Directory::open(folder.path(), Changes::Kept).unwrap();
        (folder, directory)
    }

    #[test]
    fn links_stay_inside() {
        let (_folder, directory) = directory();
        for path in ["/bin/tool", "/etc/absolute", "/../../usr/bin/../bin/tool"] {
            assert!(directory.check(Path::new(path)).is_ok(), "{path}");
        }
        for path in ["/etc/circle", "/bin/sh", "/etc/text"] {
            assert!(directory.check(Path::new(path)).is_err(), "{path}");
        }
        assert!(directory.check_name(OsStr::new("tool")).is_ok() && directory.check_name(OsStr::new("text")).is_err());
    }

    #[test]
    fn the_current_directory_has_a_place_if_it_lies_inside() {
        let (folder, directory) = directory();
        assert_eq!(directory.place_of(&folder.path().join("usr")), Path::new("/usr"));
        assert_eq!(directory.place_of(Path::new("/")), Path::new("/"));
        let whole = Directory::open(Path::new("/"), Changes::Kept).unwrap();
        assert_eq!(whole.place_of(folder.path()), fs::canonicalize(folder.path()).unwrap());
        assert_eq!(whole.place_of(Path::new("/proc/self")), Path::new("/"));
        assert!(Directory::is_own(Path::new("/tmp/a")) && !Directory::is_own(Path::new("/tmpa")));
    }

    #[test]
    fn a_file_that_arrives_here_is_known_by_its_path() {
        let (folder, directory) = directory();
        let passing = Directory { changes: Changes::Passed, ..directory.clone() };
        let here = folder.path().join("usr/bin/tool");
        assert!(passing.passes(Path::new("/bin/tool"), &here) && !passing.passes(Path::new("/etc/text"), &here));
        assert!(!directory.passes(Path::new("/bin/tool"), &here), "changes are kept in the guest");
        let whole = Directory { path: "/".into(), ..passing };
        assert!(!whole.passes(Path::new("/proc/version"), Path::new("/proc/version")), "the guest has its own");
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let (folder, _) = directory();
        for path in ["etc/text", "nothing"] {
            assert_eq!(Directory::open(&folder.path().join(path), Changes::Refused).unwrap_err().class, Class::File, "{path}");
        }
    }
}
