//! A machine made of vectors: memory, tables, translations that each CPU may still hold, a clock
//! that stands until it is told to go. It asserts what the core promises at every use: that words
//! are only looked at in frames that are the kernel's, bytes only moved in memory that is
//! somebody's.

use nacre_abi::Rights;
use nacre_core::machine::{TableSweep, Frame, GuestEntry, Leaf, LeafKind, Machine, PageSize, Physical, PoolExhausted, TablePool, thread_page};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// First address of memory, so that 0 is no address of it.
pub const RAM_START: u64 = 0x20_0000;
/// Size of memory.
pub const RAM_SIZE: u64 = 16 << 20;
/// First address behind memory; devices follow.
pub const RAM_END: u64 = RAM_START + RAM_SIZE;
const PAGE: u64 = 4096;
/// Leaves that one sweep through tables removes at most.
const SWEEP: usize = 3;

/// One space's hardware tables.
#[derive(Default)]
pub struct Tables {
    /// Leaves by the address of their first byte.
    pub leaves: BTreeMap<u64, Leaf>,
    /// Tables below the root: level (size of what one covers, as a power of two) and number.
    levels: BTreeSet<(u8, u64)>,
    /// Frames that were taken for them.
    pub frames: BTreeSet<u64>,
}

impl Tables {
    fn find(&self, address: u64) -> Option<(u64, Leaf)> {
        let (start, leaf) = self.leaves.range(..=address).next_back()?;
        (address - start < leaf.size.bytes()).then_some((*start, *leaf))
    }
}

/// State of a CPU.
#[derive(Default)]
pub struct FakeCpu {
    /// The thread whose context it has.
    pub thread: Cell<Option<Physical>>,
    /// The tables that it uses.
    pub root: Cell<Option<Physical>>,
    /// Translations that it has looked up, by page.
    pub translations: RefCell<HashMap<u64, Leaf>>,
    /// Deadline of its timer.
    pub deadline: Cell<u64>,
    /// Set if users may not read its time.
    pub time_hidden: Cell<bool>,
    /// Another CPU wants it to look.
    pub kicked: Cell<bool>,
    /// Number of times that it was.
    pub kicks: Cell<u32>,
}

/// The machine.
pub struct FakeMachine {
    ram: Vec<Cell<u64>>,
    frames: Vec<Frame>,
    counts: Vec<AtomicU32>,
    /// Tables by their root.
    pub tables: RefCell<HashMap<u64, Tables>>,
    /// The CPUs.
    pub cpus: Vec<FakeCpu>,
    /// Index of the CPU that runs now.
    pub current: Cell<usize>,
    /// The clock.
    pub time: Cell<u64>,
    /// Writes to I/O ports, in order.
    pub written: RefCell<Vec<(u16, u8, u32)>>,
    /// Interrupt lines that are let through.
    pub lines: Cell<u64>,
    /// Number of leaves that were entered.
    pub entered: Cell<u64>,
    /// Set if pages are entered in rows. Otherwise each is missed on its own.
    pub rows: Cell<bool>,
    /// Lowest address to which the kernel's stack was seen to reach.
    pub stack_low: Cell<usize>,
    /// Number of claims that were asked for.
    pub claims: Cell<u64>,
    /// Number of times that the kernel looked at words of its own, a measure of its work.
    pub looked: Cell<u64>,
    /// Set on a machine that runs no guests.
    pub lacks_guests: Cell<bool>,
    /// The guest that was entered last.
    pub guest: Cell<Option<GuestEntry>>,
}

impl FakeMachine {
    /// A machine with so many CPUs.
    pub fn new(cpus: usize) -> Self {
        FakeMachine {
            ram: (0..RAM_SIZE / 8).map(|_| Cell::new(0)).collect(),
            frames: (0..RAM_SIZE / PAGE).map(|_| Frame::default()).collect(),
            counts: (0..RAM_SIZE >> 21).map(|_| AtomicU32::new(0)).collect(),
            tables: RefCell::default(),
            cpus: (0..cpus).map(|_| FakeCpu::default()).collect(),
            current: Cell::new(0),
            time: Cell::new(1000),
            written: RefCell::default(),
            lines: Cell::new(0),
            entered: Cell::new(0),
            rows: Cell::new(true),
            stack_low: Cell::new(usize::MAX),
            claims: Cell::new(0),
            lacks_guests: Cell::new(false),
            guest: Cell::new(None),
            looked: Cell::new(0),
        }
    }

    fn index(&self, at: Physical) -> Option<u64> {
        (RAM_START..RAM_END).contains(&at.0).then(|| at.0 - RAM_START)
    }

