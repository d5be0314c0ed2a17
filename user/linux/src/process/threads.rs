//! The process's threads: what the library knows of each, and the calls about them.
//!
//! States of a thread: running (in the table); ended (parked: its kernel thread waits, out of the table, until another thread of the program is made of it).

use crate::abi::errno::{Answer, E2BIG, EAGAIN, EINVAL, EPERM, ESRCH, Errno};
use crate::abi::registers::Frame;
use crate::calls::ipc::futex::{self, Wait};
use crate::calls::ipc::futex_waitv::Several;
use crate::calls::processes::fork;
use crate::entry::assembly::{self, AREA_SIZE};
use crate::process::{Process, end, post_signal};
use crate::raw::thread_block::{Block, Woken};
use crate::state::memory::user_access;
use crate::state::signals::pending::Pending;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use nacre_abi::{Rights, USER_END};
use nacre_abi::state::ThreadState;
use nacre_proto::process as manager;
use nacre_rt::memory::{Segment, addresses};
use nacre_sys::{OwnedThread, Reference, Space};

/// Most threads of a process.
const MOST: usize = 1024;
/// Flags that a thread runs with besides those of its maker: interrupts on, and the bit that is always set.
const FLAGS: u64 = 0x202;
const CLONE_VM: u64 = 0x100;
const CLONE_SIGHAND: u64 = 0x800;
const CLONE_THREAD: u64 = 0x1_0000;
const CLONE_SETTLS: u64 = 0x8_0000;
const CLONE_PARENT_SETTID: u64 = 0x10_0000;
const CLONE_CHILD_CLEARTID: u64 = 0x20_0000;
const CLONE_CHILD_SETTID: u64 = 0x100_0000;
const GETPID: usize = 39;
const GETPPID: usize = 110;
const GETTID: usize = 186;

/// What is known of one thread.
pub struct Thread {
    /// Linux's number of it.
    pub number: u64,
    /// Its block, above its library stack.
    pub block: &'static Block,
    /// The kernel's thread.
    pub kernel: nacre_sys::Thread,
    /// Signals that it does not take.
    pub mask: u64,
    /// The mask that holds again when the call that it is in has ended.
    pub saved_mask: Option<u64>,
    /// Signals that it waits for in a call, though it blocks them.
    pub waits_for: u64,
    /// Signals for this thread alone.
    pub pending: Pending,
    /// Start and size of its alternate signal stack; size 0: none.
    pub alternate: [u64; 2],
    /// Flags that the alternate stack was set with.
    pub alternate_flags: u64,
    /// Where 0 is written, and a waiter woken, when it ends.
    pub clear_number: u64,
    /// Head of its list of robust futexes.
    pub robust: u64,
    /// Its name.
    pub name: [u8; 16],
    /// Base of `fs`.
    pub fs_base: u64,
    /// It waits at its block: whoever wants it wakes it there.
    pub sleeping: bool,
    /// What it waits for in the process, if it does: see [`futex`](crate::calls::ipc::futex).
    pub awaits: Option<Wait>,
    /// Words that it waits for at once.
    pub awaits_several: Several,
    /// It waits for something to change in a file of the process, or one that the agent hears of.
    pub awaits_pipe: bool,
    /// Error and kind of its last exception, as a handler's frame shows them.
    pub trap: [u64; 2],
    /// The processors that it was to run on, a bit for each; 0: on any.
    pub processors: u64,
    /// When a sleep that was cut off, and is made again, was to end.
    pub deadline: Option<u64>,
    /// What the kernel's thread had used when it became this one.
    used_before: u64,
}

impl Thread {
    /// A thread with this number, block and kernel thread.
    pub fn new(number: u64, block: &'static Block, kernel: nacre_sys::Thread) -> Thread {
        block.set_quick(GETTID, number);
        Thread {
            number,
            block,
            kernel,
            mask: 0,
            saved_mask: None,
            waits_for: 0,
            pending: Pending::new(),
            alternate: [0; 2],
            alternate_flags: 0,
            clear_number: 0,
            robust: 0,
            name: [0; 16],
            fs_base: 0,
            sleeping: false,
            awaits: None,
            awaits_several: Default::default(),
            awaits_pipe: false,
            trap: [0; 2],
            processors: 0,
            deadline: None,
            used_before: used_by(kernel),
        }
    }
}

/// Nanoseconds of processors; one that is not there any more tells nothing.
fn used_by(kernel: nacre_sys::Thread) -> u64 {
    kernel.time().unwrap_or(0)
}

