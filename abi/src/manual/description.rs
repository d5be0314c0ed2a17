//! Description of a call: its arguments, and the ways in which it can fail.

use crate::{Call, Code, ObjectType};

/// Kind of an argument. Each kind has errors of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An object of this type, or a reference to it with `REFERENCE_CONTROL`.
    Object(ObjectType),
    /// An object of this type, or a reference to it with `REFERENCE_USE`.
    Use(ObjectType),
    /// A port, or a reference to it with `REFERENCE_NOTIFY`.
    Notified,
    /// A space, or a reference to it with `REFERENCE_CONTROL`; 0 is the caller's own.
    SpaceOrOwn,
    /// A port to which the kernel sends messages, or a reference to it with `REFERENCE_CONTROL`; 0
    /// for none.
    Keeper,
    /// The address of a reference object itself.
    Reference,
    /// A reference to a resource of the machine.
    Resource,
    /// A free place for an object of this type.
    Slot(ObjectType),
    /// A free place for a reference, or a reference that is replaced.
    ReferenceSlot,
    /// First address of a range; a multiple of 4096.
    Start,
    /// Size of a range in bytes; a multiple of 4096, not 0.
    Size,
    /// Pages of plain memory of the caller, mapped with WRITE and OBJECTS, to be donated.
    Donation,
    /// `Rights` of memory.
    Rights,
    /// Rights of a reference.
    ReferenceRights,
    /// Address of a buffer; a multiple of 8.
    Buffer,
    /// Address of a 32-bit word; a multiple of 4.
    Word,
    /// Size of the buffer in bytes.
    BufferSize,
    /// Address of an array of addresses of references (a multiple of 64), or 0.
    Links,
    /// The message: label, words and descriptor.
    Message,
    /// A number, whatever it is.
    Number,
}

/// A way to fail: the number of the argument that the status names, the code, the cause, the
/// remedy.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// Number of the argument; 0 = none in particular.
    pub argument: u8,
    /// The code.
    pub code: Code,
    /// Cause of the failure.
    pub cause: &'static str,
    /// Remedy of the caller.
    pub remedy: &'static str,
}

/// One argument.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Name of the argument.
    pub name: &'static str,
    /// Kind of the argument.
    pub kind: Kind,
    /// More about it: meaning, units.
    pub text: &'static str,
}

/// Chapter of the manual about one call.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The call.
    pub call: Call,
    /// Purpose of the call, and its effect when nothing fails.
    pub purpose: &'static str,
    /// The arguments, in order.
    pub arguments: &'static [Argument],
    /// Results besides the status.
    pub results: &'static str,
    /// Failures beyond those that the arguments' kinds bring.
    pub failures: &'static [&'static [Failure]],
    /// Point at which the call continues after it was cut off.
    pub restarts: &'static str,
}

/// Failures of a message.
pub(super) const MESSAGE: &[Failure] = &[
    failure(9, Code::BadArgument, "more than 16384 bytes or 8 references", "send less"),
    failure(9, Code::BadAddress, "the descriptor, a buffer or an array is not in your memory (or, for the reply, was not there when it came)", "pass addresses of mapped memory; touch the buffers first"),
    failure(9, Code::TooDeep, "the same, under too many layers", "map from a space nearer to the machine"),
    failure(9, Code::NotAnObject, "an address in the array of references to send names no object", "pass addresses of references"),
    failure(9, Code::WrongType, "an address in the array names an object that is no reference", "make a reference to it first"),
    failure(9, Code::Denied, "a reply reference cannot be sent", "reply yourself"),
    failure(9, Code::MessageTooLong, "the receiver has too little room for the bytes (send), or bytes were cut off (reply)", "send less, or offer more"),
    failure(9, Code::NoSlots, "the receiver offers too few slots (send), or references were dropped (reply)", "send fewer, or offer more"),
    failure(9, Code::NotObjectMemory, "a slot for received references may not hold objects", "map it with WRITE and OBJECTS"),
    failure(9, Code::SlotOccupied, "a slot for received references holds another object", "offer free slots or references"),
];

/// Failures of a wait.
pub(super) const WAIT: &[Failure] = &[
    failure(0, Code::TimedOut, "the time given in r15 passed", "try again, or give more time"),
    failure(0, Code::Gone, "the port, or who owed the reply, is gone", "obtain a new reference"),
    failure(0, Code::Interrupted, "thread_stop ended the wait, or with FOR_CLIENT the client's wait is over", "make the call again if you still want it"),
];

pub(super) const fn failure(argument: u8, code: Code, cause: &'static str, remedy: &'static str) -> Failure {
    Failure { argument, code, cause, remedy }
}