    /// Marks a frame as the kernel's own, before the kernel starts.
    pub fn reserve(&self, at: u64) {
        let frame = self.frame(Physical(at)).expect("frame");
        if frame.kind.get() == Frame::PLAIN {
            frame.kind.set(Frame::KERNEL);
            let count = self.special_count(Physical(at)).expect("count");
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A word of memory, whatever its frame is.
    pub fn peek(&self, at: u64) -> u64 {
        self.ram[((at - RAM_START) / 8) as usize].get()
    }

    /// Sets a word of memory, whatever its frame is.
    pub fn poke(&self, at: u64, value: u64) {
        self.ram[((at - RAM_START) / 8) as usize].set(value)
    }

    /// The space that parts with this home are in: the frame says where it is.
    pub fn home_of(&self, home: Physical) -> Physical {
        Physical(self.frame(home).expect("frame").units.get())
    }

    /// The kind of the frame at `at`.
    pub fn kind(&self, at: Physical) -> u64 {
        self.frame(at).map_or(u64::MAX, |frame| frame.kind.get() % PAGE)
    }

    /// Memory that words may be read from or written to: plain, or about to be taken by the call
    /// that does so.
    fn assert_plain(&self, at: Physical) {
        assert!(matches!(self.kind(at), Frame::PLAIN | Frame::SEIZED), "{at:?} is not plain memory");
    }

    /// Memory that bytes may be moved to or from: plain, or the words of a live object.
    fn assert_bytes(&self, at: Physical, size: u64) {
        assert!(size <= PAGE - at.0 % PAGE, "{at:?} and {size:#x} bytes cross a frame");
        let frame = self.frame(at).expect("memory");
        if !matches!(frame.kind.get(), Frame::PLAIN | Frame::SEIZED) {
            self.assert_object(at, size);
        }
    }

    fn assert_object(&self, at: Physical, size: u64) {
        let frame = self.frame(at).expect("an object outside memory");
        match frame.kind.get() % PAGE {
            Frame::KERNEL => {}
            Frame::OBJECTS => {
                let (first, last) = (at.0 % PAGE / 64, (at.0 % PAGE + size - 1) / 64);
                assert!((first..=last).all(|unit| frame.units.get() >> unit & 1 == 1), "{at:?} is in no live object");
            }
            kind => panic!("{at:?} is in a frame of kind {kind}, not in an object"),
        }
    }

    /// Returns the physical address that the running CPU uses for `address`, from its cached
    /// translations or else its tables.
    pub fn translate(&self, address: u64, needed: Rights) -> Option<Physical> {
        let cpu = &self.cpus[self.current.get()];
        let root = cpu.root.get()?;
        let page = address & !(PAGE - 1);
        let allows = |leaf: &Leaf| matches!(leaf.kind, LeafKind::Memory | LeafKind::Device) && leaf.rights.contains(needed);
        let mut translations = cpu.translations.borrow_mut();
        let held = translations.get(&page).filter(|leaf| allows(leaf)).copied();
        let leaf = held.or_else(|| self.table_lookup(root, page).filter(|leaf| allows(leaf)))?;
        translations.insert(page, leaf);
        Some(leaf.physical.add(address - page))
    }

    fn levels_of(size: PageSize) -> &'static [u8] {
        match size {
            PageSize::Small => &[39, 30, 21],
            PageSize::Large => &[39, 30],
            PageSize::Huge => &[39],
        }
    }
}

impl Machine for FakeMachine {
    #[inline]
    fn words<const N: usize>(&self, at: Physical) -> &[Cell<u64>; N] {
        let index = self.index(at).unwrap_or_else(|| panic!("{at:?} is no memory")) as usize;
        self.looked.set(self.looked.get() + 1);
        assert!(at.0 % 8 == 0 && at.0 % PAGE + 8 * N as u64 <= PAGE, "{at:?} and {N} words cross a frame");
        if N == 1 {
            let kind = self.kind(at);
            // A stale leaf may still lead to a frame that held objects and is on its way to a user:
            // it is full of zeros.
            let leaving = kind == Frame::SEIZED && self.peek(at.0) == 0;
            assert!(leaving || kind == Frame::KERNEL || kind == Frame::OBJECTS, "{at:?} is in a frame of kind {kind}");
        } else {
            self.assert_object(at, 8 * N as u64);
        }
        self.ram[index / 8..index / 8 + N].try_into().expect("words")
    }

    fn frame(&self, at: Physical) -> Option<&Frame> {
        self.index(at).map(|index| &self.frames[(index / PAGE) as usize])
    }

    fn frames(&self, at: Physical, count: usize) -> &[Frame] {
        let rest = self.index(at).map_or(&[][..], |index| &self.frames[(index / PAGE) as usize..]);
        &rest[..count.min(rest.len())]
    }

    fn special_count(&self, at: Physical) -> Option<&AtomicU32> {
        self.index(at).map(|index| &self.counts[(index >> 21) as usize])
    }