impl Thread {
    /// It runs another program: what belonged to the old one's memory goes.
    pub fn renew(&mut self) {
        let fresh = Thread::new(self.number, self.block, self.kernel);
        *self = Thread { mask: self.mask, name: self.name, processors: self.processors, used_before: self.used_before, ..fresh };
    }

    /// Nanoseconds of processors that it has used.
    pub fn used(&self) -> u64 {
        used_by(self.kernel).saturating_sub(self.used_before)
    }

    /// Gives it another number.
    pub fn set_number(&mut self, number: u64) {
        self.number = number;
        self.block.set_quick(GETTID, number);
    }
}

/// A kernel thread that serves no thread of the program at present.
#[derive(Clone, Copy)]
struct Spare {
    block: &'static Block,
    kernel: nacre_sys::Thread,
}

/// All threads.
pub struct Threads {
    slots: Vec<Option<Box<Thread>>>,
    spare: Vec<Spare>,
    /// The number that the next thread gets, where nobody else gives numbers.
    next: u64,
}

impl Threads {
    /// The first thread alone. Its number is that of the process, which is asked for when somebody wants to know.
    pub fn new(first: Thread) -> Threads {
        first.block.set_quick(GETTID, u64::MAX);
        let next = first.number + 1;
        Threads { slots: alloc::vec![Some(Box::new(first))], spare: Vec::new(), next }
    }

    /// The thread in a place of the table.
    pub fn get(&self, index: usize) -> Option<&Thread> {
        self.slots.get(index).and_then(Option::as_deref)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Thread> {
        self.slots.get_mut(index).and_then(Option::as_deref_mut)
    }

    /// Every thread, with its place.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Thread)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| slot.as_deref().map(|thread| (index, thread)))
    }

    /// Nanoseconds of processors that all have used, those that have ended too.
    pub fn used(&self) -> u64 {
        self.all().map(|(_, thread)| thread.kernel).chain(self.spare.iter().map(|spare| spare.kernel)).map(used_by).sum()
    }

    /// How many places the table has.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// Whether there is, and was, only the first.
    pub fn is_first_alone(&self) -> bool {
        self.slots.len() == 1 && self.spare.is_empty()
    }

    /// Where the thread with a number is.
    pub fn find(&self, number: u64) -> Option<usize> {
        self.all().find(|(_, thread)| thread.number == number).map(|(index, _)| index)
    }

    /// A kernel thread with a block and stack: one that has ended, or a new one.
    fn obtain(&mut self) -> Result<Spare, Errno> {
        if let Some(index) = self.spare.iter().position(|spare| spare.block.parked.load(Ordering::Acquire) != 0) {
            let spare = self.spare.swap_remove(index);
            spare.kernel.stop().map_err(|_| EAGAIN)?;
            spare.block.parked.store(0, Ordering::Relaxed);
            return Ok(spare);
        }
        if self.count() + self.spare.len() >= MOST {
            return Err(EAGAIN);
        }
        let start = addresses(AREA_SIZE as u64).ok_or(EAGAIN)?;
        let area = Segment::map(start, AREA_SIZE as u64, Rights::NONE).map_err(|_| EAGAIN)?;
        let kernel = OwnedThread::make(|slot| nacre_sys::Thread::create(slot, Space::OWN)).map_err(|_| EAGAIN)?.leak();
        Ok(Spare { block: user_access::block_in(area), kernel })
    }

    /// Enters a thread; its place.
    fn insert(&mut self, thread: Thread) -> usize {
        let index = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        if index == self.slots.len() {
            self.slots.push(None);
        }
        thread.block.index.store(index as u32, Ordering::Release);
        self.slots[index] = Some(Box::new(thread));
        index
    }
}

/// What a new thread starts with.
struct Request {
    flags: u64,
    stack: u64,
    parent_number: u64,
    child_number: u64,
    pointer: u64,
}

impl Process {
    /// The thread whose call this is.
    #[inline]
    pub fn me(&mut self) -> &mut Thread {
        self.thread_at(self.caller)
    }

    /// The thread at a place, or the first one.
    pub fn thread_at(&mut self, index: usize) -> &mut Thread {
        // Whoever makes a call is in the table; the first place is never empty while the process lives.
        let index = if self.threads.get(index).is_some() { index } else { 0 };
        self.threads.get_mut(index).unwrap_or_else(|| unreachable!("a process without its first thread"))
    }

    /// Gives the library's lock up while `wait` runs.
    pub fn unlocked<R>(&mut self, wait: impl FnOnce() -> R) -> R {
        assembly::unlocked(self, wait)
    }

