//! The kernel's half of every address space.
//!
//! | from | what |
//! | --- | --- |
//! | `0xffff_8000_0000_0000` | all RAM, readable and writable, never executable |
//! | `0xffff_ffff_8000_0000` | the first GiB of physical memory as far as the kernel's image lies in it |
//! | `0xffff_ffff_c000_0000` | the window: devices of the kernel's own, then a block of stacks for each CPU |

/// Where all RAM is mapped.
pub const DIRECT: u64 = 0xffff_8000_0000_0000;
/// What the linker adds to the kernel's physical addresses.
pub const KERNEL: u64 = 0xffff_ffff_8000_0000;
/// Where the window starts.
pub const WINDOW: u64 = 0xffff_ffff_c000_0000;

/// Where the local APIC's registers are.
pub const LOCAL_APIC: u64 = WINDOW;
/// Where the first I/O APIC's registers are; the others follow page by page.
pub const IO_APIC: u64 = WINDOW + 0x1000;

/// Where the first CPU's block is.
pub const BLOCKS: u64 = WINDOW + (2 << 20);
/// How far the blocks of two CPUs are apart.
pub const BLOCK_STRIDE: u64 = 64 << 10;
/// Offsets of the pages of a block that are mapped; those between are guards.
pub const BLOCK_PAGES: [u64; BLOCK_FRAMES] = [0x1000, 0x2000, 0x3000, 0x4000, 0x6000, 0x8000, 0xa000, 0xc000];
/// How many frames a block takes.
pub const BLOCK_FRAMES: usize = 8;
/// Offset of the end of the kernel stack in a block.
pub const STACK_END: u64 = 0x5000;
/// How large that stack is.
pub const STACK_SIZE: u64 = 16 << 10;
/// Offsets of the ends of the stacks for double faults, non-maskable interrupts and machine checks.
pub const INTERRUPT_STACK_ENDS: [u64; 3] = [0x7000, 0x9000, 0xb000];
/// Offset of the CPU's own data in a block.
pub const CPU_DATA: u64 = 0xc000;

/// Where frame 0 of the page that the block of CPU `index` starts with would be.
pub const fn block(index: usize) -> u64 {
    BLOCKS + index as u64 * BLOCK_STRIDE
}
