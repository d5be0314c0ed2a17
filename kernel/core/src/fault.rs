//! Faults and exceptions: messages that the kernel sends in a thread's name. The thread's registers
//! stay as they were, so that it simply does again what it did.

use crate::compose::TranslationError;
use crate::kernel::{Attempt, Kernel};
use crate::list;
use crate::machine::{LeafKind, Machine, Physical, thread_page::register};
use crate::object::{Port, Thread, WaitKind};
use nacre_abi::fault::{ERROR_FETCH, ERROR_USER, ERROR_WRITE, KIND_MEMORY, MAP, REFUSE, RESUME};
use nacre_abi::Rights;
use nacre_abi::state::ThreadState;

/// Cause of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// An instruction failed.
    Exception { kind: u64, error: u64, address: u64 },
    /// A region lacks a page, and has a keeper.
    Region { region: Physical, offset: u64, needed: Rights, address: u64 },
}

/// `Thread::fault`: a region's keeper is asked.
pub(crate) const FAULT_REGION: u64 = ThreadState::FAULT_REGION;
/// `Thread::fault`: the space's keeper is told.
pub(crate) const FAULT_EXCEPTION: u64 = ThreadState::FAULT_EXCEPTION;

impl<M: Machine> Kernel<M> {
    /// A running thread has faulted in user mode: either the tables are mended, or its keeper is
    /// asked.
    pub(crate) fn take_page_fault(&self, thread: Thread<'_>, address: u64, needed: Rights, error: u64) {
        let exception = Fault::Exception { kind: KIND_MEMORY, error, address };
        let space = self.space(thread.space());
        if address >= nacre_abi::USER_END {
            return self.report_fault(thread, exception);
        }
        match self.fill(space, address, needed) {
            Ok(leaf) if leaf.kind != LeafKind::Objects => {}
            // It tries again, after whatever else wants the CPU.
            Err(TranslationError::Again) => {}
            Err(TranslationError::Region { region, offset }) => match self.keeper_of(self.region(region)) {
                Some(port) if self.fast_fault(thread, self.port(port), [offset, needed.0, address]).is_some() => {}
                Some(_) => self.report_fault(thread, Fault::Region { region, offset, needed, address }),
                None => self.report_fault(thread, exception),
            },
            _ => self.report_fault(thread, exception),
        }
    }

    /// A thread lacks a page that a call of its needs: it faults in place of the call. `thread`
    /// runs, or waits in the call.
    pub(crate) fn fault_in_call(&self, thread: Thread<'_>, fault: Fault) {
        if thread.waits_for(WaitKind::None) {
            self.rewind(thread);
        } else {
            self.wait_cancel(thread);
        }
        self.report_fault(thread, fault);
    }

    /// Sends the message, and lets the thread wait until it is answered; if it is stopped, when it
    /// is started.
    pub(crate) fn report_fault(&self, thread: Thread<'_>, fault: Fault) {
        let keeper = match fault {
            Fault::Region { region, offset, needed, address } => {
                thread.set_faulted(FAULT_REGION, [offset, needed.0, address]);
                self.keeper_of(self.region(region))
            }
            Fault::Exception { kind, error, address } => {
                thread.set_faulted(FAULT_EXCEPTION, [kind, error, address]);
                list::link_target(&self.machine, self.space(thread.space()).keeper())
            }
        };
        match keeper {
            // It is offered when the thread is started.
            _ if thread.has(Thread::STOPPED) => {}
            Some(port) => self.offer_fault(thread, port),
            None => self.abandon(thread),
        }
    }

    /// A thread with a fault that nobody owes an answer to goes on: what a region lacked it may
    /// lack again, and an exception is offered again.
    pub(crate) fn fault_again(&self, thread: Thread<'_>) {
        thread.set_wait(WaitKind::None as u64);
        if thread.fault() == FAULT_REGION {
            thread.set_fault(0);
            return self.make_ready(thread);
        }
        match list::link_target(&self.machine, self.space(thread.space()).keeper()) {
            Some(port) => self.line_up(thread, self.port(port)),
            None => self.abandon(thread),
        }
    }

    fn offer_fault(&self, thread: Thread<'_>, port: Physical) {
        self.leave_cpu(thread);
        let port = self.port(port);
        // A keeper may itself lack a page of its buffer. Its fault then waits in line, so that a
        // chain of keepers takes no stack.
        if !self.offering.replace(true) {
            let met = self.meet(thread, port, true);
            self.offering.set(false);
            if let Ok(Some(receiver)) = met {
                self.connect(thread, receiver);
                self.lend_time(thread, receiver);
                return self.hand_over(thread, receiver);
            }
        }
        self.line_up(thread, port);
    }

    /// The thread's fault waits to be received.
    fn line_up(&self, thread: Thread<'_>, port: Port<'_>) {
        thread.set_wait(WaitKind::Fault as u64);
        thread.set_waits_at(port.at);
        list::push_back(&self.machine, port.senders(), thread.queue());
        self.port_look_again(port);
    }

    /// Stops the thread at the fault, because no keeper can be told.
    fn abandon(&self, thread: Thread<'_>) {
        assert!(
            thread.space() != self.root_space().at,
            "root failed: exception {} error {:#x} address {:#x} at {:#x}",
            thread.fault_first(),
            thread.fault_second(),
            thread.fault_third(),
            thread.register(register::PROGRAM_COUNTER)
        );
        thread.set_fault(0);
        thread.raise(Thread::STOPPED | Thread::ABANDONED);
        self.leave_cpu(thread);
    }

    /// A keeper answers: `label` says what follows.
    pub(crate) fn fault_answer(&self, keeper: Thread<'_>, thread: Thread<'_>, label: u32) -> Attempt<()> {
        let kind = thread.fault();
        if label == RESUME && kind == FAULT_EXCEPTION {
            self.adopt_state(keeper, thread)?;
        }
        let maps = label == MAP && kind == FAULT_REGION;
        if maps {
            self.mapping_of_reply(keeper)?;
        }
        let (needed, address) = (thread.fault_second(), thread.fault_third());
        self.disconnect(thread);
        thread.set_fault(0);
        thread.set_wait(WaitKind::None as u64);
        match label {
            _ if label == RESUME || maps => {
                if kind == FAULT_REGION {
                    // What the keeper has brought goes into the tables now: else the thread would
                    // fault once more for that. If it brought nothing, the thread finds out.
                    let _ = self.fill(self.space(thread.space()), address, Rights(needed));
                }
                self.hand_over(keeper, thread)
            }
            REFUSE if kind == FAULT_REGION => {
                self.report_fault(thread, Fault::Exception { kind: KIND_MEMORY, error: absent_error(Rights(needed)), address });
            }
            _ => thread.raise(Thread::STOPPED),
        }
        Ok(())
    }
}

/// Returns the error code by which the machine reports a user's access to an absent page.
const fn absent_error(needed: Rights) -> u64 {
    let write = if needed.contains(Rights::WRITE) { ERROR_WRITE } else { 0 };
    let fetch = if needed.contains(Rights::EXECUTE) { ERROR_FETCH } else { 0 };
    ERROR_USER | write | fetch
}