    /// Waits at the thread's block, without the lock, until somebody wakes it or `timeout` nanoseconds have passed (0: for ever). Returns at once if there is
    /// a signal to look at; whoever calls this looks with [`Process::is_interrupted`].
    pub fn sleep(&mut self, timeout: u64) -> Woken {
        let block = self.me().block;
        let seen = block.seen();
        if block.has_attention() {
            return Woken::Called;
        }
        self.me().sleeping = true;
        let woken = self.unlocked(|| block.wait(seen, timeout));
        self.me().sleeping = false;
        woken
    }

    /// Whether the caller's wait is to end for a signal, or because the process is to stop.
    pub fn is_interrupted(&mut self) -> bool {
        if !self.me().block.has_attention() {
            return false;
        }
        // It may have been for something that is there no more.
        self.look_again();
        self.me().block.has_attention()
    }

    /// From now on all threads answer `getpid` and `getppid` with these numbers, without the lock; without a parent's number they ask each time.
    pub fn set_quick_numbers(&mut self, own: u64, parent: Option<u64>) {
        for (_, thread) in self.threads.all() {
            thread.block.set_quick(GETPID, own);
            thread.block.set_quick(GETPPID, parent.unwrap_or(u64::MAX));
        }
    }

    /// From now on all threads answer `getppid` with what stands at this address, for ever, without the lock.
    pub fn set_quick_parent(&mut self, address: u64) {
        for (_, thread) in self.threads.all() {
            thread.block.set_quick_from(GETPPID, address);
        }
    }

    /// Stops all threads but the caller, for ever: the process ends.
    pub fn halt_others(&mut self) {
        let caller = self.caller;
        for (_, thread) in self.threads.all().filter(|(index, _)| *index != caller) {
            // One that cannot be stopped has ended already.
            let _ = thread.kernel.stop();
        }
    }

    fn new_number(&mut self) -> Result<u64, Errno> {
        if self.is_managed() {
            return Ok(manager::thread_create(Reference::PARENT)?.thread);
        }
        self.threads.next += 1;
        Ok(self.threads.next - 1)
    }
}

fn check(request: &Request) -> Result<(), Errno> {
    if request.flags & (CLONE_SIGHAND | CLONE_VM) != CLONE_SIGHAND | CLONE_VM || request.stack == 0 {
        return Err(EINVAL);
    }
    if request.flags & CLONE_SETTLS != 0 && request.pointer >= USER_END { Err(EPERM) } else { Ok(()) }
}

/// Makes a thread that goes on where the caller's call returns, on a stack of its own, with 0 for the call's result.
fn create(process: &mut Process, frame: &Frame, request: &Request) -> Answer {
    check(request)?;
    for (flag, address) in [(CLONE_PARENT_SETTID, request.parent_number), (CLONE_CHILD_SETTID, request.child_number)] {
        if request.flags & flag != 0 {
            process.memory.writable(address, 4)?;
        }
    }
    let spare = process.threads.obtain()?;
    let number = process.new_number()?;
    let mut thread = Thread::new(number, spare.block, spare.kernel);
    let maker = process.me();
    (thread.mask, thread.name, thread.fs_base, thread.processors) = (maker.mask, maker.name, maker.fs_base, maker.processors);
    spare.block.copy_quick(maker.block, &[GETPID, GETPPID]);
    if request.flags & CLONE_SETTLS != 0 {
        thread.fs_base = request.pointer;
    }
    if request.flags & CLONE_CHILD_CLEARTID != 0 {
        thread.clear_number = request.child_number;
    }
    if let Err(status) = spare.kernel.set_state(&first_state(frame, request.stack, &thread)) {
        process.threads.spare.push(spare);
        return Err(Errno::from(status));
    }
    for (flag, address) in [(CLONE_PARENT_SETTID, request.parent_number), (CLONE_CHILD_SETTID, request.child_number)] {
        if request.flags & flag != 0 {
            process.memory.write_half(address, number as u32)?;
        }
    }
    spare.block.set_attention(false);
    process.threads.insert(thread);
    spare.kernel.start().map_err(|_| EAGAIN)?;
    Ok(number)
}

/// The registers of a thread that begins.
fn first_state(frame: &Frame, stack: u64, thread: &Thread) -> ThreadState {
    let [rdi, rsi, rdx, r10, r8, r9] = frame.arguments();
    let [rbx, rbp, r12, r13, r14, r15] = frame.kept;
    ThreadState {
        flags: ThreadState::STOPPED,
        rbx,
        rcx: frame.next,
        rdx,
        rsi,
        rdi,
        rbp,
        rsp: stack,
        r8,
        r9,
        r10,
        r11: frame.flags,
        r12,
        r13,
        r14,
        r15,
        rip: frame.next,
        rflags: frame.flags | FLAGS,
        fs_base: thread.fs_base,
        gs_base: thread.block as *const Block as u64,
        foreign_entry: assembly::foreign_entry(),
        ..ThreadState::default()
    }
}

