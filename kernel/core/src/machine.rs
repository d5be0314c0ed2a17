//! What the core needs of a machine. The core never touches memory, tables or devices but through
//! this trait, so that it is safe Rust and runs on the host, on a machine made of vectors, in
//! tests.
//!
//! All calls happen in the kernel, with interrupts off, in one of two ways. *Under all locks*: no
//! other CPU is in the core. *Under the CPU's own lock*: others may be there in the same way, and
//! only the short courses of `fast` are taken, which write what this CPU has and what they hold a
//! claim on.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use nacre_abi::Rights;

/// An address of physical memory or of a device: what composition ends at. Never shown to a user.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct Physical(pub u64);

impl Physical {
    /// The address `bytes` further on.
    pub const fn add(self, bytes: u64) -> Physical {
        Physical(self.0.wrapping_add(bytes))
    }

    /// The start of the 4 KiB frame that the address lies in.
    pub const fn frame(self) -> Physical {
        Physical(self.0 & !(nacre_abi::PAGE_SIZE - 1))
    }
}

/// A word that CPUs read and write at once while each has its own lock alone.
#[derive(Default, Debug)]
#[repr(transparent)]
pub struct SharedWord(AtomicU64);

impl SharedWord {
    /// A word with this value.
    pub const fn new(value: u64) -> SharedWord {
        SharedWord(AtomicU64::new(value))
    }

    /// Returns the value, and makes what was written before it was set visible.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Sets the value, behind all that was written before.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }

    /// Changes the value from `old` to `new`. Returns false, and changes nothing, if it is another.
    pub fn change(&self, old: u64, new: u64) -> bool {
        self.0.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// State of one 4 KiB frame of memory. Device addresses have none.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Frame {
    /// `PLAIN`, `KERNEL`, `OBJECTS`, `TABLE`, `SEIZED` or `BLANK`, and for tables the next frame of
    /// the same pool.
    pub kind: SharedWord,
    /// Object frames: one bit for each 64-byte unit in use. Tables: the space that they serve.
    pub units: Cell<u64>,
}

impl Frame {
    /// Memory that programs see.
    pub const PLAIN: u64 = 0;
    /// The kernel's own: its image, this table, root's first objects. Never mapped for a user.
    pub const KERNEL: u64 = 1;
    /// Donated; holds kernel objects, or did and was not touched since.
    pub const OBJECTS: u64 = 2;
    /// Donated; a page table. Bits 12-63 of `kind` are the address of the next frame of the pool (0
    /// at the end).
    pub const TABLE: u64 = 3;
    /// Being taken away from all who see it, to become one of the two above; `units` is the number
    /// of the revocation. Its bytes are as they were: who touches it meanwhile has it back.
    pub const SEIZED: u64 = 4;
    /// Seen by nobody, and zeros for who touches it next, whatever its bytes are now: it is cleared
    /// then.
    pub const BLANK: u64 = 5;
    /// A blank frame that a CPU with its own lock fills with zeros.
    pub const CLEARING: u64 = 6;
}

/// Size of the page that one entry of the hardware's tables covers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum PageSize {
    /// 4 KiB.
    Small = 12,
    /// 2 MiB.
    Large = 21,
    /// 1 GiB.
    Huge = 30,
}

impl PageSize {
    /// Bytes covered.
    pub const fn bytes(self) -> u64 {
        1 << self as u8
    }
}

/// Kind of page that a table entry shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeafKind {
    /// Plain memory, with the leaf's rights.
    Memory,
    /// A device: uncached, with the leaf's rights.
    Device,
    /// An object page: only the kernel may look, by the leaf; the processor's part of it shows
    /// nothing, whatever the rights say.
    Objects,
    /// Plain memory that the kernel of a guest sees, with the leaf's rights, and no user.
    Privileged,
}

/// One entry of a space's hardware tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// Physical address: of the looked-up byte (lookup), or of the page's start (enter).
    pub physical: Physical,
    /// Kind of page.
    pub kind: LeafKind,
    /// Rights of users.
    pub rights: Rights,
    /// Size of the page.
    pub size: PageSize,
}

/// Source of frames for a space's tables.
pub trait TablePool {
    /// A frame for a table, not cleared; `None` when the pool is used up.
    fn take(&self) -> Option<Physical>;
}

