//! Reads `PROGRAM ARGS` as a stack: monitors, their options, and the program at the end; finds each
//! in the guest or on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::elf::{self, Refusal};
use super::files::Files;
use crate::absolute::absolute;
use super::data;
use super::directory::Directory;
use super::hint;
use super::kernel;
use super::named::Named;
use super::scripts;
use super::volumes::{self, Program, Volume};
use super::{libraries, links};
use crate::failure::{Class, Context, Failure, Outcome, suggestion};
use crate::monitors;
use nacre_manifest::{Manifest, Programs, Stop, is_separator};

/// Folders in which a guest program looks for others.
pub const GUEST_PATH: &str = "/bin:/usr/bin:/sbin:/usr/sbin";

/// The words of a stack and what they name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// The command as the guest gets it.
    pub words: Vec<OsString>,
    /// Absolute paths in the guest of the files that monitors were asked to write, with their paths
    /// here. A guest may hand out no others.
    pub outputs: BTreeMap<PathBuf, PathBuf>,
    /// Number of files that stay under a path here, if it is not one.
    pub kept: BTreeMap<PathBuf, u64>,
    /// Files of this machine that monitors write in place: absolute paths in the guest, with their
    /// paths here.
    pub disks: BTreeMap<PathBuf, PathBuf>,
    /// Absolute paths in the guest of directories that monitors use.
    pub directories: BTreeSet<PathBuf>,
    /// Kernel that the host brings for a machine in it.
    pub needs_kernel: Option<kernel::Kind>,
    /// Index of the first word that is for a guest inside a machine, if there is a machine.
    pub guest: Option<usize>,
    /// Index of the program inside all monitors, if it is clear which that is.
    pub program: Option<usize>,
    /// Names of the tree's own programs in the stack, monitors and others.
    pub(super) own: Vec<String>,
}

/// Scripts whose interpreters are scripts, at most.
const MAX_SCRIPTS: usize = 5;

/// Option of machines that names a kernel.
const KERNEL_OPTION: &[u8] = b"--kernel";
/// Options of machines that name a directory, which needs a kernel with 9P.
pub const SHARE_OPTIONS: [&[u8]; 2] = [b"--share", b"--root"];

/// The monitor that makes processes.
pub(super) const WORLD: &str = "process";
/// Monitor that gives the programs within sockets of the internet.
const NETWORK: &str = "network";

impl Stack {
    /// Puts the folders in which monitors write files into `files`, and those that lead to them.
    pub fn add_output_folders(&self, files: &mut Files) {
        for folder in self.outputs.keys().filter_map(|path| path.parent()) {
            if !files.contains(folder) {
                files.add_directory(folder, 0o755);
            }
        }
    }

    /// Puts `process` before all words, so that the program can fork and the monitors see each of
    /// its processes.
    ///
    /// A stack that names it is left alone. So is one that runs a program of the tree that is no
    /// monitor: such a program makes the kernel's calls itself.
    pub fn in_world(mut self, scope: &Scope<'_>) -> Stack {
        if self.own.iter().all(|name| name != WORLD && scope.monitors.contains(name)) {
            self.words.insert(0, WORLD.into());
            self.own.push(WORLD.to_string());
        }
        self
    }

    /// Puts the whole stack on the network, unless it names the monitor for that itself.
    pub fn on_network(mut self, options: Vec<OsString>) -> Stack {
        if self.own.iter().all(|name| name != NETWORK) {
            self.words.splice(..0, std::iter::once(NETWORK.into()).chain(options));
        }
        self
    }
}

/// Places to look for programs.
pub struct Scope<'a> {
    /// Names of native monitors.
    pub monitors: &'a BTreeSet<String>,
    /// Names of the tree's other native programs.
    pub natives: &'a BTreeSet<String>,
    /// The directory that relative paths start from.
    pub directory: &'a Path,
    /// Value of this machine's `PATH`.
    pub path: &'a OsStr,
    /// The guest's root directory, if that is one of this machine.
    pub root: Option<&'a Directory>,
    /// Directories of this machine in the guest's tree.
    pub volumes: &'a [Volume],
}

