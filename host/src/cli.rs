//! The command line, as clap reads it.

use clap::{Args, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bench::arguments::BenchArguments;
use crate::boot::directory::{Directory, RootArguments};
use crate::dist::DistArguments;
use crate::rings::arguments::TestArguments;
use crate::boot::disks::{Disk, DiskArguments};
use crate::boot::volumes::{Volume, VolumeArguments};
use crate::control::arguments::{DiffArguments, EXEC_EXAMPLES, ExecArguments, ForkArguments, FreezeArguments, ImageInfoArguments, KillArguments, LogsArguments, MOVE_EXAMPLES, MoveArguments, PsArguments, StatsArguments, THAW_EXAMPLES, TraceArguments};
use crate::debian::DebianArguments;
use crate::failure::{Class, Failure, Outcome, STATUSES};
use crate::fuzz::arguments::FuzzArguments;
use crate::lint::arguments::LintArguments;
use crate::network::{Network, NetworkArguments};
use crate::store::{self, Named};

/// Examples that `nacre --help` shows. The test `examples` runs each of them.
const EXAMPLES: &str = "\
Examples:
  nacre run sh                             an unmodified Linux shell; Ctrl-] leaves
  nacre run trace sh -c 'echo hello'       the same, every message in or out of it shown
  nacre run sha256sum /bin/busybox | cut -c1-64
  nacre test                               every ring of tests";

/// Examples that `nacre run --help` shows. The test `examples` runs each of them.
const RUN_EXAMPLES: &str = "\
Examples:
  nacre run sh                             a shell; Ctrl-] leaves
  nacre run ./a.out 1 2 3                  a Linux program of yours, with its libraries
  nacre run --file data.txt wc data.txt    with a file of yours beside it
  nacre run --file src:/src ls -lR /src    a directory of yours, elsewhere
  nacre run --root-ro / bash --version     with this machine's files as they are
  nacre run --out /tmp/list sh -c 'ls /bin >/tmp/list'  a file that it leaves to you
  nacre run --file /usr/bin/ls ls --version  Debian's program instead of busybox's applet
  nacre run python3 -c 'print(6 * 7)'      an interpreter, with its modules
  nacre run -p 8080:80 PROGRAM             a server, reached at http://127.0.0.1:8080
  nacre run trace -o t.json ls /bin        a trace that Perfetto opens
  nacre run --bare trace true              without `process`: the program cannot fork
  nacre run --timeout 5 -- sh -c 'while :; do :; done'";

/// Examples that `nacre debian --help` shows.
const DEBIAN_EXAMPLES: &str = "\
Examples:
  nacre debian /srv/bookworm               the smallest Debian
  nacre debian --include gcc,git DIR       with compilers and git
  nacre run --root /srv/bookworm bash      a shell in it";

const FUZZ_EXAMPLES: &str = "\
Examples:
  nacre fuzz --calls 100000000             a hostile program in the system
  nacre fuzz core --minutes 10             calls on a fake machine, on this one
  nacre fuzz decoders --minutes 10         everything that reads what others wrote
  nacre fuzz elf --input FILE              one input again";

/// Runs programs inside stacks of virtual machine monitors, on the Nacre microkernel.
#[derive(Debug, Parser)]
#[command(name = "nacre", version, max_term_width = 100)]
#[command(after_help = format!("{EXAMPLES}\n\n{STATUSES}"))]
pub struct Cli {
    /// Subcommand.
    #[command(subcommand)]
    pub task: Task,
}

impl Cli {
    /// Returns the long options of a subcommand, as they are written.
    pub fn options_of(name: &str) -> Vec<String> {
        let command = Cli::command();
        let options = command.find_subcommand(name).into_iter().flat_map(|found| found.get_arguments());
        options.filter_map(|option| option.get_long().map(|long| format!("--{long}"))).collect()
    }

