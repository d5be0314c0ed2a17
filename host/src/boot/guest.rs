//! Composes a guest: busybox and its applets, monitors, a few files that programs expect, and
//! additions of the command line.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::data;
use super::directory;
use super::elf;
use super::files::{BUSYBOX, Files};
use super::given;
use super::{initramfs, kernel};
use crate::absolute::absolute;
use super::program::{self, GUEST_PATH, Scope, Stack};
use super::{disks, volumes};
use super::writer::{self, Root};
use crate::builds::{Products, Program, names};
use crate::cli::{GuestArguments, Seed};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::network::Network;
use crate::session::terminal::Facts;
use crate::tree::Tree;

/// List of who tells addresses by names: QEMU, which asks those that this machine asks.
const RESOLVERS: &str = "nameserver 10.0.2.3\n";
/// Bytes of a key of ChaCha20.
const SEED_SIZE: usize = 32;
/// Folders in which Debian's libraries look for kinds of terminals (terminfo(5)), the first before
/// the others.
const TERMINALS: [&str; 3] = ["/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo"];

/// Folders of hier(7) that a fresh Debian has, with whatever lies above them.
const FOLDERS: [&str; 22] = [
    "/boot", "/dev", "/home", "/lib64", "/media", "/mnt", "/opt", "/proc", "/run", "/srv", "/sys", "/usr/games", "/usr/include", "/usr/lib", "/usr/local/bin",
    "/usr/local/lib", "/usr/share", "/usr/src", "/var/cache", "/var/lib", "/var/log", "/var/spool",
];

/// Everything that root starts from.
pub struct Guest {
    /// The boot image.
    pub image: Vec<u8>,
    /// Files that the guest may hand out, with their paths here: outputs of monitors, and disks
    /// that they change.
    pub outputs: BTreeMap<PathBuf, PathBuf>,
    /// Files of this machine that are disks of the guest's.
    pub disks: Vec<PathBuf>,
    /// Number of files that stay under a path here, if it is not one.
    pub kept: BTreeMap<PathBuf, u64>,
    /// Name of the command's first word.
    pub name: String,
    /// Name of the program inside all monitors, for messages.
    pub program: String,
    /// A word of the command that is a file of this machine and none of the guest's.
    pub absent: Option<PathBuf>,
    /// Part of the command runs in a guest of a machine.
    pub has_guest: bool,
    /// A word of the command is the monitor `machine`, or a script that has the word.
    pub has_machine: bool,
}

impl Guest {
    /// Composes the guest that a command line asks for.
    pub fn compose(products: &Products, arguments: &GuestArguments, facts: &Facts) -> Outcome<Guest> {
        let below = arguments.root.as_ref();
        let mut files = below.map_or_else(|| base(data::limit(arguments.memory)), |root| Ok(root.files()))?;
        add_native(&mut files, products, &drivers(arguments))?;
        let directory = std::env::current_dir().context(Class::Internal, || "cannot find the current directory".to_string())?;
        for option in &arguments.files {
            given::add(&mut files, &directory, option, below.is_some())?;
            let place = absolute(&directory, Path::new(option.rsplit_once(':').map_or(&option[..], |(_, path)| path)));
            if volumes::have(&arguments.volumes, &place) {
                let failure = Failure::new(Class::Usage, format!("--file puts {} where -v puts a directory of this machine", place.display()));
                return Err(failure.remedy("give it another path with --file HOST:PATH"));
            }
        }
        let monitors = products.monitors().map(|monitor| monitor.name.clone()).collect();
        let natives = products.programs.iter().filter(|program| program.group != "servers" && program.name != "linux").map(|program| program.name.clone()).collect();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let scope = Scope { monitors: &monitors, natives: &natives, directory: &directory, path: &path, root: below, volumes: &arguments.volumes };
        let stack = program::resolve(&arguments.command, &scope, &mut files)?;
        let stack = around(stack, arguments, &scope)?;
        let script = arguments.command.iter().find_map(|word| kernel_of_script(word));
        check_directories(&stack, arguments, &files)?;
        let has_machine = script.is_some() || arguments.command.iter().any(|word| word == "machine");
        if let Some(kind) = stack.needs_kernel {
            add_kernel(&mut files, &products.tree, kind)?;
        } else if let Some(kind) = script {
            // It may mean something else: if there is no kernel, whoever runs it is told.
            let _ = add_kernel(&mut files, &products.tree, kind);
        }
        let environment = environment(arguments)?;
        if facts.is_terminal && below.is_none() {
            add_terminal(&mut files, &environment)?;
        }
        stack.add_output_folders(&mut files);
        add_outputs(&mut files, &arguments.outputs);
        // A disc may boot on any machine.
        let has_host = !matches!(arguments.seed, Seed::Processor);
        if has_host {
            add_list(&mut files, "/etc/nacre/kept", stack.disks.keys());
        }
        add_directory(&mut files, arguments, &directory);
        say_left_out(&files);
        files.add_file(Path::new("/etc/nacre/command"), 0o644, join(&stack.words));
        files.add_file(Path::new("/etc/nacre/environment"), 0o644, join(&environment));
        files.add_file(Path::new("/etc/nacre/terminal"), 0o644, facts.to_string());
        if arguments.network.as_ref().is_some_and(Network::has_names) && below.is_none() {
            files.add_file(Path::new("/etc/resolv.conf"), 0o644, RESOLVERS);
        }
        add_mounts(&mut files, arguments);
        add_seed(&mut files, arguments.seed)?;
        // Only of QEMU's machine is it known where its devices are.
        if has_host {
            files.add_file(Path::new("/etc/nacre/windows"), 0o600, WINDOWS);
        }
        let image = writer::image(&root(products)?, &files).map_err(|message| Failure::new(Class::Internal, message))?;
        let program = stack.program.or(Some(0)).and_then(|at| arguments.command.get(at)).map_or(String::new(), |word| word.display().to_string());
        let name = arguments.command.first().map_or(String::new(), |word| word.display().to_string());
        let absent = if below.is_some() || !arguments.volumes.is_empty() { None } else { absent(arguments.command.get(..stack.guest.unwrap_or(usize::MAX)).unwrap_or(&arguments.command), &directory, &files, &stack.outputs) };
        let (disks, outputs) = (stack.disks.values().cloned().collect(), stack.outputs.into_iter().chain(stack.disks).collect());
        Ok(Guest { image, absent, outputs, disks, kept: stack.kept, has_guest: stack.guest.is_some(), name, program, has_machine })
    }
}

