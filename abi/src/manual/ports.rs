//! Ports, sets of ports and references: the entries of their calls.

use super::description::{Argument, Entry, Kind, failure};
use crate::{Call, Code, ObjectType};

/// The entries.
pub const ENTRIES: &[Entry] = &[
    Entry {
        call: Call::PortCreate,
        purpose: "Makes a port.",
        arguments: &[
        Argument { name: "slot", kind: Kind::Slot(ObjectType::Port), text: "" },
        Argument { name: "word", kind: Kind::Number, text: "handed to who receives" },
        Argument { name: "set", kind: Kind::Object(ObjectType::PortSet), text: "0: none" },
        ],
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::PortDestroy,
        purpose: "Destroys the port: its references become null, who waits there gets Gone.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Port), text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::PortMove,
        purpose: "Moves the port to another address. Everything that is linked to it stays linked.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Port), text: "the object itself, not a reference to it" },
        Argument { name: "slot", kind: Kind::Slot(ObjectType::Port), text: "" },
        ],
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references: they are told at once", "destroy some of them"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::PortReference,
        purpose: "Makes a reference lead to the port.",
        arguments: &[
        Argument { name: "object", kind: Kind::Use(ObjectType::Port), text: "" },
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
        call: Call::PortGetState,
        purpose: "Writes `PortState` to the buffer; `links`, if given, are filled with references to [set], without rights (see `space_get_state`).",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Port), text: "" },
        Argument { name: "buffer", kind: Kind::Buffer, text: "" },
        Argument { name: "size", kind: Kind::BufferSize, text: "" },
        Argument { name: "links", kind: Kind::Links, text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::PortSetState,
        purpose: "Changes word, pending bits and, if `links` offers one, the set.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::Port), text: "" },
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
        call: Call::PortSetCreate,
        purpose: "Makes an empty set of ports.",
        arguments: &[
        Argument { name: "slot", kind: Kind::Slot(ObjectType::PortSet), text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::PortSetDestroy,
        purpose: "Destroys the set; its ports stand alone again.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::PortSet), text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::PortSetMove,
        purpose: "Moves the port set to another address. Everything that is linked to it stays linked.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::PortSet), text: "the object itself, not a reference to it" },
        Argument { name: "slot", kind: Kind::Slot(ObjectType::PortSet), text: "" },
        ],
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references or ports: they are told at once", "destroy some of them"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::PortSetReference,
        purpose: "Makes a reference lead to the port set.",
        arguments: &[
        Argument { name: "object", kind: Kind::Use(ObjectType::PortSet), text: "" },
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
        call: Call::PortSetGetState,
        purpose: "Writes `PortSetState` to the buffer.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::PortSet), text: "" },
        Argument { name: "buffer", kind: Kind::Buffer, text: "" },
        Argument { name: "size", kind: Kind::BufferSize, text: "" },
        Argument { name: "links", kind: Kind::Links, text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::PortSetSetState,
        purpose: "Accepts a state with the right header; a set has nothing else to change.",
        arguments: &[
        Argument { name: "object", kind: Kind::Object(ObjectType::PortSet), text: "" },
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
        call: Call::ReferenceCreate,
        purpose: "Makes a null reference.",
        arguments: &[
        Argument { name: "slot", kind: Kind::Slot(ObjectType::Reference), text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::ReferenceDestroy,
        purpose: "Destroys the reference, not what it leads to. If it was the last to a port, the port is notified.",
        arguments: &[
        Argument { name: "object", kind: Kind::Reference, text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::ReferenceMove,
        purpose: "Moves the reference to another address. Everything that is linked to it stays linked.",
        arguments: &[
        Argument { name: "object", kind: Kind::Reference, text: "the object itself, not a reference to it" },
        Argument { name: "slot", kind: Kind::Slot(ObjectType::Reference), text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::ReferenceReference,
        purpose: "Copies a reference.",
        arguments: &[
        Argument { name: "object", kind: Kind::Reference, text: "" },
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
        call: Call::ReferenceGetState,
        purpose: "Writes `ReferenceState` to the buffer.",
        arguments: &[
        Argument { name: "object", kind: Kind::Reference, text: "" },
        Argument { name: "buffer", kind: Kind::Buffer, text: "" },
        Argument { name: "size", kind: Kind::BufferSize, text: "" },
        Argument { name: "links", kind: Kind::Links, text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::ReferenceSetState,
        purpose: "With the state of a null reference: makes it null. With that of a reply reference, and the client as the first of `links`: makes it one by which that client is answered.",
        arguments: &[
        Argument { name: "object", kind: Kind::Reference, text: "" },
        Argument { name: "buffer", kind: Kind::Buffer, text: "" },
        Argument { name: "size", kind: Kind::BufferSize, text: "" },
        Argument { name: "links", kind: Kind::Links, text: "" },
        ],
        results: "",
        failures: &[&[
            failure(2, Code::BadVersion, "the header names another type or a version that is not known", "pass a state of this version"),
            failure(2, Code::BadArgument, "the state names another target", "use the reference call of the target"),
            failure(4, Code::NullReference, "no client is given", "pass a thread that awaits an answer"),
            failure(4, Code::NotStopped, "the client is not stopped", "stop it first"),
            failure(4, Code::BadArgument, "the client awaits no answer", "set the client's state first"),
            failure(4, Code::Busy, "somebody owes the client an answer already", "set who that is to owe nobody"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ReferenceReveal,
        purpose: "Tells whether the target lies in a range of the caller's memory, and where.",
        arguments: &[
        Argument { name: "reference", kind: Kind::Reference, text: "" },
        Argument { name: "start", kind: Kind::Number, text: "" },
        Argument { name: "size", kind: Kind::Number, text: "" },
        ],
        results: "rdx: its address, or 0; r8: its type",
        failures: &[&[
            failure(2, Code::BadRange, "the range leaves the user's addresses", "pass a range of your space"),
        ]],
        restarts: "where it was: rsi and rdx say what is left of the range",
    },
];
