//! A thread runs other registers, as a user, in another space (kind USER).
//!
//! While it does, the CPU has another interrupt table and another target of `syscall`, and entry
//! code saves registers in the frame itself (`syscall`) or in [`STATES`] (all else) instead of
//! the thread's page. So usual ways in and out know nothing of it. Whatever comes in puts the
//! registers into the frame and the thread's own state back into the CPU before anything else. From
//! there on the thread is one that stands at its call, and what came is taken as if it had come
//! there.

use super::super::context::root_use;
use super::super::cpu::{self, Cpu};
use super::super::direct_map::{direct, thread_words};
use super::super::latency::EntryKind;
use super::super::{doors, features, fpu, io, locks, ways_out};
use super::entry::uses_from_now;
use super::frame::{self, read, write};
use super::user_entry;
use core::cell::Cell;
use core::sync::atomic::Ordering;
use nacre_abi::{Call, USER_END};
use nacre_abi::fault::ERROR_FETCH;
use nacre_abi::frame::{EXIT_CALL, EXIT_EXCEPTION, event, word};
use nacre_core::machine::thread_page::{self, register};
use nacre_core::machine::{GuestEntry, MAX_CPUS, Physical};

const ENTER: u64 = Call::ThreadEnter as u64;
const DEBUG: u64 = 1;
const NO_FPU: u64 = 7;
const DOUBLE_FAULT: u64 = 8;
const PROTECTION: u64 = 13;
const PAGE_FAULT: u64 = 14;
const MACHINE_CHECK: u64 = 18;
const FIRST_INTERRUPT: u64 = 32;
/// Bits of an error code: a user's access, and one by a table that is none.
const ERROR_USER: u64 = 4;
const ERROR_RESERVED: u64 = 8;

/// Number of words that entry code saves.
const COUNT: usize = register::RFLAGS + 1;
/// Place of each general register, in the order of a frame, among those words.
const ORDER: [usize; 16] = [
    register::RAX, register::RCX, register::RDX, register::RBX, register::RSP, register::RBP, register::RSI, register::RDI,
    register::R8, register::R9, register::R10, register::R11, register::R12, register::R13, register::R14, register::R15,
];
const BASES: [usize; 2] = [word::FS_BASE, word::GS_BASE];

/// Flags as in `ways_out`, in words of 64 bits.
const USER_FLAGS: u64 = ways_out::USER_FLAGS as u64;
const FIXED_FLAGS: u64 = ways_out::FIXED_FLAGS as u64;
const NO_SYSRET: u64 = ways_out::NO_SYSRET as u64;

const RCX: usize = word::REGISTERS + 1;
const R11: usize = word::REGISTERS + 11;
/// Offset behind the words of a frame that a `syscall` saves, whose last are `RIP` and `RFLAGS`.
const FRAME_END: u64 = 8 * (word::RFLAGS as u64 + 1);
const _: () = assert!(word::RIP == word::REGISTERS + 16 && word::RFLAGS == word::RIP + 1);

/// State of a CPU that runs frames.
#[repr(align(64))]
struct State {
    /// Registers of the frame, in the order of a thread's page.
    registers: [Cell<u64>; COUNT],
    /// Address to which `syscall` leads where no frame runs.
    calls: Cell<u64>,
    /// Set if the frame that was entered last is a user's.
    is_usual: Cell<bool>,
    /// Addresses of the interrupt tables: the usual one, and that of a CPU that runs a frame.
    interrupts: [Cell<u64>; 2],
}

struct OfCpus([State; MAX_CPUS]);

// SAFETY: each CPU reaches its own alone.
unsafe impl Sync for OfCpus {}

/// States of all CPUs, which no user's tables show; those show all of a [`Cpu`].
static STATES: OfCpus = OfCpus([const { State { registers: [const { Cell::new(0) }; COUNT], calls: Cell::new(0), is_usual: Cell::new(false), interrupts: [const { Cell::new(0) }; 2] } }; MAX_CPUS]);

#[inline(always)]
fn state() -> &'static State {
    &STATES.0[cpu::index()]
}

/// Tells the CPU that this runs on the addresses of its interrupt tables.
pub fn prepare(interrupts: [u64; 2]) {
    state().interrupts.iter().zip(interrupts).for_each(|(place, base)| place.set(base));
}

/// The short course of `thread_enter`: comes back if it is not the one to take.
#[inline(always)]
pub fn enter_briefly() {
    if !state().is_usual.get() || !locks::enter() {
        return;
    }
    let cpu = cpu::this();
    let is_entered = doors::kernel().short_call(ENTER);
    let entry = if is_entered { cpu.guest.take() } else { None };
    if let Some((_, entry)) = entry {
        // Who takes something out of the tables has all locks, and waits until this CPU's is free.
        uses_from_now(cpu, Some(entry));
        locks::leave();
        run(cpu, entry);
    }
    locks::leave();
}

/// Notes whether the frame that is entered is a user's: one of another kind has no short course.
#[inline(always)]
pub fn note(is_user: bool) {
    state().is_usual.set(is_user);
}

