//! Messages and notifications: the entries of their calls.

use super::description::{Argument, Entry, Kind, failure, MESSAGE, WAIT};
use crate::{Call, Code, ObjectType};

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
        arguments: &[
        Argument { name: "target", kind: Kind::Use(ObjectType::Port), text: "" },
        Argument { name: "info", kind: Kind::Message, text: "label in the low half" },
        ],
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
        purpose: "Hands a message over; no reply follows. Through a reply reference it is the reply, and uses the reference up.",
        arguments: &[
        Argument { name: "target", kind: Kind::Use(ObjectType::Port), text: "or a reply reference" },
        Argument { name: "info", kind: Kind::Message, text: "label in the low half" },
        ],
        results: "",
        failures: &[MESSAGE, WAIT],
        restarts: "from the start",
    },
    Entry {
        call: Call::IpcReceive,
        purpose: "Waits for a message, a notification or a fault at a port, or at any port of a set. Whoever was owed a reply and has none gets Gone.",
        arguments: &[
        Argument { name: "from", kind: Kind::Object(ObjectType::Port), text: "or a PortSet" },
        ],
        results: "rdi: the word of the port; message registers",
        failures: &[MESSAGE, WAIT],
        restarts: "from the start",
    },
    Entry {
        call: Call::IpcReply,
        purpose: "Answers the client whose message was received last. What the client has no room for is cut off, and it is told.",
        arguments: &[
        Argument { name: "unused", kind: Kind::Number, text: "" },
        Argument { name: "info", kind: Kind::Message, text: "" },
        ],
        results: "",
        failures: &[MESSAGE, &[
            failure(0, Code::NotConnected, "there is no client to answer", "receive first"),
        ]],
        restarts: "from the start",
    },
    Entry {
        call: Call::IpcReplyReceive,
        purpose: "Answers the client, then receives, in one entry.",
        arguments: &[
        Argument { name: "from", kind: Kind::Object(ObjectType::Port), text: "or a PortSet" },
        Argument { name: "info", kind: Kind::Message, text: "" },
        ],
        results: "as ipc_receive",
        failures: &[MESSAGE, WAIT, &[
            failure(0, Code::NotConnected, "there is no client to answer", "use ipc_receive"),
        ]],
        restarts: "before the reply is out: from the start; after: as ipc_receive",
    },
    Entry {
        call: Call::IpcDetach,
        purpose: "Makes a reply reference to the client whose message was received last, so that it can be answered later, by ipc_send.",
        arguments: &[
        Argument { name: "slot", kind: Kind::ReferenceSlot, text: "" },
        ],
        results: "",
        failures: &[&[
            failure(0, Code::NotConnected, "there is no client to answer", "receive first"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::PortNotify,
        purpose: "Adds bits to the pending notification of a port, or hands them to who waits there. Never blocks; bits 62 and 63 are the kernel's own and are ignored.",
        arguments: &[
        Argument { name: "port", kind: Kind::Notified, text: "" },
        Argument { name: "bits", kind: Kind::Number, text: "" },
        ],
        results: "",
        failures: &[],
        restarts: "",
    },
];
