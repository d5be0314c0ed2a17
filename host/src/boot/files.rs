//! The files of a boot image: a map from absolute guest paths to what is there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::absolute::absolute;
use crate::failure::{Class, Context, Failure, Outcome};

/// Linux's file types in `st_mode`.
pub const TYPE_MASK: u32 = 0o170000;
const DIRECTORY: u32 = 0o040000;
const REGULAR: u32 = 0o100000;
const SYMBOLIC_LINK: u32 = 0o120000;

/// Time stamp of files that the command makes: fixed, so that the same command line makes the same
/// image.
pub const BUILT: i64 = 1_704_067_200;

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Linux's `st_mode`.
    pub mode: u32,
    /// Seconds since 1970.
    pub modified: i64,
    /// The bytes; a symbolic link's are its target; a directory has none.
    pub content: Vec<u8>,
}

impl Entry {
    /// Returns true if this is a directory.
    pub fn is_directory(&self) -> bool {
        self.mode & TYPE_MASK == DIRECTORY
    }

    /// Path to which a symbolic link leads.
    pub fn link_target(&self) -> Option<&Path> {
        (self.mode & TYPE_MASK == SYMBOLIC_LINK).then(|| Path::new(OsStr::from_bytes(&self.content)))
    }
}

/// The files, in the order of their names, so that a directory stands before what is in it.
#[derive(Clone, Debug, Default)]
pub struct Files {
    entries: BTreeMap<PathBuf, Entry>,
    /// Files of this machine that a guest cannot have: FIFOs, sockets and devices below a
    /// directory.
    pub left_out: Vec<PathBuf>,
    /// Bytes of data that may still come along unasked.
    pub data_left: u64,
}

/// Links that are followed on the way to a file, at most: as many as Linux follows.
pub const MAX_LINKS: usize = 40;

/// The program that all applets are.
pub const BUSYBOX: &str = "/bin/busybox";

impl Files {
    /// Makes an empty set of files, to which `data_left` bytes of data may be added unasked.
    pub fn with_data(data_left: u64) -> Files {
        Files { data_left, ..Files::default() }
    }