    fn zero(&self, at: Physical, size: u64) {
        assert!(size <= PAGE - at.0 % PAGE && self.kind(at) != Frame::PLAIN, "{at:?} is not the kernel's to clear");
        (at.0..at.0 + size).step_by(8).for_each(|at| self.poke(at, 0));
    }

    fn copy(&self, from: Physical, to: Physical, size: u64) {
        self.assert_bytes(from, size);
        self.assert_bytes(to, size);
        if self.kind(from) == Frame::PLAIN && self.kind(to) != Frame::PLAIN {
            assert!(to.0 % PAGE >= 8 * thread_page::FPU as u64, "a user's bytes go over the words of an object");
        }
        for at in 0..size {
            let (source, target) = (from.0 + at, to.0 + at);
            let byte = self.peek(source & !7) >> (8 * (source % 8)) & 0xff;
            let shift = 8 * (target % 8);
            self.poke(target & !7, self.peek(target & !7) & !(0xff << shift) | byte << shift);
        }
    }

    fn read_word(&self, at: Physical) -> u64 {
        assert_eq!(at.0 % 8, 0);
        self.assert_plain(at);
        self.peek(at.0)
    }

    fn read_half(&self, at: Physical) -> u32 {
        assert_eq!(at.0 % 4, 0);
        self.assert_plain(at);
        (self.peek(at.0 & !7) >> (8 * (at.0 % 8))) as u32
    }

    fn write_word(&self, at: Physical, value: u64) {
        assert_eq!(at.0 % 8, 0);
        self.assert_plain(at);
        self.poke(at.0, value);
    }

    fn claim(&self, at: Physical) -> bool {
        // Sometimes another CPU has it, and gives it back soon after.
        self.claims.set(self.claims.get() + 1);
        if self.claims.get().is_multiple_of(5) {
            return false;
        }
        assert_eq!(self.words::<1>(at)[0].replace(1), 0, "a claim is taken that was not given back");
        true
    }

    fn claim_end(&self, at: Physical) {
        assert_eq!(self.words::<1>(at)[0].replace(0), 1, "a claim is given back that nobody has");
    }

    fn flip(&self, at: Physical, bits: u64) {
        let word = &self.words::<1>(at)[0];
        word.set(word.get() ^ bits);
    }

    fn table_create(&self, root: Physical) {
        assert_eq!(self.kind(root), Frame::TABLE);
        self.tables.borrow_mut().insert(root.0, Tables::default());
    }

    fn table_lookup(&self, root: Physical, address: u64) -> Option<Leaf> {
        let here = 0u8;
        self.stack_low.set(self.stack_low.get().min(&raw const here as usize));
        let (start, leaf) = self.tables.borrow()[&root.0].find(address)?;
        Some(Leaf { physical: leaf.physical.add(address - start), ..leaf })
    }

    fn table_enter(&self, root: Physical, address: u64, leaf: Leaf, pool: &impl TablePool) -> Result<bool, PoolExhausted> {
        let bytes = leaf.size.bytes();
        assert!(address % bytes == 0 && leaf.physical.0 % bytes == 0, "leaf out of place");
        self.entered.set(self.entered.get() + 1);
        for level in Self::levels_of(leaf.size) {
            if self.tables.borrow()[&root.0].levels.contains(&(*level, address >> level)) {
                continue;
            }
            let Some(frame) = pool.take() else { return Err(PoolExhausted) };
            assert_eq!(self.kind(frame), Frame::TABLE, "a table is made of a frame that is not donated");
            let mut all = self.tables.borrow_mut();
            let tables = all.get_mut(&root.0).expect("root");
            tables.levels.insert((*level, address >> level));
            assert!(tables.frames.insert(frame.0) && frame != root, "a frame is taken twice");
        }
        let mut all = self.tables.borrow_mut();
        let tables = all.get_mut(&root.0).expect("root");
        if let Some((start, _)) = tables.find(address) {
            tables.leaves.remove(&start);
        }
        let below: Vec<u64> = tables.leaves.range(address..address + bytes).map(|(start, _)| *start).collect();
        below.iter().for_each(|start| _ = tables.leaves.remove(start));
        // A table under a large leaf is gone; its frame comes back only with a reset.
        let levels = tables.levels.len();
        tables.levels.retain(|(level, number)| *level > leaf.size as u8 || number << level < address || number << level >= address + bytes);
        tables.leaves.insert(address, leaf);
        Ok(tables.levels.len() != levels)
    }

