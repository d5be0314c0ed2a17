//! `nacre run`: compose, boot, join the terminal, end with the program's status.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;

use crate::boot::directory::Directory;
use crate::boot::guest::Guest;
use crate::builds;
use crate::cli::{GuestArguments, MachineArguments, RunArguments, Seed};
use crate::control::desk::Desk;
use crate::control::image;
use crate::control::names;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::network::Network;
use crate::scratch::Scratch;
use crate::session::debug_line::DebugLine;
use crate::session::machine::{Boot, Machine};
use crate::session::ports;
use crate::session::terminal::{Facts, Lines, Raw};
use crate::session::{Ending, Event, Limits, Session, Streams};
use crate::store::{self, Named, Store};
use crate::tree::Tree;

/// The word of the kernel's command line by which root knows of the source of random bytes.
const RANDOM: &str = "random=1";

/// Runs the program; its status.
pub fn run(tree: &Tree, arguments: &RunArguments) -> Outcome<i32> {
    run_products(&builds::ensure_for(tree, &arguments.guest.command)?, arguments)
}

/// Runs a program with products that are up to date.
pub fn run_products(products: &builds::Products, arguments: &RunArguments) -> Outcome<i32> {
    let facts = Facts::current();
    let seed = if arguments.machine.icount { Seed::Fixed } else { Seed::Fresh };
    let here = std::env::current_dir().context(Class::Internal, || "cannot find the current directory".to_string())?;
    let mut outputs: BTreeMap<PathBuf, PathBuf> = arguments.outputs.iter().map(|named| named.paths(&here)).collect();
    let left = outputs.keys().cloned().collect();
    let directory = arguments.directory.open()?;
    let volumes = arguments.volumes.open(&here)?;
    let disks = arguments.disks.open(&here)?;
    let network = arguments.network.open()?;
    check_image(&arguments.guest.command)?;
    if arguments.rng && arguments.machine.icount {
        return Err(Failure::new(Class::Usage, "--rng gives other bytes in each run, and --icount the same").remedy("leave one of them out"));
    }
    let guest = GuestArguments { seed, root: directory.clone(), volumes: volumes.clone(), disks: disks.clone(), network: network.clone(), has_source: arguments.rng, starts_here: true, memory: Some(arguments.machine.memory), outputs: left, ..arguments.guest.clone() };
    let guest = Guest::compose(products, &guest, &facts)?;
    for (path, here) in &guest.outputs {
        outputs.entry(path.clone()).or_insert(here.clone());
    }
    check_memory(guest.image.len() as u64, arguments.machine.memory)?;
    outputs.values().try_for_each(|path| check_output(path))?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let store = arguments.store.as_ref().map(Named::open).transpose()?;
    let mut machine_arguments = with_store(arguments.machine.clone(), store.as_ref());
    if !machine_arguments.debug {
        machine_arguments.kernel_option.push("quiet=1".to_string());
    }
    let has_root = directory.is_some();
    machine_arguments = with_directory(machine_arguments, directory);
    (machine_arguments.volumes, machine_arguments.disks) = (volumes, disks);
    machine_arguments = with_network(machine_arguments, network);
    if arguments.rng {
        machine_arguments.kernel_option.push(RANDOM.to_string());
        machine_arguments.has_source = true;
    }
    machine_arguments.takes_turns = guest.has_machine || arguments.guest.command.iter().any(|word| image::has_machine(Path::new(word))) || arguments.store.as_ref().is_some_and(|store| image::has_machine(store.path()));
    let line = arguments.gdb.map(DebugLine::open).transpose()?;
    if let Some(line) = &line {
        machine_arguments.debug_line = Some(line.socket());
        eprintln!("nacre: the debugger inside is reached by gdb with: target extended-remote 127.0.0.1:{}", line.number());
    }
    let _folder = line.map(DebugLine::carry);
    let named = socket(arguments, &guest.name)?;
    if named.is_some() {
        machine_arguments.kernel_option.push("control=1".to_string());
    }
    let is_large = !outputs.is_empty() || arguments.guest.command.iter().any(|word| word == "checkpoint");
    machine_arguments = with_ports(machine_arguments, is_large);
    let machine = machine(products, &image, machine_arguments);
    let limits = Limits { timeout: arguments.machine.timeout, outputs, kept: guest.kept.clone(), desk: Desk::default() };
    let command = arguments.guest.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let ending = attend(&machine, limits, facts, named.as_ref().map(|named| (named, command)));
    say_unkept(&guest, &ending);
    let ending = ending?;
    if let Ending::Program(status) = ending {
        say_signal(&guest.program, status);
        say_missing(&guest, has_root, status);
    }
    Ok(ending.status())
}

