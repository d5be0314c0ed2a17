//! What a process takes over from the one that made it, as plain data: the form in which the old
//! one's library writes it, and the new one's reads it.
//!
//! It names no address of the library, and references by their number among those that come with
//! it. Whoever reads it trusts nothing in it.

pub mod area;
pub mod files;

use crate::abi::errno::{ENOMEM, Errno};
use alloc::vec::Vec;
pub use area::Area;
#[cfg(test)]
pub use area::{Fill, Sharing};
pub use files::{File, Files};

/// The form that this library writes and reads.
const VERSION: u64 = 8;
/// Bytes that most take.
const USUAL: usize = 6 << 10;
/// Maximum number of descriptors, files, areas or segments in a record.
const MOST: u64 = 1 << 20;
/// Resource limits that there are.
pub const LIMITS: usize = 16;
/// Signals that have a disposition.
pub const SIGNALS: usize = 64;
/// Words of what else a process keeps.
pub const STATE: usize = 26;
/// Words of a signal that waits.
pub const SIGNAL: usize = 6;
/// Words of a signal's disposition.
pub const ACTION: usize = 5;
/// Services that a fork's child need not look for.
pub const SERVICES: usize = 3;
/// Words of the registers at a call.
pub const REGISTERS: usize = 18;

/// A process, but for its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inheritance {
    /// Real, effective and saved user, then group.
    pub owner: [u32; 6],
    /// Bits that are taken out of the mode of what is created.
    pub umask: u32,
    /// Value that the program set with `personality`.
    pub persona: u64,
    /// Resource limits, soft and hard.
    pub limits: [[u64; 2]; LIMITS],
    /// Signals that its thread does not take.
    pub mask: u64,
    /// Signals that take no effect, one bit each.
    pub ignored: u64,
    /// Name of the thread.
    pub name: [u8; 16],
    /// The path that its program was loaded from.
    pub executable: Vec<u8>,
    /// Process number, or 0 if it is not known.
    pub pid: u64,
    /// Further state of the process, as words that only the library understands.
    pub state: [u64; STATE],
    /// Further groups.
    pub groups: Vec<u64>,
    /// Signals that wait for its thread, or any.
    pub pending: Vec<[u64; SIGNAL]>,
    /// Open files.
    pub files: Files,
    /// Descriptors.
    pub descriptors: Vec<Descriptor>,
    /// Members of the files that are sets of files (`epoll`).
    pub sets: Vec<Set>,
    /// Index of the file that is the current directory.
    pub current: Option<u64>,
    /// Index of the file that is the directory of absolute paths, if that is not the server's root.
    pub root: Option<u64>,
    /// Reference that stands for the process at servers where it has locked files. Absent in a
    /// fork.
    pub lock_owner: Option<u64>,
    /// Reference to the process's port of the protocol `keyed`. Absent in a fork.
    pub keyed: Option<u64>,
    /// The hold on its program's file, which nobody writes meanwhile.
    pub executing: Option<u64>,
    /// Segments with keys in its memory: where, how long, which. Only for a fork.
    pub attached: Vec<[u64; 3]>,
    /// The rest of what `fork` copies.
    pub copy: Option<Copy>,
}

/// A file of `epoll`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Index of the file that the set is.
    pub file: u64,
    /// The files that it watches.
    pub members: Vec<Member>,
}

/// A file that a set watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Descriptor that the program named.
    pub descriptor: u64,
    /// Index of the file.
    pub file: u64,
    /// Events and flags.
    pub wanted: u64,
    /// Word that the program gets with events.
    pub data: u64,
    /// Events that were reported last.
    pub told: u64,
    /// Counts of arrivals and departures at that time.
    pub changes: [u64; 2],
    /// Set if the program has used the file since.
    pub is_used: bool,
}

/// A descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Descriptor number.
    pub number: u64,
    /// Index of the file.
    pub file: u64,
    /// Set if `execve` closes the descriptor.
    pub close_on_exec: bool,
}

/// Additional state of a fork's child: a thread that returns from the call, and memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Registers of the thread, in the order of the entry's frame.
    pub registers: [u64; REGISTERS],
    /// Base of `fs`.
    pub fs_base: u64,
    /// Start and size of the alternate signal stack, and its flags.
    pub alternate: [u64; 3],
    /// Address at which the library writes 0 when the thread ends.
    pub clear_number: u64,
    /// Address at which the thread writes its number when it starts, or 0.
    pub set_number: u64,
    /// Signals that have something else than the default: their numbers, handlers, flags, restorers
    /// and masks.
    pub actions: Vec<[u64; ACTION]>,
    /// Program break: its start, its present end, and the end of the memory behind it.
    pub program_break: [u64; 3],
    /// The state of the FPU, as a signal's frame has it.
    pub fpu: Vec<u8>,
    /// Memory that areas show.
    pub segments: Vec<Segment>,
    /// The areas, in ascending order.
    pub areas: Vec<Area>,
    /// Services that its maker has found: files, memory, random bytes.
    pub services: [Option<u64>; SERVICES],
}

