//! How signals reach threads: sent, chosen for a thread, taken by it on its way back to the program.
//!
//! A thread whose block has `attention` set looks here before it goes on. Anybody with the lock may set it; only the thread itself clears it.

use crate::abi::errno::{EAGAIN, EINTR, ERESTART, ERESTART_ALWAYS, ERESTART_SLEEP, ERESTART_UNHANDLED, Errno, negated};
use crate::abi::registers::Frame;
use crate::calls::signals::{ALWAYS, Fate, SA_RESTART, SIGCONT, SIGKILL, SIGSEGV, STOPS};
use crate::entry::assembly::{Place, place, signal_entry};
use crate::operations::signal_frame;
use crate::process::Process;
use crate::process::end::end_by_signal;
use crate::raw::thread_block::Block;
use crate::state::signals::pending::{Info, SI_KERNEL, bit};
use core::sync::atomic::Ordering;
use nacre_abi::state::ThreadState;
use nacre_proto::process as manager;
use nacre_sys::{Reference, Thread as KernelThread};

/// Bytes of the `syscall` instruction.
const CALL_SIZE: u64 = 2;
/// How often a thread that is on its way in or out is given time to pass.
const PATIENCE: u32 = 10_000;

/// A call that a signal cut off.
#[derive(Clone, Copy)]
struct CutOff {
    reason: Errno,
    number: u64,
}

impl CutOff {
    /// What became of call `number`, if its result says that it was cut off.
    fn of(number: Option<u64>, result: u64) -> Option<CutOff> {
        let reason = Errno(u32::try_from(result.wrapping_neg()).ok()?);
        let known = [ERESTART, ERESTART_ALWAYS, ERESTART_UNHANDLED, ERESTART_SLEEP].contains(&reason);
        number.filter(|_| known).map(|number| CutOff { reason, number })
    }

    /// Whether it is made again after a handler with these flags.
    fn is_made_again(self, flags: u64) -> bool {
        self.reason == ERESTART_ALWAYS || self.reason == ERESTART && flags & SA_RESTART != 0
    }

    fn make_again(self, frame: &mut Frame) {
        frame.next = frame.next.wrapping_sub(CALL_SIZE);
        frame.rax = self.number;
    }
}

/// On the way out of a call, whose number is there unless the registers were set otherwise. The frame is whole and has the result.
pub fn after_call(process: &mut Process, frame: &mut Frame, number: Option<u64>) {
    let cut_off = CutOff::of(number, frame.rax);
    if cut_off.is_some() {
        frame.rax = negated(EINTR);
    }
    attend(process, frame, cut_off);
}

/// The same for a thread that was stopped in the program.
pub fn deliver(process: &mut Process, frame: &mut Frame) {
    attend(process, frame, None);
}

fn attend(process: &mut Process, frame: &mut Frame, mut cut_off: Option<CutOff>) {
    loop {
        while process.signals.is_stopped {
            wait_continued(process);
        }
        let Some(info) = take(process) else { break };
        let action = process.signals.action(info.signal);
        match process.signals.fate(info.signal) {
            Fate::Ignored => {}
            Fate::Ends => end_by_signal(process, info.signal),
            Fate::Stops => process.stop(info.signal),
            Fate::Handled => {
                if let Some(call) = cut_off.take().filter(|call| call.is_made_again(action.flags)) {
                    call.make_again(frame);
                }
                process.me().deadline = None;
                enter_handler(process, frame, &info);
            }
        }
    }
    if let Some(mask) = process.me().saved_mask.take() {
        process.me().mask = mask;
    }
    if let Some(call) = cut_off {
        call.make_again(frame);
    }
    process.look_again();
}

/// Waits while the process is stopped.
fn wait_continued(process: &mut Process) {
    let block = process.me().block;
    let seen = block.seen();
    process.me().sleeping = true;
    process.unlocked(|| block.wait(seen, nacre_sys::FOREVER));
    process.me().sleeping = false;
}

/// Takes the next signal that the caller does not block.
fn take(process: &mut Process) -> Option<Info> {
    let thread = process.me();
    let open = !thread.mask;
    thread.pending.take(open).or_else(|| process.signals.pending.take(open))
}

