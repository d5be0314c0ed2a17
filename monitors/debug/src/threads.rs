//! The threads of a process.

use crate::copier::Copier;
use crate::gates::SystemCall;
use crate::halt::{Halt, is_of_program};
use crate::library::{self, is_in_library};
use crate::signalled::Signalled;
use crate::view::View;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_abi::rights::REFERENCE_ALL;
use nacre_abi::state::ThreadState;
use nacre_gdb::Registers;
use nacre_gdb::registers::{FPU_SIZE, RAX};
use nacre_nest::host::Exception;
use nacre_proto::Errno;
use nacre_sys::{OwnedReference, Reference, Thread, ThreadImage};

/// Flag of the processor: an exception follows each instruction.
pub const TRAP_FLAG: u64 = 0x100;
/// Numbers of threads that have none of Linux's.
const FIRST_NUMBER: u32 = 1 << 22;

/// Places among the general registers.
const RCX: usize = 2;
const R11: usize = 11;
/// Contents of `rax` while a call is made: `-ENOSYS`, as on Linux.
const NO_SUCH_CALL: u64 = (-38i64).cast_unsigned();

/// Purpose for which a thread runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The thread goes on.
    Run,
    /// The thread makes one instruction.
    Step,
    /// The thread gets a signal, and then makes one instruction at the place where it was, where a
    /// breakpoint lies.
    StepAgain,
    /// The thread makes one instruction with watched pages open. True: it was to make one
    /// instruction, and then stops.
    Write(bool),
    /// The thread makes a call with watched pages open. True: it was to make one instruction, and
    /// then stops.
    Call(bool),
}

/// A thread.
pub struct Entry {
    /// Number that gdb knows it by.
    pub number: u32,
    /// Address of the object in our own space; 0 for the first, which others have made.
    pub slot: u64,
    /// Address of the object in our own space as long as it is known, or 0.
    home: u64,
    reference: OwnedReference,
    /// gdb was told of it, so its number stays.
    pub is_told: bool,
    /// We stopped it, and nobody else.
    pub is_ours: bool,
    /// True if it was stopped while it waited for another thread or for time, and whether it has
    /// been let go on since: it makes its wait again.
    is_from_wait: bool,
    pub waits_again: bool,
    /// Purpose for which it runs.
    pub mode: Mode,
    /// Exception that the program does not know of yet.
    pub pending: Option<Exception>,
    /// Signal that it is about to get.
    pub signalled: Option<Signalled>,
    /// True if its last step came before a signal, which it looks at in the next.
    pub puts_off: bool,
    /// Addresses of watched memory that it has changed, of which gdb was not told.
    pub changed: Vec<u64>,
    /// Signal that gdb has given it, and that is on its way.
    pub given: Option<u64>,
    /// Place at which the conductor leaves it.
    pub halt: Option<Halt>,
    /// Address of an instruction that has tried once more to write to an open watched page.
    pub tried: Option<u64>,
    /// True if an exception was on its way when gdb went.
    pub is_late: bool,
    /// A breakpoint at which its step ends.
    pub awaited: Option<u64>,
    /// System call that it is about to make, at which it was stopped.
    pub call: Option<SystemCall>,
    /// Number of the system call that returns at `awaited`.
    pub returns: Option<u64>,
    /// Number of the system call behind which it stands.
    pub returned: Option<u64>,
}

/// A thread and where it lies.
pub struct Located {
    /// Address of the object in our own space at which it was found; 0 for the first thread of a
    /// process.
    pub slot: u64,
    /// Address of the object in our own space, if it is known.
    pub home: u64,
    /// Reference to it, with all rights.
    pub reference: OwnedReference,
}

impl Entry {
    /// The thread.
    pub fn thread(&self) -> Thread {
        Thread::through(self.reference.handle())
    }

    /// Returns true if a reference is known to lead to it. To look in all of a process takes
    /// thousands of times as long.
    fn is_target(&self, thread: Reference) -> bool {
        let page = self.home & !(PAGE_SIZE - 1);
        let is_home = self.home != 0 && thread.reveal(page, PAGE_SIZE).is_ok_and(|found| found.is_some_and(|found| found.address == self.home));
        is_home || self.slot == 0 && has_same_time(self.thread(), thread)
    }

    /// The thread for others, who keep a reference of their own.
    pub fn located(&self) -> Option<Located> {
        let reference = OwnedReference::made_by(|place| self.thread().reference(place, REFERENCE_ALL)).ok()?;
        Some(Located { slot: self.slot, home: self.home, reference })
    }

    /// Reads the state of the stopped thread.
    pub fn state(&self) -> Option<ThreadState> {
        self.thread().get_state().ok()
    }

    /// Sets what a thread has registers for. False: it is not stopped, or waits for an answer that
    /// it would not get then.
    pub fn set(&self, state: &ThreadState) -> bool {
        let flags = state.flags & (ThreadState::STOPPED | ThreadState::FPU_USED | ThreadState::AWAITS_REPLY);
        self.thread().set_state(&ThreadState { flags, fpu_size: 0, scheduler_word: 0, ..*state }).is_ok()
    }

