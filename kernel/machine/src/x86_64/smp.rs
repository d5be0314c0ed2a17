//! Starting the other CPUs: a page below 1 MiB takes each of them from real mode to the kernel's
//! tables and its own stack.

use super::cpu::{self, STARTED};
use super::direct_map::{self, direct};
use super::{apic, clock, entry, features, fpu, guest, interrupt_table, io, layout, locks};
use core::arch::naked_asm;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_core::machine::Physical;

/// Number of CPUs that take part; 0 until the core is ready for them.
static GO: AtomicU64 = AtomicU64::new(0);

const PARAMETERS: usize = 0x800;
const SHORT_WAIT: u64 = 10_000;
/// Time that a CPU may take to come. An emulated one waits for its turn on a busy host; a missing
/// CPU is rare.
const PATIENCE: u64 = 3_000_000_000;

/// Contents of the page besides code, at [`PARAMETERS`].
#[repr(C)]
struct Parameters {
    far_offset: u32,
    far_selector: u32,
    table_limit: u16,
    table_base: [u16; 2],
    boot_root: u16,
    boot_root_high: u16,
    padding: u16,
    entry: u64,
    root: u64,
    stack: u64,
    table: [u64; 2],
}

const _: () = assert!(core::mem::offset_of!(Parameters, entry) == 24 && core::mem::offset_of!(Parameters, table) == 48);

/// Real mode at the start of a page, `cs` the page. Goes to long mode in one step, with the boot
/// tables, which map the page where it is.
#[unsafe(naked)]
extern "C" fn trampoline() {
    naked_asm!(
        ".code16",
        "cli",
        "cld",
        "mov ax, cs",
        "mov ds, ax",
        "mov eax, 0x20",
        "mov cr4, eax",
        "mov eax, ds:[{parameters} + 14]",
        "mov cr3, eax",
        "mov ecx, 0xc0000080",
        "rdmsr",
        "or eax, 0x900",
        "wrmsr",
        ".byte 0x66",
        "lgdt ds:[{parameters} + 8]",
        "mov eax, 0x80010001",
        "mov cr0, eax",
        // jmp far dword ptr ds:[parameters]
        ".byte 0x66, 0xff, 0x2e",
        ".short {parameters}",
        ".code64",
        ".balign 64",
        "2:",
        "lea rbx, [rip + 2b]",
        "and rbx, -4096",
        "mov rdi, [rbx + {parameters} + 32]",
        "mov rsi, [rbx + {parameters} + 40]",
        "jmp [rbx + {parameters} + 24]",
        parameters = const PARAMETERS,
    )
}

/// Offset of the 64-bit code in the page.
const LONG_MODE_OFFSET: u32 = 64;

/// Entry point of a secondary CPU in the kernel's image: `rdi` = the kernel's tables, `rsi` = this
/// CPU's stack.
#[unsafe(naked)]
extern "C" fn secondary_entry() {
    naked_asm!(
        "mov cr3, rdi",
        "mov rsp, rsi",
        "xor ebp, ebp",
        "call {main}",
        "ud2",
        main = sym secondary_main,
    )
}

extern "C" fn secondary_main() -> ! {
    features::enable();
    apic::enable();
    let index = (STARTED.load(Ordering::Acquire).count_ones()) as usize;
    prepare(index);
    STARTED.fetch_or(1 << index, Ordering::Release);
    loop {
        match GO.load(Ordering::Acquire) {
            0 => core::hint::spin_loop(),
            count if (index as u64) < count => enter(),
            // It came after the others had ceased to wait for it: nobody would keep out of the core
            // for its sake.
            _ => io::halt(),
        }
    }
}

/// Gives the CPU that this runs on its data, descriptors and entries.
pub fn prepare(index: usize) {
    let cpu = cpu::create(index, apic::identity());
    cpu.root.store(direct_map::kernel_root().0, Ordering::Relaxed);
    cpu.descriptors.load();
    entry::enable(cpu);
    interrupt_table::load();
    guest::user::prepare([0, 1].map(interrupt_table::base));
    fpu::enable(cpu);
    guest::enable();
}

/// The CPU asks the core what to do, on its own stack.
#[unsafe(naked)]
pub extern "C" fn enter() -> ! {
    naked_asm!(
        "mov rsp, gs:[{stack}]",
        "xor ebp, ebp",
        "call {entered}",
        "ud2",
        stack = const cpu::Cpu::KERNEL_STACK,
        entered = sym super::dispatch::cpu_entered,
    )
}

fn write_page(page: Physical, boot_root: u64, index: usize) {
    let base = page.0 as u32;
    let table_base = base + PARAMETERS as u32 + core::mem::offset_of!(Parameters, table) as u32 - 8;
    let parameters = Parameters {
        far_offset: base + LONG_MODE_OFFSET,
        far_selector: 8,
        table_limit: 23,
        table_base: [table_base as u16, (table_base >> 16) as u16],
        boot_root: boot_root as u16,
        boot_root_high: (boot_root >> 16) as u16,
        padding: 0,
        entry: secondary_entry as *const () as u64,
        root: direct_map::kernel_root().0,
        stack: layout::block(index) + layout::STACK_END,
        table: [0x00af_9b00_0000_ffff, 0x00cf_9300_0000_ffff],
    };
    let target = direct(page) as *mut u8;
    // SAFETY: the page is RAM set aside for this; the code is shorter than the offset of the
    // parameters.
    unsafe {
        core::ptr::copy_nonoverlapping(trampoline as *const u8, target, 256);
        target.add(PARAMETERS).cast::<Parameters>().write(parameters);
    }
}

fn wait_for(bit: u64, nanoseconds: u64) -> bool {
    let end = clock::now() + nanoseconds;
    while clock::now() < end {
        if STARTED.load(Ordering::Acquire) & bit != 0 {
            return true;
        }
        core::hint::spin_loop();
    }
    false
}

/// Starts the CPUs from 1 to `count` - 1, through the page at `page`. Returns how many run; the
/// numbering ends with the first that does not come.
pub fn start_others(count: usize, page: Option<Physical>, boot_root: u64) -> usize {
    let Some(page) = page else { return 1 };
    for index in 1..count {
        write_page(page, boot_root, index);
        apic::send_initialize(index);
        clock::wait(SHORT_WAIT);
        apic::send_startup(index, (page.0 >> 12) as u8);
        if !wait_for(1 << index, 20 * SHORT_WAIT) {
            apic::send_startup(index, (page.0 >> 12) as u8);
            if !wait_for(1 << index, PATIENCE) {
                return index;
            }
        }
    }
    count
}

/// Lets the others of `count` CPUs enter the core.
pub fn release(count: usize) {
    locks::initialize(count);
    GO.store(count as u64, Ordering::Release);
}

/// The tables in use, at boot.
pub fn current_root() -> u64 {
    io::cr3_read()
}
