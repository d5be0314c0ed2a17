//! Starting, stopping and setting threads.

use crate::call_result::wrong;
use crate::fault::FAULT_EXCEPTION;
use crate::kernel::{Attempt, Done, Kernel, Stop};
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::{Thread, WaitKind};
use nacre_abi::arguments::{self, Word};
use nacre_abi::call::{STOP_INTERRUPT, STOP_UNSERVED};
use nacre_abi::state::SpaceState;
use nacre_abi::{Code, ObjectType, Status, USER_END, waiting};

/// Flag bits that a thread always runs with: interrupts on, and the one that is always one.
pub(crate) const FLAGS_ALWAYS: u64 = 0x202;
/// Flag bits that a user may choose: the arithmetic ones, direction, single step, alignment check,
/// identification, resume.
pub(crate) const FLAGS_USER: u64 = 0x0025_0dd5;

impl<M: Machine> Kernel<M> {
    fn thread_argument(&self, caller: Thread<'_>, argument: Word) -> Attempt<Thread<'_>> {
        Ok(self.thread(self.controlled(caller, argument, ObjectType::Thread)?))
    }

    pub(crate) fn thread_start(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ThreadStart = caller.arguments();
        let thread = self.thread_argument(caller, call.thread)?;
        if thread.space() == Physical(0) {
            return wrong(Code::Busy, call.thread);
        }
        if thread.has(Thread::STOPPED) {
            thread.lower(Thread::STOPPED | Thread::ABANDONED);
            self.go_on(thread);
        }
        Ok(Done::Return)
    }

    pub(crate) fn thread_stop(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ThreadStop = caller.arguments();
        let thread = self.thread_argument(caller, call.thread)?;
        let flags = call.flags.value;
        if flags & !(STOP_INTERRUPT | STOP_UNSERVED) != 0 {
            return wrong(Code::BadArgument, call.flags);
        }
        if thread.at == caller.at {
            thread.raise(Thread::STOPPED);
            self.leave_cpu(thread);
            return Ok(Done::Return);
        }
        if flags & STOP_UNSERVED != 0 && thread.has(Thread::AWAITS_REPLY) && self.is_served(thread) {
            return wrong(Code::Busy, call.thread);
        }
        self.halt(thread)?;
        let waited = !thread.is_ready() || thread.has(Thread::AWAITS_REPLY);
        let in_call = waited && thread.fault() == 0;
        self.wait_cancel(thread);
        if in_call && flags & STOP_INTERRUPT != 0 {
            self.client_leaves(thread);
            self.pass_reply(thread, Status::new(Code::Interrupted));
        }
        Ok(Done::Return)
    }

    pub(crate) fn thread_time(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ThreadTime = caller.arguments();
        let thread = self.thread_argument(caller, call.thread)?;
        caller.set_register(register::RESULT_1, self.time_shown(caller, thread));
        caller.set_register(register::RESULT_2, Self::waiting_of(thread));
        Ok(Done::Return)
    }

    /// Returns what a thread waits for, in a word of [`waiting`].
    fn waiting_of(thread: Thread<'_>) -> u64 {
        let timed = u64::from(thread.register(Self::timeout_register(thread)) != 0) * waiting::TIMED;
        match thread.wait() {
            _ if thread.has(Thread::STOPPED) && thread.cpu() == 0 => waiting::STOPPED,
            _ if thread.is_ready() => waiting::RUNS,
            _ if thread.fault() != 0 => waiting::FAULTS | u64::from(thread.fault() == FAULT_EXCEPTION) * waiting::EXCEPTION,
            wait @ (waiting::SENDS | waiting::AWAITS_REPLY) => wait | timed | thread.register(register::INFO) << waiting::LABEL_SHIFT,
            wait => wait | timed,
        }
    }

    /// Nanoseconds that the thread has had of CPUs. Who does not see the machine's time sees none
    /// of threads.
    pub(crate) fn time_shown(&self, reader: Thread<'_>, thread: Thread<'_>) -> u64 {
        if self.is_time_hidden(reader) { 0 } else { self.used_time(thread) }
    }

    pub(crate) fn is_time_hidden(&self, thread: Thread<'_>) -> bool {
        self.space(thread.space()).flags() & SpaceState::TIME_HIDDEN != 0
    }

    pub(crate) fn thread_yield(&self, caller: Thread<'_>) -> Attempt<Done> {
        self.yield_cpu(caller);
        Ok(Done::Return)
    }

    pub(crate) fn thread_sleep(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ThreadSleep = caller.arguments();
        let nanoseconds = call.nanoseconds.value;
        if nanoseconds == 0 {
            return Ok(Done::Return);
        }
        self.rewind(caller);
        caller.set_wait(WaitKind::Sleep as u64);
        self.deadline_arm(caller, nanoseconds);
        self.leave_cpu(caller);
        Err(Stop::Wait)
    }

    pub(crate) fn thread_set_foreign(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ThreadSetForeign = caller.arguments();
        let thread = if call.thread.value == 0 { caller } else { self.thread_argument(caller, call.thread)? };
        if call.entry.value >= USER_END {
            return wrong(Code::BadAddress, call.entry);
        }
        if thread.cpu() != 0 && thread.at != caller.at {
            return wrong(Code::NotStopped, call.thread);
        }
        thread.set_register(register::FOREIGN_ENTRY, call.entry.value);
        if thread.at == caller.at {
            self.machine.bases_changed(thread.at);
        }
        Ok(Done::Return)
    }

    pub(crate) fn thread_set_base(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ThreadSetBase = caller.arguments();
        let which = match call.which.value {
            0 => register::BASES[0],
            1 => register::BASES[1],
            _ => return wrong(Code::BadArgument, call.which),
        };
        if call.value.value >= USER_END {
            return wrong(Code::BadAddress, call.value);
        }
        self.machine.bases_save(caller.at);
        caller.set_register(which, call.value.value);
        self.machine.bases_changed(caller.at);
        Ok(Done::Return)
    }
}