const ADDRESS: Failure = failure(0, Code::BadAddress, "nothing is mapped at the address, or it is not aligned, or composition lacks a page and its region has no keeper", "pass an address of your own space");
const DEEP: Failure = failure(0, Code::TooDeep, "the address lies under more than 64 layers of mappings, or fewer in spaces with thousands of them; or what lies there is taken out of the tables again and again", "map from a space nearer to the machine");
const NOT_OBJECT: Failure = failure(0, Code::NotAnObject, "no live object starts at the address", "pass the address that the object was created or moved to");
const TYPE: Failure = failure(0, Code::WrongType, "the object, or what the reference leads to, is of another type", "pass an object of the type named above");
const NULL: Failure = failure(0, Code::NullReference, "the reference is null: its target is gone, or it never had one", "obtain a new reference");
const DENIED: Failure = failure(0, Code::Denied, "the reference lacks the right", "ask whoever made the reference for one with the right");
const MEMORY: Failure = failure(0, Code::NotObjectMemory, "the memory is a device, or is mapped without WRITE and OBJECTS", "map it with both rights");
const OCCUPIED: Failure = failure(0, Code::SlotOccupied, "a live object occupies part of the slot", "choose another slot, or destroy the object");
const RANGE: Failure = failure(0, Code::BadRange, "not a multiple of 4096, or 0, or it overflows or leaves the user's addresses", "round start and size to pages");
const RIGHTS: Failure = failure(0, Code::BadRights, "bits without meaning, or rights that the source does not have", "pass a subset of what the source has");
const BUSY_PAGE: Failure = failure(0, Code::Busy, "a page holds objects or tables already", "pass plain memory");
const SMALL: Failure = failure(0, Code::BufferTooSmall, "the state does not fit", "pass at least the size that the state's documentation gives");

impl Kind {
    /// Returns the failures of an argument of this kind. The argument's number is 0 in them.
    pub const fn failures(self) -> &'static [Failure] {
        match self {
            Kind::Object(_) | Kind::Use(_) | Kind::Notified | Kind::SpaceOrOwn | Kind::Keeper => &[ADDRESS, DEEP, NOT_OBJECT, TYPE, NULL, DENIED],
            Kind::Reference => &[ADDRESS, DEEP, NOT_OBJECT, TYPE],
            Kind::Resource => &[ADDRESS, DEEP, NOT_OBJECT, TYPE, NULL, DENIED],
            Kind::Slot(_) | Kind::ReferenceSlot => &[ADDRESS, DEEP, MEMORY, OCCUPIED],
            Kind::Start | Kind::Size => &[RANGE],
            Kind::Donation => &[ADDRESS, DEEP, MEMORY, BUSY_PAGE, RANGE],
            Kind::Rights | Kind::ReferenceRights => &[RIGHTS],
            Kind::Buffer | Kind::Word => &[ADDRESS, DEEP],
            Kind::BufferSize => &[SMALL],
            Kind::Links => &[ADDRESS, DEEP, NOT_OBJECT, TYPE, NULL, DENIED, MEMORY, OCCUPIED],
            Kind::Message | Kind::Number => &[],
        }
    }

    /// Returns the kind in words.
    pub const fn text(self) -> &'static str {
        match self {
            Kind::Object(_) => "object, or reference with CONTROL",
            Kind::Use(_) => "object, or reference with USE",
            Kind::Notified => "Port, or reference with NOTIFY",
            Kind::SpaceOrOwn => "Space, or reference with CONTROL; 0: the caller's own",
            Kind::Keeper => "Port, or reference with CONTROL; 0: none",
            Kind::Reference => "Reference (itself)",
            Kind::Resource => "Reference with USE to a resource",
            Kind::Slot(_) => "free slot",
            Kind::ReferenceSlot => "free slot, or a Reference that is replaced",
            Kind::Start => "address, multiple of 4096",
            Kind::Size => "bytes, multiple of 4096",
            Kind::Donation => "address of pages to donate",
            Kind::Rights => "rights of memory",
            Kind::ReferenceRights => "rights of a reference",
            Kind::Buffer => "address of a buffer, multiple of 8",
            Kind::Word => "address of a 32-bit word",
            Kind::BufferSize => "bytes",
            Kind::Links => "address of an array of addresses of references, multiple of 64; 0: none. An entry of 0: not wanted (get), nothing (set)",
            Kind::Message => "message registers",
            Kind::Number => "number",
        }
    }
}

impl Entry {
    /// Returns true if the manual says that the call can fail with this code about this argument.
    pub fn names(&self, code: Code, argument: u8) -> bool {
        let by_kind = |argument: &Argument| argument.kind.failures().iter().any(|failure| failure.code == code);
        let own = self.failures.iter().copied().flatten().any(|failure| failure.code == code && (failure.argument == argument || failure.argument == 0));
        own || argument.checked_sub(1).is_some_and(|index| self.arguments.get(index as usize).is_some_and(by_kind))
    }
}
