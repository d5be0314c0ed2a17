//! Files that programs of this machine read while they run: the modules of an interpreter, the files of the Debian package that a program is from.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::files::Files;
use super::libraries;
use crate::failure::Outcome;

/// Bytes that come along for one program, at most. What is more has to be asked for.
const MOST: u64 = 128 << 20;
/// Starts of the names of interpreters, and the arguments with which one prints the folders of its modules, a line each.
const INTERPRETERS: [(&str, &[&str]); 2] = [
    ("python", &["-I", "-c", r#"import sys; print("\n".join(sys.path))"#]),
    ("perl", &["-e", r#"print "$_\n" for @INC"#]),
];
/// Parts of packages that programs read, and parts of those that only people read.
const READ: [&str; 4] = ["/usr/lib/", "/usr/libexec/", "/usr/share/", "/lib/"];
const UNREAD: [&str; 7] =
    ["/usr/share/doc/", "/usr/share/man/", "/usr/share/info/", "/usr/share/locale/", "/usr/share/lintian/", "/usr/share/bug/", "/usr/share/bash-completion/"];

/// Puts the data of the program at `host` into `files`, and says what is left out because it is too much.
pub fn add(files: &mut Files, host: &Path) -> Outcome<()> {
    let paths = match interpreter(host) {
        Some(arguments) => folders(host, arguments),
        None => package_files(host),
    };
    let (mut left, mut missing) = (MOST, Vec::new());
    for path in paths {
        if files.contains(&path) {
            continue;
        }
        let size = size_of(&path, &mut BTreeSet::new());
        if size > left {
            missing.push(path);
            continue;
        }
        left -= size;
        files.add_from_host(&path, &path)?;
        libraries::add_below(files, &path);
    }
    if let Some(first) = missing.first() {
        let others = if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
        eprintln!("nacre: {} may read {}{others}, which is too much to come along unasked; add it with --file", host.display(), first.display());
    }
    Ok(())
}

/// How the program at `host` tells of its modules, if it is an interpreter that is known.
fn interpreter(host: &Path) -> Option<&'static [&'static str]> {
    let name = host.file_name()?.to_str()?;
    INTERPRETERS.iter().find(|(start, _)| name.strip_prefix(start).is_some_and(|rest| rest.chars().all(|letter| letter.is_ascii_digit() || letter == '.'))).map(|(_, arguments)| *arguments)
}

fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// The folders that an interpreter names, without those that lie in others of them.
fn folders(host: &Path, arguments: &[&str]) -> Vec<PathBuf> {
    let text = output(Command::new(host).args(arguments).env_clear());
    let mut all: Vec<PathBuf> = text.lines().map(PathBuf::from).filter(|path| path.is_absolute() && path.exists()).collect();
    let whole = all.clone();
    all.retain(|path| !whole.iter().any(|other| other != path && path.starts_with(other)));
    all
}

/// Files of the Debian package that the program is from; none if it is from none.
fn package_files(host: &Path) -> Vec<PathBuf> {
    if !["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/"].iter().any(|folder| host.to_string_lossy().starts_with(folder)) {
        return Vec::new();
    }
    let real = fs::canonicalize(host).unwrap_or_else(|_| host.to_path_buf());
    let mut owner = output(Command::new("dpkg").arg("-S").arg(&real));
    if owner.is_empty() {
        // Before Debian merged /bin into /usr/bin, packages were made with the short path.
        owner = output(Command::new("dpkg").arg("-S").arg(real.strip_prefix("/usr").map_or(real.clone(), |rest| Path::new("/").join(rest))));
    }
    let Some((package, _)) = owner.lines().next().and_then(|line| line.split_once(": ")) else { return Vec::new() };
    let list = output(Command::new("dpkg").args(["-L", package]));
    let is_read = |line: &&str| READ.iter().any(|start| line.starts_with(start)) && !UNREAD.iter().any(|start| line.starts_with(start));
    list.lines().filter(is_read).map(PathBuf::from).filter(|path| fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_dir())).collect()
}

/// Bytes of a file, or of all files below a directory, each hard link once.
fn size_of(path: &Path, seen: &mut BTreeSet<u64>) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
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
    fn an_interpreter_brings_its_modules() {
        let mut files = Files::default();
        add(&mut files, Path::new("/usr/bin/perl")).unwrap();
        assert!(files.iter().any(|(path, _)| path.ends_with("List/Util.pm")));
    }

    #[test]
    fn a_package_brings_what_programs_read() {
        let paths = package_files(Path::new("/bin/bash"));
        assert!(!paths.is_empty() && paths.iter().all(|path| !path.starts_with("/usr/share/doc") && !path.is_dir()));
        assert!(package_files(Path::new("/nonexistent/program")).is_empty());
    }
}