    /// Returns the subcommand that is nearest to a word that is none: a letter or a third of the
    /// word is wrong at most.
    pub fn near_subcommand(typed: &str) -> Option<String> {
        let command = Cli::command();
        let measured = command.get_subcommands().map(|one| (strsim::damerau_levenshtein(typed, one.get_name()), one.get_name()));
        let (distance, near) = measured.min_by_key(|(distance, _)| *distance)?;
        (typed.len() > 1 && distance <= (typed.len() / 3).max(1)).then(|| near.to_string())
    }
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Run a program in a machine of its own and end with its status
    #[command(after_help = format!("{RUN_EXAMPLES}\n\n{STATUSES}"))]
    Run(RunArguments),
    /// Go on with an environment that was frozen, in a machine of its own
    #[command(after_help = THAW_EXAMPLES)]
    Thaw(ThawArguments),
    /// List the machines that run, and the monitors and processes in them
    Ps(PsArguments),
    /// Show what the monitors of a running machine count: messages, faults, pauses
    Stats(StatsArguments),
    /// List the files that a machine added (A), changed (C) and deleted (D) in --root-overlay or -v
    Diff(DiffArguments),
    /// Freeze a running environment (one below `checkpoint`) into an image
    Freeze(FreezeArguments),
    /// Move a running environment (one below `checkpoint`) to where `receive` waits for it
    #[command(name = "move", after_help = MOVE_EXAMPLES)]
    Move(MoveArguments),
    /// Wait for an environment that `move` sends, and go on with it in a machine of its own
    #[command(after_help = MOVE_EXAMPLES)]
    Receive(ReceiveArguments),
    /// Make copies of a running environment (one below `checkpoint`), in the same machine
    Fork(ForkArguments),
    /// Start a process in a machine that runs, joined to this command, and end with its status
    #[command(after_help = EXEC_EXAMPLES)]
    Exec(ExecArguments),
    /// Show the last output of a machine's program
    Logs(LogsArguments),
    /// Show the messages of a machine that runs, until it ends
    Trace(TraceArguments),
    /// Merge files of events that `trace -o FILE.json` wrote in one machine
    TraceMerge(crate::merge::command::TraceMergeArguments),
    /// Send a signal to a machine's first process, or end the machine
    Kill(KillArguments),
    /// Show what is in an image
    ImageInfo(ImageInfoArguments),
    /// Run the tests: on the host, in the system, and stacks of monitors
    Test(TestArguments),
    /// Measure Nacre and Linux with the same program in the same QEMU
    Bench(BenchArguments),
    /// Count lines, functions and unsafe blocks against the house rules
    Lint(LintArguments),
    /// Write a disc (ISO, BIOS and UEFI) that boots the program
    Image(ImageArguments),
    /// Write packages by which others install what was built here: a .deb and a tarball
    Dist(DistArguments),
    /// Make a directory with a Debian userland, for `run --root DIR` (by debootstrap)
    #[command(after_help = DEBIAN_EXAMPLES)]
    Debian(DebianArguments),
    /// Let a hostile program make random calls; or follow coverage on this machine
    #[command(after_help = FUZZ_EXAMPLES)]
    Fuzz(FuzzArguments),
    /// Measure how many instructions the kernel keeps interrupts off, at most, by call and
    /// interrupt
    Latency(LatencyArguments),
    /// Print a script that completes this command's words in a shell
    Completions(CompletionsArguments),
    /// Write a manual page for this command and for each subcommand
    Man(ManArguments),
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct ManArguments {
    /// The folder to write to, which has to be there
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// Source of a guest's random bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seed {
    /// Seed that never changes, so that each run has the same random bytes.
    #[default]
    Fixed,
    /// Bytes of this machine, and of the processor.
    Fresh,
    /// The processor alone: the guest boots more than once.
    Processor,
}

/// Contents of the booted system, for `run` and `image`.
#[derive(Args, Clone, Debug, Default)]
pub struct GuestArguments {
    /// Put a file or directory of this machine into the guest, at PATH, with the libraries of
    /// programs in it (default: the same absolute path, and a program brings its data too)
    #[arg(short, long = "file", value_name = "HOST[:PATH]")]
    pub files: Vec<String>,
    /// Set a variable in the program's environment
    #[arg(short, long = "env", value_name = "NAME=VALUE")]
    pub environment: Vec<String>,
    /// List, at the end, the system calls that the program made and that do not exist here
    #[arg(long)]
    pub report_calls: bool,
    /// Do not run the program below the monitor `process`; it then cannot fork. (A command that
    /// names `process` is run as it stands)
    #[arg(long)]
    pub bare: bool,
    /// Let all that runs take so much and no more: memory=SIZE, files=N that are open, storage=SIZE
    /// of files' contents and names, processes=N with threads. May be given several times
    #[arg(long = "limit", value_name = "KIND=N", value_parser = crate::boot::limits::parse)]
    pub limits: Vec<String>,
    /// Start the program in the current directory of this machine, if the guest has it
    #[arg(skip)]
    pub starts_here: bool,
    /// Files that the guest hands out when the program has ended
    #[arg(skip)]
    pub outputs: Vec<PathBuf>,
    /// Source of the guest's random bytes
    #[arg(skip)]
    pub seed: Seed,
    /// Directory of this machine that is the guest's root directory
    #[arg(skip)]
    pub root: Option<Directory>,
    /// Directories of this machine that lie in the guest's tree
    #[arg(skip)]
    pub volumes: Vec<Volume>,
    /// Disks of the guest's
    #[arg(skip)]
    pub disks: Vec<Disk>,
    /// The machine has a source of random bytes
    #[arg(skip)]
    pub has_source: bool,
    /// Network that the machine's card is joined to
    #[arg(skip)]
    pub network: Option<Network>,
    /// Memory of the machine, if it is known: a small one gets less data of programs
    #[arg(skip)]
    pub memory: Option<u64>,
    /// The program (a monitor, a busybox applet, a name in your PATH, or a path) and its arguments;
    /// a monitor's are again a program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// The machine: shared by all that start QEMU.
#[derive(Args, Clone, Debug)]
pub struct MachineArguments {
    /// Number of processors
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub cpus: u32,
    /// Memory, with a suffix K, M or G
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = crate::amounts::memory)]
    pub memory: u64,
    /// End the machine after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = crate::amounts::seconds)]
    pub timeout: Option<Duration>,
    /// Let time advance with instructions: each run is the same, with the same random bytes
    #[arg(long, env = "NACRE_ICOUNT", value_parser = clap::builder::FalseyValueParser::new())]
    pub icount: bool,
    /// Show QEMU's command line and the kernel's first line
    #[arg(long)]
    pub debug: bool,
    /// Add a word to the kernel's command line, such as fpu=1
    #[arg(long, value_name = "WORD")]
    pub kernel_option: Vec<String>,
    /// File that the debug console writes to
    #[arg(skip)]
    pub console: Option<PathBuf>,
    /// File, and its size in bytes, that is memory behind the machine's own
    #[arg(skip)]
    pub store: Option<(PathBuf, u64)>,
    /// Socket that a fourth serial line is connected to, for a debugger
    #[arg(skip)]
    pub debug_line: Option<PathBuf>,
    /// Names of the ports between this machine and the guest
    #[arg(skip)]
    pub ports: Vec<String>,
    /// Emulated processors take turns: QEMU's SVM is not safe on several threads
    #[arg(skip)]
    pub takes_turns: bool,
    /// A unit stands between devices and memory, so that each reaches what it was given alone
    #[arg(skip)]
    pub holds_devices: bool,
    /// Directory of this machine that the guest's root reads
    #[arg(skip)]
    pub directory: Option<Directory>,
    /// Directories of this machine that are in the guest's tree
    #[arg(skip)]
    pub volumes: Vec<Volume>,
    /// Disks of the guest's
    #[arg(skip)]
    pub disks: Vec<Disk>,
    /// The machine has a source of random bytes
    #[arg(skip)]
    pub has_source: bool,
    /// Network that the guest's card is joined to
    #[arg(skip)]
    pub network: Option<Network>,
}

