//! Disks of the machine, each in the hands of a driver: a program beside the machine's, which gets
//! the device, and serves the volume on it by 9P. The driver's end is the disk's alone.
//!
//! Root waits for each answer. A driver that gives none in time is not asked again.

use crate::bus::{self, Handed};
use crate::hardware::monotonic;
use crate::host_directory::HostDirectory;
use crate::objects::{Kind, Objects};
use crate::root::Root;
use crate::table::Key;
use crate::tree::outside::Changes;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::ops::Range;
use nacre_9p::{Error, MAX_MESSAGE, Wire};
use nacre_nest::host::Exception;
use nacre_nest::{Child, Ports, Program, Sizes, spawn};
use nacre_proto::server::Output;
use nacre_proto::{Errno, driver};
use nacre_sys::ipc::{Buffers, Message};
use nacre_sys::{OwnedReference, Span, Window, ipc};
use nacre_virtio::Fault;

/// Boot file that lists them: of each the path at which its volume is to be, the fate of changes as
/// for directories of the host's, and its name for people, each behind with a zero.
pub const LIST: &[u8] = b"/etc/nacre/disks";
/// The driver.
const DRIVER: &[u8] = b"/lib/nacre/disk";
/// Bytes of memory for the device alone.
pub const DEVICE: u64 = 256 << 10;
/// Bytes of the part for a request, and of that for its answer.
pub const PART: u64 = (MAX_MESSAGE as u64).next_multiple_of(4096);
/// Nanoseconds after which a driver will not answer any more.
const LIMIT: u64 = 30_000_000_000;
/// Fate of changes of a disk that is not to be written, as the list has it.
const READ_ONLY: &[u8] = b"2";

/// Way to a driver, once it is ready.
#[derive(Default)]
struct Line {
    wire: Option<OwnedReference>,
}

impl Line {
    /// Has the driver carry out a request of so many bytes. Returns the size of the answer.
    fn carry_out(&mut self, size: u64) -> Result<u64, Errno> {
        let wire = self.wire.as_ref().ok_or(Errno::EIO)?;
        let message = Message::new(driver::carry_out::LABEL, [size, 0, 0, 0, 0, 0]);
        match ipc::call(wire.handle(), &message, Buffers::NONE, LIMIT) {
            Ok(received) if received.label() == 0 => Ok(received.words[0]),
            Ok(received) => Err(Errno(received.label())),
            Err(_) => {
                self.wire = None;
                Err(Errno::EIO)
            }
        }
    }
}

/// The wire of 9P to a driver.
struct DriverWire {
    line: Rc<RefCell<Line>>,
    request: Window,
    answer: Window,
}

impl Wire for DriverWire {
    fn exchange(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<(), Error> {
        self.request.write(0, request).ok_or(Error::BROKEN)?;
        let size = self.line.borrow_mut().carry_out(request.len() as u64).map_err(|_| Error::BROKEN)?;
        answer.resize(size.min(PART) as usize, 0);
        self.answer.read(0, answer).ok_or(Error::BROKEN)
    }
}

/// A disk. The head of this module describes it.
pub struct Drive {
    /// The device as it is handed out.
    pub handed: Handed,
    path: Vec<u8>,
    changes: Changes,
    name: Vec<u8>,
    line: Rc<RefCell<Line>>,
    child: Option<Child<crate::files::Files>>,
    /// The driver has said that it is ready, and waits for an answer: its volume is not in the tree
    /// yet.
    waiting: Option<OwnedReference>,
    is_over: bool,
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
        if drive.line.borrow().wire.is_some() {
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

    fn start_driver(&mut self, number: usize) -> Result<(), alloc::string::String> {
        let failed = |errno: Errno| alloc::format!("cannot start its driver: {errno}");
        let account = self.objects.accounts.outermost();
        let port = |objects: &mut Objects, kind| -> Result<Key, Errno> { objects.add(kind, true, account) };
        let parent = port(&mut self.objects, Kind::Driver(number)).map_err(failed)?;
        let keeper = port(&mut self.objects, Kind::DriverKeeper(number)).map_err(failed)?;
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
        self.drives.all[number].child = Some(started.map_err(|refusal| alloc::format!("cannot start its driver: {refusal}"))?);
        Ok(())
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
            let Some(reply) = self.drives.all[number].waiting.take() else { continue };
            // It takes no request before it has its answer.
            let _ = driver::ready::Output::default().send(reply, Span::EMPTY);
            if let Err(why) = self.join_drive(number) {
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
        let volume = HostDirectory::greet(Box::new(wire)).map_err(|_| "its driver does not speak 9P2000.L")?;
        let key = self.files.tree.make_mount(&path, now).map_err(|_| "there is no place for it")?;
        self.files.tree.join(key, Box::new(volume), changes).map_err(|_| "it cannot be read")
    }

    /// A driver has ended, or is to.
    pub fn end_driver(&mut self, number: usize) {
        if let Some(drive) = self.drives.all.get_mut(number) {
            drive.line.borrow_mut().wire = None;
            (drive.child, drive.is_over, drive.waiting) = (None, true, None);
            // The device must not write to memory any more.
            drive.handed.turn_off();
        }
    }

    /// A driver's exception ends it.
    pub fn driver_exception(&mut self, number: usize, exception: &Exception) {
        self.say_of_drive(number, &alloc::format!("its driver has ended: {exception}; who uses its files gets an error"));
        self.end_driver(number);
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
