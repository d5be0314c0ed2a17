//! Builds what is stale: the kernel, and the programs that run on it.
//!
//! Asking cargo costs a third of a second, so each group has a stamp, and cargo is asked only when
//! a source is newer than it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::failure::{Class, Context, Failure, Outcome};
use crate::progress;
use crate::toolchain::{TARGET, Toolchain};
use crate::tree::{INSTALLED_KERNEL, INSTALLED_PROGRAMS, Tree};

const KERNEL_FLAGS: &str = "-C relocation-model=static -C code-model=kernel -C force-frame-pointers=yes -C linker=ld.lld -Z emit-stack-sizes -C link-arg=--emit-relocs";
const USER_FLAGS: &str = "-C relocation-model=pic -C code-model=small -C linker=ld.lld";

/// Folders whose every subfolder with a `src/main.rs` is a native program.
const PROGRAM_FOLDERS: [&str; 5] = ["servers", "monitors", "tests", "user", "bench"];
/// Folders whose programs a guest has only if its command names one of them.
const RARE_FOLDERS: [&str; 2] = ["tests", "bench"];

/// A native program: a crate of the workspace and what cargo makes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The crate's name without `nacre-`: what people type.
    pub name: String,
    /// The folder of the workspace that it stands in, such as `monitors`.
    pub group: String,
    /// The ELF file.
    pub path: PathBuf,
}

/// Everything that is built for bare metal.
#[derive(Clone, Debug)]
pub struct Products {
    /// The kernel's ELF file.
    pub kernel: PathBuf,
    /// Native programs, root and the library for Linux programs among them.
    pub programs: Vec<Program>,
    /// The tree that they were built from.
    pub tree: Tree,
}

impl Products {
    /// The program called `name`, if there is one.
    pub fn program(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// The monitors.
    pub fn monitors(&self) -> impl Iterator<Item = &Program> {
        self.programs.iter().filter(|program| program.group == "monitors")
    }
}

/// One run of cargo: what is built, how, and from which folders.
struct Group<'a> {
    name: &'a str,
    /// Name of the file that says when the group was built.
    stamp: &'a str,
    /// Name of the group, for people.
    title: &'a str,
    flags: &'a str,
    sources: &'a [&'a str],
    packages: Vec<String>,
    features: &'a [&'a str],
}

/// The kernel's own features that measure something.
const LATENCY: &[&str] = &["latency"];

/// Products that were installed, which nobody builds.
fn installed(tree: &Tree) -> Outcome<Products> {
    let mut programs = Vec::new();
    for group in folders(&tree.path(INSTALLED_PROGRAMS))? {
        let files = fs::read_dir(&group).context(Class::File, || format!("cannot read {}", group.display()))?;
        for path in files.filter_map(Result::ok).map(|entry| entry.path()) {
            let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            programs.push(Program { name: name(&path), group: name(&group), path });
        }
    }
    programs.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(Products { kernel: tree.path(INSTALLED_KERNEL), programs, tree: tree.clone() })
}

/// Brings kernel and programs up to date.
pub fn ensure(tree: &Tree) -> Outcome<Products> {
    if tree.is_installed() {
        return installed(tree);
    }
    let toolchain = Toolchain::from_environment();
    let programs = find_programs(tree)?;
    let kernel = ensure_kernel(tree, &toolchain, &kernel_group("kernel", &[]))?;
    ensure_group(tree, &toolchain, &user_group(&programs, "stamp", &["abi", "user", "drivers", "machines", "servers", "monitors", "tests", "bench"]))?;
    Ok(Products { kernel, programs, tree: tree.clone() })
}

