//! Disks of the machine, each in the hands of a driver: a program beside the machine's, which gets
//! the device, and serves the volume on it by 9P. The driver's end is the disk's alone.
//!
//! Root waits for each answer. A driver that gives none in time ends, and each that has ended has a
//! successor, which finds the volume as after a loss of power: what was not brought to the disk may
//! be lost, and who asks for it by `fsync` is told so.

mod line;

pub use line::PART;

use crate::bus::{self, Handed};
use crate::hardware::monotonic;
use crate::host_directory::HostDirectory;
use crate::objects::Kind;
use crate::root::Root;
use crate::table::Key;
use crate::tree::outside::Changes;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::ops::Range;
use line::{DriverWire, LIMIT, Line};
use nacre_nest::host::Exception;
use nacre_nest::{Child, Ports, Program, Sizes, spawn};
use nacre_proto::server::Output;
use nacre_proto::{Errno, driver};
use nacre_sys::{OwnedReference, Span};
use nacre_virtio::Fault;

/// Boot file that lists them: of each the path at which its volume is to be, the fate of changes as
/// for directories of the host's, and its name for people, each behind with a zero.
pub const LIST: &[u8] = b"/etc/nacre/disks";
/// The driver.
const DRIVER: &[u8] = b"/lib/nacre/disk";
/// Bytes of memory for the device alone.
pub const DEVICE: u64 = 256 << 10;
/// Drivers of a disk, one after the other, that end by themselves soon or do not answer: then there
/// is no other.
const MAX_FAILURES: u32 = 3;
/// Nanoseconds that are soon.
const SOON: u64 = 10_000_000_000;
/// Fate of changes of a disk that is not to be written, as the list has it.
const READ_ONLY: &[u8] = b"2";

/// A disk. The head of this module describes it.
pub struct Drive {
    /// The device as it is handed out.
    pub handed: Handed,
    path: Vec<u8>,
    changes: Changes,
    name: Vec<u8>,
    line: Rc<RefCell<Line>>,
    child: Option<Child<crate::files::Files>>,
    /// Ports: the one that the driver knows us by, and its keeper.
    ports: [Option<Key>; 2],
    /// The volume's outermost directory, once the volume is in the tree.
    mount: Option<Key>,
    /// Number of drivers that there were before.
    generation: u32,
    /// Moment at which the driver began, and number of those before it that ended soon.
    start: u64,
    failures: u32,
    /// The driver has said that it is ready, and waits for an answer: its volume is not in the tree
    /// yet.
    waiting: Option<OwnedReference>,
    is_over: bool,
}

impl Drive {
    /// Returns true for a driver that did not answer, and did not say how it ended.
    fn is_mute(&self) -> bool {
        self.line.borrow().silent.is_some_and(|until| monotonic() >= until)
    }
}

/// All disks. The program starts once each driver is ready or has ended.
#[derive(Default)]
pub struct Drives {
    all: Vec<Drive>,
    /// The machine's program waits for them.
    pub holds_program: bool,
    /// The list has one that the machine has not, or that cannot be handed out.
    lacks_one: bool,
}

impl Drives {
    /// Finds the disks that the list has.
    pub fn find(list: &[u8], ranges: &[Range<u64>]) -> (Drives, Option<Fault>) {
        let (mut drives, mut fault) = (Drives::default(), None);
        let words: Vec<&[u8]> = list.split(|&byte| byte == 0).collect();
        for (number, disk) in words.chunks_exact(3).enumerate() {
            match bus::disk(ranges, number, DEVICE + 2 * PART) {
                Ok(handed) => drives.all.push(Drive {
                    handed,
                    path: disk[0].to_vec(),
                    changes: if disk[1] == READ_ONLY { Changes::Refused } else { Changes::Passed },
                    name: disk[2].to_vec(),
                    line: Rc::default(),
                    child: None,
                    ports: [None; 2],
                    mount: None,
                    generation: 0,
                    start: 0,
                    failures: 0,
                    waiting: None,
                    is_over: false,
                }),
                Err(found) => (fault, drives.lacks_one) = (Some(found), true),
            }
        }
        (drives, fault)
    }

