//! Mutexes and conditions: the entries of their calls.

use super::description::{Argument, Entry, Kind, failure, WAIT};
use crate::{Call, Code, ObjectType};

/// The entries.
pub const ENTRIES: &[Entry] = &[
    Entry {
        call: Call::MutexCreate,
        purpose: "Makes a mutex.",
        arguments: &[
        Argument { name: "slot", kind: Kind::Slot(ObjectType::Mutex), text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::MutexDestroy,
        purpose: "Destroys the mutex; who waits gets Gone.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Mutex), text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::MutexMove,
        purpose: "Moves the mutex to another address. Everything that is linked to it stays linked.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Mutex), text: "the object itself, not a reference to it" },
        Argument { name: "slot", kind: Kind::Slot(ObjectType::Mutex), text: "" },
        ],
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references: they are told at once", "destroy some of them"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::MutexReference,
        purpose: "Makes a reference lead to the mutex.",
        arguments: &[
        Argument { name: "object", kind: Kind::Use(ObjectType::Mutex), text: "" },
        Argument { name: "reference", kind: Kind::ReferenceSlot, text: "" },
        Argument { name: "rights", kind: Kind::ReferenceRights, text: "" },
        ],
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
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Mutex), text: "" },
        Argument { name: "buffer", kind: Kind::Buffer, text: "" },
        Argument { name: "size", kind: Kind::BufferSize, text: "" },
        Argument { name: "links", kind: Kind::Links, text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::MutexSetState,
        purpose: "Accepts a state with the right header.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Mutex), text: "" },
        Argument { name: "buffer", kind: Kind::Buffer, text: "" },
        Argument { name: "size", kind: Kind::BufferSize, text: "" },
        Argument { name: "links", kind: Kind::Links, text: "" },
        ],
        results: "",
        failures: &[&[
            failure(2, Code::BadVersion, "the header names another type or a version that is not known", "pass a state of this version"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::MutexLock,
        purpose: "Waits while the word is 2: locked, and somebody waits.",
        arguments: &[
        Argument { name: "mutex", kind: Kind::Use(ObjectType::Mutex), text: "" },
        Argument { name: "word", kind: Kind::Word, text: "" },
        ],
        results: "",
        failures: &[WAIT],
        restarts: "from the start: the word is looked at again",
    },
    Entry {
        call: Call::MutexUnlock,
        purpose: "Lets one waiting thread look again.",
        arguments: &[
        Argument { name: "mutex", kind: Kind::Use(ObjectType::Mutex), text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::ConditionCreate,
        purpose: "Makes a condition variable.",
        arguments: &[
        Argument { name: "slot", kind: Kind::Slot(ObjectType::Condition), text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::ConditionDestroy,
        purpose: "Destroys the condition variable; who waits gets Gone.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Condition), text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::ConditionMove,
        purpose: "Moves the condition variable to another address. Everything that is linked to it stays linked.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Condition), text: "the object itself, not a reference to it" },
        Argument { name: "slot", kind: Kind::Slot(ObjectType::Condition), text: "" },
        ],
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references: they are told at once", "destroy some of them"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ConditionReference,
        purpose: "Makes a reference lead to the condition variable.",
        arguments: &[
        Argument { name: "object", kind: Kind::Use(ObjectType::Condition), text: "" },
        Argument { name: "reference", kind: Kind::ReferenceSlot, text: "" },
        Argument { name: "rights", kind: Kind::ReferenceRights, text: "" },
        ],
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
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Condition), text: "" },
        Argument { name: "buffer", kind: Kind::Buffer, text: "" },
        Argument { name: "size", kind: Kind::BufferSize, text: "" },
        Argument { name: "links", kind: Kind::Links, text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::ConditionSetState,
        purpose: "Accepts a state with the right header.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Condition), text: "" },
        Argument { name: "buffer", kind: Kind::Buffer, text: "" },
        Argument { name: "size", kind: Kind::BufferSize, text: "" },
        Argument { name: "links", kind: Kind::Links, text: "" },
        ],
        results: "",
        failures: &[&[
            failure(2, Code::BadVersion, "the header names another type or a version that is not known", "pass a state of this version"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ConditionWait,
        purpose: "Waits while the word is what the caller expects.",
        arguments: &[
        Argument { name: "condition", kind: Kind::Use(ObjectType::Condition), text: "" },
        Argument { name: "word", kind: Kind::Word, text: "" },
        Argument { name: "expected", kind: Kind::Number, text: "32 bits" },
        ],
        results: "",
        failures: &[WAIT, &[
            failure(3, Code::BadArgument, "more than 32 bits", "pass a 32-bit value"),
        ]],
        restarts: "from the start: the word is looked at again",
    },
    Entry {
        call: Call::ConditionSignal,
        purpose: "Wakes threads that wait, at most 64 in one call.",
        arguments: &[
        Argument { name: "condition", kind: Kind::Use(ObjectType::Condition), text: "" },
        Argument { name: "count", kind: Kind::Number, text: "" },
        ],
        results: "rdx: how many were woken",
        failures: &[],
        restarts: "",
    },
];
