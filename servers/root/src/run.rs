//! From the first instruction to the last: the machine is taken over, the program is started, and
//! the machine is ended.

use crate::boot::BootFacts;
use crate::boot_files::{FIXED_SEED, KEPT, OUTPUTS, SEED};
use crate::tree::boot::Refused;
use crate::chores::Chores;
use crate::starving::Hunger;
use crate::console::Console;
use crate::debug_line::DebugLine;
use crate::drives::Drives;
use crate::files::Files;
use crate::{hardware, iommu};
use crate::host_ports::HostPorts;
use crate::input::Input;
use crate::locks::Locks;
use crate::memory;
use crate::notices::Notices;
use crate::outputs::Outputs;
use crate::open_file::streams;
use crate::objects::{Kind, Objects};
use crate::pools::Pools;
use crate::random::Random;
use crate::root::{Root, Standing};
use crate::futex_queues::FutexQueues;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use nacre_control::Seats;
use nacre_nest::{Ports, Program, SpawnError, Sizes, spawn};
use nacre_proto::Errno;
use nacre_sys::Status;
use nacre_virtio::Fault;

/// File with the command: arguments, and the environment, each string ended by a zero.
const COMMAND: &[u8] = b"/etc/nacre/command";
const ENVIRONMENT: &[u8] = b"/etc/nacre/environment";
/// Path of the directory that the program starts in.
const DIRECTORY: &[u8] = b"/etc/nacre/directory";
/// File that describes the terminal.
const TERMINAL: &[u8] = b"/etc/nacre/terminal";
/// Environment string that asks for a list of foreign calls without an implementation, at the end.
const REPORT_CALLS: &[u8] = b"NACRE_REPORT_CALLS=1";
/// Search path of a program whose name has no slash, if the environment has none.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin:/sbin:/usr/sbin";

/// Reason why the server could not start.
#[derive(Debug)]
pub enum Failure {
    /// The page with the machine's facts is of another version.
    BootInfo,
    /// The kernel refused something.
    Kernel(Status),
    /// Something of our own failed.
    Own(Errno),
}

impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        Failure::Kernel(status)
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Failure {
        Failure::Own(errno)
    }
}

/// Runs the program that the boot image names, until it and all it wrote has gone.
pub fn run() -> Result<(), Failure> {
    let facts = BootFacts::read().ok_or(Failure::BootInfo)?;
    memory::start(&facts)?;
    let held = iommu::start(&facts);
    let (mut root, refused) = make_root(&facts)?;
    if let Err(Fault(why)) = held {
        root.console.messages.line(alloc::format!("root: nothing holds devices to their memory: {why}").as_bytes());
    }
    if root.files.boot.is_none() {
        root.console.messages.line(b"root: there is no boot image, or not of this version");
    }
    root.say_left_out(refused);
    root.add_host_ports();
    root.console.messages.ready();
    root.start_drivers();
    root.drives.holds_program = true;
    root.settle_drives();
    root.run()?;
    // Nothing is taken down: the machine goes with all of it.
    hardware::end_machine();
    Ok(())
}

fn make_root(boot: &BootFacts) -> Result<(Root, Option<Refused>), Failure> {
    let (mut files, refused) = Files::start(boot);
    let has_commands = boot.has_commands;
    let facts = files.boot_file(TERMINAL).unwrap_or_default();
    let input = Input::from_facts(&facts);
    let paths = streams(matches!(input, Input::Terminal(_)), Input::is_null(&facts));
    let (pools, pool) = Pools::new(memory::available());
    let mut objects = Objects::new()?;
    let standing = Standing::new(&mut objects, &mut files, pool, (paths, has_commands, boot.has_card))?;
    let lines = objects.add(Kind::Lines, true, objects.accounts.outermost())?;
    let lines = objects.port(lines).ok_or(Errno::EIO)?;
    let mut console = Console::start(input, Input::is_one_output(&facts), lines)?;
    let list = |path| strings(&files.boot_file(path).unwrap_or_default()).into_iter().map(<[u8]>::to_vec).collect();
    let outputs = Outputs::new(list(OUTPUTS), list(KEPT));
    let time = files.clock.now().seconds as u64 ^ hardware::monotonic() << 20;
    let fixed = files.boot_file(FIXED_SEED);
    let random = Random::new(&fixed.clone().unwrap_or_else(|| files.boot_file(SEED).unwrap_or_default()), fixed.is_some(), time);
    let ports = HostPorts::start(boot, lines);
    let (drives, faults) = Drives::find(files.boot.as_ref(), boot, ports.line());
    faults.iter().for_each(|text| console.messages.line(text));
    let root = Root {
        files,
        objects,
        pools,
        console,
        debug_line: DebugLine::start(lines),
        drives,
        commands: Seats::default(),
        differences: Vec::new(),
        outputs,
        ports,
        random,
        standing,
        child: None,
        name: Vec::new(),
        locks: Locks::default(),
        notices: Notices::default(),
        waits: FutexQueues::default(),
        chores: Chores::default(),
        hunger: Hunger::default(),
        woken: VecDeque::new(),
        views: BTreeMap::new(),
        meetings: BTreeMap::new(),
        foreign_calls: None,
        status: None,
    };
    Ok((root, refused))
}

