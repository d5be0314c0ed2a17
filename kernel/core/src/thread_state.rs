//! A thread as plain words, and who owes whom an answer: what of a thread's state is more than
//! numbers. A waiting thread that is stopped stands at its call, so there is no more to it.

use crate::call_result::wrong;
use crate::fault::{FAULT_EXCEPTION, FAULT_REGION};
use crate::kernel::{Attempt, Kernel};
use crate::list;
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::Thread;
use crate::object::FPU_USED;
use crate::thread_calls::{FLAGS_ALWAYS, FLAGS_USER};
use nacre_abi::arguments::{SetState, Word};
use nacre_abi::fault::KIND_CALL_MEMORY;
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_CONTROL, REFERENCE_USE};
use nacre_abi::state::{REGISTERS, ReferenceState, ThreadState};
use nacre_abi::{Call, Code, ObjectType, Rights, USER_END};

/// Index of the word by which the scheduler knows the thread. It follows the fault.
const SCHEDULER_WORD: usize = ThreadState::FIRST_REGISTER + REGISTERS + 4;
/// Index of the word with the thread's CPU time.
pub(crate) const TIME_WORD: usize = SCHEDULER_WORD + 1;

impl<M: Machine> Kernel<M> {
    /// The exported state of a thread, without its FPU state and its time, as `reader` may see it.
    /// So it is part of an exception's message, which says nothing of the machine's time.
    pub(crate) fn thread_words(&self, reader: Thread<'_>, thread: Thread<'_>) -> [u64; ThreadState::WORDS] {
        let mut words = [0; ThreadState::WORDS];
        words[0] = ThreadState::HEADER;
        words[1] = (u64::from(thread.has(Thread::STOPPED)) * ThreadState::STOPPED)
            | (u64::from(thread.machine_word() & FPU_USED != 0) * ThreadState::FPU_USED)
            | (u64::from(thread.has(Thread::AWAITS_REPLY)) * ThreadState::AWAITS_REPLY)
            | (u64::from(thread.has(Thread::ABANDONED)) * ThreadState::ABANDONED);
        for (number, word) in words[ThreadState::FIRST_REGISTER..][..REGISTERS].iter_mut().enumerate() {
            *word = thread.register(number);
        }
        if thread.fault() != 0 {
            let fault = [thread.fault(), thread.fault_first(), thread.fault_second(), thread.fault_third()];
            words[ThreadState::FIRST_REGISTER + REGISTERS..][..4].copy_from_slice(&fault);
        }
        if self.scheduled_otherwise(reader, thread) {
            words[1] |= ThreadState::SCHEDULED | (u64::from(thread.has(Thread::KNOWN)) * ThreadState::KNOWN);
            words[SCHEDULER_WORD] = thread.scheduler_word();
        }
        words
    }

    /// The thread that is to be owed an answer, by `owner`, which owes `now` one: it must be
    /// stopped, want one, and be owed none.
    fn offered_client(&self, caller: Thread<'_>, array: Word, index: usize, owner: Physical, now: Physical) -> Attempt<Option<Physical>> {
        let Some(offered) = self.offered(caller, array, index, ObjectType::Thread, REFERENCE_CONTROL)? else { return Ok(None) };
        let client = offered.unwrap_or_default();
        if client == Physical(0) || client == now {
            return Ok(Some(client));
        }
        let view = self.thread(client);
        let wants = view.has(Thread::AWAITS_REPLY) || view.fault() != 0;
        match () {
            () if !view.has(Thread::STOPPED) || view.cpu() != 0 => wrong(Code::NotStopped, array),
            () if !wants || client == owner => wrong(Code::BadArgument, array),
            () if self.is_connected(view) => wrong(Code::Busy, array),
            () => Ok(Some(client)),
        }
    }

    /// `thread_set_state`, but for the FPU.
    pub(crate) fn thread_set_whole(&self, caller: Thread<'_>, call: &SetState, thread: Thread<'_>, words: &[u64; ThreadState::WORDS]) -> Attempt<()> {
        if thread.at == caller.at || thread.cpu() != 0 || !thread.has(Thread::STOPPED) {
            return wrong(Code::NotStopped, call.object);
        }
        self.check_thread_state(call.buffer, words)?;
        let client = self.offered_client(caller, call.links, 1, thread.at, thread.client())?;
        let scheduler = self.offered(caller, call.links, 2, ObjectType::Port, REFERENCE_CONTROL)?;
        if scheduler.flatten().is_some() && words[1] & ThreadState::SCHEDULED == 0 {
            return wrong(Code::BadArgument, call.links);
        }
        self.thread_set(thread, words);
        if !self.is_time_hidden(caller) {
            thread.set_used(0);
            thread.set_had(words[TIME_WORD]);
        }
        if let Some(port) = scheduler {
            self.scheduler_import(caller, thread, port, [words[1], words[SCHEDULER_WORD]]);
        }
        let Some(client) = client.filter(|client| *client != thread.client()) else { return Ok(()) };
        if thread.client() != Physical(0) {
            self.client_fail(self.thread(thread.client()));
        }
        if client != Physical(0) {
            self.thread(client).set_server(thread.at);
            thread.set_client(client);
        }
        Ok(())
    }

