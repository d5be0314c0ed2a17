//! QEMU: its command line, its process, and its three serial lines.

use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use crate::boot::{disks, volumes};
use crate::network::Network;
use crate::cli::MachineArguments;
use crate::failure::{Class, Context, Failure, Outcome};
use super::ports::{Port, Ports};
use crate::store;

/// QEMU's status when root ended the machine: `isa-debug-exit` was given 0x10.
pub const CODE_ENDED: i32 = 0x10 << 1 | 1;
/// QEMU's status when the kernel panicked: `isa-debug-exit` was given 0x55.
pub const CODE_PANIC: i32 = 0x55 << 1 | 1;

const QEMU: &str = "qemu-system-x86_64";
const SETPRIV: &str = "/usr/bin/setpriv";
const QBOOT: &str = "/usr/share/qemu/qboot.rom";

/// System call filter of QEMU: a guest that takes over QEMU starts no process and gains no
/// privilege on the host.
const SANDBOX: &str = "-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

/// The unit that holds devices to the memory that a guest gave them. Interrupts go past it.
const HOLDS_DEVICES: &str = "-device intel-iommu,intremap=off -global virtio-device.iommu_platform=on";

/// Processors without what differs between runs (random numbers) and what TCG makes slow or uneven
/// (fast string moves).
const STEADY_CPU: &str = "max,-rdrand,-rdseed,-erms,-fsrm";

/// A machine before its start.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Processors, memory, clock.
    pub arguments: MachineArguments,
    /// System to boot.
    pub boot: Boot,
}

/// System that a machine boots.
#[derive(Clone, Debug)]
pub enum Boot {
    /// A kernel with a module and a command line.
    Kernel {
        /// An ELF or Linux kernel.
        kernel: PathBuf,
        /// The boot image or initial file system.
        module: PathBuf,
        /// The kernel's command line.
        command_line: String,
    },
    /// A disc, with the machine's usual firmware or the one named.
    Disc {
        /// The ISO image.
        disc: PathBuf,
        /// A UEFI firmware; SeaBIOS if there is none.
        firmware: Option<PathBuf>,
    },
}

impl Machine {
    /// QEMU's arguments. The serial lines are the process's three standard streams.
    pub fn command_line(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut add = |text: &str| words.extend(text.split(' ').map(OsString::from));
        add("-machine q35 -nodefaults -no-user-config -display none -no-reboot -monitor none");
        if self.arguments.holds_devices {
            // Before the devices that it holds.
            add(HOLDS_DEVICES);
        }
        add("-device isa-debug-exit,iobase=0xf4,iosize=4");
        if has_sandbox() {
            add(SANDBOX);
        }
        let behind = self.arguments.store.as_ref().map_or(0, |(_, size)| *size);
        add(&format!("-m {}K -smp {}", self.arguments.memory + behind >> 10, self.arguments.cpus));
        add(&self.accelerator());
        for (line, descriptor) in ["console", "messages", "errors"].iter().zip(0..) {
            add(&format!("-chardev socket,id={line},fd={descriptor} -serial chardev:{line}"));
        }
        if let Some(socket) = &self.arguments.debug_line {
            // The usual interrupt of a fourth line is that of the second.
            words.extend(["-chardev".into(), format!("socket,id=gdb,path={}", socket.display()).into()]);
            words.extend(["-device".into(), "isa-serial,chardev=gdb,index=3,iobase=0x2e8,irq=5".into()]);
        }
        self.add_boot(&mut words);
        if let Some((store, size)) = &self.arguments.store {
            words.extend(store::words(store, *size, self.arguments.memory, self.arguments.cpus));
        }
        words.extend(self.arguments.directory.iter().flat_map(|directory| directory.words("directory")));
        words.extend(volumes::words(&self.arguments.volumes));
        words.extend(disks::words(&self.arguments.disks));
        words.extend(self.arguments.network.iter().flat_map(Network::words));
        if self.arguments.has_source {
            words.extend(["-object", "rng-random,id=source,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=source,disable-legacy=on"].map(OsString::from));
        }
        if let Some(console) = &self.arguments.console {
            let mut file = OsString::from("file:");
            file.push(console);
            words.extend([OsString::from("-debugcon"), file]);
        }
        words
    }

    fn accelerator(&self) -> String {
        if self.arguments.icount {
            let clock = "-icount shift=0,sleep=off -seed 1 -rtc base=2024-01-01T00:00:00,clock=vm";
            format!("-accel tcg,thread=single {clock} -cpu {STEADY_CPU}")
        } else if kvm_works() {
            "-accel kvm -cpu host".to_string()
        } else {
            let threads = if self.arguments.takes_turns { "single" } else { "multi" };
            format!("-accel tcg,thread={threads} -cpu max")
        }
    }

    fn add_boot(&self, words: &mut Vec<OsString>) {
        let mut add = |option: &str, value: OsString| words.extend([OsString::from(option), value]);
        match &self.boot {
            Boot::Kernel { kernel, module, command_line } => {
                if Path::new(QBOOT).exists() {
                    add("-bios", QBOOT.into());
                }
                add("-kernel", kernel.into());
                add("-initrd", module.into());
                add("-append", command_line.into());
            }
            Boot::Disc { disc, firmware } => {
                if let Some(firmware) = firmware {
                    add("-bios", firmware.into());
                }
                add("-cdrom", disc.into());
            }
        }
    }

