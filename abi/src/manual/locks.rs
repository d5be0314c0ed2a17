//! Mutexes and conditions: the entries of their calls.

use super::description::{Argument, Entry, Kind, failure, WAIT};
use crate::arguments::{Destroy, GetState, Move, Reference, SetState};
use crate::{Call, Code, ObjectType};

arguments! {
    MutexCreate {
        slot: Kind::Slot(ObjectType::Mutex), "";
    }
    MutexLock {
        mutex: Kind::Use(ObjectType::Mutex), "";
        word: Kind::Word, "";
    }
    MutexUnlock {
        mutex: Kind::Use(ObjectType::Mutex), "";
    }
    ConditionCreate {
        slot: Kind::Slot(ObjectType::Condition), "";
    }
    ConditionWait {
        condition: Kind::Use(ObjectType::Condition), "";
        word: Kind::Word, "";
        expected: Kind::Number, "32 bits";
    }
    ConditionSignal {
        condition: Kind::Use(ObjectType::Condition), "";
        count: Kind::Number, "";
    }
}

/// The entries.
pub const ENTRIES: &[Entry] = &[
    Entry {
        call: Call::MutexCreate,
        purpose: "Makes a mutex.",
        arguments: MutexCreate::ARGUMENTS,
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::MutexDestroy,
        purpose: "Destroys the mutex; who waits gets Gone.",
        arguments: &Destroy::of([Kind::Object(ObjectType::Mutex)], [""]),
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::MutexMove,
        purpose: "Moves the mutex to another address. Everything that is linked to it stays linked.",
        arguments: &Move::of([Kind::Object(ObjectType::Mutex), Kind::Slot(ObjectType::Mutex)], ["the object itself, not a reference to it", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references: they are told at once", "destroy some of them"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::MutexReference,
        purpose: "Makes a reference lead to the mutex.",
        arguments: &Reference::of([Kind::Use(ObjectType::Mutex), Kind::ReferenceSlot, Kind::ReferenceRights], ["", "", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Denied, "a reply reference cannot be copied", "move it"),
            failure(3, Code::Denied, "more rights than the source has", "ask for fewer"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::MutexGetState,
        purpose: "Writes `MutexState` to the buffer.",
        arguments: &GetState::of([Kind::Object(ObjectType::Mutex), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::MutexSetState,
        purpose: "Accepts a state with the right header.",
        arguments: &SetState::of([Kind::Object(ObjectType::Mutex), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[&[
            failure(2, Code::BadVersion, "the header names another type or a version that is not known", "pass a state of this version"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::MutexLock,
        purpose: "Waits while the word is 2: locked, and somebody waits.",
        arguments: MutexLock::ARGUMENTS,
        results: "",
        failures: &[WAIT],
        restarts: "from the start: the word is looked at again",
    },
    Entry {
        call: Call::MutexUnlock,
        purpose: "Lets one waiting thread look again.",
        arguments: MutexUnlock::ARGUMENTS,
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::ConditionCreate,
        purpose: "Makes a condition variable.",
        arguments: ConditionCreate::ARGUMENTS,
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::ConditionDestroy,
        purpose: "Destroys the condition variable; who waits gets Gone.",
        arguments: &Destroy::of([Kind::Object(ObjectType::Condition)], [""]),
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::ConditionMove,
        purpose: "Moves the condition variable to another address. Everything that is linked to it stays linked.",
        arguments: &Move::of([Kind::Object(ObjectType::Condition), Kind::Slot(ObjectType::Condition)], ["the object itself, not a reference to it", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references: they are told at once", "destroy some of them"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ConditionReference,
        purpose: "Makes a reference lead to the condition variable.",
        arguments: &Reference::of([Kind::Use(ObjectType::Condition), Kind::ReferenceSlot, Kind::ReferenceRights], ["", "", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Denied, "a reply reference cannot be copied", "move it"),
            failure(3, Code::Denied, "more rights than the source has", "ask for fewer"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ConditionGetState,
        purpose: "Writes `ConditionState` to the buffer.",
        arguments: &GetState::of([Kind::Object(ObjectType::Condition), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::ConditionSetState,
        purpose: "Accepts a state with the right header.",
        arguments: &SetState::of([Kind::Object(ObjectType::Condition), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[&[
            failure(2, Code::BadVersion, "the header names another type or a version that is not known", "pass a state of this version"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ConditionWait,
        purpose: "Waits while the word is what the caller expects.",
        arguments: ConditionWait::ARGUMENTS,
        results: "",
        failures: &[WAIT, &[
            failure(3, Code::BadArgument, "more than 32 bits", "pass a 32-bit value"),
        ]],
        restarts: "from the start: the word is looked at again",
    },
    Entry {
        call: Call::ConditionSignal,
        purpose: "Wakes threads that wait, at most 64 in one call.",
        arguments: ConditionSignal::ARGUMENTS,
        results: "rdx: how many were woken",
        failures: &[],
        restarts: "",
    },
];