    /// A reference can be made null, or one by which a client is answered: what leads to objects is
    /// made by their own calls.
    pub(crate) fn reference_set(&self, caller: Thread<'_>, call: &SetState, at: Physical, state: &ReferenceState) -> Attempt<()> {
        let reference = self.reference(at);
        if state.target == TargetType::Null as u64 {
            self.reference_clear(reference);
            return Ok(());
        }
        if *state != (ReferenceState { target: TargetType::Reply as u64, rights: REFERENCE_USE, ..ReferenceState::default() }) {
            return wrong(Code::BadArgument, call.buffer);
        }
        let is_reply = reference.kind() == TargetType::Reply as u64;
        let now = list::link_target(&self.machine, reference.target()).filter(|_| is_reply).unwrap_or_default();
        let Some(client) = self.offered_client(caller, call.links, 0, Physical(0), now)?.filter(|client| *client != Physical(0)) else {
            return wrong(Code::NullReference, call.links);
        };
        if client != now {
            self.reference_clear(reference);
            reference.set_kind(TargetType::Reply as u64);
            reference.set_rights(REFERENCE_USE);
            list::link_set(&self.machine, reference.target(), client, self.thread(client).reply_links());
        }
        Ok(())
    }

    fn check_thread_state(&self, argument: impl Into<u8>, words: &[u64; ThreadState::WORDS]) -> Attempt<()> {
        let state = ThreadState::from_words(*words);
        let addresses = state.addresses();
        let known = ThreadState::STOPPED | ThreadState::FPU_USED | ThreadState::AWAITS_REPLY | ThreadState::ABANDONED | ThreadState::SCHEDULED | ThreadState::KNOWN;
        let scheduled = state.flags & ThreadState::SCHEDULED != 0 || (state.flags & ThreadState::KNOWN == 0 && state.scheduler_word == 0);
        let unused = [state.reserved_first, state.reserved_second];
        let awaits = state.flags & ThreadState::AWAITS_REPLY != 0;
        let fault = match state.fault {
            0 => [state.fault_first, state.fault_second, state.fault_third] == [0; 3],
            FAULT_REGION => !awaits && Rights::from_bits(state.fault_second).is_some() && state.fault_third < USER_END,
            FAULT_EXCEPTION => !awaits && state.fault_first <= KIND_CALL_MEMORY,
            _ => false,
        };
        let call = !awaits || state.call() == Call::IpcReceiveReply.number();
        let good = addresses.into_iter().all(|address| address < USER_END) && state.flags & !known == 0 && unused == [0; 2];
        if good && fault && call && scheduled { Ok(()) } else { wrong(Code::BadArgument, argument) }
    }

    /// Takes over a checked state. Who owes the thread an answer still does if it wants the same as
    /// before.
    pub(crate) fn thread_set(&self, thread: Thread<'_>, words: &[u64; ThreadState::WORDS]) {
        let state = ThreadState::from_words(*words);
        let awaits = state.flags & ThreadState::AWAITS_REPLY != 0;
        if thread.has(Thread::AWAITS_REPLY) != awaits || thread.fault() != state.fault {
            self.client_leaves(thread);
        }
        thread.lower(Thread::AWAITS_REPLY | Thread::ABANDONED);
        thread.raise(u64::from(awaits) * Thread::AWAITS_REPLY | u64::from(state.flags & ThreadState::ABANDONED != 0) * Thread::ABANDONED);
        thread.set_fault(state.fault);
        thread.set_fault_first(state.fault_first);
        thread.set_fault_second(state.fault_second);
        thread.set_fault_third(state.fault_third);
        for number in 0..REGISTERS {
            thread.set_register(number, words[ThreadState::FIRST_REGISTER + number]);
        }
        thread.set_register(register::PROCESSOR_FLAGS, state.processor_flags() & FLAGS_USER | FLAGS_ALWAYS);
    }

    /// A keeper's answer to an exception may carry the state that the thread is to go on with.
    pub(crate) fn adopt_state(&self, keeper: Thread<'_>, thread: Thread<'_>) -> Attempt<()> {
        let sends = self.descriptor(keeper, crate::decode::DESCRIPTOR, keeper.register(register::DESCRIPTOR))?;
        if sends.send_size == 0 {
            return Ok(());
        }
        if sends.send_size != ThreadState::SIZE || !sends.send_address.is_multiple_of(8) {
            return wrong(Code::BadArgument, crate::decode::DESCRIPTOR);
        }
        let span = self.span(keeper, crate::decode::DESCRIPTOR, sends.send_address, ThreadState::SIZE, Rights::READ)?;
        let mut words = [0; ThreadState::WORDS];
        self.span_read(&span, 0, &mut words);
        if words[0] != ThreadState::HEADER {
            return wrong(Code::BadVersion, crate::decode::DESCRIPTOR);
        }
        // Of what the keeper was told the thread's fault is part; the answer is the end of that.
        let state = ThreadState { flags: 0, fault: 0, fault_first: 0, fault_second: 0, fault_third: 0, scheduler_word: 0, ..ThreadState::from_words(words) }.to_words();
        self.check_thread_state(crate::decode::DESCRIPTOR, &state)?;
        self.thread_set(thread, &state);
        Ok(())
    }
}
