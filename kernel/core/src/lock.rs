//! The slow halves of mutexes and conditions: to wait while a word of the user's says so, and to
//! wake.

use crate::call_result::wrong;
use crate::kernel::{Attempt, Done, Kernel, Stop};
use crate::list;
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::{Thread, WaitKind, thread_of_queue_node};
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{Code, ObjectType, Rights, Status};

/// Value of a lock word that is locked while other threads wait.
const CONTENDED: u32 = 2;
/// Maximum number of threads that one call wakes. The caller asks again for more.
const MOST_WOKEN: u64 = 64;

impl<M: Machine> Kernel<M> {
    fn waiters_argument(&self, caller: Thread<'_>, object: ObjectType) -> Attempt<Physical> {
        self.target(caller, 1, caller.argument(1), object, REFERENCE_USE)
    }

    fn user_half(&self, caller: Thread<'_>, argument: u8) -> Attempt<u32> {
        let address = caller.argument(argument);
        if !address.is_multiple_of(4) {
            return wrong(Code::BadAddress, argument);
        }
        let at = self.user_memory(caller, argument, address, Rights::READ)?;
        Ok(self.machine.read_half(at))
    }

    /// Waits as long as the user's word is `expected`.
    fn wait_while(&self, caller: Thread<'_>, waiters: Physical, expected: u32) -> Attempt<Done> {
        if self.user_half(caller, 2)? != expected {
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
        let mutex = self.waiters_argument(caller, ObjectType::Mutex)?;
        self.wait_while(caller, mutex, CONTENDED)
    }

    pub(crate) fn mutex_unlock(&self, caller: Thread<'_>) -> Attempt<Done> {
        let mutex = self.waiters_argument(caller, ObjectType::Mutex)?;
        self.wake(mutex, 1);
        Ok(Done::Return)
    }

    pub(crate) fn condition_wait(&self, caller: Thread<'_>) -> Attempt<Done> {
        let condition = self.waiters_argument(caller, ObjectType::Condition)?;
        let Ok(expected) = u32::try_from(caller.argument(3)) else { return wrong(Code::BadArgument, 3) };
        self.wait_while(caller, condition, expected)
    }

    pub(crate) fn condition_signal(&self, caller: Thread<'_>) -> Attempt<Done> {
        let condition = self.waiters_argument(caller, ObjectType::Condition)?;
        let woken = self.wake(condition, caller.argument(2).min(MOST_WOKEN));
        caller.set_register(register::RESULT_1, woken);
        Ok(Done::Return)
    }
}
