//! The file tree in physical memory, with the time; and what the nesting library needs to load a
//! program from it.

use crate::boot::BootFacts;
use crate::boot_files::{BootFiles, SECRETS};
use crate::hardware;
use crate::memory::{self, Segment};
use crate::debug_line;
use crate::open_file::{DEBUGGER, DEVICES};
use crate::ram::Ram;
use crate::tree::boot::Refused;
use crate::values::Values;
use crate::windows;
use crate::tree::{Content, Time, Tree, format};
use alloc::vec::Vec;
use core::ops::Range;
use nacre_abi::boot_info::MemoryRange;
use nacre_nest::supply::{self, ResourceSource};
use nacre_nest::SpawnError;
use nacre_proto::Errno;
use nacre_sys::{Region, SpanMut};

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// Path of memory that lasts.
const STORE: &[u8] = b"/dev/store";

/// Time of day: the battery-backed clock at the start of the server, and the machine's clock since.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: i64,
    monotonic_start: u64,
}

impl Clock {
    /// Reads the battery-backed clock.
    pub fn start() -> Clock {
        Clock { start: hardware::battery_clock(), monotonic_start: hardware::monotonic() }
    }

    /// Time since 1970.
    pub fn now(&self) -> Time {
        let since = hardware::monotonic().saturating_sub(self.monotonic_start);
        Time { seconds: self.start + (since / SECOND) as i64, nanoseconds: (since % SECOND) as u32 }
    }

    /// Nanoseconds between the machine's clock and time since 1970, modulo 2^64.
    pub fn since_1970(&self) -> u64 {
        (self.start as u64).wrapping_mul(SECOND).wrapping_sub(self.monotonic_start)
    }
}

/// The tree and the time.
pub struct Files {
    /// The tree.
    pub tree: Tree<Ram>,
    /// The time.
    pub clock: Clock,
    /// Files of the boot image, if there is one.
    pub boot: Option<BootFiles>,
    /// Memory that lasts, and all memory of the machine, until the tree is filled.
    unfilled: Option<(MemoryRange, Vec<Range<u64>>)>,
    /// Values of extended attributes that come in parts.
    pub values: Values,
}

impl Files {
    /// The tree with devices in it, if a directory of the host's is to be around it; else with all
    /// that it begins with, and with the boot files that were left out.
    pub fn start(facts: &BootFacts) -> (Files, Option<Refused>) {
        let clock = Clock::start();
        let unfilled = Some((facts.store, facts.own_ranges()));
        let mut files = Files { tree: Tree::new(Ram::default(), clock.now()), clock, boot: BootFiles::find(facts.image), unfilled, values: Values::default() };
        if facts.directory == 0 {
            let refused = files.fill();
            return (files, refused);
        }
        for (path, mode) in OWN_DIRECTORIES {
            let _ = files.tree.make_directory(files.tree.root(), path, mode, clock.now());
        }
        files.add_devices();
        (files, None)
    }

    /// Puts boot files, devices and their windows into the tree, once: over the host's directory,
    /// if there is one around it. Returns the boot files that were left out.
    pub fn fill(&mut self) -> Option<Refused> {
        let (store, memory) = self.unfilled.take()?;
        let refused = self.boot.as_ref().map(|boot| self.tree.add_boot_files(boot.bytes, &boot.header, boot.start));
        let (root, now) = (self.tree.root(), self.clock.now());
        for path in SECRETS {
            let _ = self.tree.remove(root, path, false, now);
        }
        self.add_devices();
        if store.size > 0 {
            let _ = self.tree.add_store(root, STORE, (store.start, store.size), now);
        }
        self.add_windows(&memory);
        refused
    }

    /// Adds the windows of devices that the boot image lists. They stay as long as the machine
    /// runs.
    fn add_windows(&mut self, memory: &[Range<u64>]) {
        let Some(list) = self.boot_file(windows::LIST) else { return };
        let (root, now) = (self.tree.root(), self.clock.now());
        for window in windows::read(&list, memory).leak() {
            if memory::map_window(window.start, window.size, window.writable).is_ok() {
                let _ = self.tree.add_window(root, window, now);
            }
        }
    }