impl Default for MachineArguments {
    fn default() -> Self {
        MachineArguments { cpus: 1, memory: 512 << 20, timeout: None, icount: false, debug: false, kernel_option: Vec::new(), has_source: false, console: None, store: None, debug_line: None, ports: Vec::new(), takes_turns: false, holds_devices: false, directory: None, volumes: Vec::new(), disks: Vec::new(), network: None }
    }
}

/// Arguments of `run`.
#[derive(Args, Clone, Debug)]
pub struct RunArguments {
    #[command(flatten)]
    pub machine: MachineArguments,
    /// Give the guest a file of this machine as memory that lasts: it is /dev/store there. With a
    /// SIZE it is made, or made larger
    #[arg(long, value_name = "FILE[:SIZE]", value_parser = store::parse)]
    pub store: Option<Named>,
    /// Let gdb reach `debug` or `machine --gdb` by this port of 127.0.0.1 (0: a free one)
    #[arg(long, value_name = "PORT")]
    pub gdb: Option<u16>,
    /// Name by which `ps`, `exec`, `freeze` and `kill` find the machine (default: a new one)
    #[arg(long, value_name = "NAME", value_parser = crate::control::names::checked)]
    pub name: Option<String>,
    /// Write the guest's file GUEST to this machine, to HOST, when the program has ended (default:
    /// the same path)
    #[arg(long = "out", value_name = "GUEST[:HOST]", value_parser = crate::outputs::parse)]
    pub outputs: Vec<crate::outputs::Named>,
    /// Give the machine a source of random bytes of this machine's, beside the processor's and
    /// those that it starts with
    #[arg(long)]
    pub rng: bool,
    /// Run each of the arguments in a copy of this image's environment, which reads it as a line of
    /// input, instead of starting a program
    #[arg(long, value_name = "IMAGE")]
    pub warm: Option<PathBuf>,
    #[command(flatten)]
    pub directory: RootArguments,
    #[command(flatten)]
    pub volumes: VolumeArguments,
    #[command(flatten)]
    pub disks: DiskArguments,
    #[command(flatten)]
    pub network: NetworkArguments,
    #[command(flatten)]
    pub guest: GuestArguments,
}

