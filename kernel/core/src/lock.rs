//! The slow halves of mutexes and conditions: to wait while a word of the user's says so, and to
//! wake.

use crate::call_result::wrong;
use crate::kernel::{Attempt, Done, Kernel, Stop};
use crate::list;
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::{Thread, WaitKind, thread_of_queue_node};
use nacre_abi::arguments::{self, Word};
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{Code, ObjectType, Rights, Status};

/// Value of a lock word that is locked while other threads wait.
const CONTENDED: u32 = 2;
/// Maximum number of threads that one call wakes. The caller asks again for more.
const MAX_WOKEN: u64 = 64;

impl<M: Machine> Kernel<M> {
    fn waiters_argument(&self, caller: Thread<'_>, argument: Word, object: ObjectType) -> Attempt<Physical> {
        self.target(caller, argument, object, REFERENCE_USE)
    }

    fn user_half(&self, caller: Thread<'_>, word: Word) -> Attempt<u32> {
        if !word.value.is_multiple_of(4) {
            return wrong(Code::BadAddress, word);
        }
        let at = self.user_memory(caller, word.number, word.value, Rights::READ)?;
        Ok(self.machine.read_half(at))
    }

    /// Waits as long as the user's word is `expected`.
    fn wait_while(&self, caller: Thread<'_>, waiters: Physical, word: Word, expected: u32) -> Attempt<Done> {
        if self.user_half(caller, word)? != expected {
            return Ok(Done::Return);
        }
        self.rewind(caller);
        self.wait_on(caller, WaitKind::Lock, self.waiters(waiters).threads(), register::TIMEOUT);
        Err(Stop::Wait)
    }

    fn wake(&self, waiters: Physical, count: u64) -> u64 {
        let mut woken = 0;
        while woken < count {
            let Some(node) = list::first(&self.machine, self.waiters(waiters).threads()) else { break };
            self.wait_end(self.thread(thread_of_queue_node(node)), Status::OK);
            woken += 1;
        }
        woken
    }

    pub(crate) fn mutex_lock(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::MutexLock = caller.arguments();
        let mutex = self.waiters_argument(caller, call.mutex, ObjectType::Mutex)?;
        self.wait_while(caller, mutex, call.word, CONTENDED)
    }

    pub(crate) fn mutex_unlock(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::MutexUnlock = caller.arguments();
        let mutex = self.waiters_argument(caller, call.mutex, ObjectType::Mutex)?;
        self.wake(mutex, 1);
        Ok(Done::Return)
    }

    pub(crate) fn condition_wait(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ConditionWait = caller.arguments();
        let condition = self.waiters_argument(caller, call.condition, ObjectType::Condition)?;
        let Ok(expected) = u32::try_from(call.expected.value) else { return wrong(Code::BadArgument, call.expected) };
        self.wait_while(caller, condition, call.word, expected)
    }

    pub(crate) fn condition_signal(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ConditionSignal = caller.arguments();
        let condition = self.waiters_argument(caller, call.condition, ObjectType::Condition)?;
        let woken = self.wake(condition, call.count.value.min(MAX_WOKEN));
        caller.set_register(register::RESULT_1, woken);
        Ok(Done::Return)
    }
}