/// Runs the frame.
pub fn run(cpu: &Cpu, entry: GuestEntry) -> ! {
    let (frame, thread) = (entry.frame, cpu.live_thread());
    let (Some(thread), Some(bases)) = (thread, bases_of(frame)) else {
        uses_from_now(cpu, None);
        frame::refuse(frame);
        doors::pass_call()
    };
    let rip = read(frame, word::RIP);
    if rip >= USER_END {
        uses_from_now(cpu, None);
        fetch_fault(frame, rip);
        doors::pass_call()
    }
    let flags = read(frame, word::RFLAGS) & USER_FLAGS | FIXED_FLAGS;
    if let Some(own) = user_entry::bases_exchange(bases) {
        put_own_bases(thread_words(thread), own);
    }
    cpu.registers.set(state().registers.as_ptr() as u64);
    cpu.registers_end.set(direct(frame.add(FRAME_END)));
    cpu.guest.set(Some((thread, entry)));
    if entry.hides_time {
        features::time_hide(true);
    }
    user_entry::system_calls_lead(true, &state().calls);
    user_entry::interrupts_lead(state().interrupts[1].get());
    root_use::<false>(cpu, entry.root.0);
    // What `sysret` makes of them: it takes both from registers of the user.
    let is_brief = read(frame, RCX) == rip && read(frame, R11) == flags && flags & NO_SYSRET == 0;
    if is_brief {
        user_entry::go_on(direct(frame.add(8 * word::REGISTERS as u64)), rip, flags)
    }
    load(frame, rip, flags);
    doors::leave()
}

/// The bases of a frame, if the processor takes them.
fn bases_of(frame: Physical) -> Option<(u64, u64)> {
    let [fs, gs] = BASES.map(|number| read(frame, number));
    [fs, gs].into_iter().all(is_canonical).then_some((fs, gs))
}

fn is_canonical(address: u64) -> bool {
    (address << 16) as i64 >> 16 == address as i64
}

fn own_bases(page: &[Cell<u64>; 512]) -> (u64, u64) {
    (page[thread_page::REGISTERS + register::FS_BASE].get(), page[thread_page::REGISTERS + register::GS_BASE].get())
}

fn put_own_bases(page: &[Cell<u64>; 512], (fs, gs): (u64, u64)) {
    page[thread_page::REGISTERS + register::FS_BASE].set(fs);
    page[thread_page::REGISTERS + register::GS_BASE].set(gs);
}

/// Tells what the processor says to who goes on at an address that is no user's.
fn fetch_fault(frame: Physical, rip: u64) {
    if is_canonical(rip) {
        tell(frame, event::MEMORY, EXIT_EXCEPTION + PAGE_FAULT, [ERROR_USER | ERROR_FETCH, rip]);
    } else {
        tell(frame, event::EXIT, EXIT_EXCEPTION + PROTECTION, [0, 0]);
    }
}

fn tell(frame: Physical, event: u64, exit: u64, information: [u64; 2]) {
    write(frame, word::EXIT, exit);
    word::INFORMATION.iter().zip(information).for_each(|(number, value)| write(frame, *number, value));
    write(frame, word::EVENT, event);
}

/// Takes the registers from the frame. Each of its words is read once.
fn load(frame: Physical, rip: u64, flags: u64) {
    let to = &state().registers;
    ORDER.iter().enumerate().for_each(|(number, place)| to[*place].set(read(frame, word::REGISTERS + number)));
    to[register::RIP].set(rip);
    to[register::RFLAGS].set(flags);
}

/// Puts the registers that entry code has saved into the frame.
fn store(frame: Physical) {
    let from = &state().registers;
    ORDER.iter().enumerate().for_each(|(number, place)| write(frame, word::REGISTERS + number, from[*place].get()));
    write(frame, word::RIP, from[register::RIP].get());
    write(frame, word::RFLAGS, from[register::RFLAGS].get());
}

/// Puts the thread's own state back into the CPU; the frame, whose registers are in it unless
/// `is_saved`.
#[inline(always)]
fn restore(cpu: &Cpu, is_saved: bool) -> Physical {
    let Some((thread, entry)) = cpu.guest.take() else { panic!("a CPU comes out of a frame that it does not run") };
    let (frame, page) = (entry.frame, thread_words(thread));
    if is_saved {
        store(frame);
    }
    if let Some((fs, gs)) = user_entry::bases_exchange(own_bases(page)) {
        BASES.iter().zip([fs, gs]).for_each(|(number, base)| write(frame, *number, base));
    }
    user_entry::interrupts_lead(state().interrupts[0].get());
    user_entry::system_calls_lead(false, &state().calls);
    if entry.hides_time {
        features::time_hide(false);
    }
    let own = &page[thread_page::REGISTERS..][..COUNT];
    cpu.registers.set(own.as_ptr() as u64);
    cpu.registers_end.set(own.as_ptr_range().end as u64);
    root_use::<false>(cpu, cpu.guest_roots[1].load(Ordering::Relaxed));
    // From here on the root in use tells, as for any thread, who has to wait for this CPU.
    uses_from_now(cpu, None);
    frame
}

/// The user has made a `syscall`.
pub extern "C" fn called() -> ! {
    let frame = restore(cpu::this(), false);
    write(frame, word::EXIT, EXIT_CALL);
    frame::tell(frame);
    doors::pass_call()
}

/// An exception of the user's, or an interrupt. Comes back if it is one of those that are taken as
/// if the thread had been at its call.
pub fn interrupted(vector: u64, error: u64) {
    let (cpu, address) = (cpu::this(), io::cr2_read());
    let frame = restore(cpu, true);
    match vector {
        FIRST_INTERRUPT.. => {}
        DOUBLE_FAULT | MACHINE_CHECK => panic!("the machine reports exception {vector}"),
        NO_FPU => {
            fpu::trapped(cpu);
            doors::leave()
        }
        PAGE_FAULT => {
            assert!(error & ERROR_RESERVED == 0, "a page table is damaged");
            write(frame, word::EXIT, EXIT_EXCEPTION + PAGE_FAULT);
            doors::locked(EntryKind::Vector(vector), |kernel| kernel.guest_fault(address, doors::needed(error), error))
        }
        _ => {
            if vector == DEBUG {
                io::debug_status_clear();
            }
            tell(frame, event::EXIT, EXIT_EXCEPTION + vector, [error, 0]);
            doors::pass_call()
        }
    }
}
