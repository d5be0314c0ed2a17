//! Memory that is owned, devices, the clock: the entries of their calls.

use super::description::{Argument, Entry, Failure, Kind, failure};
use crate::{Call, Code};

/// Failures of copying pages.
const COPIED: &[Failure] = &[
    failure(1, Code::BadAddress, "a page may not be read, or is a device, or holds objects", "copy memory of your own space"),
    failure(1, Code::TooDeep, "a page lies under too many layers", "map from a space nearer to the machine"),
    failure(2, Code::BadAddress, "a page may not be written, or is a device, or holds objects", "copy to memory of your own space"),
    failure(2, Code::TooDeep, "a page lies under too many layers", "map from a space nearer to the machine"),
    failure(3, Code::BadRange, "not a multiple of 4096, or one of the ranges leaves the user's addresses", "round the size to pages"),
];

arguments! {
    MemoryObjects {
        start: Kind::Number, "multiple of 64";
        size: Kind::Number, "";
        buffer: Kind::Buffer, "";
        capacity: Kind::Number, "entries";
    }
    MemoryReclaim {
        start: Kind::Start, "";
        size: Kind::Number, "bytes, multiple of 4096";
        flags: Kind::Number, "0, or `RECLAIM_CLEAR` (1)";
    }
    MemoryTouched {
        start: Kind::Start, "";
        size: Kind::Number, "bytes, multiple of 4096";
    }
    MemoryCopy {
        from: Kind::Start, "may be read";
        to: Kind::Start, "may be written";
        size: Kind::Number, "bytes, multiple of 4096";
    }
    IoRead {
        ports: Kind::Resource, "";
        port: Kind::Number, "from the first of the range";
        width: Kind::Number, "1, 2 or 4";
    }
    IoWrite {
        ports: Kind::Resource, "";
        port: Kind::Number, "from the first of the range";
        width: Kind::Number, "1, 2 or 4";
        value: Kind::Number, "";
    }
    IoWriteBytes {
        ports: Kind::Resource, "";
        port: Kind::Number, "from the first of the range";
        buffer: Kind::Buffer, "any alignment";
        size: Kind::Number, "at most 4096";
    }
    IoPortsReference {
        ports: Kind::Resource, "";
        reference: Kind::Reference, "";
        first: Kind::Number, "";
        count: Kind::Number, "";
    }
    InterruptBind {
        lines: Kind::Resource, "";
        line: Kind::Number, "from the first of the range";
        port: Kind::Keeper, "0: unbind";
        bits: Kind::Number, "";
    }
    InterruptAcknowledge {
        lines: Kind::Resource, "";
        line: Kind::Number, "";
    }
    InterruptReference {
        lines: Kind::Resource, "";
        reference: Kind::Reference, "";
        first: Kind::Number, "";
        count: Kind::Number, "";
    }
    ClockRead {
        clock: Kind::Resource, "";
    }
}

/// The entries.
pub const ENTRIES: &[Entry] = &[
    Entry {
        call: Call::MemoryObjects,
        purpose: "Lists the objects in a range of the caller's memory as `ObjectEntry`, at most 128 in one call.",
        arguments: MemoryObjects::ARGUMENTS,
        results: "rdx: entries written; r8: where to go on, 0 at the end",
        failures: &[&[
            failure(1, Code::BadRange, "not a multiple of 64, or beyond the user's addresses", "pass a range of your space"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::MemoryReclaim,
        purpose: "Destroys every object in a range of the caller's memory, and every space whose tables are there; the memory is plain again. With `RECLAIM_CLEAR` this is done to memory alone that objects may be made in, and it is also filled with zeros, a page when it is touched for the first time.",
        arguments: MemoryReclaim::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "the caller itself, or its space, lives in the range", "leave them out"),
            failure(3, Code::BadArgument, "unknown flags", "pass 0 or `RECLAIM_CLEAR`"),
        ]],
        restarts: "where it was: rdi and rsi say what is left",
    },
    Entry {
        call: Call::MemoryTouched,
        purpose: "Finds pages of the caller's memory that may hold something. What nobody has touched since it was cleared (`memory_reclaim`) is known to be zeros, and need not be read; pages with kernel objects, and those that the kernel has for a space's tables, hold nothing that can be read. All others may hold something, whatever it is. A range that is not mapped, or may not be read, counts as one that may hold something.",
        arguments: MemoryTouched::ARGUMENTS,
        results: "rdx: where the first such pages start, the end of the range if there are none; r8: where these end, or more of them are to be asked for",
        failures: &[],
        restarts: "where it was: rdi and rsi say what is left",
    },
    Entry {
        call: Call::MemoryCopy,
        purpose: "Copies pages of the caller's memory to others of it, the first one first. It is what a loop of loads and stores would do, but pages that are known to be zeros on both sides are left alone, and one that nobody has touched is not cleared before it is written.",
        arguments: MemoryCopy::ARGUMENTS,
        results: "",
        failures: &[COPIED],
        restarts: "where it was: rdi, rsi and rdx say what is left",
    },
    Entry {
        call: Call::IoRead,
        purpose: "Reads an I/O port.",
        arguments: IoRead::ARGUMENTS,
        results: "rdx: the value",
        failures: &[&[
            failure(3, Code::BadArgument, "the width is not 1, 2 or 4", "pass one of these"),
            failure(2, Code::BadRange, "outside the range that the reference gives", "pass a smaller number"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::IoWrite,
        purpose: "Writes an I/O port.",
        arguments: IoWrite::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(3, Code::BadArgument, "the width is not 1, 2 or 4", "pass one of these"),
            failure(2, Code::BadRange, "outside the range that the reference gives", "pass a smaller number"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::IoWriteBytes,
        purpose: "Writes bytes to one I/O port, one after the other.",
        arguments: IoWriteBytes::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(2, Code::BadRange, "outside the range that the reference gives", "pass a smaller number"),
            failure(4, Code::BadArgument, "more than 4096", "write in parts"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::IoPortsReference,
        purpose: "Makes a reference lead to a part of a range of I/O ports.",
        arguments: IoPortsReference::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(3, Code::BadRange, "outside the range", "pass a part of it"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::InterruptBind,
        purpose: "From now on the line notifies the port with the bits, and is masked each time until it is acknowledged.",
        arguments: InterruptBind::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(2, Code::BadRange, "outside the range", "pass a smaller number"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::InterruptAcknowledge,
        purpose: "Lets the line interrupt again.",
        arguments: InterruptAcknowledge::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(2, Code::BadRange, "outside the range", "pass a smaller number"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::InterruptReference,
        purpose: "Makes a reference lead to a part of a range of lines.",
        arguments: InterruptReference::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(3, Code::BadRange, "outside the range", "pass a part of it"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ClockRead,
        purpose: "Reads the machine's monotonic clock.",
        arguments: ClockRead::ARGUMENTS,
        results: "rdx: nanoseconds since the machine started",
        failures: &[],
        restarts: "",
    },
];
