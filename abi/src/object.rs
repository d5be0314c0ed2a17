//! The nine kinds of kernel object, and how much memory each occupies.
//!
//! An object is named by its address: a multiple of [`UNIT`] in a page that is mapped with
//! [`Rights::OBJECTS`](crate::Rights::OBJECTS). The first object created in a page turns it into an
//! *object page*, which no program can read or write; with the last one destroyed it becomes plain
//! memory again, filled with zeros.

/// Granularity of object addresses and sizes, in bytes.
pub const UNIT: u64 = 64;

/// A kind of kernel object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ObjectType {
    /// An address space.
    Space = 1,
    /// A window of a space that its owner exports.
    Region = 2,
    /// A window of a space that is filled from a region.
    Mapping = 3,
    /// A flow of control.
    Thread = 4,
    /// The server's end of a channel.
    Port = 5,
    /// Several ports that are received from together.
    PortSet = 6,
    /// The client's end: a capability to a port or to any other object.
    Reference = 7,
    /// A lock whose uncontended case never enters the kernel.
    Mutex = 8,
    /// A condition variable.
    Condition = 9,
}

impl ObjectType {
    /// Every type, in order of its number (1 to 9).
    pub const ALL: [ObjectType; 9] = [
        ObjectType::Space,
        ObjectType::Region,
        ObjectType::Mapping,
        ObjectType::Thread,
        ObjectType::Port,
        ObjectType::PortSet,
        ObjectType::Reference,
        ObjectType::Mutex,
        ObjectType::Condition,
    ];

    /// The type with this number.
    pub const fn from_number(number: u64) -> Option<ObjectType> {
        if number >= 1 && number <= 9 { Some(Self::ALL[number as usize - 1]) } else { None }
    }

    /// Returns the number of bytes that an object of this type occupies. It may not cross a page.
    pub const fn size(self) -> u64 {
        match self {
            ObjectType::Thread => 4096,
            ObjectType::Space => 256,
            ObjectType::Region | ObjectType::Mapping | ObjectType::Port | ObjectType::PortSet => 128,
            ObjectType::Reference | ObjectType::Mutex | ObjectType::Condition => 64,
        }
    }

    /// Returns the alignment of its address.
    pub const fn alignment(self) -> u64 {
        self.size()
    }
}

/// Target of a reference: an object, or a resource of the machine that is no object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum TargetType {
    /// Reference without a target: never set, or the target is gone.
    Null = 0,
    /// A space.
    Space = 1,
    /// A region.
    Region = 2,
    /// A mapping.
    Mapping = 3,
    /// A thread.
    Thread = 4,
    /// A port.
    Port = 5,
    /// A set of ports.
    PortSet = 6,
    /// A mutex.
    Mutex = 8,
    /// A condition.
    Condition = 9,
    /// A client that waits for one reply (made by `ipc_detach`); a single `ipc_send` to it is that
    /// reply.
    Reply = 10,
    /// A range of I/O ports.
    IoPorts = 11,
    /// A range of interrupt lines.
    Interrupts = 12,
    /// The machine's monotonic clock.
    Clock = 13,
}
