//! The manual of calls as data: what each argument is, which errors that brings, and what else can
//! go wrong. `doc/manual/calls.md` is written from it, and the conformance tests refuse a status
//! that it does not name.

mod description;
mod locks;
mod machine;
mod messages;
mod ports;
mod spaces;
mod threads;

use crate::Call;

pub use description::{Argument, Entry, Failure, Kind};

/// The structures of the calls' arguments, which [`arguments`](crate::arguments) hands on.
pub(crate) mod calls {
    pub use super::locks::{ConditionCreate, ConditionSignal, ConditionWait, MutexCreate, MutexLock, MutexUnlock};
    pub use super::machine::{ClockRead, InterruptAcknowledge, InterruptBind, InterruptReference, IoPortsReference, IoRead, IoWrite, IoWriteBytes, MemoryCopy, MemoryObjects, MemoryReclaim, MemoryTouched};
    pub use super::messages::{IpcCall, IpcDetach, IpcReceive, IpcReply, IpcReplyReceive, IpcSend, PortNotify};
    pub use super::ports::{PortCreate, PortSetCreate, ReferenceCreate, ReferenceReveal};
    pub use super::spaces::{MappingCreate, RegionCreate, SpaceCreate, SpaceDonate, ViewEnter, ViewForget};
    pub use super::threads::{ThreadCreate, ThreadDonate, ThreadEnter, ThreadScheduleAs, ThreadSetBase, ThreadSetForeign, ThreadSetScheduler, ThreadSleep, ThreadStart, ThreadStop, ThreadTime};
}

/// The chapters: a title and the entries of its calls.
pub const CHAPTERS: [(&str, &[Entry]); 6] = [
    ("Messages and notifications", messages::ENTRIES),
    ("Spaces, regions and mappings", spaces::ENTRIES),
    ("Threads", threads::ENTRIES),
    ("Ports, sets of ports and references", ports::ENTRIES),
    ("Mutexes and conditions", locks::ENTRIES),
    ("Memory that is owned, devices, the clock", machine::ENTRIES),
];

/// The entry of a call.
pub fn entry(call: Call) -> Option<&'static Entry> {
    CHAPTERS.iter().flat_map(|(_, entries)| entries.iter()).find(|entry| entry.call == call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_one_entry() {
        let count: usize = CHAPTERS.iter().map(|(_, entries)| entries.len()).sum();
        assert_eq!(count, Call::ALL.len());
        for call in Call::ALL {
            assert!(entry(*call).is_some_and(|entry| !entry.purpose.is_empty()), "{call:?}");
        }
    }
}