impl Scope<'_> {
    /// Returns the guest's current directory.
    fn start(&self) -> PathBuf {
        let inside = || self.root.map_or(self.directory.to_path_buf(), |root| root.place_of(self.directory));
        volumes::place_of(self.volumes, self.directory).unwrap_or_else(inside)
    }

    /// Returns true if the guest has a file of this machine at a path in a directory of its own.
    /// A disk has to be that very file, and changes have to arrive there.
    fn has(&self, path: &Path, here: &Path, is_disk: bool) -> bool {
        volumes::have(self.volumes, path) || is_disk && self.root.is_some_and(|root| root.passes(path, here))
    }

    fn is_own(&self, name: &str) -> bool {
        self.monitors.contains(name) || self.natives.contains(name)
    }
}

/// Reads a command; puts programs of this machine that it names into `files`.
pub fn resolve(command: &[OsString], scope: &Scope<'_>, files: &mut Files) -> Outcome<Stack> {
    let mut stack = Stack { words: command.to_vec(), ..Stack::default() };
    let (mut at, mut several, mut named) = (0, None, Named::default());
    while let Some(word) = command.get(at) {
        stack.words[at] = resolve_program(word, scope, files)?;
        stack.own.extend(word.to_str().filter(|name| scope.is_own(name)).map(str::to_string));
        let monitor = word.to_str().filter(|name| scope.monitors.contains(*name)).and_then(monitors::find);
        at = match (monitor, several) {
            (Some(monitor), _) if monitor.programs == Programs::Guest => {
                let behind = skip_options(monitor, command, at + 1, &mut named)?;
                let (given, ..) = monitors::options(monitor, &command[at + 1..]);
                stack.guest.get_or_insert(behind);
                let has = |name| given.iter().any(|option| option.name == name);
                if !has(KERNEL_OPTION) {
                    stack.needs_kernel = Some(if SHARE_OPTIONS.into_iter().any(has) { kernel::Kind::General } else { kernel::Kind::Cloud });
                }
                match several {
                    Some(several) => next_program(several, command, behind, &mut named)?,
                    None => break,
                }
            }
            (Some(monitor), _) => {
                several = several.or(Some(monitor).filter(|monitor| monitor.programs == Programs::Several));
                skip_options(monitor, command, at + 1 + words_before_options(monitor, command.get(at + 1)), &mut named)?
            }
            (None, Some(several)) => next_program(several, command, at + 1, &mut named)?,
            (None, None) => {
                stack.program = Some(at);
                break;
            }
        };
    }
    let start = scope.start();
    let paths = |path: &PathBuf| (absolute(&start, path), absolute(scope.directory, path));
    stack.outputs = named.outputs.iter().map(paths).collect();
    stack.kept = named.kept.iter().map(|(path, kept)| (paths(path).1, *kept)).collect();
    stack.directories = named.directories.iter().map(|path| paths(path).0).collect();
    stack.disks = named.bring_along(paths, (|path: &Path, here: &Path, is_disk| scope.has(path, here, is_disk), scope.root.is_none_or(Directory::passes_changes)), files)?;
    if stack.words.is_empty() {
        return Err(Failure::new(Class::Usage, "no program is named").remedy("try `nacre run sh`"));
    }
    Ok(stack)
}

/// Returns the number of words, of which `next` is the first, that stand before a monitor's
/// options.
fn words_before_options(monitor: &Manifest, next: Option<&OsString>) -> usize {
    let is_there = next.is_some_and(|word| !word.as_bytes().starts_with(b"-"));
    usize::from(is_there && matches!(monitor.programs, Programs::Behind(_)))
}

/// Returns the index of the program behind the next separator, or the end if there is none.
fn next_program(monitor: &Manifest, command: &[OsString], from: usize, named: &mut Named) -> Outcome<usize> {
    match command[from..].iter().position(|word| is_separator(word.as_bytes())) {
        Some(place) => skip_options(monitor, command, from + place + 1, named),
        None => Ok(command.len()),
    }
}