/// `clone(flags, stack, parent number, child number, thread pointer)`.
pub fn clone(process: &mut Process, frame: &mut Frame) -> Answer {
    const PARENT_SETTID_AND_PIDFD: u64 = CLONE_PARENT_SETTID | 0x1000;
    let [flags, stack, parent_number, child_number, pointer, _] = frame.arguments();
    if flags & CLONE_THREAD == 0 {
        if flags & PARENT_SETTID_AND_PIDFD == PARENT_SETTID_AND_PIDFD {
            return Err(EINVAL);
        }
        let (exit_signal, descriptor) = (flags & 0xff, parent_number);
        return fork::clone(process, frame, &fork::Request { flags, exit_signal, stack, descriptor, parent_number, child_number, pointer });
    }
    create(process, frame, &Request { flags, stack, parent_number, child_number, pointer })
}

/// `clone3(arguments, size)`.
pub fn clone3(process: &mut Process, frame: &mut Frame) -> Answer {
    const LEAST: u64 = 64;
    const KNOWN: u64 = 88;
    /// The signal's bits, and `CLONE_DETACHED`.
    const NOT_HERE: u64 = 0x40_00ff;
    let [address, size, ..] = frame.arguments();
    if size < LEAST {
        return Err(EINVAL);
    }
    if size > nacre_abi::PAGE_SIZE {
        return Err(E2BIG);
    }
    if size > KNOWN && process.memory.readable(address + KNOWN, size - KNOWN)?.iter().any(|byte| *byte != 0) {
        return Err(E2BIG);
    }
    let [flags, descriptor, child_number, parent_number, exit_signal, stack, stack_size, pointer] = process.memory.read_words(address)?;
    if flags & NOT_HERE != 0 || (stack == 0) != (stack_size == 0) || exit_signal > 64 || flags & CLONE_THREAD != 0 && exit_signal != 0 {
        return Err(EINVAL);
    }
    let stack = stack.checked_add(stack_size).ok_or(EINVAL)?;
    if flags & CLONE_THREAD == 0 {
        return fork::clone(process, frame, &fork::Request { flags, exit_signal, stack, descriptor, parent_number, child_number, pointer });
    }
    create(process, frame, &Request { flags, stack, parent_number, child_number, pointer })
}

/// `exit(status)`: the thread ends, and with the last one the process.
pub fn exit(process: &mut Process, frame: &mut Frame) -> Answer {
    if process.threads.count() == 1 {
        return end::exit(process, frame);
    }
    futex::release_robust(process);
    let address = core::mem::take(&mut process.me().clear_number);
    if address != 0 && process.memory.write_half(address, 0).is_ok() {
        futex::wake_all(process, address);
    }
    let caller = process.caller;
    let Some(ended) = process.threads.slots.get_mut(caller).and_then(Option::take) else {
        return Err(ESRCH);
    };
    let Thread { block, kernel, number, .. } = *ended;
    if process.is_managed() {
        // A manager that does not hear of it keeps the number.
        let _ = manager::thread_end(Reference::PARENT, number);
    }
    post_signal::pass_on(process);
    process.threads.spare.push(Spare { block, kernel });
    drop(ended);
    assembly::park(block)
}

/// `gettid()`.
pub fn gettid(process: &mut Process, _: &mut Frame) -> Answer {
    process.pid();
    Ok(process.me().number)
}

/// `set_tid_address(address)`.
pub fn set_tid_address(process: &mut Process, frame: &mut Frame) -> Answer {
    process.me().clear_number = frame.arguments()[0];
    process.pid();
    Ok(process.me().number)
}

/// `set_robust_list(head, size)`.
pub fn set_robust_list(process: &mut Process, frame: &mut Frame) -> Answer {
    let [head, size, ..] = frame.arguments();
    if size != 24 {
        return Err(EINVAL);
    }
    process.me().robust = head;
    Ok(0)
}

/// `get_robust_list(thread, head, size)`.
pub fn get_robust_list(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, head, size, ..] = frame.arguments();
    let index = process.thread_named(number)?;
    let robust = process.threads.get(index).map_or(0, |thread| thread.robust);
    process.memory.write_words(size, &[24])?;
    process.memory.write_words(head, &[robust])?;
    Ok(0)
}

impl Process {
    /// Where the thread is that a call names; 0 is the caller.
    pub fn thread_named(&self, number: u64) -> Result<usize, Errno> {
        if number as i32 == 0 { Ok(self.caller) } else { self.threads.find(number & 0xffff_ffff).ok_or(ESRCH) }
    }
}