/// Checks, before a kernel is fetched for it, that a directory which a monitor uses can be there.
fn check_directories(stack: &Stack, arguments: &GuestArguments, files: &Files) -> Outcome<()> {
    let inside = |path: &Path| arguments.root.as_ref().and_then(|root| root.find(path)).is_some_and(|found| found.exists());
    let outside = |path: &Path| volumes::have(&arguments.volumes, path) || arguments.disks.iter().any(|disk| disk.has(path));
    let own = |path: &Path| files.iter().any(|(other, entry)| other.starts_with(path) || entry.link_target().is_some() && path.starts_with(other));
    match stack.directories.iter().find(|path| !inside(path) && !outside(path) && !own(path)) {
        None => Ok(()),
        Some(path) => {
            let shown = path.display();
            let failure = Failure::new(Class::File, format!("there is no directory {shown} in the system"));
            Err(failure.remedy(format!("bring one of this machine along: -v DIR:{shown}, or a copy by --file DIR:{shown}")))
        }
    }
}

/// Puts the monitors around a stack that the command line does not name.
fn around(stack: Stack, arguments: &GuestArguments, scope: &Scope<'_>) -> Outcome<Stack> {
    let stack = if arguments.bare { stack } else { stack.in_world(scope) };
    let stack = match &arguments.network {
        Some(network) => stack.on_network(network.options()),
        None => stack,
    };
    stack.within(&arguments.limits)
}

/// Returns the names of the drivers that the machine needs.
fn drivers(arguments: &GuestArguments) -> Vec<&'static str> {
    let (has_directories, has_disks) = (arguments.root.is_some() || !arguments.volumes.is_empty(), !arguments.disks.is_empty());
    [("directory", has_directories), ("disk", has_disks), ("card", arguments.network.is_some()), ("random", arguments.has_source)].into_iter().filter_map(|(name, is_needed)| is_needed.then_some(name)).collect()
}

/// Tells root of the directories of this machine and of the disks.
fn add_mounts(files: &mut Files, arguments: &GuestArguments) {
    if !arguments.volumes.is_empty() {
        files.add_file(Path::new("/etc/nacre/mounts"), 0o600, volumes::list(&arguments.volumes));
    }
    if !arguments.disks.is_empty() {
        files.add_file(Path::new("/etc/nacre/disks"), 0o600, disks::list(&arguments.disks));
    }
}