/// Brings up to date what a guest with this command needs: all but the programs that test and
/// measure, unless a word of
/// the command names one of those.
pub fn ensure_for(tree: &Tree, command: &[OsString]) -> Outcome<Products> {
    if tree.is_installed() {
        return installed(tree);
    }
    let is_rare = |program: &Program| RARE_FOLDERS.contains(&program.group.as_str());
    let is_named = |program: &Program| command.iter().any(|word| names(word, &program.name));
    let mut programs = find_programs(tree)?;
    if programs.iter().any(|program| is_rare(program) && is_named(program)) {
        return ensure(tree);
    }
    let toolchain = Toolchain::from_environment();
    let kernel = ensure_kernel(tree, &toolchain, &kernel_group("kernel", &[]))?;
    let all = user_group(&programs, "stamp", &["abi", "user", "drivers", "machines", "servers", "monitors"]);
    let all_are_fresh = is_fresh(tree, &all, &toolchain);
    programs.retain(|program| !is_rare(program));
    if !all_are_fresh {
        ensure_group(tree, &toolchain, &user_group(&programs, "stamp-run", &["abi", "user", "drivers", "machines", "servers", "monitors"]))?;
    }
    Ok(Products { kernel, programs, tree: tree.clone() })
}

/// Returns true if a word of a command is the program's name or path, or a shell's script that has
/// it.
pub fn names(word: &OsStr, program: &str) -> bool {
    let text = word.to_string_lossy();
    text.split(|sign: char| sign.is_whitespace() || ";|&()`\"'".contains(sign)).any(|part| Path::new(part).file_name() == Some(OsStr::new(program)))
}

fn user_group<'a>(programs: &[Program], stamp: &'a str, sources: &'a [&'a str]) -> Group<'a> {
    let packages = programs.iter().map(|program| format!("nacre-{}", program.name)).collect();
    Group { name: "user", stamp, title: "monitors and programs", flags: USER_FLAGS, sources, packages, features: &[] }
}

/// Brings all up to date, with a kernel that measures how long it keeps interrupts off.
pub fn ensure_measuring(tree: &Tree) -> Outcome<Products> {
    let products = ensure(tree)?;
    let kernel = ensure_kernel(tree, &Toolchain::from_environment(), &kernel_group("latency", LATENCY))?;
    Ok(Products { kernel, ..products })
}

fn kernel_group<'a>(name: &'a str, features: &'a [&'a str]) -> Group<'a> {
    Group { name, stamp: "stamp", title: "the kernel", flags: KERNEL_FLAGS, sources: &["abi", "kernel"], packages: vec!["nacre-kernel".to_string()], features }
}

/// Brings a kernel up to date; the file, once its stack was checked.
fn ensure_kernel(tree: &Tree, toolchain: &Toolchain, group: &Group<'_>) -> Outcome<PathBuf> {
    let checked = tree.target(group.name).join("nacre-kernel");
    if ensure_group(tree, toolchain, group)? || !checked.exists() {
        let built = product(tree, group.name, "nacre-kernel");
        // One that is refused is not to be taken for built the next time.
        let _ = fs::remove_file(&checked);
        crate::stack::check(&built)?;
        fs::copy(&built, &checked).context(Class::File, || format!("cannot write {}", checked.display()))?;
    }
    Ok(checked)
}

fn product(tree: &Tree, group: &str, name: &str) -> PathBuf {
    tree.target(group).join(TARGET).join("release").join(name)
}

fn find_programs(tree: &Tree) -> Outcome<Vec<Program>> {
    let mut programs = Vec::new();
    for group in PROGRAM_FOLDERS {
        for folder in folders(&tree.path(group))? {
            if !folder.join("src/main.rs").is_file() {
                continue;
            }
            let Some(package) = package_name(&folder.join("Cargo.toml")) else { continue };
            let Some(name) = package.strip_prefix("nacre-") else { continue };
            programs.push(Program {
                name: name.to_string(),
                group: group.to_string(),
                path: product(tree, "user", &package),
            });
        }
    }
    Ok(programs)
}

fn folders(parent: &Path) -> Outcome<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(parent) else { return Ok(Vec::new()) };
    let mut found: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}

/// The `name = "..."` of a crate; the first one in the file is the package's by custom.
fn package_name(manifest: &Path) -> Option<String> {
    let text = fs::read_to_string(manifest).ok()?;
    let line = text.lines().find(|line| line.starts_with("name"))?;
    Some(line.split('"').nth(1)?.to_string())
}