impl RunArguments {
    /// The run of `checkpoint` that this is, if it starts from an image.
    pub fn from_image(mut self) -> Outcome<RunArguments> {
        if let Some(image) = self.warm.take() {
            let texts = std::mem::take(&mut self.guest.command);
            let (store, image) = store::in_guest(&image);
            if store.is_some() && self.store.is_some() {
                return Err(Failure::new(Class::Usage, "a machine has one store, and the image lies in one").remedy("leave --store out"));
            }
            self.store = self.store.take().or(store);
            self.guest.command = ["checkpoint".into(), "--thaw".into(), image].to_vec();
            self.guest.command.extend(texts.into_iter().flat_map(|text| ["--warm".into(), text]));
            self.guest.bare = true;
        }
        Ok(self)
    }
}

/// The machine that an environment goes on in, for `thaw` and `receive`.
#[derive(Args, Clone, Debug)]
pub struct NewMachine {
    #[command(flatten)]
    pub machine: MachineArguments,
    /// Name by which `ps`, `exec`, `freeze` and `kill` find the machine (default: one that is made
    /// up)
    #[arg(long, value_name = "NAME", value_parser = crate::control::names::checked)]
    pub name: Option<String>,
    /// Put a file or directory of this machine into the guest, at PATH, as `run` does
    #[arg(short, long = "file", value_name = "HOST[:PATH]")]
    pub files: Vec<String>,
    #[command(flatten)]
    pub directory: RootArguments,
    #[command(flatten)]
    pub volumes: VolumeArguments,
    #[command(flatten)]
    pub disks: DiskArguments,
    #[command(flatten)]
    pub network: NetworkArguments,
    /// Let all that goes on take so much and no more, as with `run`
    #[arg(long = "limit", value_name = "KIND=N", value_parser = crate::boot::limits::parse)]
    pub limits: Vec<String>,
}

impl NewMachine {
    /// The run of `checkpoint` that goes on with an image.
    fn thaw(&self, image: &Path) -> RunArguments {
        let (store, image) = store::in_guest(image);
        let command = ["checkpoint".into(), "--thaw".into(), image];
        let guest = GuestArguments { files: self.files.clone(), limits: self.limits.clone(), bare: true, command: command.to_vec(), ..GuestArguments::default() };
        RunArguments { machine: self.machine.clone(), store, gdb: None, name: self.name.clone(), outputs: Vec::new(), rng: false, warm: None, directory: self.directory.clone(), volumes: self.volumes.clone(), disks: self.disks.clone(), network: self.network.clone(), guest }
    }
}

