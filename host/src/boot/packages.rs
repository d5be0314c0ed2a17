//! Debian's packages: which one a program is from, which ones it depends on, and the files of them
//! that programs read.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command::output;
use super::files::MAX_LINKS;
use crate::absolute::absolute;

/// Folders in which packages put programs.
const PROGRAMS: [&str; 4] = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/"];
/// Folders of what programs read.
const READ: [&str; 5] = ["/usr/lib/", "/usr/libexec/", "/usr/share/", "/lib/", "/etc/"];
/// Folders of what only people read, or tools that look after packages.
const UNREAD: [&str; 7] =
    ["/usr/share/doc/", "/usr/share/man/", "/usr/share/info/", "/usr/share/locale/", "/usr/share/lintian/", "/usr/share/bug/", "/usr/share/bash-completion/"];
/// Folder of what compilers read.
const HEADERS: &str = "/usr/include/";
/// Section of packages to compile and link against.
const DEVELOPMENT: &str = "libdevel";
/// Sections of packages whose headers are read.
const WITH_HEADERS: [&str; 2] = [DEVELOPMENT, "devel"];
/// Packages that are left out: the C library comes as a library, and interpreters come with
/// scripts.
const LEFT_OUT: [&str; 3] = ["libc6", "perl", "python3"];
/// The fields that are asked for, with separators that no field has.
const FORMAT: &str = "-f=${binary:Package}\x1f${Package}\x1f${Section}\x1f${Essential}\x1f${Pre-Depends}, ${Depends}\x1f${Recommends}\x1f${Provides}\x1e";

/// An installed package.
struct Package {
    /// Name by which dpkg knows it, with its architecture where that is needed.
    name: String,
    section: String,
    is_essential: bool,
    depends: Vec<Dependency>,
    recommends: Vec<Dependency>,
}

/// Dependency of a package: one of several packages.
struct Dependency {
    names: Vec<String>,
    /// Exactly one version will do: both are built of one source.
    is_exact: bool,
}

/// The installed packages, by their names and by what they provide.
struct Packages {
    all: HashMap<String, Package>,
    providers: HashMap<String, String>,
}

/// Files that the program at `host` may read: of its own package and of those that it depends on,
/// the most wanted first.
pub fn files_of(host: &Path) -> Vec<PathBuf> {
    if !PROGRAMS.iter().any(|folder| host.to_string_lossy().starts_with(folder)) {
        return Vec::new();
    }
    let owners = owners(&chain(host));
    if owners.is_empty() {
        return Vec::new();
    }
    let packages = Packages::installed();
    let wanted = packages.wanted(&owners);
    let lists = lists(&wanted.iter().map(|(package, _)| package.name.as_str()).collect::<Vec<_>>());
    let mut seen = BTreeSet::new();
    let mut files = Vec::new();
    for ((package, is_own), list) in wanted.iter().zip(lists) {
        let read = list.into_iter().filter(|path| package.is_read(path, *is_own) && is_public(path));
        files.extend(read.filter(|path| seen.insert(path.clone())).map(|path| (order(&path, *is_own), path)));
    }
    files.sort();
    files.into_iter().map(|(_, path)| path).collect()
}

/// Place of a file among all: first the program's own package, then the others' files, the smallest
/// first. What finds no room is then little of all.
fn order(path: &Path, is_own: bool) -> u64 {
    if is_own { 0 } else { fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len()) }
}

/// Returns true for what is no directory and is there for everybody to read.
fn is_public(path: &Path) -> bool {
    let is_link = path.is_symlink();
    fs::metadata(path).is_ok_and(|metadata| (metadata.is_file() || is_link) && metadata.mode() & 0o004 != 0)
}

/// The program's path and those that its links lead to, each also as it was before Debian merged
/// /bin into /usr/bin.
fn chain(host: &Path) -> Vec<PathBuf> {
    let mut path = host.to_path_buf();
    let mut all = vec![path.clone()];
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = absolute(path.parent().unwrap_or(Path::new("/")), &target);
        all.push(path.clone());
    }
    all.extend(fs::canonicalize(host));
    let short: Vec<_> = all.iter().filter_map(|path| Some(Path::new("/").join(path.strip_prefix("/usr").ok()?))).collect();
    all.extend(short);
    all
}

