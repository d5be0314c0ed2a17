//! Directories of the host's, disks, the network card and the source of random bytes, each in the
//! hands of a driver: a program beside the machine's, which gets the device. Those of files carry
//! out requests of 9P. The driver's end is that device's alone.
//!
//! Root waits for each answer. A driver that gives none in time ends, and each that has ended has a
//! successor, which resets the device. What was written to a directory is the host's by then. A
//! volume is found as after a loss of power: what was not brought to the disk may be lost, and who
//! asks for it by `fsync` is told so.

mod interrupts;
mod kind;
mod line;

use crate::boot::BootFacts;
use crate::bus::{self, Handed};
use crate::hardware::monotonic;
use crate::host_directory::HostDirectory;
use crate::boot_files::BootFiles;
use crate::iommu;
use crate::objects::Kind;
use crate::root::Root;
use crate::table::Key;
use crate::tree::outside::Changes;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use interrupts::Interrupts;
use kind::{DriveKind, Listed, listed};
use line::{DriverWire, LIMIT, Line, PART};
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::host::Exception;
use nacre_nest::{Child, Ports, Program, Sizes, SpawnError, spawn};
use nacre_proto::server::Output;
use nacre_proto::{Errno, driver};
use nacre_sys::{OwnedReference, Span};
use nacre_virtio::{ENTROPY, NETWORK};

/// Drivers of a device, one after the other, that end by themselves soon or do not answer: then
/// there is no other.
const MAX_FAILURES: u32 = 3;
/// Accesses of devices that are told of at once.
const MAX_TOLD: usize = 4;
/// Nanoseconds that are soon.
const SOON: u64 = 10_000_000_000;

/// A device. The head of this module describes it.
pub struct Drive {
    /// The device as it is handed out.
    pub handed: Handed,
    /// Interrupts of the device.
    pub interrupts: Interrupts,
    /// Facts of the boot image.
    listed: Listed,
    line: Rc<RefCell<Line>>,
    child: Option<Child<BootFiles>>,
    /// Ports: the one that the driver knows us by, and its keeper.
    ports: [Option<Key>; 2],
    /// The outermost directory, once the files are in the tree.
    mount: Option<Key>,
    /// Set once the device was of use: there was a driver that was ready.
    has_begun: bool,
    /// Number of drivers that there were before.
    generation: u32,
    /// Moment at which the driver began, and number of those before it that ended soon.
    start: u64,
    failures: u32,
    /// The driver has said that it is ready, and waits for an answer: its files are not in the tree
    /// yet.
    waiting: Option<OwnedReference>,
    is_over: bool,
}

impl Drive {
    /// The device as it is handed out, in nobody's hands yet.
    fn new(handed: Handed, listed: Listed, bound: Option<u64>) -> Drive {
        // Who needs no interrupts is not to have the line of somebody who does.
        let interrupts = if listed.kind.files.is_none() { Interrupts::of(handed.line, bound) } else { Interrupts::None };
        Drive { handed, interrupts, listed, line: Rc::default(), child: None, ports: [None; 2], mount: None, has_begun: false, generation: 0, start: 0, failures: 0, waiting: None, is_over: false }
    }

    /// Bytes of memory for the device alone, and of each of the parts behind it.
    pub fn memory_sizes(&self) -> [u64; 2] {
        [self.listed.kind.memory, self.listed.kind.part]
    }

    /// Returns true for a driver that did not answer, and did not say how it ended.
    fn is_mute(&self) -> bool {
        self.line.borrow().silent.is_some_and(|until| monotonic() >= until)
    }
}

/// All devices. The program starts once each driver is ready or has ended.
#[derive(Default)]
pub struct Drives {
    all: Vec<Drive>,
    /// The machine's program waits for them.
    pub holds_program: bool,
    /// The list has one that the machine has not, or that cannot be handed out.
    lacks_one: bool,
}

impl Drives {
    /// Finds the devices that boot files and facts list, and says of which that failed. `bound`:
    /// an interrupt line of a device that is root's own.
    pub fn find(boot: Option<&BootFiles>, facts: &BootFacts, bound: Option<u64>) -> (Drives, Vec<Vec<u8>>) {
        let (mut drives, mut faults) = (Drives::default(), Vec::new());
        for listed in listed(boot, facts.directory, [facts.has_card, facts.has_source]) {
            match bus::hand_out(&facts.own_ranges(), listed.kind.device, listed.before, listed.kind.all_memory()) {
                Ok(handed) => drives.all.push(Drive::new(handed, listed, bound)),
                Err(fault) => faults.push([&listed.name, &b": cannot be used: "[..], fault.0.as_bytes()].concat()),
            }
        }
        drives.lacks_one = !faults.is_empty();
        (drives, faults)
    }