    /// Boot files that stand in the way stay.
    fn add_devices(&mut self) {
        let (root, now) = (self.tree.root(), self.clock.now());
        let _ = self.tree.make_directory(root, b"/dev", 0o755, now);
        let _ = self.tree.make_directory(root, b"/dev/shm", 0o1777, now);
        let debugger = debug_line::is_there().then_some(&DEBUGGER);
        for (path, device, mode) in DEVICES.iter().chain(debugger) {
            let _ = self.tree.make_own_device(root, path, format::CHARACTER | mode, *device, now);
        }
    }

    /// The content of a small file of the boot image, as it lies there.
    pub fn boot_file(&self, path: &[u8]) -> Option<Vec<u8>> {
        self.boot.as_ref()?.read(path)
    }

    /// The machine's program runs from here as long as the machine does: nobody writes the file.
    pub fn keep_running(&mut self, path: &[u8]) {
        let place = self.tree.resolve(self.tree.root(), path, true).and_then(|place| place.existing());
        if let Ok(key) = place
            && self.tree.start_running(key).is_ok()
        {
            self.tree.opened(key);
        }
    }

    /// The whole content of a small file.
    pub fn read_all(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let key = self.tree.resolve(self.tree.root(), path, true)?.existing()?;
        let (content, store) = self.tree.content(key)?;
        let mut bytes = alloc::vec![0; content.size().min(1 << 20) as usize];
        content.read(store, 0, &mut bytes);
        Ok(bytes)
    }
}

/// Directories that are the machine's own, whatever the host's has of these names: path and
/// permissions.
const OWN_DIRECTORIES: [(&[u8], u32); 3] = [(b"/dev", 0o755), (b"/tmp", 0o1777), (b"/run", 0o755)];

/// A program file: boot files are never given back, so what is mapped of them stays. Others are
/// read.
pub struct Program {
    size: u64,
    /// Address of the contents in memory.
    start: u64,
    region: Region,
}

impl ResourceSource for Files {
    type File = Program;
    type Segment = Segment;

    fn open(&mut self, path: &[u8]) -> Result<Program, SpawnError> {
        let key = self.tree.resolve(self.tree.root(), path, true).and_then(|place| place.existing()).map_err(refusal)?;
        let node = self.tree.node(key).map_err(refusal)?;
        if node.is_directory() {
            return Err(SpawnError::Directory);
        }
        if node.mode & 0o111 == 0 {
            return Err(SpawnError::NotExecutable);
        }
        let content = self.tree.content(key).map_err(refusal)?.0;
        let size = content.size();
        let start = start_of(content).ok_or(SpawnError::Service("reading it", Errno::EIO))?;
        let region = self.tree.store_mut().region(start, size).map_err(refusal)?;
        Ok(Program { size, start, region })
    }

    fn segment(&mut self, size: u64) -> Result<Segment, SpawnError> {
        Segment::new(size, true).map_err(|_| SpawnError::TooLarge(size, Some(memory::available())))
    }
}

/// Returns the start of a content that lies in one piece.
fn start_of(content: &Content) -> Option<u64> {
    content.contiguous(0, content.size())
}

fn refusal(errno: Errno) -> SpawnError {
    match errno {
        Errno::ENOENT | Errno::ENOTDIR => SpawnError::NotFound,
        errno => SpawnError::Service("opening it", errno),
    }
}

impl supply::File for Program {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&mut self, offset: u64, mut into: SpanMut<'_>) -> Result<(), SpawnError> {
        let size = into.size() as u64;
        let part = memory::window(self.start, self.size).and_then(|window| window.span(offset, size));
        part.map(|span| into.copy_from(span)).map(drop).ok_or(SpawnError::Truncated("last byte, as its size says"))
    }

    fn region(&self) -> Option<Region> {
        Some(self.region)
    }
}
