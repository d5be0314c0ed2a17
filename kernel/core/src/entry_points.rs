//! The doors by which a CPU comes in. Every one but that of the short courses is entered under all
//! locks and ends with [`Next`]; the machine has been told by then whose context it holds.

use crate::fault::Fault;
use crate::kernel::{Done, Kernel, Next, Stop};
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::Thread;
use nacre_abi::{Call, Rights};

const CALL: u64 = Call::IpcCall as u64;
const REPLY_RECEIVE: u64 = Call::IpcReplyReceive as u64;
const NOTIFY: u64 = Call::PortNotify as u64;
const ENTER: u64 = Call::ThreadEnter as u64;
const YIELD: u64 = Call::ThreadYield as u64;

impl<M: Machine> Kernel<M> {
    /// The short course of a system call, under this CPU's own lock or more. False: nothing has
    /// changed, and the call is one for `system_call`.
    #[inline(always)]
    pub fn short_call(&self, number: u64) -> bool {
        let cpu = self.machine.cpu();
        let caller = self.thread(self.cpus[cpu].loaded.get());
        let done = match number {
            _ if caller.has(Thread::EVICT) => None,
            CALL => self.fast_call(cpu, caller),
            REPLY_RECEIVE => self.fast_reply_receive(cpu, caller),
            NOTIFY => self.fast_notify(cpu, caller),
            ENTER => self.fast_enter(caller),
            _ => None,
        };
        done.is_some()
    }

    /// An access by the thread on this CPU that the tables did not allow, and that finds plain
    /// memory, under this CPU's own lock or more. False: the fault is one for `page_fault`.
    pub fn short_fault(&self, address: u64, needed: Rights) -> bool {
        let thread = self.thread(self.cpus[self.machine.cpu()].loaded.get());
        !thread.has(Thread::EVICT) && self.fill_beside(self.space(thread.space()), address, needed).is_some()
    }

    /// A system call of the thread on this CPU; `number` counts from `CALL_BASE`.
    #[inline(always)]
    pub fn system_call(&self, number: u64) -> Next {
        let cpu = self.machine.cpu();
        let caller = self.thread(self.cpus[cpu].loaded.get());
        if number == YIELD && !caller.has(Thread::EVICT) && self.fast_yield(cpu, caller).is_some() {
            return Next::User;
        }
        self.system_call_general(number, cpu, caller)
    }

    #[inline(never)]
    fn system_call_general(&self, number: u64, cpu: usize, caller: Thread<'_>) -> Next {
        if caller.has(Thread::EVICT) {
            self.rewind(caller);
            self.evict(caller);
            return self.leave(cpu);
        }
        self.work_begin();
        let result = self.dispatch_table(number, caller);
        if result != Err(Stop::Again) {
            caller.set_cut_off(0);
        }
        match result {
            Ok(Done::Return) => caller.set_register(register::STATUS, 0),
            Ok(Done::Settled) | Err(Stop::Wait) => {}
            Err(Stop::Status(status)) => caller.set_register(register::STATUS, status.0),
            Err(Stop::Again) => self.call_again(caller),
            Err(Stop::Yield) => {
                self.leave_cpu(caller);
                self.call_again(caller);
            }
        }
        self.leave(cpu)
    }

    /// An access by the thread on this CPU that the tables did not allow.
    pub fn page_fault(&self, address: u64, needed: Rights, error: u64) -> Next {
        // An evicted thread makes the access again.
        self.enter_with_fault(|thread| self.take_page_fault(thread, address, needed, error), |_| {})
    }

    /// Any other exception of the thread on this CPU.
    pub fn exception(&self, kind: u64, error: u64, address: u64) -> Next {
        // The instruction may be over: an evicted thread would not meet the exception again.
        let report = |thread: Thread<'_>| self.report_fault(thread, Fault::Exception { kind, error, address });
        self.enter_with_fault(report, report)
    }

    /// Enters with the fault of the thread on this CPU: `take` deals with it, or `evicted` if
    /// another CPU wants the thread.
    pub(crate) fn enter_with_fault(&self, take: impl FnOnce(Thread<'_>), evicted: impl FnOnce(Thread<'_>)) -> Next {
        let cpu = self.machine.cpu();
        let thread = self.thread(self.cpus[cpu].loaded.get());
        if !thread.has(Thread::EVICT) {
            self.work_begin();
            take(thread);
        } else {
            self.evict(thread);
            evicted(thread);
        }
        self.leave(cpu)
    }

    /// A device's interrupt line went up.
    pub fn interrupt(&self, line: u32) -> Next {
        self.interrupt_arrived(line);
        self.interrupted()
    }

    /// The timer's deadline passed.
    pub fn timer(&self) -> Next {
        let this = &self.cpus[self.machine.cpu()];
        this.armed.set(u64::MAX);
        this.timer_stale.set(true);
        self.deadlines_expire();
        self.slice_check();
        self.donations_expire(self.machine.cpu());
        self.interrupted()
    }

    /// Another CPU wanted this one to look.
    pub fn kicked(&self) -> Next {
        self.cpus[self.machine.cpu()].timer_stale.set(true);
        self.space_refresh();
        self.interrupted()
    }

    /// Ends every interrupt: moves a thread off this CPU if it has to leave.
    fn interrupted(&self) -> Next {
        let cpu = self.machine.cpu();
        let loaded = self.cpus[cpu].loaded.get();
        if loaded != Physical(0) && self.thread(loaded).has(Thread::EVICT) {
            self.evict(self.thread(loaded));
        }
        self.leave(cpu)
    }

    /// A CPU enters for the first time.
    pub fn cpu_start(&self) -> Next {
        let cpu = self.machine.cpu();
        self.cpus[cpu].bit.set(1 << cpu);
        self.online.set(self.online.get() | 1 << cpu);
        self.leave(cpu)
    }
}