/// The first word behind the program that is a file of this machine and none of the guest's.
fn absent(command: &[OsString], directory: &Path, files: &Files, outputs: &BTreeMap<PathBuf, PathBuf>) -> Option<PathBuf> {
    let words = command.iter().skip(1).map(|word| Path::new(word)).filter(|word| !word.as_os_str().as_bytes().starts_with(b"-"));
    words.into_iter().find(|word| directory.join(word).is_file() && !files.contains(&absolute(directory, word)) && !outputs.contains_key(&absolute(directory, word))).map(Path::to_path_buf)
}

/// Tells root where the program starts: it looks for a relative path in its current directory.
fn add_directory(files: &mut Files, arguments: &GuestArguments, here: &Path) {
    let volume = volumes::place_of(&arguments.volumes, here);
    let place = match &arguments.root {
        _ if volume.is_some() => volume.unwrap_or_default(),
        Some(root) => {
            let place = root.place_of(here);
            if directory::Directory::is_own(&place) && !files.contains(&place) {
                // The guest has its own instead of this machine's.
                files.add_directory(&place, 0o755);
            }
            place
        }
        None if files.contains(here) => here.to_path_buf(),
        None => return,
    };
    if arguments.starts_here {
        files.add_file(Path::new("/etc/nacre/directory"), 0o644, place.as_os_str().as_bytes());
    }
}

/// Tells root which files to hand out when the program has ended, and makes the folders of those.
fn add_outputs(files: &mut Files, outputs: &[PathBuf]) {
    for folder in outputs.iter().filter_map(|path| path.parent()).filter(|folder| *folder != Path::new("/")) {
        if !files.contains(folder) {
            files.add_directory(folder, 0o755);
        }
    }
    add_list(files, "/etc/nacre/outputs", outputs.iter());
}

/// Tells root of files, unless there are none.
fn add_list<'a>(files: &mut Files, place: &str, paths: impl Iterator<Item = &'a PathBuf>) {
    let names: Vec<OsString> = paths.map(OsString::from).collect();
    if !names.is_empty() {
        files.add_file(Path::new(place), 0o600, join(&names));
    }
}

/// Places of the kernel and the initial file system that machines run if they are given none.
const KERNEL: &str = "/lib/nacre/guest/vmlinuz";
const INITRD: &str = "/lib/nacre/guest/initrd";

/// Adds Debian's kernel for guest machines, and a file system with busybox.
fn add_kernel(files: &mut Files, tree: &Tree, kind: kernel::Kind) -> Outcome<()> {
    let kernel = kernel::kernel(tree, kind)?;
    files.add_from_host(&kernel, Path::new(KERNEL))?;
    files.add_file(Path::new(INITRD), 0o644, initramfs::busybox(kernel::package_folder(&kernel))?);
    Ok(())
}

/// Returns the kernel that a machine needs which a shell's script may start.
fn kernel_of_script(word: &OsStr) -> Option<kernel::Kind> {
    let has = |wanted: &[u8]| word.as_bytes().windows(wanted.len()).any(|bytes| bytes == wanted);
    let is_script = has(b" ") && names(word, "machine");
    is_script.then(|| if program::SHARE_OPTIONS.into_iter().any(has) { kernel::Kind::General } else { kernel::Kind::Cloud })
}

/// Says which files of the directories that were named are not in the guest.
fn say_left_out(files: &Files) {
    if let Some(first) = files.left_out.first() {
        let others = if files.left_out.len() > 1 { format!(" and {} more", files.left_out.len() - 1) } else { String::new() };
        eprintln!("nacre: left out {}{others}: FIFOs, sockets and devices stay on this machine", first.display());
    }
}

/// Windows of devices that programs in QEMU's machine can map, as root reads them.
const WINDOWS: &str = "/dev/hpet 0xfed00000 0x1000 read\n";

/// Adds the bytes that root's random bytes follow from. Root takes the name away before a program
/// starts.
fn add_seed(files: &mut Files, seed: Seed) -> Outcome<()> {
    let mut bytes = vec![0; SEED_SIZE];
    match seed {
        Seed::Fixed => files.add_file(Path::new("/etc/nacre/fixed-seed"), 0o600, bytes),
        Seed::Fresh => {
            let read = fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
            read.context(Class::Internal, || "cannot read random bytes of this machine".to_string())?;
            files.add_file(Path::new("/etc/nacre/seed"), 0o600, bytes);
        }
        Seed::Processor => {}
    }
    Ok(())
}