    /// The disk with this number.
    pub fn get(&self, number: usize) -> Option<&Drive> {
        self.all.get(number)
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
        if !self.drives.all.is_empty()
            && let Err(errno) = self.files.keep_driver(DRIVER)
        {
            self.console.messages.line(alloc::format!("root: the driver of disks cannot start: {errno}").as_bytes());
            return self.drives.all.iter_mut().for_each(|drive| drive.is_over = true);
        }
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
        let drive = &self.drives.all[number];
        let access: &[u8] = if drive.changes == Changes::Refused { b"ro" } else { b"rw" };
        let arguments = [b"disk", access, &drive.name];
        let mut random = [0; 16];
        self.random.fill(&mut random);
        let program = Program { path: DRIVER, arguments: &arguments, environment: &[], directory: b"/", random, sizes: Sizes::default() };
        let child = spawn(&mut self.files, &program, Ports { parent: parent.handle(), keeper: keeper.as_keeper() });
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

    fn say_of_drive(&mut self, number: usize, why: &str) {
        if let Some(drive) = self.drives.get(number) {
            let text = [&drive.name[..], b": ", why.as_bytes()].concat();
            self.console.messages.line(&text);
        }
    }

    /// Puts volumes whose drivers are ready into the tree, and starts the program when there is
    /// none left to wait for.
    pub fn settle_drives(&mut self) {
        for number in 0..self.drives.all.len() {
            if self.drives.all[number].is_mute() {
                self.driver_has_ended(number, "does not answer");
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
        if !self.drives.holds_program || self.drives.all.iter().any(|drive| drive.line.borrow().wire.is_none() && !drive.is_over) {
            return;
        }
        self.drives.holds_program = false;
        // A program that was to have a volume does not run without it.
        if self.drives.lacks_one || self.drives.all.iter().any(is_over) {
            return self.end(126);
        }
        self.start_program();
    }

    fn join_drive(&mut self, number: usize) -> Result<(), &'static str> {
        let drive = self.drives.all.get(number).ok_or("it is not there")?;
        let window = drive.handed.memory;
        let (request, answer) = window.part(DEVICE, PART).zip(window.part(DEVICE + PART, PART)).ok_or("its memory is too small")?;
        let wire = DriverWire { line: drive.line.clone(), request, answer };
        let (path, changes, now) = (drive.path.clone(), drive.changes, self.files.clock.now());
        let volume = HostDirectory::greet(Box::new(wire), b"ext4", drive.generation).map_err(|_| "its driver does not speak 9P2000.L")?;
        if let Some(key) = drive.mount {
            return self.files.tree.join_again(key, Box::new(volume)).map_err(|_| "what is on it cannot be found again");
        }
        let key = self.files.tree.make_mount(&path, now).map_err(|_| "there is no place for it")?;
        self.files.tree.join(key, Box::new(volume), changes).map_err(|_| "it cannot be read")?;
        self.drives.all[number].mount = Some(key);
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
        let mut line = drive.line.borrow_mut();
        (line.wire, line.thread, line.silent) = (None, None, None);
    }

    /// A driver has ended, or is to. Another one takes its place, unless its volume was never in
    /// the tree, or one after the other ends.
    pub fn driver_has_ended(&mut self, number: usize, how: &str) {
        if self.drives.get(number).is_none_or(|drive| drive.is_over) {
            return;
        }
        let was_mute = self.drives.all[number].is_mute();
        self.stop_driver(number);
        let drive = &mut self.drives.all[number];
        // Root stood still for one that did not answer, however late that was.
        let is_failure = was_mute || monotonic().saturating_sub(drive.start) < SOON;
        drive.failures = if is_failure { drive.failures + 1 } else { 0 };
        if drive.mount.is_none() || drive.failures >= MAX_FAILURES || self.status.is_some() {
            drive.is_over = true;
            return self.say_of_drive(number, &alloc::format!("its driver {how}; who uses its files gets an error"));
        }
        self.restart_driver(number, how);
    }

    /// Ends a driver because somebody wants it, and starts another one. `ENODEV`: there is no such
    /// driver.
    pub fn replace_driver(&mut self, number: usize) -> Result<(), Errno> {
        let drive = self.drives.get(number).ok_or(Errno::ENODEV)?;
        if drive.is_over || drive.mount.is_none() || self.status.is_some() {
            return Err(Errno::ENODEV);
        }
        self.stop_driver(number);
        self.restart_driver(number, "was ended");
        Ok(())
    }

    fn restart_driver(&mut self, number: usize, how: &str) {
        self.say_of_drive(number, &alloc::format!("its driver {how}; another one starts, and what was written last may be lost"));
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
            let is_there = line.borrow().wire.is_some();
            if is_there
                && monotonic() - start < LIMIT
                && let Err(errno) = line.borrow_mut().carry_out(0)
            {
                self.say_of_drive(number, &alloc::format!("what was written last may not be there: {errno}"));
            }
        }
    }
}