/// Checks that an image that is to go on is there, before a machine starts for it.
fn check_image(command: &[OsString]) -> Outcome<()> {
    let [first, option, image, ..] = command else { return Ok(()) };
    if first != "checkpoint" || option != "--thaw" || image == "/dev/store" || Path::new(image).is_file() {
        return Ok(());
    }
    Err(Failure::new(Class::File, format!("there is no image {}", image.display())).remedy("`nacre freeze` makes one"))
}

/// Checks that a file that the guest will hand out has a place here.
fn check_output(path: &Path) -> Outcome<()> {
    let problem = match path.parent() {
        _ if path.is_dir() => "it is a folder",
        Some(folder) if folder.is_dir() => return Ok(()),
        _ => "its folder is not there",
    };
    Err(Failure::new(Class::File, format!("cannot write {}: {problem}", path.display())))
}

/// The socket at which commands to the machine come. A run that is to be the same each time has
/// none unless it has a name; a machine without a name runs without one, too.
fn socket(arguments: &RunArguments, program: &str) -> Outcome<Option<names::Named>> {
    match &arguments.name {
        Some(name) => names::Named::take(name).map(Some),
        None if arguments.machine.icount => Ok(None),
        None => Ok(names::Named::take(&names::made_up(program)).ok()),
    }
}

/// Arguments of a machine that has this store.
pub fn with_store(mut arguments: MachineArguments, store: Option<&Store>) -> MachineArguments {
    if let Some(store) = store {
        arguments.memory = store::memory_beside(arguments.memory, store.size());
        arguments.kernel_option.push(store.word());
        arguments.store = Some((store.path().to_path_buf(), store.size()));
    }
    arguments
}

/// Arguments of a machine whose root directory is this one.
pub fn with_directory(mut arguments: MachineArguments, directory: Option<Directory>) -> MachineArguments {
    arguments.kernel_option.extend(directory.iter().map(Directory::word));
    arguments.directory = directory;
    arguments
}

/// Arguments of a machine whose card is joined to this network.
pub fn with_network(mut arguments: MachineArguments, network: Option<Network>) -> MachineArguments {
    arguments.kernel_option.extend(network.iter().map(|_| Network::WORD.to_string()));
    arguments.network = network;
    arguments
}

/// Arguments of a machine whose output goes over a port, and with `is_large` files, too. A port
/// interrupts when it likes, and so no run with it is the same as another.
fn with_ports(mut arguments: MachineArguments, is_large: bool) -> MachineArguments {
    if !arguments.icount {
        let names = [ports::OUTPUT].into_iter().chain(is_large.then_some(ports::RECORDS));
        arguments.ports.extend(names.map(str::to_string));
    }
    arguments
}

/// Memory that a machine needs beside its files, in bytes.
const BESIDE_FILES: u64 = 64 << 20;
/// Files that a machine can have, in bytes: QEMU puts them below the hole for devices.
const MAX_FILES: u64 = 1900 << 20;

/// Refuses files that the machine's memory does not hold, with what would.
fn check_memory(files: u64, memory: u64) -> Outcome<()> {
    if files + BESIDE_FILES <= memory.min(MAX_FILES + BESIDE_FILES) {
        return Ok(());
    }
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let said = format!("the guest's files take {} MiB, which is too much for a machine of {} MiB", mebibytes(files), mebibytes(memory));
    let enough = (2 * files).next_multiple_of(256 << 20);
    Err(Failure::new(Class::Usage, said).remedy(match files {
        ..=MAX_FILES => format!("give it more with --memory {}M, or name fewer files", mebibytes(enough)),
        _ => format!("no machine takes more than {} MiB: name fewer files", mebibytes(MAX_FILES)),
    }))
}

/// A machine that boots `image` with our kernel.
pub fn machine(products: &builds::Products, image: &Scratch, mut arguments: MachineArguments) -> Machine {
    arguments.holds_devices = true;
    let options: Vec<String> = arguments.kernel_option.iter().cloned().chain(ports::word(arguments.ports.len())).collect();
    let command_line = format!("cpus={} {}", arguments.cpus, options.join(" "));
    let boot = Boot::Kernel { kernel: products.kernel.clone(), module: image.path().to_path_buf(), command_line };
    Machine { arguments, boot }
}

