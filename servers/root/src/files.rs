//! The file tree in physical memory, with the time; and what the nesting library needs to load a
//! program from it.

use crate::boot::{BootFacts, image_start};
use crate::hardware;
use crate::host_directory::HostDirectory;
use crate::memory::{self, Segment};
use crate::debug_line;
use crate::open_file::{DEBUGGER, DEVICES};
use crate::ram::Ram;
use crate::table::Key;
use crate::tree::boot::Refused;
use crate::windows;
use alloc::boxed::Box;
use crate::tree::outside::Changes;
use crate::tree::{Content, Time, Tree, format};
use nacre_nest::supply::{self, ResourceSource};
use nacre_nest::SpawnError;
use nacre_proto::Errno;
use nacre_sys::{Region, SpanMut};
use nacre_virtio::Fault;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// Path of memory that lasts.
const STORE: &[u8] = b"/dev/store";
/// File of the boot image that lists directories of the host.
const MOUNTS: &[u8] = b"/etc/nacre/mounts";

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
    /// The file of drivers that start while programs run: no program can put another in its place.
    driver: Option<(&'static [u8], Key)>,
}

impl Files {
    /// The boot files and devices. Returns the boot files that were left out, or nothing if there
    /// is no boot image; and why the host's directory is not there, if it should be.
    pub fn start(facts: &BootFacts) -> (Files, Option<Refused>, Option<Fault>) {
        let clock = Clock::start();
        let mut tree = Tree::new(Ram::default(), clock.now());
        let problem = if facts.directory == 0 { None } else { join_directory(&mut tree, facts, clock.now()).err() };
        let image = memory::window(facts.image.start, facts.image.size);
        let refused = image.and_then(image_start).map(|(bytes, header)| tree.add_boot_files(bytes, &header, facts.image.start));
        let mut files = Files { tree, clock, driver: None };
        files.add_devices();
        if facts.store.size > 0 {
            let (root, now) = (files.tree.root(), clock.now());
            let _ = files.tree.add_store(root, STORE, (facts.store.start, facts.store.size), now);
        }
        files.add_windows(facts);
        let mounts = files.take_secret(MOUNTS).unwrap_or_default();
        let problem = problem.or(join_mounts(&mut files.tree, facts, &mounts, clock.now()).err());
        (files, refused, problem)
    }

    /// Adds the windows of devices that the boot image lists. They stay as long as the machine
    /// runs.
    fn add_windows(&mut self, facts: &BootFacts) {
        let Some(list) = self.take_secret(windows::LIST) else { return };
        let memory = facts.own_ranges();
        let (root, now) = (self.tree.root(), self.clock.now());
        for window in windows::read(&list, &memory).leak() {
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
            let _ = self.tree.make_node(root, path, format::CHARACTER | mode, *device, now);
        }
    }

    /// The content of a boot file that no program is to read: it has no name any more.
    pub fn take_secret(&mut self, path: &[u8]) -> Option<alloc::vec::Vec<u8>> {
        let bytes = self.read_all(path).ok()?;
        let (root, now) = (self.tree.root(), self.clock.now());
        self.tree.remove(root, path, false, now).ok()?;
        Some(bytes)
    }

    /// Keeps the file of drivers as it is, for those that start while programs run.
    pub fn keep_driver(&mut self, path: &'static [u8]) -> Result<(), Errno> {
        let key = self.tree.resolve(self.tree.root(), path, true)?.existing()?;
        self.tree.run_for_good(key)?;
        self.driver = Some((path, key));
        Ok(())
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
    pub fn read_all(&self, path: &[u8]) -> Result<alloc::vec::Vec<u8>, Errno> {
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

/// Puts the tree over the host's directory.
fn join_directory(tree: &mut Tree<Ram>, facts: &BootFacts, now: Time) -> Result<(), Fault> {
    let root = tree.root();
    for (path, mode) in OWN_DIRECTORIES {
        let _ = tree.make_directory(root, path, mode, now);
    }
    let ranges = facts.own_ranges();
    let directory = HostDirectory::start(&ranges, 0)?;
    tree.join(root, Box::new(directory), changes(facts.directory)).map_err(|_| Fault("the host's directory cannot be read"))
}

/// Fate of changes, as the host writes it.
fn changes(number: u64) -> Changes {
    match number {
        1 => Changes::Kept,
        2 => Changes::Refused,
        _ => Changes::Passed,
    }
}

/// Puts further directories of the host's into the tree, as a boot file lists them: of each its
/// path, and the fate of changes, with a zero behind either.
fn join_mounts(tree: &mut Tree<Ram>, facts: &BootFacts, list: &[u8], now: Time) -> Result<(), Fault> {
    let ranges = facts.own_ranges();
    let first = usize::from(facts.directory != 0);
    let words: alloc::vec::Vec<&[u8]> = list.split(|&byte| byte == 0).collect();
    for (number, mount) in words.chunks_exact(2).enumerate() {
        let fate = match mount[1] {
            b"1" => 1,
            b"2" => 2,
            _ => 3,
        };
        let directory = HostDirectory::start(&ranges, first + number)?;
        let key = tree.make_mount(mount[0], now).map_err(|_| Fault("there is no place for a directory of the host"))?;
        tree.join(key, Box::new(directory), changes(fate)).map_err(|_| Fault("a directory of the host cannot be read"))?;
    }
    Ok(())
}

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
        let driver = self.driver.filter(|(kept, _)| *kept == path);
        let key = match driver {
            Some((_, key)) => key,
            None => self.tree.resolve(self.tree.root(), path, true).and_then(|place| place.existing()).map_err(refusal)?,
        };
        let node = self.tree.node(key).map_err(refusal)?;
        if node.is_directory() {
            return Err(SpawnError::Directory);
        }
        if node.mode & 0o111 == 0 && driver.is_none() {
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