    /// Returns numbers and names of the devices that have drivers, a line each.
    pub fn list(&self) -> Vec<u8> {
        let with_driver = self.all.iter().enumerate().filter(|(_, drive)| !drive.is_over);
        with_driver.flat_map(|(number, drive)| [alloc::format!("{number} ").as_bytes(), &drive.listed.name, b"\n"].concat()).collect()
    }

    /// Returns true if it is a device's turn to be put into the tree: its successors at once, the
    /// first time all those before it are there, since one can lie in another.
    fn is_turn(&self, number: usize) -> bool {
        self.all[number].has_begun || self.all[..number].iter().all(|drive| drive.has_begun || drive.is_over)
    }

    /// The kind of a device, if there is it.
    fn kind(&self, number: usize) -> Option<&'static DriveKind> {
        self.get(number).map(|drive| drive.listed.kind)
    }

    /// The device with this number.
    pub fn get(&self, number: usize) -> Option<&Drive> {
        self.all.get(number)
    }

    /// The device with this number, to be changed.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut Drive> {
        self.all.get_mut(number)
    }

    /// Returns true if a device is a source of random bytes.
    pub fn is_source(&self, number: usize) -> bool {
        self.kind(number).is_some_and(|kind| kind.device == ENTROPY)
    }

    /// Tells drivers of the interrupts of devices that share the line which went up.
    pub fn pass_interrupts(&self) {
        self.all.iter().for_each(|drive| drive.interrupts.pass(&drive.handed));
    }

    /// Returns the number of the card's driver, and the port of it for clients. The driver with the
    /// number `failed` counts as one that does not answer from now on.
    pub fn card(&mut self, failed: u64) -> Result<(u64, OwnedReference), Errno> {
        let drive = self.all.iter().find(|drive| drive.listed.kind.device == NETWORK && !drive.is_over).ok_or(Errno::EIO)?;
        let number = u64::from(drive.generation) + 1;
        let mut line = drive.line.borrow_mut();
        if failed == number && line.wire.is_some() {
            (line.wire, line.silent) = (None, Some(0));
        }
        let wire = line.wire.as_ref().filter(|_| drive.waiting.is_none()).ok_or(Errno::EAGAIN)?;
        Ok((number, OwnedReference::copy_of(wire.handle(), REFERENCE_USE)?))
    }

    /// The driver is ready, waits for an answer, and gets requests by this wire.
    pub fn ready(&mut self, number: usize, wire: OwnedReference, reply: OwnedReference) -> Result<(), Errno> {
        let drive = self.all.get_mut(number).filter(|drive| !drive.is_over).ok_or(Errno::EPERM)?;
        if drive.line.borrow().wire.is_some() || drive.line.borrow().silent.is_some() || drive.waiting.is_some() {
            return Err(Errno::EBUSY);
        }
        drive.line.borrow_mut().wire = Some(wire);
        drive.waiting = Some(reply);
        Ok(())
    }
}

impl Root {
    /// Starts the drivers.
    pub fn start_drivers(&mut self) {
        for number in 0..self.drives.all.len() {
            if let Err(why) = self.start_driver(number) {
                self.say_of_drive(number, &why);
                self.drives.all[number].is_over = true;
            }
        }
    }