    /// Lets the stopped thread make no single steps.
    pub fn clear_trap(&self) {
        if let Some(state) = self.state() {
            self.set(&ThreadState { rflags: state.rflags & !TRAP_FLAG, ..state });
        }
    }

    /// Lets it go on.
    pub fn start(&mut self) {
        self.is_ours = false;
        self.waits_again |= core::mem::take(&mut self.is_from_wait);
        // One that is not there any more does not run.
        let _ = self.thread().start();
    }

    /// Stops it, if it runs.
    pub fn stop(&mut self) {
        if !self.is_ours && self.state().is_none() {
            self.stop_running();
        }
    }

    /// Stops it, although it may count as stopped.
    fn stop_running(&mut self) {
        let waits = self.thread().waiting().is_ok_and(is_of_program);
        self.is_ours = self.thread().stop().is_ok();
        self.is_from_wait = waits && self.is_ours;
    }
}

/// Returns true if a reference leads to a thread: both have had the same nanoseconds of processors,
/// which is unlikely for two. The first thread of a process that others have made lies nowhere in
/// our own space.
pub fn has_same_time(thread: Thread, other: Reference) -> bool {
    let time = |thread: Thread| thread.time().unwrap_or(0);
    let own = time(thread);
    own != 0 && own == time(Thread::through(other))
}

/// The threads of a process.
pub struct Threads {
    all: Vec<Entry>,
    next: u32,
}

impl Threads {
    /// The threads of a process that has this one.
    pub fn new(first: Thread, number: u32) -> Result<Threads, Errno> {
        let mut threads = Threads { all: Vec::new(), next: FIRST_NUMBER };
        threads.add(first, 0, number)?;
        Ok(threads)
    }

    fn add(&mut self, thread: Thread, slot: u64, number: u32) -> Result<(), Errno> {
        let reference = OwnedReference::made_by(|place| thread.reference(place, REFERENCE_ALL))?;
        let home = if slot == 0 { thread.0 } else { slot };
        self.all.push(Entry { number, slot, home, reference, is_told: false, is_ours: false, is_from_wait: false, waits_again: false, mode: Mode::Run, pending: None, signalled: None, puts_off: false, changed: Vec::new(), given: None, halt: None, tried: None, is_late: false, awaited: None, call: None, returns: None, returned: None });
        Ok(())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.all.iter()
    }

    /// All of them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.all.iter_mut()
    }

    /// The thread with a number.
    pub fn get(&mut self, number: u32) -> Option<&mut Entry> {
        self.all.iter_mut().find(|entry| entry.number == number)
    }

    /// The thread whose object was found at an address.
    pub fn at(&mut self, slot: u64) -> Option<&mut Entry> {
        self.all.iter_mut().find(|entry| entry.slot == slot)
    }

    fn forget_gone(&mut self) {
        self.all.retain(|entry| !entry.reference.is_null().unwrap_or(true));
    }

    /// Looks for threads that were made, and forgets those that are gone. Returns true if there are
    /// others than before.
    pub fn look(&mut self, view: &View) -> bool {
        let before = self.all.len();
        self.forget_gone();
        let is_less = self.all.len() != before;
        let mut is_more = false;
        for slot in view.threads() {
            if self.all.iter().any(|entry| entry.slot == slot) {
                continue;
            }
            is_more |= self.add_new(slot);
        }
        is_less || is_more
    }

    fn add_new(&mut self, slot: u64) -> bool {
        let number = self.next;
        self.next += 1;
        self.add(Thread(slot), slot, number).is_ok()
    }

    /// The thread that a reference leads to.
    pub fn find(&mut self, view: &View, thread: Reference) -> Option<&mut Entry> {
        self.forget_gone();
        if let Some(at) = self.all.iter().position(|entry| entry.is_target(thread)) {
            return self.all.get_mut(at);
        }
        if let Some(at) = self.alike(thread) {
            return self.all.get_mut(at);
        }
        let slot = view.place_of(thread).unwrap_or(0);
        // To look for all threads takes much longer.
        if slot != 0 && self.all.iter().all(|entry| entry.slot != slot) {
            self.add_new(slot);
        }
        self.all.iter_mut().find(|entry| entry.slot == slot)
    }

    /// Returns the place of the only thread that has the state of a stopped one: two that wait have
    /// neither one stack nor one block.
    fn alike(&self, thread: Reference) -> Option<usize> {
        let state = Thread::through(thread).get_state().ok()?;
        let mut found = self.all.iter().enumerate().filter(|(_, entry)| entry.state().as_ref() == Some(&state));
        let (at, _) = found.next()?;
        found.next().is_none().then_some(at)
    }

    /// Stops all that are known.
    pub fn stop_known(&mut self) {
        self.all.iter_mut().for_each(Entry::stop);
    }

    /// Stops all that run.
    pub fn stop(&mut self, view: &View) {
        loop {
            self.stop_known();
            // A thread that was not stopped yet may have made others.
            if !self.look(view) {
                break;
            }
        }
        // Or it has let one go on that it had stopped itself.
        self.all.iter_mut().filter(|entry| entry.state().is_none()).for_each(Entry::stop_running);
    }

    /// Gives threads of Linux programs the numbers that they have there.
    pub fn number(&mut self, memory: (&View, &Copier)) {
        for index in 0..self.all.len() {
            let entry = &self.all[index];
            let is_new = entry.number >= FIRST_NUMBER && !entry.is_told;
            let state = is_new.then(|| entry.state()).flatten().filter(|state| state.gs_base != 0);
            let number = state.and_then(|state| library::thread_number(memory, &state));
            if let Some(number) = number.filter(|number| self.all.iter().all(|entry| entry.number != *number)) {
                self.all[index].number = number;
            }
        }
    }
}