/// Builds a group if it is stale. Returns true if it was.
fn ensure_group(tree: &Tree, toolchain: &Toolchain, group: &Group<'_>) -> Outcome<bool> {
    if is_fresh(tree, group, toolchain) {
        return Ok(false);
    }
    let stamp = stamp(tree, group);
    let started = SystemTime::now();
    if !stamp.exists() {
        eprintln!("nacre: building {} (the first time takes some minutes)", group.title);
    }
    let mut command = toolchain.bare_metal_build(tree, group.name, group.flags);
    for package in &group.packages {
        command.args(["--package", package]);
    }
    for feature in group.features {
        command.args(["--features", feature]);
    }
    progress::run(command, group.title)?;
    write_stamp(&stamp, &recipe(group, toolchain), started)?;
    Ok(true)
}

fn stamp(tree: &Tree, group: &Group<'_>) -> PathBuf {
    tree.target(group.name).join(group.stamp)
}

/// Returns the packages, flags and toolchain of a group.
fn recipe(group: &Group<'_>, toolchain: &Toolchain) -> String {
    format!("{toolchain:?} {} {:?} {:?}\n", group.flags, group.packages, group.features)
}

/// The stamp carries the time at which the build started, so that what is edited meanwhile counts
/// as newer.
fn write_stamp(stamp: &Path, recipe: &str, started: SystemTime) -> Outcome<()> {
    let what = || format!("cannot write {}", stamp.display());
    fs::write(stamp, recipe).context(Class::File, what)?;
    let file = fs::File::options().write(true).open(stamp).context(Class::File, what)?;
    file.set_modified(started).context(Class::File, what)
}

fn is_fresh(tree: &Tree, group: &Group<'_>, toolchain: &Toolchain) -> bool {
    let stamp = stamp(tree, group);
    let Ok(stamped) = fs::metadata(&stamp).and_then(|metadata| metadata.modified()) else { return false };
    if fs::read_to_string(&stamp).ok().as_deref() != Some(&recipe(group, toolchain)) {
        return false;
    }
    let files = [tree.path("Cargo.toml"), tree.path("Cargo.lock")];
    !files.iter().any(|file| is_newer(file, stamped))
        && !group.sources.iter().any(|source| is_newer(&tree.path(source), stamped))
}

/// Returns true if a path or anything below it changed at or after `time`. Folders count too,
/// because a deletion shows nowhere else.
fn is_newer(path: &Path, time: SystemTime) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    if metadata.modified().map_or(true, |modified| modified >= time) {
        return true;
    }
    metadata.is_dir()
        && fs::read_dir(path)
            .map_or(true, |entries| entries.filter_map(Result::ok).any(|entry| is_newer(&entry.path(), time)))
}

/// Runs a build; shows what it says only if it fails.
pub fn run_quietly(mut command: Command, what: &str) -> Outcome<()> {
    let program = command.get_program().to_owned();
    let output = command.output().context(Class::Machine, || format!("cannot start {}", program.display()))?;
    if output.status.success() {
        return Ok(());
    }
    eprint!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(Failure::new(Class::Build, format!("{what} could not be built")).remedy("the compiler's messages are above"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_in_a_manifest() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert_eq!(package_name(&manifest).as_deref(), Some("nacre"));
    }

    #[test]
    fn a_command_names_a_program_in_words_and_scripts() {
        assert!(names(OsStr::new("witness"), "witness") && names(OsStr::new("/bin/witness"), "witness"));
        assert!(names(OsStr::new("x=$(witness keeper)|cat"), "witness") && !names(OsStr::new("eyewitness x-witness"), "witness"));
    }

    #[test]
    fn newer_sees_into_folders() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(is_newer(here, SystemTime::UNIX_EPOCH));
        assert!(!is_newer(here, SystemTime::now() + std::time::Duration::from_secs(3600)));
        assert!(!is_newer(Path::new("/nonexistent"), SystemTime::UNIX_EPOCH));
    }
}