/// Returns the index of the first word from `at` on that is no option of `monitor`. Notes the files
/// that options name.
fn skip_options(monitor: &Manifest, command: &[OsString], at: usize, named: &mut Named) -> Outcome<usize> {
    let (given, words, stop) = monitors::options(monitor, &command[at..]);
    named.note(&given);
    match stop {
        Some(Stop::Unknown(name)) => Err(unknown_option(monitor, name)),
        // The monitor shows its help, or says what the option lacks.
        Some(_) => Ok(command.len()),
        None => Ok(at + words),
    }
}

fn unknown_option(monitor: &Manifest, name: &[u8]) -> Failure {
    let (monitor, known, name) = (monitor.name, monitor.names(), String::from_utf8_lossy(name));
    let near = suggestion(&name, known.map(str::to_string));
    // The status that the monitor has for all of its options.
    Failure::new(Class::Internal, format!("{monitor} has no option {name}{near}")).remedy(format!("`nacre run {monitor} --help` lists them"))
}

/// The word by which the guest finds the program; puts it into `files` if it is this machine's.
fn resolve_program(word: &OsStr, scope: &Scope<'_>, files: &mut Files) -> Outcome<OsString> {
    if word.as_bytes().contains(&b'/') {
        let place = volumes::place_of(scope.volumes, scope.directory);
        let path = absolute(place.as_deref().unwrap_or(scope.directory), Path::new(word));
        if volumes::have(scope.volumes, &path) {
            let found = volumes::find(scope.volumes, &path).ok_or_else(|| Failure::new(Class::NotFound, format!("there is no program {}", path.display())).remedy("check the path, and that of -v"))?;
            match found {
                _ if scope.root.is_some() => {}
                Program::Inside(host) => add_needs(&host, files)?,
                Program::Outside(host) => add_program(&host, &host, files)?,
            }
            return Ok(path.into_os_string());
        }
    }
    if let Some(root) = scope.root {
        return resolve_inside(root, word, scope, files);
    }
    if word.as_bytes().contains(&b'/') {
        let path = absolute(scope.directory, Path::new(word));
        if !files.contains(&path) || files.is_applet(&path) && is_executable(&path) {
            add_program(&path, &path, files)?;
        }
        return Ok(path.into_os_string());
    }
    if in_guest(word, files) {
        return Ok(word.to_os_string());
    }
    let Some(found) = find_on_host(word, scope) else {
        if word.as_bytes().starts_with(b"-") {
            return Err(Failure::new(Class::Usage, format!("there is no option {}", word.display())).remedy("see `nacre run --help`"));
        }
        let near = suggestion(&word.to_string_lossy(), files.program_names(GUEST_PATH));
        return Err(Failure::new(Class::NotFound, format!("there is no program called {}{near}", word.display()))
            .remedy(hint::remedy(&word.to_string_lossy())));
    };
    add_program(&found, &found, files)?;
    if !GUEST_PATH.split(':').any(|folder| found.parent() == Some(Path::new(folder))) {
        files.add_link(&Path::new("/bin").join(word), found.as_os_str());
    }
    Ok(word.to_os_string())
}

/// The word by which a guest with a root directory of this machine finds the program.
fn resolve_inside(root: &Directory, word: &OsStr, scope: &Scope<'_>, files: &Files) -> Outcome<OsString> {
    if word.as_bytes().contains(&b'/') {
        let path = absolute(&root.place_of(scope.directory), Path::new(word));
        if !files.contains(&path) {
            root.check(&path)?;
        }
        return Ok(path.into_os_string());
    }
    if !in_guest(word, files) {
        root.check_name(word)?;
    }
    Ok(word.to_os_string())
}

/// Returns true if the guest finds a program of this name.
fn in_guest(name: &OsStr, files: &Files) -> bool {
    GUEST_PATH.split(':').any(|folder| files.contains(&Path::new(folder).join(name)))
}

