//! What each CPU has of its own: the words that entry code reaches through `gs`, and the state of
//! its user context.

use super::descriptors::Descriptors;
use super::layout;
use core::arch::asm;
use core::cell::Cell;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use nacre_core::machine::{GuestEntry, MAX_CPUS, Physical};

/// One CPU. Reached by that CPU itself, except for the atomic fields.
#[repr(C, align(64))]
pub struct Cpu {
    /// Address of the first register word of the thread whose user context this CPU has.
    pub registers: Cell<u64>,
    /// Address after that thread's flags word, where entry code starts pushing.
    pub registers_end: Cell<u64>,
    /// Temporary place for the user's stack pointer while entry code has no free register.
    pub user_stack: Cell<u64>,
    /// The end of this CPU's kernel stack.
    pub kernel_stack: Cell<u64>,
    /// The thread's entry for foreign calls, or 0.
    pub foreign_entry: Cell<u64>,
    /// Address of the code that goes to user mode.
    pub leave: Cell<u64>,
    /// Root of the kernel's own tables, as CR3 takes it.
    pub kernel_root: Cell<u64>,
    /// The end of the stack on which user mode is left and entered.
    pub entry_stack: Cell<u64>,
    /// Address of this structure.
    pub this: Cell<u64>,
    /// Number of the CPU.
    pub index: Cell<u64>,
    /// Root of the user's tables in use.
    pub root: AtomicU64,
    /// Thread page whose bases and FPU state are in this CPU's registers and may be newer than the
    /// page; 0 = none.
    pub live: AtomicU64,
    /// Thread page whose FPU state is in the registers, if the page's second machine word agrees.
    pub fpu_owner: Cell<u64>,
    /// Set if use of the FPU traps.
    pub fpu_traps: Cell<bool>,
    /// Deadline that the timer was last set to; `u64::MAX` for none.
    pub deadline: Cell<u64>,
    /// Lock of this CPU: set while it is in the core beside others. See `lock`.
    pub inside: AtomicBool,
    /// Number of the local APIC.
    pub apic_id: Cell<u32>,
    /// The thread that enters a guest when this CPU leaves the kernel, and which.
    pub guest: Cell<Option<(Physical, GuestEntry)>>,
    /// Roots of the tables of the guest that this CPU runs, or 0.
    pub guest_roots: [AtomicU64; 2],
    /// Root of the tables of which this CPU keeps extended ones for guests, or 0.
    pub guest_tables: AtomicU64,
    /// Number of frames that those take.
    pub guest_tables_used: Cell<u64>,
    /// The stack on which user mode is left and entered, up to the descriptors: it is mapped
    /// wherever users run.
    entries: [u64; 16],
    /// Descriptor tables.
    pub descriptors: Descriptors,
}

impl Cpu {
    pub const REGISTERS: usize = offset_of!(Cpu, registers);
    pub const REGISTERS_END: usize = offset_of!(Cpu, registers_end);
    pub const USER_STACK: usize = offset_of!(Cpu, user_stack);
    pub const KERNEL_STACK: usize = offset_of!(Cpu, kernel_stack);
    pub const FOREIGN_ENTRY: usize = offset_of!(Cpu, foreign_entry);
    pub const LEAVE: usize = offset_of!(Cpu, leave);
    pub const KERNEL_ROOT: usize = offset_of!(Cpu, kernel_root);
    pub const ROOT: usize = offset_of!(Cpu, root);
    pub const ENTRY_STACK: usize = offset_of!(Cpu, entry_stack);

    /// A CPU that has no thread. Its block must be mapped.
    pub fn new(index: usize, apic_id: u32) -> Cpu {
        let block = layout::block(index);
        let entry_stack = block + layout::CPU_DATA + offset_of!(Cpu, descriptors) as u64;
        Cpu {
            registers: Cell::new(0),
            registers_end: Cell::new(0),
            user_stack: Cell::new(0),
            kernel_stack: Cell::new(block + layout::STACK_END),
            foreign_entry: Cell::new(0),
            leave: Cell::new(0),
            kernel_root: Cell::new(super::direct_map::kernel_root().0),
            entry_stack: Cell::new(entry_stack),
            this: Cell::new(block + layout::CPU_DATA),
            index: Cell::new(index as u64),
            root: AtomicU64::new(0),
            live: AtomicU64::new(0),
            fpu_owner: Cell::new(0),
            fpu_traps: Cell::new(false),
            deadline: Cell::new(u64::MAX),
            inside: AtomicBool::new(false),
            apic_id: Cell::new(apic_id),
            entries: [0; 16],
            guest: Cell::new(None),
            guest_roots: [const { AtomicU64::new(0) }; 2],
            guest_tables: AtomicU64::new(0),
            guest_tables_used: Cell::new(0),
            descriptors: Descriptors::new(block, entry_stack),
        }
    }

    /// The thread whose context is live here.
    pub fn live_thread(&self) -> Option<Physical> {
        Some(self.live.load(Ordering::Relaxed)).filter(|live| *live != 0).map(Physical)
    }
}

const _: () = assert!(size_of::<Cpu>() <= 4096);

/// The CPU that this runs on.
#[inline(always)]
pub fn this() -> &'static Cpu {
    let address: *const Cpu;
    // SAFETY: in the kernel `gs` is always this CPU's data.
    unsafe { asm!("mov {}, gs:[{}]", out(reg) address, const offset_of!(Cpu, this), options(pure, nomem, nostack, preserves_flags)) };
    // SAFETY: it was made at boot and stays; what is not atomic in it is used by this CPU alone.
    unsafe { &*address }
}

/// Number of the CPU that this runs on.
#[inline(always)]
pub fn index() -> usize {
    let index: usize;
    // SAFETY: as in `this`; the number never changes.
    unsafe { asm!("mov {}, gs:[{}]", out(reg) index, const offset_of!(Cpu, index), options(pure, nomem, nostack, preserves_flags)) };
    // SAFETY: no CPU has a higher number.
    unsafe { core::hint::assert_unchecked(index < MAX_CPUS) };
    index
}

static CPUS: [AtomicPtr<Cpu>; MAX_CPUS] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_CPUS];

/// Another CPU, if it was started. Only its atomic fields may be used.
pub fn other(index: usize) -> Option<&'static Cpu> {
    let address = CPUS.get(index)?.load(Ordering::Acquire);
    // SAFETY: null or a CPU made at boot, which stays.
    unsafe { address.as_ref() }
}

/// Every CPU that was started.
pub fn all() -> impl Iterator<Item = &'static Cpu> {
    (0..MAX_CPUS).map_while(other)
}

/// Makes the data of CPU `index` in its block.
pub fn create(index: usize, apic_id: u32) -> &'static Cpu {
    let place = (layout::block(index) + layout::CPU_DATA) as *mut Cpu;
    // SAFETY: the block is mapped and nobody else has it; `Cpu` fits its page.
    unsafe { place.write(Cpu::new(index, apic_id)) };
    CPUS[index].store(place, Ordering::Release);
    // SAFETY: just written, and it stays.
    unsafe { &*place }
}

/// CPUs that take part.
pub static STARTED: AtomicU64 = AtomicU64::new(1);

/// CPUs that take part, as a set.
#[inline(always)]
pub fn started() -> u64 {
    STARTED.load(Ordering::Relaxed)
}

/// The thread is gone: what a CPU has of it counts no more.
pub fn forget(thread: Physical) {
    if let Some(cpu) = all().find(|cpu| cpu.live_thread() == Some(thread)) {
        cpu.live.store(0, Ordering::Relaxed);
    }
}