/// Names of the packages that these files are from, without architectures.
fn owners(paths: &[PathBuf]) -> Vec<String> {
    let text = output(Command::new("dpkg-query").arg("-S").args(paths));
    let mut owners = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("diversion ")) {
        let Some((names, _)) = line.split_once(": ") else { continue };
        let name = names.split([',', ':']).next().unwrap_or_default().to_string();
        if !owners.contains(&name) {
            owners.push(name);
        }
    }
    owners
}

/// The paths of each of these packages, in their order.
fn lists(names: &[&str]) -> Vec<Vec<PathBuf>> {
    let text = output(Command::new("dpkg-query").arg("-L").args(names));
    text.split("\n\n").map(|part| part.lines().filter(|line| line.starts_with('/')).map(PathBuf::from).collect()).collect()
}

impl Package {
    /// Returns true if a program reads the file at `path`. Of a package that is not its own it also
    /// starts programs.
    fn is_read(&self, path: &Path, is_own: bool) -> bool {
        let text = path.to_string_lossy();
        let is_in = |folders: &[&str]| folders.iter().any(|folder| text.starts_with(folder));
        let is_data = is_in(&READ) && !is_in(&UNREAD);
        let has_headers = WITH_HEADERS.contains(&self.section.as_str());
        if is_own { is_data } else { is_data && !is_library(path) || is_in(&PROGRAMS) || has_headers && is_in(&[HEADERS]) }
    }
}

/// Returns true for a library in a folder where linkers look: it comes along if something names it.
fn is_library(path: &Path) -> bool {
    let in_folder = path.parent().is_some_and(|folder| folder.ends_with("lib/x86_64-linux-gnu"));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    in_folder && name.contains(".so.")
}

impl Packages {
    fn installed() -> Packages {
        Packages::from_text(&output(Command::new("dpkg-query").args(["-W", FORMAT])))
    }

    fn from_text(text: &str) -> Packages {
        let mut packages = Packages { all: HashMap::new(), providers: HashMap::new() };
        for record in text.split('\x1e') {
            let fields: Vec<_> = record.split('\x1f').collect();
            let [name, short, section, essential, depends, recommends, provides] = fields[..] else { continue };
            for dependency in dependencies(provides) {
                packages.providers.extend(dependency.names.into_iter().map(|name| (name, short.to_string())));
            }
            packages.all.insert(short.to_string(), Package {
                name: name.to_string(),
                section: section.rsplit('/').next().unwrap_or_default().to_string(),
                is_essential: essential == "yes",
                depends: dependencies(depends),
                recommends: dependencies(recommends),
            });
        }
        packages
    }

    /// The package that is installed for a dependency.
    fn resolve(&self, dependency: &Dependency) -> Option<(&String, &Package)> {
        let named = dependency.names.iter().find_map(|name| self.all.get_key_value(name));
        named.or_else(|| dependency.names.iter().find_map(|name| self.all.get_key_value(self.providers.get(name)?)))
    }

    /// The packages of `owners` and those that they need, the nearest first. Answers with each
    /// whether it is one of `owners`.
    ///
    /// A package of the same source is as near as the one that asks for it. What others ask for is
    /// followed only from the first packages and those for development.
    fn wanted(&self, owners: &[String]) -> Vec<(&Package, bool)> {
        let mut waiting: VecDeque<_> = owners.iter().filter_map(|name| self.all.get_key_value(name)).map(|found| (found, true)).collect();
        let (mut seen, mut wanted) = (BTreeSet::new(), Vec::new());
        while let Some(((name, package), is_near)) = waiting.pop_front() {
            if !seen.insert(name) {
                continue;
            }
            wanted.push((package, owners.contains(name)));
            for (dependency, name, found) in self.asked_for(package, is_near) {
                match found.is_essential || LEFT_OUT.contains(&name.as_str()) {
                    true => {}
                    false if dependency.is_exact => waiting.push_front(((name, found), is_near)),
                    false => waiting.push_back(((name, found), false)),
                }
            }
        }
        wanted
    }

