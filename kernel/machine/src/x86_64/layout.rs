//! The kernel's half of every address space.
//!
//! | from | what |
//! | --- | --- |
//! | `0xffff_8000_0000_0000` | all RAM, readable and writable, never executable |
//! | `0xffff_ffff_8000_0000` | the first GiB of physical memory as far as the kernel's image lies in it |
//! | `0xffff_ffff_c000_0000` | the window: devices of the kernel's own, then a block of stacks for each CPU |

/// Address at which all RAM is mapped.
pub const DIRECT: u64 = 0xffff_8000_0000_0000;
/// Distance between the kernel's virtual and physical addresses, which the linker adds.
pub const KERNEL: u64 = 0xffff_ffff_8000_0000;
/// Start of the window.
pub const WINDOW: u64 = 0xffff_ffff_c000_0000;

/// Address of the local APIC's registers.
pub const LOCAL_APIC: u64 = WINDOW;
/// Address of the first I/O APIC's registers; the others follow page by page.
pub const IO_APIC: u64 = WINDOW + 0x1000;

/// Address of the first CPU's block.
pub const BLOCKS: u64 = WINDOW + (2 << 20);
/// Distance between the blocks of two CPUs.
pub const BLOCK_STRIDE: u64 = 64 << 10;
/// Offsets of the pages of a block that are mapped; those between are guards.
pub const BLOCK_PAGES: [u64; BLOCK_FRAMES] = [0x1000, 0x2000, 0x3000, 0x4000, 0x6000, 0x8000, 0xa000, 0xc000];
/// Number of frames of a block.
pub const BLOCK_FRAMES: usize = 8;
/// Offset of the end of the kernel stack in a block.
pub const STACK_END: u64 = 0x5000;
/// Size of that stack.
pub const STACK_SIZE: u64 = 16 << 10;
/// Offsets of the ends of the stacks for double faults, non-maskable interrupts, and machine
/// checks and steps.
pub const INTERRUPT_STACK_ENDS: [u64; 3] = [0x7000, 0x9000, 0xb000];
/// Offset of the CPU's own data in a block.
pub const CPU_DATA: u64 = 0xc000;

/// Address of the block of CPU `index`, counted to its frame 0, which does not exist.
pub const fn block(index: usize) -> u64 {
    BLOCKS + index as u64 * BLOCK_STRIDE
}