    /// All files but the root directory, which is always there.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Path, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_path(), entry))
    }

    /// Returns true if there is something at `path`.
    pub fn contains(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// Names of what lies in the folders of `search` (with colons between).
    pub fn program_names(&self, search: &str) -> impl Iterator<Item = String> {
        let in_search = |path: &Path| search.split(':').any(|folder| path.parent() == Some(Path::new(folder)));
        self.entries.keys().filter(move |path| in_search(path)).filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
    }

    /// Returns true if `path` is an applet of busybox.
    pub fn is_applet(&self, path: &Path) -> bool {
        self.entries.get(path).is_some_and(|entry| entry.mode & TYPE_MASK == SYMBOLIC_LINK && entry.content == BUSYBOX.as_bytes())
    }

    /// Makes applets with the name of the program at `path` lead to that program, if it lies in a
    /// folder of `search` (folders with colons between).
    pub fn take_over(&mut self, path: &Path, search: &str) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        if search.split(':').any(|one| Path::new(one) == folder) {
            let applets = search.split(':').map(|one| Path::new(one).join(name)).filter(|other| other != path && self.is_applet(other));
            applets.collect::<Vec<_>>().iter().for_each(|applet| self.add_link(applet, path.as_os_str()));
        }
    }

    /// Puts a directory at `path`, and its parents.
    pub fn add_directory(&mut self, path: &Path, permissions: u32) {
        self.add(path, Entry { mode: DIRECTORY | permissions, modified: BUILT, content: Vec::new() });
    }

    /// Puts a file with these bytes at `path`.
    pub fn add_file(&mut self, path: &Path, permissions: u32, content: impl Into<Vec<u8>>) {
        self.add(path, Entry { mode: REGULAR | permissions, modified: BUILT, content: content.into() });
    }

    /// Puts a symbolic link at `path`.
    pub fn add_link(&mut self, path: &Path, target: &OsStr) {
        self.add(path, Entry { mode: SYMBOLIC_LINK | 0o777, modified: BUILT, content: target.as_bytes().to_vec() });
    }

    /// Puts a file or directory of this machine, with all below it, at `path`.
    pub fn add_from_host(&mut self, host: &Path, path: &Path) -> Outcome<()> {
        let cannot = || format!("cannot read {}", host.display());
        let metadata = fs::metadata(host).context(Class::File, cannot)?;
        self.add_with_metadata(host, path, &metadata)
    }

    fn add_with_metadata(&mut self, host: &Path, path: &Path, metadata: &fs::Metadata) -> Outcome<()> {
        let cannot = || format!("cannot read {}", host.display());
        let content = if metadata.is_dir() {
            Vec::new()
        } else if metadata.is_file() {
            fs::read(host).context(Class::File, cannot)?
        } else if metadata.is_symlink() {
            fs::read_link(host).context(Class::File, cannot)?.as_os_str().as_bytes().to_vec()
        } else {
            return Err(Failure::new(Class::File, format!("{} is neither a file nor a directory", host.display()))
                .remedy("only these and symbolic links can be put into a guest"));
        };
        self.add(path, Entry { mode: metadata.mode(), modified: metadata.mtime(), content });
        if metadata.is_dir() {
            self.add_below(host, path)?;
        }
        Ok(())
    }

    fn add_below(&mut self, host: &Path, path: &Path) -> Outcome<()> {
        let cannot = || format!("cannot read the directory {}", host.display());
        for entry in fs::read_dir(host).context(Class::File, cannot)? {
            let entry = entry.context(Class::File, cannot)?;
            let metadata = entry.metadata().context(Class::File, cannot)?;
            if metadata.is_dir() || metadata.is_file() || metadata.is_symlink() {
                self.add_with_metadata(&entry.path(), &path.join(entry.file_name()), &metadata)?;
            } else {
                self.left_out.push(entry.path());
            }
        }
        Ok(())
    }

    /// Place of `path` with the symbolic links of its folders followed; `path` itself if they lead
    /// in a circle.
    fn place(&self, path: &Path) -> PathBuf {
        let mut place = path.to_path_buf();
        for _ in 0..MAX_LINKS {
            let link = place.ancestors().skip(1).find_map(|folder| Some((folder, self.entries.get(folder)?.link_target()?)));
            let Some((folder, target)) = link else { return place };
            let rest = place.strip_prefix(folder).unwrap_or(&place);
            place = absolute(folder.parent().unwrap_or(Path::new("/")), &target.join(rest));
        }
        path.to_path_buf()
    }

    /// Adds an entry, and the folders above it. A link takes the place of a folder, whose files go
    /// where the link leads.
    fn add(&mut self, path: &Path, entry: Entry) {
        let path = &self.place(path);
        let moved = if entry.link_target().is_some() { self.take_below(path) } else { Vec::new() };
        self.insert(path, entry);
        for (path, entry) in moved {
            if !entry.is_directory() && !self.contains(&self.place(&path)) {
                self.add(&path, entry);
            }
        }
    }

    /// Removes what lies below a folder and returns it.
    fn take_below(&mut self, folder: &Path) -> Vec<(PathBuf, Entry)> {
        let below: Vec<_> = self.entries.range(folder.to_path_buf()..).map(|(path, _)| path).take_while(|path| path.starts_with(folder)).cloned().collect();
        below.into_iter().filter(|path| path != folder).filter_map(|path| self.entries.remove_entry(&path)).collect()
    }

    fn insert(&mut self, path: &Path, entry: Entry) {
        for parent in path.ancestors().skip(1).filter(|parent| parent.parent().is_some()) {
            if !self.entries.get(parent).is_some_and(Entry::is_directory) {
                let entry = Entry { mode: DIRECTORY | 0o755, modified: BUILT, content: Vec::new() };
                self.entries.insert(parent.to_path_buf(), entry);
            }
        }
        if path.parent().is_some() {
            self.entries.insert(path.to_path_buf(), entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_first() {
        let mut files = Files::default();
        files.add_file(Path::new("/a/b/c"), 0o644, *b"x");
        files.add_file(Path::new("/a/b-c"), 0o644, *b"y");
        let names: Vec<_> = files.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(names, ["/a", "/a/b", "/a/b/c", "/a/b-c"]);
        assert!(files.iter().next().unwrap().1.is_directory());
    }

    #[test]
    fn files_below_a_link_lie_where_it_leads() {
        let content = |files: &Files, path: &str| files.entries.get(Path::new(path)).map(|entry| entry.content.clone());
        for link_first in [true, false] {
            let mut files = Files::default();
            let link = |files: &mut Files| files.add_link(Path::new("/jdk/current"), OsStr::new("../jdk/17"));
            if link_first {
                link(&mut files);
            }
            files.add_file(Path::new("/jdk/current/lib/a"), 0o644, *b"a");
            if !link_first {
                link(&mut files);
            }
            assert_eq!(content(&files, "/jdk/17/lib/a").as_deref(), Some(&b"a"[..]), "{link_first}");
            assert_eq!(content(&files, "/jdk/current").as_deref(), Some(&b"../jdk/17"[..]));
            assert!(files.iter().all(|(path, _)| !path.starts_with("/jdk/current/lib")));
        }
    }

    #[test]
    fn links_in_a_circle_end() {
        let mut files = Files::default();
        files.add_link(Path::new("/a"), OsStr::new("b"));
        files.add_link(Path::new("/b"), OsStr::new("a"));
        files.add_file(Path::new("/a/c"), 0o644, *b"");
        assert!(files.contains(Path::new("/a/c")));
    }

    #[test]
    fn the_root_directory_is_not_listed() {
        let mut files = Files::default();
        files.add_directory(Path::new("/"), 0o755);
        assert_eq!(files.iter().len(), 0);
    }

    #[test]
    fn a_directory_of_the_host_comes_whole() {
        let mut files = Files::default();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        files.add_from_host(&source, Path::new("/src")).unwrap();
        assert!(files.contains(Path::new("/src/main.rs")));
        assert!(files.contains(Path::new("/src/boot/files.rs")));
        assert_eq!(files.add_from_host(Path::new("/dev/null"), Path::new("/null")).unwrap_err().class, Class::File);
        assert_eq!(files.add_from_host(Path::new("/nonexistent"), Path::new("/x")).unwrap_err().class, Class::File);
    }
}
