//! The table of calls: number to function. The commonest course of the two that carry most messages is taken before it (`fast`).

use crate::kernel::{Attempt, BUDGET, Done, Kernel};
use crate::machine::Machine;
use crate::object::Thread;
use nacre_abi::{Call, Code, ObjectType, Status};

impl<M: Machine> Kernel<M> {
    /// Every call.
    #[inline(never)]
    pub(crate) fn dispatch_table(&self, number: u64, caller: Thread<'_>) -> Attempt<Done> {
        let Some(call) = Call::ALL.get(number as usize) else { return Err(Status::new(Code::UnknownCall).into()) };
        match *call {
            Call::Null => Ok(Done::Return),
            Call::IpcCall => self.ipc_call(caller),
            Call::IpcReceiveReply => self.ipc_receive_reply(caller),
            Call::IpcSend => self.ipc_send(caller),
            Call::IpcReceive => self.ipc_receive(caller),
            Call::IpcReply => self.ipc_reply(caller),
            Call::IpcReplyReceive => self.ipc_reply_receive(caller),
            Call::IpcDetach => self.ipc_detach(caller),
            Call::PortNotify => self.port_notify(caller),
            Call::MutexLock => self.mutex_lock(caller),
            Call::MutexUnlock => self.mutex_unlock(caller),
            Call::ConditionWait => self.condition_wait(caller),
            Call::ConditionSignal => self.condition_signal(caller),
            _ => self.dispatch_object(*call, caller),
        }
    }

    /// Calls that make, end and change objects.
    fn dispatch_object(&self, call: Call, caller: Thread<'_>) -> Attempt<Done> {
        self.budget.set(BUDGET);
        match call {
            Call::SpaceCreate => self.space_create(caller),
            Call::SpaceDonate => self.space_donate(caller),
            Call::RegionCreate => self.region_create(caller),
            Call::MappingCreate => self.mapping_create(caller),
            Call::ThreadCreate => self.thread_create(caller),
            Call::PortCreate => self.port_create(caller),
            Call::PortSetCreate => self.port_set_create(caller),
            Call::ReferenceCreate => self.reference_create(caller),
            Call::MutexCreate => self.waiters_create(caller, ObjectType::Mutex),
            Call::ConditionCreate => self.waiters_create(caller, ObjectType::Condition),
            Call::ThreadStart => self.thread_start(caller),
            Call::ThreadStop => self.thread_stop(caller),
            Call::ThreadYield => self.thread_yield(caller),
            Call::ThreadSleep => self.thread_sleep(caller),
            Call::ThreadSetForeign => self.thread_set_foreign(caller),
            Call::ThreadSetBase => self.thread_set_base(caller),
            Call::ReferenceReveal => self.reference_reveal(caller),
            Call::MemoryObjects => self.memory_objects(caller),
            Call::MemoryReclaim => self.memory_reclaim(caller),
            Call::IoRead => self.io_read(caller),
            Call::IoWrite => self.io_write(caller),
            Call::IoWriteBytes => self.io_write_bytes(caller),
            Call::IoPortsReference => self.io_ports_reference(caller),
            Call::InterruptBind => self.interrupt_bind(caller),
            Call::InterruptAcknowledge => self.interrupt_acknowledge(caller),
            Call::InterruptReference => self.interrupt_reference(caller),
            Call::ClockRead => self.clock_read(caller),
            _ => self.dispatch_verb(call, caller),
        }
    }

    /// The five verbs that every object has besides `create`.
    fn dispatch_verb(&self, call: Call, caller: Thread<'_>) -> Attempt<Done> {
        let (object, verb) = verb_of(call);
        match verb {
            Verb::Destroy => self.verb_destroy(caller, object),
            Verb::Move => self.verb_move(caller, object),
            Verb::Reference => self.verb_reference(caller, object),
            Verb::GetState => self.verb_get_state(caller, object),
            Verb::SetState => self.verb_set_state(caller, object),
        }
    }
}

/// What every object can be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verb {
    Destroy,
    Move,
    Reference,
    GetState,
    SetState,
}

/// The first of the five consecutive numbers of each object's verbs.
const VERBS: [(Call, ObjectType); 9] = [
    (Call::SpaceDestroy, ObjectType::Space),
    (Call::RegionDestroy, ObjectType::Region),
    (Call::MappingDestroy, ObjectType::Mapping),
    (Call::ThreadDestroy, ObjectType::Thread),
    (Call::PortDestroy, ObjectType::Port),
    (Call::PortSetDestroy, ObjectType::PortSet),
    (Call::ReferenceDestroy, ObjectType::Reference),
    (Call::MutexDestroy, ObjectType::Mutex),
    (Call::ConditionDestroy, ObjectType::Condition),
];

fn verb_of(call: Call) -> (ObjectType, Verb) {
    let number = call as u8;
    let (first, object) = VERBS.into_iter().rev().find(|(first, _)| *first as u8 <= number).unwrap_or(VERBS[0]);
    let verb = match number - first as u8 {
        0 => Verb::Destroy,
        1 => Verb::Move,
        2 => Verb::Reference,
        3 => Verb::GetState,
        _ => Verb::SetState,
    };
    (object, verb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_found_by_their_numbers() {
        assert_eq!(verb_of(Call::SpaceDestroy), (ObjectType::Space, Verb::Destroy));
        assert_eq!(verb_of(Call::RegionSetState), (ObjectType::Region, Verb::SetState));
        assert_eq!(verb_of(Call::ReferenceReference), (ObjectType::Reference, Verb::Reference));
        assert_eq!(verb_of(Call::ConditionGetState), (ObjectType::Condition, Verb::GetState));
        assert_eq!(verb_of(Call::ThreadMove), (ObjectType::Thread, Verb::Move));
    }
}