impl Root {
    /// Says which boot files are not in the tree.
    pub(crate) fn say_left_out(&mut self, refused: Option<Refused>) {
        if let Some(text) = refused.and_then(|refused| refused.text()) {
            self.console.messages.line(&[b"root: ", &text[..]].concat());
        }
    }

    /// Starts the program; a refusal is a sentence for the person who asked for it, and the exit
    /// status of a shell.
    pub(crate) fn start_program(&mut self) {
        self.files.tree.note_own();
        self.outputs.begin(&mut self.files.tree);
        let command = self.files.read_all(COMMAND).unwrap_or_default();
        let environment = self.files.read_all(ENVIRONMENT).unwrap_or_default();
        let (arguments, environment) = (strings(&command), strings(&environment));
        let Some(name) = arguments.first() else {
            self.console.messages.line(b"root: the boot image names no program (in /etc/nacre/command)");
            return self.end(127);
        };
        self.name = name.to_vec();
        self.foreign_calls = environment.contains(&REPORT_CALLS).then(BTreeSet::new);
        match self.spawn(&arguments, &environment) {
            Ok(Ok(())) => {}
            Ok(Err(refusal)) => self.refuse(&alloc::format!("{refusal}"), refusal.exit_status().into()),
            Err(errno) => self.refuse(&alloc::format!("{errno}"), 126),
        }
    }

    fn refuse(&mut self, why: &str, status: u64) {
        let text = alloc::format!("{}: {why}", String::from_utf8_lossy(&self.name));
        self.console.messages.line(text.as_bytes());
        self.end(status);
    }

    /// The program is refused, or something of our own fails.
    fn spawn(&mut self, arguments: &[&[u8]], environment: &[&[u8]]) -> Result<Result<(), SpawnError>, Errno> {
        let account = self.objects.accounts.outermost();
        let parent = self.objects.add(Kind::Parent, true, account)?;
        let (parent, keeper) = (self.objects.reference(parent)?, self.objects.port(self.standing.keeper).ok_or(Errno::EIO)?);
        let mut random = [0; 16];
        self.random.fill(&mut random);
        let (path, directory) = (self.search(environment), self.files.read_all(DIRECTORY).unwrap_or_default());
        let program = Program { path: &path, arguments, environment, directory: &directory, random, sizes: Sizes::default() };
        let ports = Ports { parent: parent.handle(), keeper: keeper.as_keeper() };
        Ok(spawn(&mut self.files, &program, ports).and_then(|child| {
            self.files.keep_running(&path);
            child.start()?;
            self.child = Some(child);
            Ok(())
        }))
    }

    /// The path of the program: its name, if that has a slash, else the first in the directories of
    /// `PATH` that is there.
    fn search(&self, environment: &[&[u8]]) -> Vec<u8> {
        if self.name.contains(&b'/') {
            return self.name.clone();
        }
        let directories = environment.iter().find_map(|text| text.strip_prefix(b"PATH=")).unwrap_or(DEFAULT_PATH);
        let paths = directories.split(|&byte| byte == b':').map(|directory| [directory, b"/", &self.name].concat());
        let tree = &self.files.tree;
        let mut found = paths.filter(|path| tree.resolve(tree.root(), path, true).is_ok_and(|place| place.node.is_some()));
        found.next().unwrap_or_else(|| self.name.clone())
    }
}

/// The strings of a list that ends each with a zero.
fn strings(bytes: &[u8]) -> Vec<&[u8]> {
    let list = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    if list.is_empty() { Vec::new() } else { list.split(|&byte| byte == 0).collect() }
}
