//! Where a program finds what it was given.
//!
//! A program starts as on Linux - `argc`, `argv`, the environment and the auxiliary vector lie at
//! its stack pointer - with an *object area* mapped beside it, in whose first page stand the
//! references it was born with.

/// Start of the object area, in every environment.
pub const OBJECTS: u64 = 0x7f00_0000_0000;
/// Minimum number of pages of a program's object area.
pub const OBJECTS_PAGES: u64 = 16;

/// Reference to the parent's port; null in root.
pub const PARENT: u64 = OBJECTS;
/// Root only: reference to the region of all physical memory, devices included.
pub const PHYSICAL: u64 = OBJECTS + 0x40;
/// Root only: reference to all I/O ports.
pub const IO_PORTS: u64 = OBJECTS + 0x80;
/// Root only: reference to all interrupt lines.
pub const INTERRUPTS: u64 = OBJECTS + 0xc0;
/// Root only: reference to the clock.
pub const CLOCK: u64 = OBJECTS + 0x100;
/// Reference to the program's own space, with all rights.
pub const SPACE: u64 = OBJECTS + 0x140;
/// Reference to the program's first thread, with all rights.
pub const THREAD: u64 = OBJECTS + 0x180;
/// First address of the object area that is free for the program's own objects.
pub const FREE: u64 = OBJECTS + 0x200;

/// Address of the library for foreign calls, beside a foreign program.
pub const FOREIGN_LIBRARY: u64 = 0x7e00_0000_0000;
/// Address of `BootInfo` in root's space.
pub const BOOT_INFO: u64 = 0x7d00_0000_0000;
/// Address of the boot image in root's space, readable.
pub const BOOT_IMAGE: u64 = 0x7c00_0000_0000;

/// Type of the ELF note (name `Nacre`) that marks a program as native; others are foreign. Its word
/// is the [`VERSION`](crate::VERSION).
pub const NOTE_TYPE: u32 = 1;
/// Auxiliary vector entry: how many pages the object area has.
pub const AT_OBJECTS_PAGES: u64 = 0x4e61_0001;
/// Auxiliary vector entry: where the stack ends (its highest address).
pub const AT_STACK_END: u64 = 0x4e61_0002;
/// Auxiliary vector entry, for the library of foreign calls: entry point of the program it serves.
pub const AT_FOREIGN_ENTRY: u64 = 0x4e61_0003;
/// Auxiliary vector entry: how many bytes the stack has, below its end.
pub const AT_STACK_SIZE: u64 = 0x4e61_0004;
/// Auxiliary vector entry, for the library of foreign calls: address of a table of what the parent
/// mapped, five words each: first address, size, rights,
/// the mapping, which the program may change, and its offset in the data segment or `u64::MAX`.
/// These mappings stand at [`FREE`] and behind it, in the order of the table, and behind them what
/// is inherited.
pub const AT_WINDOWS: u64 = 0x4e61_0005;
/// Auxiliary vector entry: how many entries that table has, or how many mappings of an
/// inheritance's areas there are.
pub const AT_WINDOW_COUNT: u64 = 0x4e61_0006;
/// Auxiliary vector entry, for the library of foreign calls: address of what the process takes over
/// from the one that made it.
pub const AT_INHERITANCE: u64 = 0x4e61_0007;
/// Auxiliary vector entry: how many bytes that has.
pub const AT_INHERITANCE_SIZE: u64 = 0x4e61_0008;
/// Auxiliary vector entry: how many references come with it. They stand behind those to mappings.
pub const AT_INHERITED_COUNT: u64 = 0x4e61_0009;
/// Auxiliary vector entry: address of the path of the current directory, absolute, with a final
/// zero. A program without it starts in the root directory.
pub const AT_DIRECTORY: u64 = 0x4e61_000a;
/// Auxiliary vector entry: how many pages the space was born with for its tables.
pub const AT_TABLE_PAGES: u64 = 0x4e61_000b;
/// Auxiliary vector entry, for the library of foreign calls: size in bytes of the child's data
/// segment, whose pages may go. Without this entry the child has
/// none. Behind the inherited references stand one to the segment and one to its region.
pub const AT_DATA_SIZE: u64 = 0x4e61_000c;
/// References that a child with a data segment has to it.
pub const DATA_REFERENCES: u64 = 2;