    fn start_driver(&mut self, number: usize) -> Result<(), String> {
        let failed = |errno: Errno| alloc::format!("cannot start its driver: {errno}");
        let [parent, keeper] = self.driver_ports(number).map_err(failed)?;
        let parent = self.objects.reference(parent).map_err(failed)?;
        let keeper = self.objects.port(keeper).ok_or(Errno::EIO).map_err(failed)?;
        let Listed { kind, changes, name, .. } = &self.drives.all[number].listed;
        let access: &[u8] = if *changes == Changes::Refused { b"ro" } else { b"rw" };
        let arguments = [kind.name, access, name];
        let mut random = [0; 16];
        self.random.fill(&mut random);
        let program = Program { path: kind.program, arguments: &arguments, environment: &[], directory: b"/", random, sizes: Sizes::default() };
        let ports = Ports { parent: parent.handle(), keeper: keeper.as_keeper() };
        let child = self.files.boot.as_mut().ok_or(SpawnError::NotFound).and_then(|files| spawn(files, &program, ports));
        let started = child.and_then(|child| child.start().map(|()| child));
        let child = started.map_err(|refusal| alloc::format!("cannot start its driver: {refusal}"))?;
        let drive = &mut self.drives.all[number];
        drive.line.borrow_mut().thread = Some(child.thread());
        (drive.child, drive.start) = (Some(child), monotonic());
        Ok(())
    }

    /// Makes ports for a new driver. Nothing that was given to the one before leads here any more.
    fn driver_ports(&mut self, number: usize) -> Result<[Key; 2], Errno> {
        self.remove_driver_ports(number);
        let account = self.objects.accounts.outermost();
        let parent = self.objects.add(Kind::Driver(number), true, account)?;
        self.drives.all[number].ports[0] = Some(parent);
        let keeper = self.objects.add(Kind::DriverKeeper(number), true, account)?;
        self.drives.all[number].ports[1] = Some(keeper);
        Ok([parent, keeper])
    }

    fn remove_driver_ports(&mut self, number: usize) {
        for key in core::mem::take(&mut self.drives.all[number].ports).into_iter().flatten() {
            self.objects.remove(key);
        }
    }

    /// Tells what devices were refused that reached for memory of others.
    fn tell_refused(&mut self) {
        // A device that goes on is not to be told of for ever.
        for refused in (0..MAX_TOLD).map_while(|_| iommu::take_refused()) {
            let text = alloc::format!("root: the device in slot {} reached for memory at {:#x}, which is not its own, and was refused", refused.slot, refused.page);
            self.console.messages.line(text.as_bytes());
        }
    }

    fn say_of_drive(&mut self, number: usize, why: &str) {
        if let Some(drive) = self.drives.get(number) {
            let text = [&drive.listed.name[..], b": ", why.as_bytes()].concat();
            self.console.messages.line(&text);
        }
    }

    /// Puts files whose drivers are ready into the tree, ends drivers that do not answer, and
    /// starts the program when there is none left to wait for.
    pub fn settle_drives(&mut self) {
        for number in 0..self.drives.all.len() {
            if self.drives.all[number].is_mute() {
                self.driver_has_ended(number, "does not answer");
            }
            if !self.drives.is_turn(number) {
                continue;
            }
            let Some(reply) = self.drives.all[number].waiting.take() else { continue };
            // It takes no request before it has its answer.
            let _ = driver::ready::Output::default().send(reply, Span::EMPTY);
            let joined = self.join_drive(number);
            let has_ended = self.drives.all[number].line.borrow().silent.is_some();
            if let (Err(why), false) = (joined, has_ended) {
                self.say_of_drive(number, why);
                self.end_driver(number);
            }
        }
        let is_over = |drive: &Drive| drive.is_over;
        if !self.drives.holds_program || self.drives.all.iter().any(|drive| !drive.has_begun && !drive.is_over) {
            return;
        }
        self.drives.holds_program = false;
        // A program that was to have a device does not run without it.
        if self.drives.lacks_one || self.drives.all.iter().any(is_over) {
            return self.end(126);
        }
        self.start_program();
    }

