//! 64-bit RISC-V: the names that the rest of the kernel uses, and nothing behind them yet. A kernel built for it stops at its first instruction.

pub mod acpi;
mod apic;
mod clock;
mod context;
mod cpu;
mod descriptors;
mod direct_map;
mod dispatch;
mod entry;
mod features;
mod fpu;
mod frames;
mod interrupts;
mod io;
mod ioapic;
mod layout;
mod locks;
mod machine;
mod page_table;
pub mod panic;
mod pic;
mod pit;
mod serial;
mod smp;
pub mod start;
mod tlb;