/// Memory that is shared with other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Reference to the port that keeps the segment alive.
    pub port: Option<u64>,
    /// Reference to the region.
    pub region: u64,
    /// Size in bytes.
    pub size: u64,
    /// Set if the segment may be mapped writable.
    pub writable: bool,
    /// Number of a `Paging`.
    pub paging: u64,
}

/// Writes words and bytes.
struct Writer {
    all: Vec<u8>,
    /// Set once there was no memory: what is written then is incomplete.
    is_short: bool,
}

impl Writer {
    /// Appends `size` zeros, and returns them; none if there is no memory.
    fn room(&mut self, size: usize) -> &mut [u8] {
        let start = self.all.len();
        match self.all.try_reserve(size) {
            Ok(()) => self.all.resize(start + size, 0),
            Err(_) => self.is_short = true,
        }
        &mut self.all[start..]
    }

    fn word(&mut self, word: u64) {
        match self.all.try_reserve(8) {
            Ok(()) => self.all.extend_from_slice(&word.to_le_bytes()),
            Err(_) => self.is_short = true,
        }
    }

    fn words(&mut self, words: &[u64]) {
        for (place, word) in self.room(8 * words.len()).as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        if let Some((place, _)) = self.room(bytes.len().next_multiple_of(8)).split_at_mut_checked(bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// A number that may be absent: one more, or 0.
    fn option(&mut self, number: Option<u64>) {
        self.word(number.map_or(0, |number| number + 1));
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Writer, &T)) {
        self.word(items.len() as u64);
        items.iter().for_each(|item| write(self, item));
    }
}

/// Reads them again; `None` where they end too early or cannot be.
struct Reader<'a> {
    rest: &'a [u8],
    /// Number of references.
    references: u64,
}

impl<'a> Reader<'a> {
    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn words<const N: usize>(&mut self) -> Option<[u64; N]> {
        let (words, rest) = self.rest.split_at_checked(8 * N)?;
        self.rest = rest;
        let words = words.as_chunks::<8>().0;
        Some(core::array::from_fn(|number| words.get(number).map_or(0, |word| u64::from_le_bytes(*word))))
    }

    fn half(&mut self) -> Option<u32> {
        self.word()?.try_into().ok()
    }

    fn truth(&mut self) -> Option<bool> {
        self.below(2).map(|word| word != 0)
    }

    /// A number below `limit`.
    fn below(&mut self, limit: u64) -> Option<u64> {
        self.word().filter(|word| *word < limit)
    }

    /// A number below `limit`, or none.
    fn option(&mut self, limit: u64) -> Option<Option<u64>> {
        self.below(limit.checked_add(1)?).map(|word| word.checked_sub(1))
    }

    fn bytes(&mut self, most: u64) -> Option<&'a [u8]> {
        let size = self.below(most + 1)? as usize;
        let (bytes, rest) = self.rest.split_at_checked(size.next_multiple_of(8))?;
        self.rest = rest;
        Some(&bytes[..size])
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Reader<'a>) -> Option<T>) -> Option<Vec<T>> {
        let count = self.below(MOST)?;
        // Each item is a word at least: there are no more than the bytes hold.
        if count > self.rest.len() as u64 / 8 {
            return None;
        }
        let mut list = Vec::with_capacity(count as usize);
        for _ in 0..count {
            list.push(read(self)?);
        }
        Some(list)
    }
}

impl Descriptor {
    fn to_word(self) -> u64 {
        self.number << 1 | self.file << 32 | u64::from(self.close_on_exec)
    }

    /// Reads a descriptor of one of `files` files.
    fn of_word(word: u64, files: u64) -> Option<Descriptor> {
        let (number, file) = ((word & 0xffff_ffff) >> 1, word >> 32);
        (number < MOST && file < files).then_some(Descriptor { number, file, close_on_exec: word & 1 != 0 })
    }
}

impl Set {
    fn write(&self, to: &mut Writer) {
        to.word(self.file);
        to.list(&self.members, |to, one| to.words(&[one.descriptor, one.file, one.wanted, one.data, one.told, one.changes[0], one.changes[1], one.is_used.into()]));
    }

    fn read(from: &mut Reader<'_>, files: u64) -> Option<Set> {
        let file = from.below(files)?;
        let members = from.list(|from| {
            let [descriptor, file, wanted, data, told, arrivals, departures] = from.words()?;
            let is_used = from.truth()?;
            (file < files).then_some(Member { descriptor, file, wanted, data, told, changes: [arrivals, departures], is_used })
        })?;
        Some(Set { file, members })
    }
}

