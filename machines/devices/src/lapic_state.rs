//! State of a local APIC, and what it tells the rest of the machine.

/// Version of [`LocalApicState`].
pub const VERSION: u32 = 1;
/// Number of local vectors: timer, thermal, counters, two pins, errors.
pub const LOCALS: usize = 6;

/// Fault of an access to a model-specific register: a general protection fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// Message from a processor or a line to processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Vector, or page of a start.
    pub vector: u8,
    /// Delivery mode: 0 fixed, 1 lowest priority, 4 without mask, 5 reset, 6 start.
    pub mode: u8,
    /// Destination.
    pub destination: u32,
    /// True if the destination is a set of processors, by their logical names.
    pub is_logical: bool,
    /// Shorthand: 0 none, 1 itself, 2 all, 3 all others.
    pub shorthand: u8,
    /// True if the interrupt comes from a level-triggered line.
    pub is_level: bool,
}

/// Action that the machine takes after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Done: nothing remains.
    None,
    /// Message to processors.
    Send(Message),
    /// End of a level-triggered interrupt.
    End(u8),
}

/// Event of a processor beside interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Reset to the state of power-on, and wait for a start.
    Reset,
    /// Start in real mode at this page.
    Start(u8),
    /// Interrupt without mask.
    NonMaskable,
}

/// State of a local APIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalApicState {
    /// Version of this struct.
    pub version: u32,
    /// Number of the processor.
    pub id: u8,
    /// Base register.
    pub base: u64,
    /// Requested vectors.
    pub requested: [u32; 8],
    /// Vectors in service.
    pub in_service: [u32; 8],
    /// Vectors whose last request was level-triggered.
    pub level: [u32; 8],
    /// Task priority.
    pub task_priority: u8,
    /// Spurious vector, and the switch.
    pub spurious: u32,
    /// Logical name, of the page's mode.
    pub logical: u32,
    /// Form of logical names.
    pub format: u32,
    /// Local vectors.
    pub local: [u32; LOCALS],
    /// Errors that the guest sees, and those since.
    pub errors: [u32; 2],
    /// Last command.
    pub command: u64,
    /// Initial count of the timer.
    pub initial: u32,
    /// Divider of the timer, as written.
    pub divide: u32,
    /// Time at which the count ends, in nanoseconds; 0: it does not run.
    pub ends: u64,
    /// Value of the processor's counter at which the timer goes off; 0: never.
    pub counter: u64,
    /// True if the processor waits for a start.
    pub waits: bool,
    /// Signals that wait: bit 0 reset, 1 start, 2 without mask.
    pub signals: u8,
    /// Page of the start that waits.
    pub start: u8,
}
