//! Ports, sets of ports and references: the entries of their calls.

use super::description::{Argument, Entry, Kind, failure};
use crate::arguments::{Destroy, GetState, Move, Reference, SetState};
use crate::{Call, Code, ObjectType};

arguments! {
    PortCreate {
        slot: Kind::Slot(ObjectType::Port), "";
        word: Kind::Number, "handed to who receives";
        set: Kind::Object(ObjectType::PortSet), "0: none";
    }
    PortSetCreate {
        slot: Kind::Slot(ObjectType::PortSet), "";
    }
    ReferenceCreate {
        slot: Kind::Slot(ObjectType::Reference), "";
    }
    ReferenceReveal {
        reference: Kind::Reference, "";
        start: Kind::Number, "";
        size: Kind::Number, "";
    }
}

/// The entries.
pub const ENTRIES: &[Entry] = &[
    Entry {
        call: Call::PortCreate,
        purpose: "Makes a port.",
        arguments: PortCreate::ARGUMENTS,
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::PortDestroy,
        purpose: "Destroys the port: its references become null, who waits there gets Gone.",
        arguments: &Destroy::of([Kind::Object(ObjectType::Port)], [""]),
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::PortMove,
        purpose: "Moves the port to another address. Everything that is linked to it stays linked.",
        arguments: &Move::of([Kind::Object(ObjectType::Port), Kind::Slot(ObjectType::Port)], ["the object itself, not a reference to it", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references: they are told at once", "destroy some of them"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::PortReference,
        purpose: "Makes a reference lead to the port.",
        arguments: &Reference::of([Kind::Use(ObjectType::Port), Kind::ReferenceSlot, Kind::ReferenceRights], ["", "", ""]),
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
        arguments: &GetState::of([Kind::Object(ObjectType::Port), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::PortSetState,
        purpose: "Changes word, pending bits and, if `links` offers one, the set.",
        arguments: &SetState::of([Kind::Object(ObjectType::Port), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[&[
            failure(2, Code::BadVersion, "the header names another type or a version that is not known", "pass a state of this version"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::PortSetCreate,
        purpose: "Makes an empty set of ports.",
        arguments: PortSetCreate::ARGUMENTS,
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::PortSetDestroy,
        purpose: "Destroys the set; its ports stand alone again.",
        arguments: &Destroy::of([Kind::Object(ObjectType::PortSet)], [""]),
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::PortSetMove,
        purpose: "Moves the port set to another address. Everything that is linked to it stays linked.",
        arguments: &Move::of([Kind::Object(ObjectType::PortSet), Kind::Slot(ObjectType::PortSet)], ["the object itself, not a reference to it", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references or ports: they are told at once", "destroy some of them"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::PortSetReference,
        purpose: "Makes a reference lead to the port set.",
        arguments: &Reference::of([Kind::Use(ObjectType::PortSet), Kind::ReferenceSlot, Kind::ReferenceRights], ["", "", ""]),
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
        arguments: &GetState::of([Kind::Object(ObjectType::PortSet), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::PortSetSetState,
        purpose: "Accepts a state with the right header; a set has nothing else to change.",
        arguments: &SetState::of([Kind::Object(ObjectType::PortSet), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[&[
            failure(2, Code::BadVersion, "the header names another type or a version that is not known", "pass a state of this version"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ReferenceCreate,
        purpose: "Makes a null reference.",
        arguments: ReferenceCreate::ARGUMENTS,
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::ReferenceDestroy,
        purpose: "Destroys the reference, not what it leads to. If it was the last to a port, the port is notified.",
        arguments: &Destroy::of([Kind::Reference], [""]),
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::ReferenceMove,
        purpose: "Moves the reference to another address. Everything that is linked to it stays linked.",
        arguments: &Move::of([Kind::Reference, Kind::Slot(ObjectType::Reference)], ["the object itself, not a reference to it", ""]),
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::ReferenceReference,
        purpose: "Copies a reference.",
        arguments: &Reference::of([Kind::Reference, Kind::ReferenceSlot, Kind::ReferenceRights], ["", "", ""]),
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
        arguments: &GetState::of([Kind::Reference, Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::ReferenceSetState,
        purpose: "With the state of a null reference: makes it null. With that of a reply reference, and the client as the first of `links`: makes it one by which that client is answered.",
        arguments: &SetState::of([Kind::Reference, Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
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
        arguments: ReferenceReveal::ARGUMENTS,
        results: "rdx: its address, or 0; r8: its type",
        failures: &[&[
            failure(2, Code::BadRange, "the range leaves the user's addresses", "pass a range of your space"),
        ]],
        restarts: "where it was: rsi and rdx say what is left of the range",
    },
];