/// Joins a machine to this process's streams until it ends.
fn attend(machine: &Machine, limits: Limits, facts: Facts, commands: Option<(&names::Named, Vec<String>)>) -> Outcome<Ending> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH])
        .context(Class::Internal, || "cannot listen for signals".to_string())?;
    // A program's errors are bytes like its output, unless they land on a terminal in raw mode.
    let raw_errors = facts.is_terminal && io::stderr().is_terminal();
    let log = limits.desk.log.clone();
    let streams = Streams {
        input: Box::new(io::stdin()),
        output: Box::new(log.tee(io::stdout())),
        errors: if raw_errors { Box::new(log.tee(Lines::new(io::stderr(), true))) } else { Box::new(log.tee(io::stderr())) },
        messages: Box::new(Lines::new(io::stderr(), raw_errors)),
        is_terminal: facts.is_terminal,
        ports: Vec::new(),
    };
    let raw = if facts.is_terminal { Raw::enter() } else { None };
    let desk = limits.desk.clone();
    let (session, events) = Session::start(machine, streams, limits)?;
    if let Some((named, command)) = commands {
        desk.open(named, &command, events.clone())?;
    }
    thread::spawn(move || signals.forever().for_each(|signal| tell_signal(signal, &events)));
    let result = session.wait();
    drop(raw);
    log.end();
    desk.end();
    result
}

fn tell_signal(signal: i32, events: &Sender<Event>) {
    let event = if signal == SIGWINCH { Event::Resize(Facts::current()) } else { Event::Signal(signal) };
    let _ = events.send(event);
}

/// Says which disks are not written back, since the machine was ended from outside.
fn say_unkept(guest: &Guest, ending: &Outcome<Ending>) {
    if !matches!(ending, Ok(Ending::Program(_))) {
        guest.disks.iter().for_each(|disk| eprintln!("nacre: {} stays as it was: what the guest writes to it is kept when the program ends by itself", disk.display()));
    }
}

/// A program that a signal killed says nothing itself; a shell would, but for the signals that
/// people and pipes send.
fn say_signal(name: &str, status: i32) {
    if let Some(signal) = status.checked_sub(128).filter(|signal| (3..=64).contains(signal) && *signal != SIGPIPE) {
        let signal = signal_hook::low_level::signal_name(signal).map_or(signal.to_string(), str::to_string);
        eprintln!("nacre: {name} was killed by signal {signal}");
    }
}

/// Status with which shells end when they do not find a program.
const NOT_FOUND: i32 = 127;

/// Programs say what they did not find, and not that this machine has it.
fn say_missing(guest: &Guest, has_root: bool, status: i32) {
    match (&guest.absent, status) {
        (_, 0) => {}
        (Some(path), _) => eprintln!("nacre: {0} is a file of this machine that the guest does not have; give it along with --file {0}", path.display()),
        (None, NOT_FOUND) if guest.has_guest => eprintln!("nacre: {} ended with status 127; if its guest did not find a program: that has busybox alone, unless machine --root DIR or --share DIR gives it more", guest.name),
        (None, NOT_FOUND) if has_root => eprintln!("nacre: {} ended with status 127; what it did not find has to be in the directory that is the guest's root, but for /dev, /proc, /run, /sys and /tmp, which are the guest's own: install it there, or name it with -v or --file", guest.name),
        (None, NOT_FOUND) => {
            eprintln!("nacre: {} ended with status 127; if it did not find a program that this machine has, name that with --file: --file /usr/bin/PROGRAM", guest.name)
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn a_file_that_has_no_place_here_is_refused_before_the_machine_starts() {
        let scratch = Folder::new("test").unwrap();
        let folder = scratch.path();
        assert!(check_output(&folder.join("file")).is_ok());
        assert!(check_output(folder).is_err());
        assert!(check_output(&folder.join("no-such-folder").join("file")).is_err());
    }

    #[test]
    fn files_that_do_not_fit_are_refused_with_a_way_out() {
        let said = |files: u64, memory: u64| check_memory(files << 20, memory << 20).map_err(|failure| failure.to_string());
        assert_eq!(said(400, 512), Ok(()));
        assert!(said(700, 512).unwrap_err().contains("give it more with --memory 1536M"));
        assert_eq!(said(700, 1536), Ok(()));
        assert!(said(2000, 8192).unwrap_err().contains("name fewer files"));
    }
}