    fn table_enter_row(&self, root: Physical, address: u64, leaf: Leaf, frames: &[Frame]) {
        let mut all = self.tables.borrow_mut();
        let tables = all.get_mut(&root.0).expect("root");
        let plain = frames.iter().zip(0..).filter(|(frame, _)| self.rows.get() && frame.kind.get() == Frame::PLAIN);
        for (_, number) in plain {
            let at = address + number * PAGE;
            assert_eq!(at >> 21, address >> 21, "a row that goes on below another table");
            assert!(tables.levels.contains(&(21, at >> 21)), "a leaf without a table");
            if tables.find(at).is_none() {
                tables.leaves.insert(at, Leaf { physical: leaf.physical.add(number * PAGE), ..leaf });
            }
        }
    }

    fn table_clear(&self, root: Physical, low: u64, high: u64) -> TableSweep {
        let mut all = self.tables.borrow_mut();
        let tables = all.get_mut(&root.0).expect("root");
        let touched: Vec<(u64, u64)> =
            tables.leaves.range(..high).map(|(start, leaf)| (*start, *start + leaf.size.bytes())).filter(|(_, end)| *end > low).collect();
        let swept = &touched[..touched.len().min(SWEEP)];
        swept.iter().for_each(|(start, _)| _ = tables.leaves.remove(start));
        let next = if swept.len() < touched.len() { swept[SWEEP - 1].1 } else { high };
        TableSweep { found: !swept.is_empty(), next }
    }

    fn table_reset(&self, root: Physical) {
        self.tables.borrow_mut().insert(root.0, Tables::default());
    }

    fn translations_flush(&self, cpus: u64, root: Physical, low: u64, high: u64) {
        for (number, cpu) in self.cpus.iter().enumerate() {
            if cpus >> number & 1 == 1 && cpu.root.get() == Some(root) {
                // An entry of a large page goes whole, wherever in it the range begins.
                cpu.translations.borrow_mut().retain(|page, leaf| {
                    let mask = leaf.size.bytes() - 1;
                    (page & !mask) >= high || (page | mask) < low
                });
            }
        }
    }

    fn switch_thread(&self, from: Option<Physical>, to: Physical, root: Option<Physical>) {
        let cpu = &self.cpus[self.current.get()];
        assert!(from.is_none() || from == cpu.thread.get(), "{from:?} is not the thread on this CPU");
        self.assert_object(to, PAGE);
        cpu.thread.set(Some(to));
        if let Some(root) = root {
            assert_eq!(self.kind(root), Frame::TABLE, "a CPU is given tables that are none");
            cpu.root.set(Some(root));
            cpu.translations.borrow_mut().clear();
        }
    }

    fn time_hide(&self, hidden: bool) {
        self.cpus[self.current.get()].time_hidden.set(hidden);
    }

    fn has_guests(&self) -> bool {
        !self.lacks_guests.get()
    }

    fn guest_enter(&self, entry: GuestEntry) {
        self.guest.set(Some(entry));
    }

    fn leave_space(&self) {
        let cpu = &self.cpus[self.current.get()];
        cpu.root.set(None);
        cpu.translations.borrow_mut().clear();
    }

    fn fpu_settle(&self, thread: Physical, discard: bool) {
        self.assert_object(thread, PAGE);
        for cpu in self.cpus.iter().filter(|cpu| discard && cpu.thread.get() == Some(thread)) {
            cpu.thread.set(None);
        }
    }

    fn fpu_import(&self, thread: Physical) {
        let words = self.words::<512>(thread);
        words[thread_page::MACHINE].set(1);
    }

    fn bases_save(&self, thread: Physical) {
        assert_eq!(self.cpus[self.current.get()].thread.get(), Some(thread));
    }

    fn bases_changed(&self, thread: Physical) {
        assert_eq!(self.cpus[self.current.get()].thread.get(), Some(thread));
    }

    fn cpu(&self) -> usize {
        self.current.get()
    }

    fn cpu_kick(&self, cpu: usize) {
        assert_ne!(cpu, self.current.get(), "a CPU kicks itself");
        self.cpus[cpu].kicked.set(true);
        self.cpus[cpu].kicks.set(self.cpus[cpu].kicks.get() + 1);
    }

    fn now(&self) -> u64 {
        self.time.get()
    }

    fn stamp(&self) -> u64 {
        self.time.get()
    }

    fn stamp_nanoseconds(&self, difference: u64) -> u64 {
        difference
    }

    fn timer_set(&self, deadline: u64) {
        self.cpus[self.current.get()].deadline.set(deadline);
    }

    fn io_read(&self, port: u16, width: u8) -> u32 {
        u32::from(port) * 16 + u32::from(width)
    }

    fn io_write(&self, port: u16, width: u8, value: u32) {
        self.written.borrow_mut().push((port, width, value));
    }

    fn interrupt_enable(&self, line: u32, enable: bool) {
        let bit = 1 << line;
        self.lines.set(if enable { self.lines.get() | bit } else { self.lines.get() & !bit });
    }
}