/// Adds what this machine knows of the kind of terminal that `TERM` names: programs that paint a
/// screen do not start without.
fn add_terminal(files: &mut Files, environment: &[OsString]) -> Outcome<()> {
    let kind = environment.iter().find_map(|variable| variable.to_str()?.strip_prefix("TERM="));
    let Some((kind, first)) = kind.filter(|kind| !kind.contains('/')).and_then(|kind| Some((kind, kind.chars().next()?))) else { return Ok(()) };
    let mut places = TERMINALS.iter().map(|folder| Path::new(folder).join(first.to_string()).join(kind));
    match places.find(|place| place.is_file()) {
        Some(place) if !files.contains(&place) => files.add_from_host(&place, &place),
        _ => Ok(()),
    }
}

/// Words, each with a NUL behind it.
fn join(words: &[OsString]) -> Vec<u8> {
    words.iter().flat_map(|word| word.as_bytes().iter().copied().chain([0])).collect()
}

fn environment(arguments: &GuestArguments) -> Outcome<Vec<OsString>> {
    let terminal = std::env::var("TERM").unwrap_or_else(|_| "dumb".to_string());
    let path = if arguments.root.is_some() { directory::PATH } else { GUEST_PATH };
    let mut variables = vec![format!("PATH={path}"), "HOME=/root".to_string(), format!("TERM={terminal}")];
    if is_utf8(|name| std::env::var(name).ok()) {
        variables.push("LANG=C.UTF-8".to_string());
    }
    if arguments.report_calls {
        variables.push("NACRE_REPORT_CALLS=1".to_string());
    }
    for variable in &arguments.environment {
        let Some((name, _)) = variable.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::new(Class::Usage, format!("`--env {variable}` sets nothing")).remedy("write NAME=VALUE"));
        };
        variables.retain(|other| other.split('=').next() != Some(name));
        variables.push(variable.clone());
    }
    Ok(variables.into_iter().map(OsString::from).collect())
}

/// Returns true if the variables of locale(7) name UTF-8 for characters: the first that is set
/// decides.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let first = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    first.is_some_and(|value| ["utf-8", "utf8"].iter().any(|ending| value.to_lowercase().ends_with(ending)))
}