/// Lets the program go on in its handler. A stack that cannot take the frame is a fault of the program, as on Linux: it can have a handler
/// for that on another stack.
fn enter_handler(process: &mut Process, frame: &mut Frame, info: &Info) {
    let action = process.signals.action(info.signal);
    if process.growth.is_below(frame.stack) {
        process.grow_stack(frame.stack);
    }
    if signal_frame::push(process, frame, info, &action).is_err() {
        if info.signal == SIGSEGV {
            end_by_signal(process, SIGSEGV);
        }
        return process.force(Info::from(SIGSEGV, SI_KERNEL, 0, 0));
    }
    process.signals.was_entered(info.signal);
    let thread = process.me();
    thread.saved_mask = None;
    thread.mask |= action.blocked(info.signal);
}

/// A thread has left the table: signals that were for any thread may now be another's.
pub fn pass_on(process: &mut Process) {
    let mut waiting = process.signals.pending.set();
    while waiting != 0 {
        alert_one(process, u64::from(waiting.trailing_zeros()) + 1);
        waiting &= waiting - 1;
    }
}

/// Tells a thread that takes `signal` that there is something for it: the first if it does, else any.
fn alert_one(process: &mut Process, signal: u64) {
    let mut takers = process.threads.all().filter(|(_, thread)| thread.mask & bit(signal) == 0 || thread.waits_for & bit(signal) != 0);
    if let Some(index) = takers.next().map(|(index, _)| index) {
        drop(takers);
        process.alert(index);
    }
}

impl Process {
    /// Sends a signal to the process.
    pub fn post(&mut self, info: Info) -> Result<(), Errno> {
        let first_mask = self.threads.all().next().map_or(0, |(_, thread)| thread.mask | thread.waits_for);
        if !self.prepare(&info, first_mask) {
            return Ok(());
        }
        self.check_room(&info)?;
        self.signals.pending.add(info)?;
        alert_one(self, info.signal);
        self.signal_came();
        Ok(())
    }

    /// Sends a signal to one of the threads.
    pub fn post_to(&mut self, index: usize, info: Info) -> Result<(), Errno> {
        let Some(thread) = self.threads.get(index) else { return Ok(()) };
        let (mask, waits_for) = (thread.mask, thread.waits_for);
        if !self.prepare(&info, mask | waits_for) {
            return Ok(());
        }
        self.check_room(&info)?;
        if let Some(thread) = self.threads.get_mut(index) {
            thread.pending.add(info)?;
        }
        if (mask & !waits_for) & bit(info.signal) == 0 {
            self.alert(index);
        }
        self.signal_came();
        Ok(())
    }

    /// `EAGAIN`: as many signals wait as the limit allows.
    fn check_room(&mut self, info: &Info) -> Result<(), Errno> {
        let limit = self.limits.signals();
        if !info.needs_room() || limit == usize::MAX {
            return Ok(());
        }
        let waiting = self.signals.pending.queued() + self.threads.all().map(|(_, thread)| thread.pending.queued()).sum::<usize>();
        if waiting < limit { Ok(()) } else { Err(EAGAIN) }
    }

    /// Files that give signals may have something now.
    fn signal_came(&mut self) {
        if self.has_signal_files {
            self.pipe_changed();
        }
    }

    /// What a signal does when it is sent, whoever it is for; whether it is to be kept. What is ignored and not blocked is not.
    fn prepare(&mut self, info: &Info, mask: u64) -> bool {
        if info.signal == SIGKILL {
            end_by_signal(self, SIGKILL);
        }
        if info.signal == SIGCONT {
            self.forget(STOPS);
            self.go_on();
        } else if bit(info.signal) & STOPS != 0 {
            self.forget(bit(SIGCONT));
        }
        mask & bit(info.signal) != 0 || self.signals.fate(info.signal) != Fate::Ignored
    }

    /// Forgets signals that were sent.
    pub fn forget(&mut self, signals: u64) {
        self.signals.pending.forget(signals);
        for index in 0..self.threads.places() {
            if let Some(thread) = self.threads.get_mut(index) {
                thread.pending.forget(signals);
            }
        }
    }

    /// A signal that a thread's own instruction caused: it cannot be put off or ignored.
    pub fn force(&mut self, info: Info) {
        let blocked = self.me().mask & bit(info.signal) != 0;
        if blocked || self.signals.fate(info.signal) != Fate::Handled {
            end_by_signal(self, info.signal);
        }
        let thread = self.me();
        // There is room for one of each kind in any case that matters: a thread that cannot be told of its fault would make it for ever.
        if thread.pending.add(info).is_err() {
            end_by_signal(self, info.signal);
        }
        thread.block.set_attention(true);
    }