/// Returns true if people want to see a thread: it is the program's own, and has not ended.
pub fn is_shown(memory: (&View, &Copier), entry: &Entry, is_foreign: bool) -> bool {
    if entry.slot == 0 {
        return true;
    }
    let is_own = |state: ThreadState| state.gs_base != 0 && !library::is_parked(memory, &state);
    entry.state().is_some_and(|state| !is_foreign || is_own(state))
}

/// The registers of a thread as its program sees them.
pub fn registers(memory: (&View, &Copier), entry: &Entry) -> Option<Registers> {
    let image = entry.thread().get_image(&[]).ok()?;
    let state = image.state();
    let mut registers = Registers { fs_base: state.fs_base, gs_base: if state.foreign_entry == 0 { state.gs_base } else { 0 }, ..Registers::default() };
    put_fpu(&image, &mut registers.fpu);
    if let Some(frame) = library::frame(memory, &state) {
        let frame = if entry.signalled.is_some() { frame.whole() } else { frame };
        registers.general = frame.general;
        (registers.rip, registers.flags, registers.original) = (frame.rip, frame.flags as u32, frame.call);
        return Some(registers);
    }
    registers.general = general(&state);
    if let Some(call) = entry.call {
        (registers.rip, registers.flags, registers.original) = (call.next, call.flags as u32, call.number);
        (registers.general[RAX], registers.general[RCX], registers.general[R11]) = (NO_SUCH_CALL, call.next, call.flags);
        return Some(registers);
    }
    registers.original = entry.returned.unwrap_or(registers.original);
    registers.rip = state.rip;
    registers.flags = state.rflags as u32;
    Some(registers)
}

fn general(state: &ThreadState) -> [u64; 16] {
    let ThreadState { rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, .. } = *state;
    [rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15]
}

fn put_fpu(image: &ThreadImage, fpu: &mut [u8; FPU_SIZE]) {
    let words = image.words().get(ThreadState::WORDS..).unwrap_or_default();
    if image.state().fpu_size as usize >= FPU_SIZE {
        for (bytes, word) in fpu.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}

/// Sets the registers of a thread. Returns false if it is in a call: the registers are the
/// library's then.
pub fn set_registers(memory: (&View, &Copier), entry: &mut Entry, registers: &Registers) -> bool {
    let Ok(image) = entry.thread().get_image(&[]) else { return false };
    let state = image.state();
    if is_in_library(state.rip) {
        let same = self::registers(memory, entry);
        let is_same = same.is_some_and(|same| Registers { original: same.original, ..registers.clone() } == same);
        let Some(signalled) = entry.signalled.as_mut().filter(|_| !is_same) else { return is_same };
        signalled.is_changed = true;
        let kept = general(&state);
        return library::put_frame(memory, &state, registers) && put_registers(entry, image, &Registers { general: kept, rip: state.rip, flags: state.rflags as u32, ..registers.clone() });
    }
    put_registers(entry, image, registers)
}

/// Sets the registers of a thread, of which `image` is the state.
fn put_registers(entry: &Entry, image: ThreadImage, registers: &Registers) -> bool {
    let state = image.state();
    let [rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15] = registers.general;
    debug_assert_eq!(RAX, 0);
    let flags = state.flags & (ThreadState::STOPPED | ThreadState::FPU_USED | ThreadState::AWAITS_REPLY);
    let state = ThreadState {
        flags,
        rax,
        rbx,
        rcx,
        rdx,
        rsi,
        rdi,
        rbp,
        rsp,
        r8,
        r9,
        r10,
        r11,
        r12,
        r13,
        r14,
        r15,
        rip: registers.rip,
        rflags: registers.flags.into(),
        fs_base: registers.fs_base,
        scheduler_word: 0,
        ..state
    };
    let mut words: Vec<u64> = image.words().to_vec();
    words[..ThreadState::WORDS].copy_from_slice(&state.to_words());
    if state.fpu_size as usize >= FPU_SIZE {
        for (word, bytes) in words[ThreadState::WORDS..].iter_mut().zip(registers.fpu.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
    }
    entry.thread().set_image(&ThreadImage::from_words(&words), &[]).is_ok()
}
