//! The table of calls: number to function. The commonest course of the two that carry most messages
//! is taken before it (`fast`).

use crate::kernel::{Attempt, Done, Kernel};
use crate::machine::Machine;
use crate::object::Thread;
use nacre_abi::{Call, Code, ObjectType, Status};

/// Function that carries out a call.
type Handler<M> = for<'k> fn(&'k Kernel<M>, Thread<'k>) -> Attempt<Done>;

impl<M: Machine> Kernel<M> {
    /// Every call, in the order of the numbers.
    const CALLS: [(Call, Handler<M>); Call::ALL.len()] = [
        (Call::Null, |_, _| Ok(Done::Return)),
        (Call::IpcCall, Self::ipc_call),
        (Call::IpcReceiveReply, Self::ipc_receive_reply),
        (Call::IpcSend, Self::ipc_send),
        (Call::IpcReceive, Self::ipc_receive),
        (Call::IpcReply, Self::ipc_reply),
        (Call::IpcReplyReceive, Self::ipc_reply_receive),
        (Call::IpcDetach, Self::ipc_detach),
        (Call::PortNotify, Self::port_notify),
        (Call::SpaceCreate, Self::space_create),
        (Call::SpaceDestroy, |kernel, caller| kernel.verb_destroy(caller, ObjectType::Space)),
        (Call::SpaceMove, |kernel, caller| kernel.verb_move(caller, ObjectType::Space)),
        (Call::SpaceReference, |kernel, caller| kernel.verb_reference(caller, ObjectType::Space)),
        (Call::SpaceGetState, |kernel, caller| kernel.verb_get_state(caller, ObjectType::Space)),
        (Call::SpaceSetState, |kernel, caller| kernel.verb_set_state(caller, ObjectType::Space)),
        (Call::SpaceDonate, Self::space_donate),
        (Call::RegionCreate, Self::region_create),
        (Call::RegionDestroy, |kernel, caller| kernel.verb_destroy(caller, ObjectType::Region)),
        (Call::RegionMove, |kernel, caller| kernel.verb_move(caller, ObjectType::Region)),
        (Call::RegionReference, |kernel, caller| kernel.verb_reference(caller, ObjectType::Region)),
        (Call::RegionGetState, |kernel, caller| kernel.verb_get_state(caller, ObjectType::Region)),
        (Call::RegionSetState, |kernel, caller| kernel.verb_set_state(caller, ObjectType::Region)),
        (Call::MappingCreate, Self::mapping_create),
        (Call::MappingDestroy, |kernel, caller| kernel.verb_destroy(caller, ObjectType::Mapping)),
        (Call::MappingMove, |kernel, caller| kernel.verb_move(caller, ObjectType::Mapping)),
        (Call::MappingReference, |kernel, caller| kernel.verb_reference(caller, ObjectType::Mapping)),
        (Call::MappingGetState, |kernel, caller| kernel.verb_get_state(caller, ObjectType::Mapping)),
        (Call::MappingSetState, |kernel, caller| kernel.verb_set_state(caller, ObjectType::Mapping)),
        (Call::ThreadCreate, Self::thread_create),
        (Call::ThreadDestroy, |kernel, caller| kernel.verb_destroy(caller, ObjectType::Thread)),
        (Call::ThreadMove, |kernel, caller| kernel.verb_move(caller, ObjectType::Thread)),
        (Call::ThreadReference, |kernel, caller| kernel.verb_reference(caller, ObjectType::Thread)),
        (Call::ThreadGetState, |kernel, caller| kernel.verb_get_state(caller, ObjectType::Thread)),
        (Call::ThreadSetState, |kernel, caller| kernel.verb_set_state(caller, ObjectType::Thread)),
        (Call::ThreadStart, Self::thread_start),
        (Call::ThreadStop, Self::thread_stop),
        (Call::ThreadYield, Self::thread_yield),
        (Call::ThreadSleep, Self::thread_sleep),
        (Call::ThreadSetForeign, Self::thread_set_foreign),
        (Call::ThreadSetBase, Self::thread_set_base),
        (Call::PortCreate, Self::port_create),
        (Call::PortDestroy, |kernel, caller| kernel.verb_destroy(caller, ObjectType::Port)),
        (Call::PortMove, |kernel, caller| kernel.verb_move(caller, ObjectType::Port)),
        (Call::PortReference, |kernel, caller| kernel.verb_reference(caller, ObjectType::Port)),
        (Call::PortGetState, |kernel, caller| kernel.verb_get_state(caller, ObjectType::Port)),
        (Call::PortSetState, |kernel, caller| kernel.verb_set_state(caller, ObjectType::Port)),
        (Call::PortSetCreate, Self::port_set_create),
        (Call::PortSetDestroy, |kernel, caller| kernel.verb_destroy(caller, ObjectType::PortSet)),
        (Call::PortSetMove, |kernel, caller| kernel.verb_move(caller, ObjectType::PortSet)),
        (Call::PortSetReference, |kernel, caller| kernel.verb_reference(caller, ObjectType::PortSet)),
        (Call::PortSetGetState, |kernel, caller| kernel.verb_get_state(caller, ObjectType::PortSet)),
        (Call::PortSetSetState, |kernel, caller| kernel.verb_set_state(caller, ObjectType::PortSet)),
        (Call::ReferenceCreate, Self::reference_create),
        (Call::ReferenceDestroy, |kernel, caller| kernel.verb_destroy(caller, ObjectType::Reference)),
        (Call::ReferenceMove, |kernel, caller| kernel.verb_move(caller, ObjectType::Reference)),
        (Call::ReferenceReference, |kernel, caller| kernel.verb_reference(caller, ObjectType::Reference)),
        (Call::ReferenceGetState, |kernel, caller| kernel.verb_get_state(caller, ObjectType::Reference)),
        (Call::ReferenceSetState, |kernel, caller| kernel.verb_set_state(caller, ObjectType::Reference)),
        (Call::ReferenceReveal, Self::reference_reveal),
        (Call::MutexCreate, |kernel, caller| kernel.waiters_create(caller, ObjectType::Mutex)),
        (Call::MutexDestroy, |kernel, caller| kernel.verb_destroy(caller, ObjectType::Mutex)),
        (Call::MutexMove, |kernel, caller| kernel.verb_move(caller, ObjectType::Mutex)),
        (Call::MutexReference, |kernel, caller| kernel.verb_reference(caller, ObjectType::Mutex)),
        (Call::MutexGetState, |kernel, caller| kernel.verb_get_state(caller, ObjectType::Mutex)),
        (Call::MutexSetState, |kernel, caller| kernel.verb_set_state(caller, ObjectType::Mutex)),
        (Call::MutexLock, Self::mutex_lock),
        (Call::MutexUnlock, Self::mutex_unlock),
        (Call::ConditionCreate, |kernel, caller| kernel.waiters_create(caller, ObjectType::Condition)),
        (Call::ConditionDestroy, |kernel, caller| kernel.verb_destroy(caller, ObjectType::Condition)),
        (Call::ConditionMove, |kernel, caller| kernel.verb_move(caller, ObjectType::Condition)),
        (Call::ConditionReference, |kernel, caller| kernel.verb_reference(caller, ObjectType::Condition)),
        (Call::ConditionGetState, |kernel, caller| kernel.verb_get_state(caller, ObjectType::Condition)),
        (Call::ConditionSetState, |kernel, caller| kernel.verb_set_state(caller, ObjectType::Condition)),
        (Call::ConditionWait, Self::condition_wait),
        (Call::ConditionSignal, Self::condition_signal),
        (Call::MemoryObjects, Self::memory_objects),
        (Call::MemoryReclaim, Self::memory_reclaim),
        (Call::IoRead, Self::io_read),
        (Call::IoWrite, Self::io_write),
        (Call::IoWriteBytes, Self::io_write_bytes),
        (Call::IoPortsReference, Self::io_ports_reference),
        (Call::InterruptBind, Self::interrupt_bind),
        (Call::InterruptAcknowledge, Self::interrupt_acknowledge),
        (Call::InterruptReference, Self::interrupt_reference),
        (Call::ClockRead, Self::clock_read),
        (Call::ThreadSetScheduler, Self::thread_set_scheduler),
        (Call::ThreadDonate, Self::thread_donate),
        (Call::ThreadTime, Self::thread_time),
        (Call::MemoryTouched, Self::memory_touched),
        (Call::MemoryCopy, Self::memory_copy),
        (Call::ThreadScheduleAs, Self::thread_schedule_as),
        (Call::ThreadEnter, Self::thread_enter),
        (Call::ViewEnter, Self::view_enter),
        (Call::ViewForget, Self::view_forget),
    ];

    /// The call with this number.
    #[inline(always)]
    pub(crate) fn dispatch_table(&self, number: u64, caller: Thread<'_>) -> Attempt<Done> {
        const { assert!(in_order(&Self::CALLS)) };
        match Self::CALLS.get(number as usize) {
            Some((_, handler)) => handler(self, caller),
            None => Err(Status::new(Code::UnknownCall).into()),
        }
    }
}

/// Returns true if each call stands at its number in the table.
const fn in_order<H>(calls: &[(Call, H)]) -> bool {
    let mut number = 0;
    while number < calls.len() {
        if calls[number].0 as usize != number {
            return false;
        }
        number += 1;
    }
    true
}