    /// Makes a thread look for signals: wherever it is.
    pub fn alert(&mut self, index: usize) {
        let caller = self.caller;
        let Some(thread) = self.threads.get(index) else { return };
        thread.block.set_attention(true);
        if thread.sleeping {
            thread.block.wake();
        } else if index != caller {
            disturb(thread.kernel, thread.block);
        }
    }

    /// Whether the caller has anything to look at.
    pub fn look_again(&mut self) {
        let shared = self.signals.pending.set();
        let stopped = self.signals.is_stopped;
        let thread = self.me();
        let open = (shared | thread.pending.set()) & !thread.mask != 0;
        thread.block.set_attention(open || stopped);
    }

    /// Sets the caller's mask.
    pub fn set_mask(&mut self, mask: u64) {
        if mask != 0 && self.agent.is_none() && self.is_managed() {
            // Without one the manager would carry out what is to wait now. If there is no memory for it, it does.
            let _ = self.need_agent();
        }
        self.me().mask = mask & !ALWAYS;
        self.hear_blocked(mask);
        self.look_again();
    }

    /// Stops the process: each thread waits on its way back to the program. Without a manager nobody could let it go on, and the manager may forbid it.
    pub fn stop(&mut self, signal: u64) {
        if !self.is_managed() || self.need_agent().is_err() || manager::stopped(Reference::PARENT, signal).is_err() {
            return;
        }
        self.signals.is_stopped = true;
        for index in 0..self.threads.places() {
            self.alert(index);
        }
    }

    /// Lets a process that was stopped go on.
    pub fn go_on(&mut self) {
        if core::mem::take(&mut self.signals.is_stopped) {
            // A manager that does not hear of it shows the process as stopped, no more.
            let _ = manager::stopped(Reference::PARENT, 0);
            self.threads.all().for_each(|(_, thread)| thread.block.wake());
        }
    }
}

/// Brings a thread that runs, in the program or in the library, to look at its `attention`.
fn disturb(kernel: KernelThread, block: &'static Block) {
    for turn in 0..PATIENCE {
        // A thread that cannot be stopped or read is one that ends.
        let Ok(state) = kernel.stop().and_then(|()| kernel.get_state()) else { return };
        let passes = match place(state.rip) {
            // The agent has its exception, or will: from there it goes on in the library, if there is anything to look at.
            Place::Program if state.fault != 0 => false,
            Place::Program => enter_library(kernel, block, state),
            Place::Waiting(end) => end_wait(kernel, end, turn + 1 == PATIENCE),
            Place::Passing => true,
            Place::Library => false,
        };
        if kernel.start().is_err() || !passes {
            return;
        }
        KernelThread::yield_now();
    }
}

/// What `thread_get_state` gives, as `thread_set_state` takes it.
fn settable(state: ThreadState) -> ThreadState {
    ThreadState { flags: ThreadState::STOPPED | state.flags & ThreadState::FPU_USED, fpu_size: 0, scheduler_word: 0, ..state }
}

/// Whether it is to be tried again.
fn enter_library(kernel: KernelThread, block: &'static Block, state: ThreadState) -> bool {
    block.resume.store(state.rip, Ordering::Relaxed);
    kernel.set_state(&ThreadState { rip: signal_entry(), ..settable(state) }).is_err()
}

/// A wait of a thread that is stopped in the window ends as if it had been interrupted; whether it is to be tried again. What the thread waits for may have been done already, and the answer be on its way through others: then it comes first. Who never finishes an answer does
/// not keep the signal away for ever.
fn end_wait(kernel: KernelThread, end: u64, is_last: bool) -> bool {
    let ended = if is_last { kernel.interrupt() } else { kernel.interrupt_unserved() };
    let state = ended.and_then(|()| kernel.get_state());
    match state.map(|state| (place(state.rip), state)) {
        // Nobody owes it an answer, and it has not asked for one yet.
        Ok((Place::Waiting(_), state)) => kernel.set_state(&ThreadState { rip: end, ..settable(state) }).is_err(),
        Ok(_) => false,
        Err(_) => true,
    }
}