/// Arguments of `thaw`.
#[derive(Args, Debug)]
pub struct ThawArguments {
    #[command(flatten)]
    pub new: NewMachine,
    /// The image
    #[arg(value_name = "IMAGE")]
    pub image: PathBuf,
}

impl ThawArguments {
    /// The run of `checkpoint` that this is.
    pub fn as_run(&self) -> RunArguments {
        self.new.thaw(&self.image)
    }
}

/// Arguments of `receive`.
#[derive(Args, Debug)]
pub struct ReceiveArguments {
    #[command(flatten)]
    pub new: NewMachine,
    /// The path of a socket, with a '/' in it, or HOST:PORT; :PORT is one of 127.0.0.1
    #[arg(value_name = "ADDRESS")]
    pub address: String,
}

impl ReceiveArguments {
    /// The run of `checkpoint` that goes on with this image, once it is told to.
    pub fn as_run(&self, image: &Path, name: &str) -> RunArguments {
        let mut run = NewMachine { name: Some(name.to_string()), ..self.new.clone() }.thaw(image);
        run.guest.command.push("--hold".into());
        run
    }
}

/// Arguments of `image`.
#[derive(Args, Debug)]
pub struct ImageArguments {
    /// The disc to write
    #[arg(short, long, value_name = "FILE.iso")]
    pub output: PathBuf,
    /// Write the boot image alone: machine --kernel $PWD/build/kernel/nacre-kernel --initrd FILE
    #[arg(long)]
    pub boot_image: bool,
    #[command(flatten)]
    pub guest: GuestArguments,
}

/// Arguments of `latency`.
#[derive(Args, Debug)]
pub struct LatencyArguments {
    /// Fail if interrupts are off for more instructions than this
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub limit: u64,
    /// Show QEMU's command line
    #[arg(long)]
    pub debug: bool,
    /// A program and its arguments (default: conformance, hostile and measure, one after the other)
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_thawed_machine_may_have_a_network() {
        let cli = Cli::try_parse_from(["nacre", "thaw", "-p", "8080:80", "image"]).unwrap();
        let Task::Thaw(arguments) = cli.task else { panic!("another command") };
        assert_eq!(arguments.as_run().network.published.len(), 1);
    }

    /// Commands of the first screen and of all help texts, from README.md and this file.
    #[test]
    fn every_example_is_understood() {
        let readme = include_str!("../../README.md");
        let texts = [readme, EXAMPLES, RUN_EXAMPLES, FUZZ_EXAMPLES];
        let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim);
        let commands: Vec<&str> = lines.filter_map(|line| line.strip_prefix("./").unwrap_or(line).strip_prefix("nacre ")).collect();
        assert!(commands.len() > 20);
        for command in commands {
            let command = command.split(" #").next().and_then(|line| line.split("   ").next()).unwrap_or(command);
            let words = shlex::split(command.split(" | cut").next().unwrap_or(command)).unwrap();
            let parsed = Cli::try_parse_from([vec!["nacre".to_string()], words].concat());
            assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
        }
    }

    #[test]
    fn a_mistyped_subcommand_finds_what_was_meant() {
        let near = ["rn", "tset", "thwa", "xyzzy", "r"].map(Cli::near_subcommand);
        assert_eq!(near.map(|near| near.unwrap_or_default()), ["run", "test", "thaw", "", ""]);
    }

    #[test]
    fn options_of_the_program_stay_with_it() {
        let cli = Cli::parse_from(["nacre", "run", "--cpus", "2", "ls", "-l", "--cpus", "3"]);
        let Task::Run(run) = cli.task else { panic!("not run") };
        assert_eq!(run.machine.cpus, 2);
        assert_eq!(run.guest.command, ["ls", "-l", "--cpus", "3"]);
    }
}
