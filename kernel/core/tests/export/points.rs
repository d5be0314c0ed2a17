//! Where calls wait or are cut off: one line for each call, without a rest, so that a new call must
//! be thought of.

use nacre_abi::Call;

/// Way in which a call can be interrupted.
pub enum Point {
    /// Atomic: the call is over when its entry is, unless it lacks a page. The scenario "page"
    /// tests that for all calls.
    Never,
    /// Interruptible half way, which this scenario tests.
    In(&'static str),
}

/// Returns the way in which `call` can be interrupted.
pub fn point(call: Call) -> Point {
    match call {
        Call::IpcCall => Point::In("call"),
        Call::IpcSend => Point::In("long message"),
        Call::IpcReceive => Point::In("notification"),
        Call::IpcReplyReceive => Point::In("call"),
        Call::ThreadSleep => Point::In("time"),
        Call::PortDestroy => Point::In("destruction"),
        Call::MutexLock => Point::In("lock"),
        Call::ConditionWait => Point::In("lock"),
        Call::MemoryReclaim => Point::In("cut off"),
        Call::MemoryCopy => Point::In("copy"),
        Call::ThreadDonate => Point::In("given time"),
        Call::SpaceDestroy => Point::In("space destruction"),
        Call::RegionDestroy => Point::In("region destruction"),
        Call::MappingDestroy => Point::In("mapping destruction"),
        Call::ThreadDestroy => Point::In("thread destruction"),
        Call::PortSetDestroy => Point::In("set destruction"),
        Call::MutexDestroy => Point::In("mutex destruction"),
        Call::ConditionDestroy => Point::In("condition destruction"),
        // Whoever is owed a reply waits for it without being seen to make this call.
        // What stops a thread of another CPU is made again until that is done, which takes no
        // state.
        Call::Null
        | Call::IpcReceiveReply
        | Call::IpcReply
        | Call::IpcDetach
        | Call::PortNotify
        | Call::SpaceCreate
        | Call::SpaceMove
        | Call::SpaceReference
        | Call::SpaceGetState
        | Call::SpaceSetState
        | Call::SpaceDonate
        | Call::RegionCreate
        | Call::RegionMove
        | Call::RegionReference
        | Call::RegionGetState
        | Call::RegionSetState
        | Call::MappingCreate
        | Call::MappingMove
        | Call::MappingReference
        | Call::MappingGetState
        | Call::MappingSetState
        | Call::ThreadCreate
        | Call::ThreadMove
        | Call::ThreadReference
        | Call::ThreadGetState
        | Call::ThreadSetState
        | Call::ThreadStart
        | Call::ThreadStop
        | Call::ThreadTime
        | Call::MemoryTouched
        | Call::ThreadYield
        | Call::ThreadSetForeign
        | Call::ThreadSetScheduler
        | Call::ThreadScheduleAs
        // A guest is entered behind it.
        | Call::ThreadEnter
        // Pages of a view are in no state: what is forgotten half way is a cache.
        | Call::ViewEnter
        | Call::ViewForget
        | Call::ThreadSetBase
        | Call::PortCreate
        | Call::PortMove
        | Call::PortReference
        | Call::PortGetState
        | Call::PortSetState
        | Call::PortSetCreate
        | Call::PortSetMove
        | Call::PortSetReference
        | Call::PortSetGetState
        | Call::PortSetSetState
        | Call::ReferenceCreate
        // Nothing leads to a reference.
        | Call::ReferenceDestroy
        | Call::ReferenceMove
        | Call::ReferenceReference
        | Call::ReferenceGetState
        | Call::ReferenceSetState
        | Call::ReferenceReveal
        | Call::MutexCreate
        | Call::MutexMove
        | Call::MutexReference
        | Call::MutexGetState
        | Call::MutexSetState
        | Call::MutexUnlock
        | Call::ConditionCreate
        | Call::ConditionMove
        | Call::ConditionReference
        | Call::ConditionGetState
        | Call::ConditionSetState
        | Call::ConditionSignal
        | Call::MemoryObjects
        | Call::IoRead
        | Call::IoWrite
        | Call::IoWriteBytes
        | Call::IoPortsReference
        | Call::InterruptBind
        | Call::InterruptAcknowledge
        | Call::InterruptReference
        | Call::ClockRead => Point::Never,
    }
}
