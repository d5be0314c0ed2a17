//! Files that programs of this machine read while they run: the modules of an interpreter, the
//! files of Debian's packages, the folder that a program was unpacked into.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::Files;
use super::command::output;
use super::{libraries, links, packages, prefix};
use crate::failure::Outcome;

/// Bytes that come along unasked into a machine of the usual size, at most.
const MOST: u64 = 208 << 20;

/// Memory that a machine needs besides, in bytes.
const BESIDE: u64 = 96 << 20;

/// Bytes of data that come along unasked into a machine with so much memory: at most half of what
/// is free.
pub fn limit(memory: Option<u64>) -> u64 {
    memory.map_or(MOST, |memory| memory.saturating_sub(BESIDE) / 2)
}

/// Starts of the names of interpreters, and the arguments with which one prints the folders of its
/// modules, a line each.
const INTERPRETERS: [(&str, &[&str]); 2] = [
    ("python", &["-I", "-c", r#"import sys; print("\n".join(sys.path))"#]),
    ("perl", &["-e", r#"print "$_\n" for @INC"#]),
];

/// Puts the data of the program at `host` into `files`, and says what is left out because it is too
/// much.
pub fn add(files: &mut Files, host: &Path) -> Outcome<()> {
    let paths = match (interpreter(host), prefix::folders_of(host)) {
        (Some(arguments), _) => folders(host, arguments),
        (None, Some(paths)) => paths,
        (None, None) => packages::files_of(host),
    };
    let mut missing = Vec::new();
    for path in paths {
        for part in fitting(path, files.data_left) {
            if !add_one(files, &part) {
                missing.push(part);
            }
        }
    }
    say_missing(host, &missing);
    Ok(())
}

/// The path itself, or what lies in it if it is a folder of more than `limit` bytes: the smallest
/// first.
fn fitting(path: PathBuf, limit: u64) -> Vec<PathBuf> {
    if path.is_symlink() || !path.is_dir() || size_of(&path, &mut BTreeSet::new()) <= limit {
        return vec![path];
    }
    let entries = fs::read_dir(&path).map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path()).collect::<Vec<_>>());
    let mut sized: Vec<_> = entries.unwrap_or_default().into_iter().map(|path| (size_of(&path, &mut BTreeSet::new()), path)).collect();
    sized.sort();
    sized.into_iter().map(|(_, path)| path).collect()
}

/// Puts one file or folder into `files`; returns false if that is too much.
fn add_one(files: &mut Files, path: &Path) -> bool {
    let is_known = |path: &Path| path.is_file() && files.contains(path);
    if is_known(path) {
        return true;
    }
    let is_there = fs::canonicalize(path).is_ok_and(|real| is_known(&real));
    let size = if is_there { 0 } else { size_of(path, &mut BTreeSet::new()) };
    if size > files.data_left {
        return false;
    }
    files.data_left -= size;
    match fs::read_link(path) {
        // A package's link to a folder says where its files lie. The folder may hold much else.
        Ok(target) if path.is_dir() => files.add_link(path, target.as_os_str()),
        // A file that a package lists may be gone, or may not be this user's to read.
        _ => {
            let _ = links::add(files, path).map(|real| libraries::add_below(files, &real));
        }
    }
    true
}

fn say_missing(host: &Path, missing: &[PathBuf]) {
    if let Some(first) = missing.first() {
        let others = if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
        eprintln!("nacre: {} may read {}{others}, which is too much to come along unasked; add it with --file", host.display(), first.display());
    }
}

/// Returns the command by which the program at `host` tells of its modules, if it is a known
/// interpreter.
fn interpreter(host: &Path) -> Option<&'static [&'static str]> {
    let name = host.file_name()?.to_str()?;
    INTERPRETERS.iter().find(|(start, _)| name.strip_prefix(start).is_some_and(|rest| rest.chars().all(|letter| letter.is_ascii_digit() || letter == '.'))).map(|(_, arguments)| *arguments)
}

/// The folders that an interpreter names, without those that lie in others of them.
fn folders(host: &Path, arguments: &[&str]) -> Vec<PathBuf> {
    let text = output(Command::new(host).args(arguments).env_clear());
    let mut all: Vec<PathBuf> = text.lines().map(PathBuf::from).filter(|path| path.is_absolute() && path.exists()).collect();
    let whole = all.clone();
    all.retain(|path| !whole.iter().any(|other| other != path && path.starts_with(other)));
    // The folder behind a link comes whole, and the link to it.
    let real: Vec<_> = all.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    all.into_iter().chain(real).collect()
}

/// Bytes of a file, or of all files below a directory, each hard link once.
pub fn size_of(path: &Path, seen: &mut BTreeSet<u64>) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    if metadata.is_symlink() {
        return fs::canonicalize(path).map_or(0, |real| if real.is_dir() { 0 } else { size_of(&real, seen) });
    }
    if !metadata.is_dir() {
        return if seen.insert(metadata.ino()) { metadata.len() } else { 0 };
    }
    let entries = fs::read_dir(path).map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path()).collect::<Vec<_>>());
    entries.unwrap_or_default().iter().map(|entry| size_of(entry, seen)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_names() {
        for (name, known) in [("/usr/bin/python3", true), ("/usr/bin/python3.11", true), ("/usr/bin/perl", true), ("/usr/bin/perldoc", false), ("/bin/bash", false)] {
            assert_eq!(interpreter(Path::new(name)).is_some(), known, "{name}");
        }
    }

    #[test]
    fn a_small_machine_gets_less_data() {
        assert_eq!((limit(Some(64 << 20)), limit(Some(128 << 20))), (0, 16 << 20));
        assert_eq!(limit(Some(512 << 20)), limit(None));
        let mut files = Files::with_data(1 << 10);
        add(&mut files, Path::new("/usr/bin/gcc")).unwrap();
        assert!(files.iter().all(|(_, entry)| entry.content.len() <= 1 << 10));
    }

    #[test]
    fn a_folder_that_is_too_large_comes_without_its_largest_part() {
        let folder = crate::scratch::Folder::new("fitting").unwrap();
        let part = |name: &str| folder.path().join(name);
        fs::create_dir(part("large")).unwrap();
        fs::write(part("large/file"), vec![0; 2000]).unwrap();
        fs::write(part("small"), vec![0; 10]).unwrap();
        let whole = folder.path().to_path_buf();
        assert_eq!(fitting(whole.clone(), 3000), std::slice::from_ref(&whole));
        assert_eq!(fitting(whole, 1000), [part("small"), part("large")]);
        let mut files = Files::with_data(1000);
        assert!(add_one(&mut files, &part("small")) && !add_one(&mut files, &part("large")));
        assert_eq!(files.data_left, 990);
    }

    #[test]
    fn an_interpreter_brings_its_modules() {
        let mut files = Files::with_data(limit(None));
        add(&mut files, Path::new("/usr/bin/perl")).unwrap();
        assert!(files.iter().any(|(path, _)| path.ends_with("List/Util.pm")));
    }
}