/// Busybox, its applets, and the few files that programs expect everywhere.
///
/// So many bytes of data may come along unasked.
fn base(data: u64) -> Outcome<Files> {
    let mut files = Files::with_data(data);
    FOLDERS.iter().for_each(|path| files.add_directory(Path::new(path), 0o755));
    ["/tmp", "/var/tmp", "/run/lock"].iter().for_each(|path| files.add_directory(Path::new(path), 0o1777));
    files.add_directory(Path::new("/root"), 0o700);
    for (path, target) in [("/var/run", "/run"), ("/var/lock", "/run/lock")] {
        files.add_link(Path::new(path), OsStr::new(target));
    }
    files.add_file(Path::new("/etc/passwd"), 0o644, *b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n");
    files.add_file(Path::new("/etc/group"), 0o644, *b"root:x:0:\nnogroup:x:65534:\n");
    files.add_file(Path::new("/etc/hosts"), 0o644, *b"127.0.0.1\tlocalhost nacre\n");
    for applet in applets()? {
        files.add_link(&Path::new("/").join(applet), OsStr::new(BUSYBOX));
    }
    files.add_from_host(Path::new(BUSYBOX), Path::new(BUSYBOX))?;
    Ok(files)
}

/// The applets' paths without the first slash, from a busybox that is seen to be a static program.
fn applets() -> Outcome<Vec<PathBuf>> {
    let remedy = "install Debian's package busybox-static";
    let bytes = fs::read(BUSYBOX).context(Class::Machine, || format!("cannot read {BUSYBOX}")).map_err(|failure| failure.remedy(remedy))?;
    elf::check_program(&bytes)
        .map_err(|refusal| Failure::new(Class::Machine, format!("{BUSYBOX} is of no use here: {refusal}")).remedy(remedy))?;
    let output = Command::new(BUSYBOX).arg("--list-full").output().context(Class::Machine, || format!("cannot start {BUSYBOX}"))?;
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Ok(lines.map(|line| PathBuf::from(OsString::from_vec(line.to_vec()))).collect())
}

/// Native programs go to `/bin`, before applets of their names; the library for Linux programs has
/// its own place, and so have the drivers that the machine needs.
fn add_native(files: &mut Files, products: &Products, drivers: &[&str]) -> Outcome<()> {
    for program in &products.programs {
        match (program.group.as_str(), program.name.as_str()) {
            ("servers", "root") => {}
            ("servers", driver) if !drivers.contains(&driver) => {}
            ("servers", driver) => files.add_file(&Path::new("/lib/nacre").join(driver), 0o700, stripped(program)?),
            ("user", "linux") => files.add_file(Path::new("/lib/nacre/linux"), 0o755, stripped(program)?),
            _ => files.add_file(&Path::new("/bin").join(&program.name), 0o755, stripped(program)?),
        }
    }
    Ok(())
}

fn read_product(program: &Program) -> Outcome<Vec<u8>> {
    fs::read(&program.path).context(Class::Build, || format!("cannot read {}", program.path.display()))
}

fn stripped(program: &Program) -> Outcome<Vec<u8>> {
    elf::stripped(&read_product(program)?).context(Class::Build, || format!("{} is no program", program.path.display()))
}

fn root(products: &Products) -> Outcome<Root> {
    let Some(program) = products.program("root") else {
        return Err(Failure::new(Class::Build, "the tree has no servers/root"));
    };
    let (entry, segments) =
        elf::segments(&read_product(program)?).context(Class::Build, || format!("{} is no program", program.path.display()))?;
    Ok(Root { entry, segments })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_holds_a_shell_and_places_to_write() {
        let files = base(0).unwrap();
        for path in ["/bin/busybox", "/bin/sh", "/bin/ls", "/tmp", "/dev", "/root", "/etc/passwd", "/etc/hosts", "/home"] {
            assert!(files.contains(Path::new(path)), "{path}");
        }
        let mode = |wanted: &str| files.iter().find(|(path, _)| *path == Path::new(wanted)).map(|(_, entry)| entry.mode & 0o7777);
        for (path, permissions) in [("/tmp", 0o1777), ("/var/tmp", 0o1777), ("/run", 0o755), ("/run/lock", 0o1777), ("/root", 0o700), ("/var/log", 0o755)] {
            assert_eq!(mode(path), Some(permissions), "{path}");
        }
    }

    #[test]
    fn a_variable_of_the_command_line_replaces_the_default() {
        let arguments = GuestArguments { environment: vec!["HOME=/tmp".into(), "X=a=b".into()], ..Default::default() };
        let variables = environment(&arguments).unwrap();
        assert!(variables.contains(&OsString::from("HOME=/tmp")) && variables.contains(&OsString::from("X=a=b")));
        assert!(!variables.contains(&OsString::from("HOME=/root")));
        let wrong = GuestArguments { environment: vec!["=x".into()], ..Default::default() };
        assert_eq!(environment(&wrong).unwrap_err().class, Class::Usage);
    }

    #[test]
    fn the_first_variable_that_is_set_names_the_characters() {
        let said = |set: &[(&str, &str)]| is_utf8(|name| set.iter().find(|(other, _)| *other == name).map(|(_, value)| value.to_string()));
        assert!(said(&[("LANG", "de_DE.UTF-8")]) && said(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(!said(&[]) && !said(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]));
    }

    #[test]
    fn a_kind_of_terminal_comes_along_if_it_is_known() {
        for (kind, known) in [("TERM=xterm", true), ("TERM=nonesuch", false), ("TERM=", false), ("TERM=../x/xterm", false)] {
            let mut files = Files::default();
            add_terminal(&mut files, &[OsString::from(kind)]).unwrap();
            assert_eq!(files.iter().any(|(path, _)| path.ends_with("terminfo/x/xterm")), known, "{kind}");
        }
    }

    #[test]
    fn a_word_that_names_a_file_of_this_machine_alone_is_found() {
        let files = base(0).unwrap();
        let found = |words: &[&str]| absent(&words.iter().map(OsString::from).collect::<Vec<_>>(), Path::new("/etc"), &files, &BTreeMap::new());
        assert_eq!(found(&["cat", "-n", "passwd", "debian_version"]), Some(PathBuf::from("debian_version")));
        assert_eq!(found(&["cat", "passwd", "/etc", "nonesuch"]), None);
    }

    #[test]
    fn a_directory_that_is_nowhere_is_missed_before_a_kernel_is_fetched() {
        let mut files = base(0).unwrap();
        files.add_link(Path::new("/link"), OsStr::new("/somewhere"));
        let check = |path: &str| check_directories(&Stack { directories: [PathBuf::from(path)].into(), ..Stack::default() }, &GuestArguments::default(), &files);
        for path in ["/", "/tmp", "/usr", "/link/below"] {
            assert!(check(path).is_ok(), "{path}");
        }
        assert!(check("/nosuch").unwrap_err().to_string().contains("there is no directory /nosuch in the system; bring one of this machine along: -v DIR:/nosuch"));
    }

    #[test]
    fn words_end_with_a_nul() {
        assert_eq!(join(&["a".into(), "".into()]), b"a\0\0");
    }
}