    fn join_drive(&mut self, number: usize) -> Result<(), &'static str> {
        let drive = self.drives.all.get(number).ok_or("it is not there")?;
        let window = drive.handed.memory;
        let (Listed { kind, place, changes, .. }, now) = (&drive.listed, self.files.clock.now());
        let Some(of) = &kind.files else {
            self.drives.all[number].has_begun = true;
            return Ok(());
        };
        let (request, answer) = window.part(kind.memory, PART).zip(window.part(kind.memory + PART, PART)).ok_or("its memory is too small")?;
        let wire = DriverWire { line: drive.line.clone(), request, answer, takes_chains: of.takes_chains };
        let mut files = HostDirectory::greet(Box::new(wire), of.file_system, drive.generation).map_err(|_| "its driver does not speak 9P2000.L")?;
        if of.keeps_paths {
            files = files.bound_paths();
        }
        if let Some(key) = drive.mount {
            return self.files.tree.join_again(key, Box::new(files), of.may_lose).map_err(|_| "what is on it cannot be found again");
        }
        let key = match place {
            Some(path) => self.files.tree.make_mount(path, now).map_err(|_| "there is no place for it")?,
            None => self.files.tree.root(),
        };
        self.files.tree.join(key, Box::new(files), *changes).map_err(|_| "it cannot be read")?;
        let is_around = place.is_none();
        (self.drives.all[number].mount, self.drives.all[number].has_begun) = (Some(key), true);
        if is_around {
            let refused = self.files.fill();
            self.say_left_out(refused);
        }
        Ok(())
    }

    /// Ends a driver for good.
    fn end_driver(&mut self, number: usize) {
        if self.drives.get(number).is_some() {
            self.stop_driver(number);
            self.drives.all[number].is_over = true;
        }
    }

    /// Ends a driver, and its hold on the device.
    fn stop_driver(&mut self, number: usize) {
        self.remove_driver_ports(number);
        let drive = &mut self.drives.all[number];
        // The device must not write to memory any more.
        drive.handed.turn(false);
        (drive.child, drive.waiting) = (None, None);
        drive.interrupts.forget();
        let mut line = drive.line.borrow_mut();
        (line.wire, line.thread, line.silent) = (None, None, None);
    }

    /// A driver has ended, or is to. Another one takes its place, unless its files were never in
    /// the tree, or one after the other ends.
    pub fn driver_has_ended(&mut self, number: usize, how: &str) {
        self.tell_refused();
        if self.drives.get(number).is_none_or(|drive| drive.is_over) {
            return;
        }
        let was_mute = self.drives.all[number].is_mute();
        self.stop_driver(number);
        let drive = &mut self.drives.all[number];
        // Root stood still for one that did not answer, however late that was.
        let is_failure = was_mute || monotonic().saturating_sub(drive.start) < SOON;
        drive.failures = if is_failure { drive.failures + 1 } else { 0 };
        if !drive.has_begun || drive.failures >= MAX_FAILURES || self.status.is_some() {
            drive.is_over = true;
            let whom = if drive.listed.kind.files.is_some() { "its files" } else { "it" };
            return self.say_of_drive(number, &alloc::format!("its driver {how}; who uses {whom} gets an error"));
        }
        self.restart_driver(number, how);
    }

    /// Ends a driver because somebody wants it, and starts another one. `ENODEV`: there is no such
    /// driver.
    pub fn replace_driver(&mut self, number: usize) -> Result<(), Errno> {
        let drive = self.drives.get(number).ok_or(Errno::ENODEV)?;
        if drive.is_over || !drive.has_begun || self.status.is_some() {
            return Err(Errno::ENODEV);
        }
        self.stop_driver(number);
        self.restart_driver(number, "was ended");
        Ok(())
    }

    fn restart_driver(&mut self, number: usize, how: &str) {
        let may_lose = self.drives.kind(number).and_then(|kind| kind.files.as_ref()).is_some_and(|files| files.may_lose);
        let loss = if may_lose { ", and what was written last may be lost" } else { "" };
        self.say_of_drive(number, &alloc::format!("its driver {how}; another one starts{loss}"));
        let drive = &mut self.drives.all[number];
        drive.generation = drive.generation.wrapping_add(1);
        drive.handed.turn(true);
        if let Err(why) = self.start_driver(number) {
            self.say_of_drive(number, &why);
            self.end_driver(number);
        }
    }

    /// A driver's exception ends it.
    pub fn driver_exception(&mut self, number: usize, exception: &Exception) {
        self.driver_has_ended(number, &alloc::format!("has ended: {exception}"));
    }

    /// Has all drivers bring what was written to their devices: the machine ends.
    pub fn close_drives(&mut self) {
        let start = monotonic();
        for number in 0..self.drives.all.len() {
            let line = self.drives.all[number].line.clone();
            let is_there = line.borrow().wire.is_some() && self.drives.all[number].listed.kind.files.is_some();
            if is_there
                && monotonic() - start < LIMIT
                && let Err(errno) = line.borrow_mut().carry_out(0)
            {
                self.say_of_drive(number, &alloc::format!("what was written last may not be there: {errno}"));
            }
        }
    }
}