impl Segment {
    fn write(&self, to: &mut Writer) {
        to.option(self.port);
        to.words(&[self.region, self.size, self.writable.into(), self.paging]);
    }

    fn read(from: &mut Reader<'_>) -> Option<Segment> {
        let references = from.references;
        Some(Segment { port: from.option(references)?, region: from.below(references)?, size: from.word()?, writable: from.truth()?, paging: from.word()? })
    }
}

impl Copy {
    fn write(&self, to: &mut Writer) {
        to.words(&self.registers);
        to.word(self.fs_base);
        to.words(&self.alternate);
        to.words(&[self.clear_number, self.set_number]);
        to.list(&self.actions, |to, action| to.words(action));
        to.words(&self.program_break);
        to.bytes(&self.fpu);
        to.list(&self.segments, |to, segment| segment.write(to));
        to.list(&self.areas, |to, area| area.write(to));
        self.services.iter().for_each(|service| to.option(*service));
    }

    fn read(from: &mut Reader<'_>) -> Option<Copy> {
        let registers = from.words()?;
        let fs_base = from.word()?;
        let alternate = from.words()?;
        let [clear_number, set_number] = from.words()?;
        let actions = from.list(|from| from.words().filter(|[signal, ..]: &[u64; ACTION]| (1..=SIGNALS as u64).contains(signal)))?;
        let program_break = from.words()?;
        let fpu = from.bytes(1 << 16)?.to_vec();
        let segments = from.list(Segment::read)?;
        let count = segments.len() as u64;
        let areas = from.list(|from| Area::read(from, count))?;
        let mut services = [None; SERVICES];
        let references = from.references;
        for service in &mut services {
            *service = from.option(references)?;
        }
        Some(Copy { registers, fs_base, alternate, clear_number, set_number, actions, program_break, fpu, segments, areas, services })
    }
}

impl Inheritance {
    /// Returns the record as bytes. `ENOMEM`: there is no memory for them.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Errno> {
        let mut to = Writer { all: Vec::new(), is_short: false };
        to.all.try_reserve(USUAL)?;
        to.word(VERSION);
        to.words(&self.owner.map(u64::from));
        to.words(&[self.umask.into(), self.persona]);
        to.words(self.limits.as_flattened());
        to.words(&[self.mask, self.ignored, self.pid]);
        to.bytes(&self.name);
        to.bytes(&self.executable);
        to.words(&self.state);
        to.list(&self.groups, |to, group| to.word(*group));
        to.list(&self.pending, |to, signal| to.words(signal));
        self.files.write(&mut to);
        to.list(&self.descriptors, |to, one| to.word(one.to_word()));
        to.list(&self.sets, |to, set| set.write(to));
        to.option(self.current);
        to.option(self.root);
        to.option(self.lock_owner);
        to.option(self.keyed);
        to.option(self.executing);
        to.list(&self.attached, |to, one| to.words(one));
        to.word(self.copy.is_some().into());
        if let Some(copy) = &self.copy {
            copy.write(&mut to);
        }
        if to.is_short { Err(ENOMEM) } else { Ok(to.all) }
    }

    /// Decodes a record that came with `references` references; `None` if it makes no sense.
    pub fn from_bytes(bytes: &[u8], references: u64) -> Option<Inheritance> {
        let from = &mut Reader { rest: bytes, references };
        from.word().filter(|version| *version == VERSION)?;
        let mut new = Inheritance::default();
        for number in &mut new.owner {
            *number = from.half()?;
        }
        new.umask = from.half()?;
        new.persona = from.word()?;
        let limits: [u64; 2 * LIMITS] = from.words()?;
        new.limits.as_flattened_mut().copy_from_slice(&limits);
        [new.mask, new.ignored, new.pid] = from.words()?;
        new.name = from.bytes(16)?.try_into().ok()?;
        new.executable = from.bytes(4096)?.to_vec();
        new.state = from.words()?;
        new.groups = from.list(|from| from.below(1 << 32))?;
        new.pending = from.list(Reader::words)?;
        new.files = Files::read(from)?;
        let files = new.files.count();
        new.descriptors = from.list(|from| Descriptor::of_word(from.word()?, files))?;
        new.sets = from.list(|from| Set::read(from, files))?;
        new.current = from.option(files)?;
        new.root = from.option(files)?;
        new.lock_owner = from.option(references)?;
        new.keyed = from.option(references)?;
        new.executing = from.option(references)?;
        new.attached = from.list(Reader::words)?;
        if from.truth()? {
            new.copy = Some(Copy::read(from)?);
        }
        from.rest.is_empty().then_some(new)
    }
}

#[cfg(test)]
#[path = "fork_record_tests.rs"]
mod tests;