    /// Returns the dependencies of a package that are followed. More of them are if the package is
    /// `near`.
    fn asked_for<'a>(&'a self, package: &'a Package, near: bool) -> impl Iterator<Item = (&'a Dependency, &'a String, &'a Package)> {
        let follows = move |dependency: &&Dependency| near || dependency.is_exact || package.section == DEVELOPMENT;
        let found = |dependency: &'a Dependency| self.resolve(dependency).map(|(name, found)| (dependency, name, found));
        let recommended = package.recommends.iter().filter_map(found).filter(move |(dependency, _, found)| near && (dependency.is_exact || found.section == DEVELOPMENT));
        package.depends.iter().filter(follows).filter_map(found).chain(recommended)
    }
}

/// Reads `a (>= 1) | b, c:any (= 2)`.
fn dependencies(text: &str) -> Vec<Dependency> {
    let name = |one: &str| one.trim().split([' ', '(', ':', '[']).next().unwrap_or_default().to_string();
    let all = text.split(',').map(|part| Dependency { names: part.split('|').map(name).filter(|name| !name.is_empty()).collect(), is_exact: part.contains("(= ") });
    all.filter(|dependency| !dependency.names.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_followed_as_far_as_they_belong_together() {
        let record = |name: &str, section: &str, depends: &str, recommends: &str, provides: &str| {
            let essential = if name == "base" { "yes" } else { "no" };
            format!("{name}:amd64\x1f{name}\x1f{section}\x1f{essential}\x1f, {depends}\x1f{recommends}\x1f{provides}\x1e")
        };
        let text = [
            record("cc", "devel", "cpp (= 1), binutils (>= 2) | other, base, libc6", "virtual-dev, editor, suite (= 1)", ""),
            record("cpp", "interpreters", "cpp-data (= 1), linker", "", ""),
            record("cpp-data", "devel", "", "", ""),
            record("linker", "devel", "far", "", ""),
            record("binutils", "devel", "cc (>= 0)", "", ""),
            record("libc-dev", "contrib/libdevel", "kernel-dev:any (>= 6)", "", "virtual-dev (= 1)"),
            record("kernel-dev", "devel", "", "", ""),
            record("far", "devel", "", "", ""),
            record("suite", "utils", "", "", ""),
            record("editor", "editors", "", "", ""),
            record("base", "admin", "", "", ""),
            record("libc6", "libs", "", "", ""),
        ];
        let packages = Packages::from_text(&text.concat());
        let wanted: Vec<_> = packages.wanted(&["cc".to_string()]).iter().map(|(package, is_own)| (package.name.clone(), *is_own)).collect();
        let expected = ["cc", "suite", "cpp", "cpp-data", "binutils", "libc-dev", "linker", "kernel-dev"];
        assert_eq!(wanted, expected.map(|name| (format!("{name}:amd64"), name == "cc")));
    }

    #[test]
    fn a_package_brings_what_programs_read() {
        let paths = files_of(Path::new("/bin/bash"));
        assert!(!paths.is_empty() && paths.iter().all(|path| !path.starts_with("/usr/share/doc") && !path.is_dir()));
        assert!(files_of(Path::new("/nonexistent/program")).is_empty());
    }

    #[test]
    fn a_compiler_brings_its_stages_and_headers() {
        let paths = files_of(Path::new("/usr/bin/gcc"));
        for name in ["cc1", "as", "stdio.h", "linux/errno.h", "crt1.o", "libc.so"] {
            assert!(paths.iter().any(|path| path.ends_with(name)), "{name}");
        }
        assert!(paths.iter().all(|path| !path.ends_with("libc.so.6")), "libraries come with those that name them");
    }

    #[test]
    fn secrets_stay() {
        assert!(!is_public(Path::new("/etc/shadow")) && is_public(Path::new("/etc/passwd")));
    }
}