/// The pool had no frame left for a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolExhausted;

/// Progress of a sweep through tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableSweep {
    /// Set if the sweep found a leaf.
    pub found: bool,
    /// Address at which to go on, or the end of the range when all is done.
    pub next: u64,
}

/// A guest, or a user, that is to be entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GuestEntry {
    /// Frame of the guest: plain memory, which the caller may write at any time.
    pub frame: Physical,
    /// Root of the tables whose addresses are the guest's physical ones; of a shadow guest, those
    /// of the lower half of its own.
    pub root: Physical,
    /// Root of the tables for the upper half of a shadow guest.
    pub upper: Option<Physical>,
    /// Set if the machine's time is hidden from the guest. Of a user: and not from its caller.
    pub hides_time: bool,
    /// Set if it is a user: the addresses of `root` are its own.
    pub is_user: bool,
}

/// A machine. See the module's head.
pub trait Machine {
    // --- memory ---

    /// `N` words of memory that only the kernel can reach (an object frame, or one that is being
    /// made into one). `at` is a multiple of 8 and the words do not cross a frame. The
    /// implementation may rely on `at` being an address that `frame` knows.
    fn words<const N: usize>(&self, at: Physical) -> &[Cell<u64>; N];
    /// Returns the state of the frame around `at`, or `None` for devices and holes.
    fn frame(&self, at: Physical) -> Option<&Frame>;
    /// Returns the states of `count` frames from that around `at` on, fewer at the end of memory.
    /// An address without memory has a kind that none of [`Frame`]'s is.
    fn frames(&self, at: Physical, count: usize) -> &[Frame];
    /// A counter for the 2 MiB around `at`: how many frames in it are not `PLAIN`. `None` where
    /// `frame` is.
    fn special_count(&self, at: Physical) -> Option<&AtomicU32>;
    /// Fills with zeros: whole words, inside one frame.
    fn zero(&self, at: Physical, size: u64);
    /// Copies bytes between frames of plain memory; neither end crosses a frame. The memory may
    /// change meanwhile (users run on other CPUs).
    fn copy(&self, from: Physical, to: Physical, size: u64);
    /// Reads one word of plain memory, a multiple of 8.
    fn read_word(&self, at: Physical) -> u64;
    /// Reads the 32-bit word of plain memory, a multiple of 4, atomically.
    fn read_half(&self, at: Physical) -> u32;
    /// Writes one word of plain memory, a multiple of 8.
    fn write_word(&self, at: Physical, value: u64);

    // --- words of objects that several CPUs write at once ---

    /// Takes the claim in the word at `at`; what its last holder wrote is then seen here. False:
    /// another CPU has it.
    fn claim(&self, at: Physical) -> bool;
    /// Gives a claim back, and with it what was written.
    fn claim_end(&self, at: Physical);
    /// Turns over bits of the word at `at`, which other CPUs may be doing too.
    fn flip(&self, at: Physical, bits: u64);

    // --- hardware tables: a cache of composition ---

    /// Makes the frame at `root` an empty top-level table (with the kernel's own part).
    fn table_create(&self, root: Physical);
    /// Returns the leaf that the tables have for `address` (below `USER_END`), or `None`.
    fn table_lookup(&self, root: Physical, address: u64) -> Option<Leaf>;
    /// Returns the physical address of the object page's byte at `address`, if the tables show an
    /// object page there. Messages need this part of `table_lookup`.
    fn object_lookup(&self, root: Physical, address: u64) -> Option<Physical> {
        let leaf = self.table_lookup(root, address)?;
        (leaf.kind == LeafKind::Objects && leaf.size == PageSize::Small).then_some(leaf.physical)
    }
    /// Enters a leaf for `address` (a multiple of the leaf's size), over whatever is there - also
    /// over a table of smaller pages or under a larger leaf, which is then dropped whole. True if
    /// there was such a table: CPUs may still hold translations of its pages.
    fn table_enter(&self, root: Physical, address: u64, leaf: Leaf, pool: &impl TablePool) -> Result<bool, PoolExhausted>;
    /// Enters small leaves for pages in a row from `address` on, the first as `leaf` says: for
    /// those whose frames are plain memory, and which have none. No table is made for them, and all
    /// lie below the same one.
    fn table_enter_row(&self, root: Physical, address: u64, leaf: Leaf, frames: &[Frame]);
    /// Removes leaves that touch `low..high` (large leaves whole), from the low end on, until a few
    /// hundred entries were looked at.
    fn table_clear(&self, root: Physical, low: u64, high: u64) -> TableSweep;
    /// Forgets all of the user's part of the tables; frames below the root may be reused at once.
    fn table_reset(&self, root: Physical);
    /// Makes sure that no CPU of the set `cpus` still uses a translation of `low..high` of the
    /// tables at `root`, before it returns.
    fn translations_flush(&self, cpus: u64, root: Physical, low: u64, high: u64);