fn find_on_host(word: &OsStr, scope: &Scope<'_>) -> Option<PathBuf> {
    // A shim asks a version manager of this machine which program is meant; the guest has none.
    let folders = std::env::split_paths(scope.path).filter(|folder| !folder.ends_with("shims"));
    folders.map(|folder| absolute(scope.directory, &folder.join(word))).find(|path| is_executable(path))
}

/// Returns true for a file that somebody may execute.
pub fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o111 != 0)
}

/// Puts a program of this machine into `files`, if it can be run there, with all that it needs.
fn add_program(host: &Path, path: &Path, files: &mut Files) -> Outcome<()> {
    add_program_at(host, path, files, 0)
}

/// Puts what a program needs into `files`, which has the program already.
fn add_needs(host: &Path, files: &mut Files) -> Outcome<()> {
    let bytes = program_at(host)?;
    match bytes.strip_prefix(b"#!") {
        Some(line) => add_interpreter(line, files, 0),
        None => libraries::add(files, host, &bytes),
    }
}

fn add_program_at(host: &Path, path: &Path, files: &mut Files, depth: usize) -> Outcome<()> {
    let bytes = program_at(host)?;
    let real = links::add(files, host)?;
    files.take_over(path, GUEST_PATH);
    match bytes.strip_prefix(b"#!") {
        Some(line) => {
            scripts::check(host, line, |path| files.contains(path) || is_executable(path))?;
            add_interpreter(line, files, depth)?;
        }
        None => libraries::add(files, &real, &bytes)?,
    }
    data::add(files, host)
}

/// Reads a program of this machine that can be run in a guest.
fn program_at(host: &Path) -> Outcome<Vec<u8>> {
    let name = host.display();
    let Ok(metadata) = fs::metadata(host) else {
        return Err(Failure::new(Class::NotFound, format!("there is no program {name}")).remedy("check the path"));
    };
    if !metadata.is_file() {
        return Err(Failure::new(Class::NotRunnable, format!("{name} is not a file, so it cannot be run")));
    }
    if metadata.mode() & 0o111 == 0 {
        let remedy = format!("make it so with `chmod +x {name}`");
        return Err(Failure::new(Class::NotRunnable, format!("{name} is not executable")).remedy(remedy));
    }
    let bytes = fs::read(host).context(Class::File, || format!("cannot read {name}"))?;
    check(&bytes).map_err(|refusal| refuse(host, &refusal))?;
    Ok(bytes)
}

/// Puts the interpreter of a script into `files`, if it is on this machine and not there yet: of
/// `env`, the program that it looks for. `line` starts behind `#!`.
fn add_interpreter(line: &[u8], files: &mut Files, depth: usize) -> Outcome<()> {
    let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or(&[])).into_owned();
    let mut words = line.split_whitespace();
    let Some(first) = words.next().map(PathBuf::from) else { return Ok(()) };
    let mut wanted = vec![first.clone()];
    if let (true, Some(name)) = (first.ends_with("env"), words.find(|word| !word.starts_with('-') && !word.contains('='))) {
        if !in_guest(OsStr::new(name), files) {
            wanted.extend(GUEST_PATH.split(':').map(|folder| Path::new(folder).join(name)).find(|path| is_executable(path)));
        }
    }
    for path in wanted {
        if depth < MAX_SCRIPTS && path.is_absolute() && !files.contains(&path) && is_executable(&path) {
            add_program_at(&path, &path, files, depth + 1)?;
        }
    }
    Ok(())
}

/// Scripts pass: without an interpreter the guest refuses them.
fn check(bytes: &[u8]) -> Result<(), Refusal> {
    if bytes.starts_with(b"#!") { Ok(()) } else { elf::check_program(bytes) }
}

fn refuse(host: &Path, refusal: &Refusal) -> Failure {
    let failure = Failure::new(Class::NotRunnable, format!("{} cannot be run: {refusal}", host.display()));
    match refusal {
        Refusal::OtherMachine => failure.remedy("build it for x86-64 Linux"),
        Refusal::NotElf | Refusal::Damaged(_) => failure.remedy("check that it is the file you meant"),
    }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
