//! Messages and notifications: the entries of their calls.

use super::description::{Argument, Entry, Kind, failure, MESSAGE, WAIT};
use crate::{Call, Code, ObjectType};

/// Failures of a reply that maps (label MAP of `fault`).
const MAPS: &[super::Failure] = &[
    failure(3, Code::BadRange, "label MAP: start, size or offset is no multiple of 4096, or leaves the user's addresses or the region", "round to pages"),
    failure(4, Code::BadRange, "label MAP: as for argument 3", "round to pages"),
    failure(6, Code::BadRange, "label MAP: as for argument 3", "choose a smaller window"),
    failure(3, Code::Overlap, "label MAP: another mapping is in the way", "destroy it, or choose another place"),
    failure(6, Code::BadRights, "label MAP: rights that the region does not have", "ask for fewer"),
    failure(8, Code::NotObjectMemory, "label MAP: the slot may not hold objects", "map it with WRITE and OBJECTS"),
    failure(8, Code::SlotOccupied, "label MAP: the slot holds another object", "choose another slot"),
    failure(0, Code::BadAddress, "label MAP: nothing is mapped at the address of region, space or slot, or it is not aligned", "pass addresses of your own space"),
    failure(0, Code::TooDeep, "label MAP: region, space or slot lies under too many layers", "map from a space nearer to the machine"),
    failure(0, Code::NotAnObject, "label MAP: region or space is no object", "pass addresses of objects or references"),
    failure(0, Code::WrongType, "label MAP: region or space is of another type", "pass a region and a space"),
    failure(0, Code::NullReference, "label MAP: the reference to region or space is null", "obtain a new reference"),
    failure(0, Code::Denied, "label MAP: the reference to region or space lacks the right", "ask whoever made it for one with the right"),
];

arguments! {
    IpcCall {
        target: Kind::Use(ObjectType::Port), "";
        info: Kind::Message, "label in the low half";
    }
    IpcSend {
        target: Kind::Use(ObjectType::Port), "or a reply reference";
        info: Kind::Message, "label in the low half";
    }
    IpcReply {
        unused: Kind::Number, "";
        info: Kind::Message, "";
    }
    IpcReplyReceive {
        from: Kind::Object(ObjectType::Port), "or a PortSet";
        info: Kind::Message, "";
    }
    IpcReceive {
        from: Kind::Object(ObjectType::Port), "or a PortSet";
    }
    IpcDetach {
        slot: Kind::ReferenceSlot, "";
    }
    PortNotify {
        port: Kind::Notified, "";
        bits: Kind::Number, "";
    }
}

/// The entries.
pub const ENTRIES: &[Entry] = &[
    Entry {
        call: Call::Null,
        purpose: "Does nothing; the measure of what entering the kernel costs.",
        arguments: &[],
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::IpcCall,
        purpose: "Sends a message through a reference and waits for the reply. When the receiver has taken the message the call goes on as `ipc_receive_reply`. With FOR_CLIENT (bit 58) in the info it ends with Interrupted when the client to which the caller owes a reply waits no more.",
        arguments: IpcCall::ARGUMENTS,
        results: "message registers of the reply",
        failures: &[MESSAGE, WAIT],
        restarts: "before the message is taken: from the start; after: as ipc_receive_reply",
    },
    Entry {
        call: Call::IpcReceiveReply,
        purpose: "The second half of `ipc_call`: where a thread stands whose message was taken. It waits there without making the call; whoever makes it is owed no reply, and gets Gone.",
        arguments: &[],
        results: "message registers of the reply",
        failures: &[MESSAGE, WAIT],
        restarts: "from the start",
    },
    Entry {
        call: Call::IpcSend,
        purpose: "Hands a message over; no reply follows. Through a reply reference it is the reply, and uses the reference up. A reply to a fault may map (see `fault::MAP`).",
        arguments: IpcSend::ARGUMENTS,
        results: "",
        failures: &[MESSAGE, MAPS, WAIT],
        restarts: "from the start",
    },
    Entry {
        call: Call::IpcReceive,
        purpose: "Waits for a message, a notification or a fault at a port, or at any port of a set. Whoever was owed a reply and has none gets Gone.",
        arguments: IpcReceive::ARGUMENTS,
        results: "rdi: the word of the port; message registers",
        failures: &[MESSAGE, WAIT],
        restarts: "from the start",
    },
    Entry {
        call: Call::IpcReply,
        purpose: "Answers the client whose message was received last. What the client has no room for is cut off, and it is told. A reply to a fault may map (see `fault::MAP`): if it fails, nothing has changed.",
        arguments: IpcReply::ARGUMENTS,
        results: "",
        failures: &[MESSAGE, MAPS, &[
            failure(0, Code::NotConnected, "there is no client to answer", "receive first"),
        ]],
        restarts: "from the start",
    },
    Entry {
        call: Call::IpcReplyReceive,
        purpose: "Answers the client, then receives, in one entry. A reply to a fault may map, as that of `ipc_reply`.",
        arguments: IpcReplyReceive::ARGUMENTS,
        results: "as ipc_receive",
        failures: &[MESSAGE, MAPS, WAIT, &[
            failure(0, Code::NotConnected, "there is no client to answer", "use ipc_receive"),
        ]],
        restarts: "before the reply is out: from the start; after: as ipc_receive",
    },
    Entry {
        call: Call::IpcDetach,
        purpose: "Makes a reply reference to the client whose message was received last, so that it can be answered later, by ipc_send.",
        arguments: IpcDetach::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(0, Code::NotConnected, "there is no client to answer", "receive first"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::PortNotify,
        purpose: "Adds bits to the pending notification of a port, or hands them to who waits there. Never blocks; bits 62 and 63 are the kernel's own and are ignored.",
        arguments: PortNotify::ARGUMENTS,
        results: "",
        failures: &[],
        restarts: "",
    },
];