    // --- threads ---

    /// Gives the CPU's user context from thread `from` (`None`: it was idle, or the thread is gone)
    /// to `to`: FPU, bases, foreign entry, current pointer. Both are the addresses of their thread
    /// pages. If `root` is given the tables change too.
    fn switch_thread(&self, from: Option<Physical>, to: Physical, root: Option<Physical>);
    /// Makes the instructions that read the machine's time protected ones on this CPU, or not.
    fn time_hide(&self, hidden: bool);
    /// Leaves the tables of a space for the kernel's own, because the CPU goes idle or the space is
    /// being destroyed.
    fn leave_space(&self);
    /// Puts the FPU state of a thread that any CPU may still hold in its registers into its page
    /// (`discard`: drops it instead).
    fn fpu_settle(&self, thread: Physical, discard: bool);
    /// The thread's page was given an FPU state by a user: makes it one that can be loaded without
    /// a fault (reserved bits, header), and marks it as used.
    fn fpu_import(&self, thread: Physical);
    /// Writes the bases of the current thread, which a user can change without the kernel, into its
    /// page.
    fn bases_save(&self, thread: Physical);
    /// The current thread changed its own bases or foreign entry in its page: take them over.
    fn bases_changed(&self, thread: Physical);

    /// Returns true if threads can run guests; users they can run everywhere.
    fn has_guests(&self) -> bool;
    /// Runs a guest when this CPU leaves the kernel with the thread that it has now.
    fn guest_enter(&self, entry: GuestEntry);

    // --- CPUs, time, devices ---

    /// The CPU that this runs on, from 0.
    fn cpu(&self) -> usize;
    /// Makes another CPU enter the kernel soon.
    fn cpu_kick(&self, cpu: usize);
    /// Nanoseconds since the start, never going back.
    fn now(&self) -> u64;
    /// Returns a count of this CPU's time that is cheaper to read than `now`.
    fn stamp(&self) -> u64;
    /// Nanoseconds of a difference of stamps.
    fn stamp_nanoseconds(&self, difference: u64) -> u64;
    /// Asks for a timer interrupt on this CPU at `deadline` (in the time of `now`); `u64::MAX` =
    /// none.
    fn timer_set(&self, deadline: u64);
    /// Reads an I/O port; `width` is 1, 2 or 4.
    fn io_read(&self, port: u16, width: u8) -> u32;
    /// Writes an I/O port.
    fn io_write(&self, port: u16, width: u8, value: u32);
    /// Lets an interrupt line through, or holds it back.
    fn interrupt_enable(&self, line: u32, enable: bool);
}

/// Maximum number of CPUs.
pub const MAX_CPUS: usize = 64;
/// Number of interrupt lines.
pub const INTERRUPT_LINES: u32 = 64;

/// Word numbers of the fields of a thread's page. The machine's entry code saves the user's
/// registers there.
pub mod thread_page {
    /// The registers, in the order of `ThreadState`, [`REGISTERS`](nacre_abi::state::REGISTERS)
    /// words.
    pub const REGISTERS: usize = 64;
    /// Word of the machine's own: bit 0 = the thread has used the FPU. The rest as the machine
    /// likes.
    pub const MACHINE: usize = 96;
    /// A second word of the machine's own.
    pub const MACHINE_SECOND: usize = 97;
    /// The FPU state (XSAVE, standard form), 3072 bytes.
    pub const FPU: usize = 128;

    /// Numbers of the register words, from [`REGISTERS`] on.
    pub use nacre_abi::register;
}