    /// The kernel's file, if the machine boots one of its own.
    pub fn kernel(&self) -> Option<PathBuf> {
        match &self.boot {
            Boot::Kernel { kernel, .. } => Some(kernel.clone()),
            Boot::Disc { .. } => None,
        }
    }

    /// Starts QEMU.
    pub fn start(&self) -> Outcome<Started> {
        let ports = Ports::listen(&self.arguments.ports)?;
        let mut words = self.command_line();
        words.extend(ports.words());
        if self.arguments.debug {
            let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            eprintln!("nacre: {QEMU} {}", shown.join(" "));
        }
        let (console, console_end) = line()?;
        let (messages, messages_end) = line()?;
        let (errors, errors_end) = line()?;
        let child = command()
            .args(words)
            .stdin(Stdio::from(OwnedFd::from(console_end)))
            .stdout(Stdio::from(OwnedFd::from(messages_end)))
            .stderr(Stdio::from(OwnedFd::from(errors_end)))
            .spawn()
            .map_err(no_qemu)?;
        Ok(Started { child, lines: Some(Lines { console, messages, errors }), ports })
    }
}

/// QEMU under `setpriv`, where there is one, so that it never outlives this process.
fn command() -> Command {
    if Path::new(SETPRIV).exists() && find_qemu() {
        let mut command = Command::new(SETPRIV);
        command.args(["--pdeathsig", "KILL", QEMU]);
        return command;
    }
    Command::new(QEMU)
}

/// Returns true if this QEMU was built with its system call filter; says so once if not.
fn has_sandbox() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let help = Command::new(QEMU).arg("-help").output().map(|output| output.stdout).unwrap_or_default();
        let has = String::from_utf8_lossy(&help).lines().any(|line| line.starts_with("-sandbox on"));
        if !has {
            eprintln!("nacre: this {QEMU} has no -sandbox; it runs with all rights of this user");
        }
        has
    })
}

/// Returns QEMU's name and version, as it prints them.
pub fn qemu_version() -> Outcome<String> {
    let output = Command::new(QEMU).arg("--version").output().map_err(no_qemu)?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_string())
}

fn find_qemu() -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(QEMU).exists()))
}

fn no_qemu(error: std::io::Error) -> Failure {
    Failure::new(Class::Machine, format!("cannot start {QEMU}: {error}")).remedy("install Debian's package qemu-system-x86")
}

fn line() -> Outcome<(UnixStream, UnixStream)> {
    UnixStream::pair().context(Class::Internal, || "cannot make a pair of sockets".to_string())
}

/// Hardware virtualization only where the processor says so and the kernel gives it to us;
/// elsewhere `/dev/kvm` deceives.
fn kvm_works() -> bool {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has_flag = flags
        .lines()
        .find(|line| line.starts_with("flags"))
        .is_some_and(|line| line.split_whitespace().any(|flag| flag == "svm" || flag == "vmx"));
    has_flag && fs::File::options().read(true).write(true).open("/dev/kvm").is_ok()
}

/// A running QEMU. Dropping it ends it.
#[derive(Debug)]
pub struct Started {
    child: Child,
    /// Dropped once QEMU has ended.
    ports: Ports,
    lines: Option<Lines>,
}

/// Ends of the machine's serial lines on this side.
#[derive(Debug)]
pub struct Lines {
    /// COM1: the program's input and output.
    pub console: UnixStream,
    /// COM2: messages and records.
    pub messages: UnixStream,
    /// COM3: the program's errors.
    pub errors: UnixStream,
}

impl Started {
    /// The serial lines, for whoever carries them; only once.
    pub fn take_lines(&mut self) -> Outcome<Lines> {
        self.lines.take().ok_or_else(|| Failure::new(Class::Internal, "the machine's serial lines are already in use"))
    }

    /// The port of this name; only once.
    pub fn take_port(&mut self, name: &str) -> Outcome<Port> {
        self.ports.take(name).ok_or_else(|| Failure::new(Class::Internal, format!("the machine has no port {name}, or it is already in use")))
    }

    /// Wakes those who wait for a QEMU that never connected to their port.
    pub fn close_ports(&mut self) {
        self.ports = Ports::default();
    }

    /// Ends QEMU.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for QEMU's end; its status.
    pub fn wait(&mut self) -> Outcome<ExitStatus> {
        self.child.wait().context(Class::Internal, || format!("cannot wait for {QEMU}"))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qemu_runs_behind_its_filter() {
        let boot = Boot::Disc { disc: PathBuf::from("x"), firmware: None };
        let words = Machine { arguments: MachineArguments::default(), boot }.command_line();
        let at = words.iter().position(|word| word == "-sandbox");
        assert_eq!(at.is_some(), has_sandbox());
        let denied = at.map_or(SANDBOX.to_string(), |at| format!("-sandbox {}", words[at + 1].display()));
        for what in ["obsolete", "elevateprivileges", "spawn", "resourcecontrol"] {
            assert!(denied.contains(&format!("{what}=deny")), "{denied}");
        }
    }
}
