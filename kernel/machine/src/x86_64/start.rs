//! From the boot protocol's end to the first thread: sets memory aside, makes the kernel's tables,
//! brings up the devices it needs and the other CPUs.

use super::acpi::{self, PhysicalBytes, Topology};
use super::direct_map::{Access, BootAllocator, KernelTables, direct};
use super::{apic, clock, doors, features, fpu, frames, guest, interrupt_table, interrupts, io, layout, pic, serial, smp};
use crate::boot::{BootDescription, ImageLayout};
use nacre_core::Boot;
use crate::memory_map::MemoryMap;
use nacre_abi::boot_info::MemoryRange;
use nacre_core::machine::{MAX_CPUS, Physical};

const BELOW_1_MIB: MemoryRange = MemoryRange { start: 0, size: 1 << 20 };
/// Size of the memory that the boot tables map.
const REACHABLE: u64 = 4 << 30;
/// Frames for the core's first objects.
const FIRST_OBJECTS: u64 = 128;
/// A boot loader may have put its copy of the ACPI root pointer into RAM, where users look for it.
const ROOT_POINTER_SIZE: u64 = 36;
/// Pages that a starting CPU can begin at.
const REAL_MODE_END: u64 = 0x9_f000;

/// Physical memory below 4 GiB, as the boot tables show it, until `start` uses it up.
pub struct BootMemory(());

impl BootMemory {
    /// The right to read physical memory.
    ///
    /// # Safety
    /// Once, while the boot tables are in use and one CPU runs.
    pub const unsafe fn new() -> BootMemory {
        BootMemory(())
    }

    /// `size` bytes at `start`.
    pub fn bytes(&self, start: u64, size: u64) -> Option<&[u8]> {
        let inside = start != 0 && start.checked_add(size)? <= REACHABLE;
        // SAFETY: mapped, and nothing writes to memory while this token exists but the stack and
        // the kernel's own data, which no boot table lies in.
        inside.then(|| unsafe { core::slice::from_raw_parts(direct(Physical(start)) as *const u8, size as usize) })
    }
}

impl PhysicalBytes for BootMemory {
    fn bytes(&self, start: u64, size: u64) -> Option<&[u8]> {
        BootMemory::bytes(self, start, size)
    }
}

/// Layout of physical memory at the start.
struct Plan<'d> {
    description: &'d BootDescription,
    image: ImageLayout,
    topology: Topology,
    numbers: [u32; MAX_CPUS],
    cpus: usize,
    /// RAM in which nothing lies.
    free: MemoryMap,
    /// Place of the boot image after it was moved.
    module: MemoryRange,
    carving: MemoryRange,
}

/// Returns the maximum number of frames for the kernel's tables and first objects.
fn carving_frames(memory_end: u64, image_size: u64, cpus: u64) -> u64 {
    let direct_tables = 2 + memory_end.div_ceil(512 << 30) + memory_end.div_ceil(1 << 30);
    let image_tables = 4 + 2 * image_size.div_ceil(2 << 20);
    // Twice: in the root that isolated users get, too.
    let window_tables = 2 * (8 + (cpus * layout::BLOCK_STRIDE).div_ceil(2 << 20));
    let blocks = cpus * layout::BLOCK_FRAMES as u64;
    frames::size_in_frames(memory_end) + direct_tables + image_tables + window_tables + blocks + guest::frames(cpus) + FIRST_OBJECTS
}

fn page_round(size: u64) -> u64 {
    size.next_multiple_of(4096)
}

impl<'d> Plan<'d> {
    fn new(memory: &BootMemory, description: &'d BootDescription, image: ImageLayout) -> Plan<'d> {
        let topology = acpi::read(memory, description.acpi_root);
        let limit = description.option(b"cpus").unwrap_or(MAX_CPUS as u64).min(MAX_CPUS as u64) as usize;
        let (numbers, cpus) = topology.cpus(0, limit);
        let mut plan = Plan {
            description,
            image,
            topology,
            numbers,
            cpus,
            free: description.memory,
            module: description.module,
            carving: MemoryRange::default(),
        };
        plan.set_aside();
        plan
    }

    fn set_aside(&mut self) {
        let module = self.description.module;
        self.free.remove(BELOW_1_MIB.start, BELOW_1_MIB.size);
        self.free.remove(self.image.start, self.image.end);
        self.free.remove(module.start, module.start + module.size);
        if self.topology.root != 0 {
            self.free.remove(self.topology.root, self.topology.root + ROOT_POINTER_SIZE);
        }
        let moved = if module.start.is_multiple_of(4096) { 0 } else { page_round(module.size) };
        let frames = carving_frames(self.description.memory.end(), self.image.end - self.image.start, self.cpus as u64);
        let size = moved + (frames << 12);
        let start = self.free.find(size, 4096, REACHABLE).expect("too little memory below 4 GiB for the kernel's tables");
        self.free.remove(start, start + size);
        self.carving = MemoryRange { start: start + moved, size: frames << 12 };
        if moved > 0 {
            self.module.start = start;
            let (from, to) = (direct(Physical(module.start)) as *const u8, direct(Physical(start)) as *mut u8);
            // SAFETY: the module, and as much free memory.
            unsafe { core::ptr::copy_nonoverlapping(from, to, module.size as usize) };
        }
    }

    fn make_tables(&self, carving: &mut BootAllocator) -> Physical {
        let mut tables = KernelTables::new(carving, features::get().huge_pages, features::get().isolates);
        tables.map_image(&self.image);
        tables.map_memory(&self.description.memory, &self.image);
        tables.map(layout::LOCAL_APIC, apic::base(), 12, Access::Device);
        for (number, controller) in self.topology.controllers().iter().enumerate() {
            tables.map(layout::IO_APIC + 0x1000 * number as u64, controller.address & !0xfff, 12, Access::Device);
        }
        (0..self.cpus).for_each(|index| tables.map_block(index));
        // SAFETY: one CPU runs.
        unsafe { tables.finish() }
    }

    fn mark_frames(&self) {
        frames::mark_kernel(BELOW_1_MIB);
        frames::mark_kernel(MemoryRange { start: self.image.start, size: page_round(self.image.end - self.image.start) });
        frames::mark_kernel(self.carving);
    }

    /// The bytes after the boot image in its last page are nobody's to see.
    fn clean_module_end(&self) {
        let end = self.module.start + self.module.size;
        let rest = page_round(end) - end;
        // SAFETY: the rest of the module's last page, which is free RAM.
        unsafe { core::ptr::write_bytes(direct(Physical(end)) as *mut u8, 0, rest as usize) };
    }
}

/// Makes the CPU that this runs on the first one.
fn first_cpu(plan: &mut Plan, boot_root: u64) {
    (plan.numbers, plan.cpus) = plan.topology.cpus(apic::identity(), plan.cpus);
    // SAFETY: one CPU runs, and interrupts stay off until the first thread does or idles.
    unsafe {
        apic::initialize(plan.numbers);
        interrupt_table::create();
    }
    smp::prepare(0);
    pic::silence();
    interrupts::initialize(&plan.topology, plan.numbers[0]);
    let page = plan.description.memory.find(4096, 4096, REAL_MODE_END).map(Physical);
    plan.cpus = smp::start_others(plan.cpus, page, boot_root);
}

/// Starts the kernel. `started` is the time-stamp counter at its first instruction.
pub fn start(memory: BootMemory, description: &BootDescription, image: ImageLayout, started: u64) -> ! {
    serial::initialize();
    // SAFETY: one CPU runs.
    unsafe { features::initialize(description.option(b"isolate")) };
    features::enable();
    // SAFETY: one CPU runs.
    unsafe { fpu::initialize(description.option(b"fpu")) };
    let boot_root = smp::current_root();
    let mut plan = Plan::new(&memory, description, image);
    let mut carving = BootAllocator::new(plan.carving);
    let root = plan.make_tables(&mut carving);
    // SAFETY: the tables map the kernel's image, its stack in it, and the direct map as before.
    unsafe { io::cr3_write(root.0) };
    // SAFETY: one CPU runs.
    unsafe { frames::create(&description.memory, &mut carving) };
    // SAFETY: one CPU runs.
    unsafe { guest::initialize(&mut carving, plan.cpus as u64) };
    plan.mark_frames();
    plan.clean_module_end();
    let objects = MemoryRange { start: carving.take(FIRST_OBJECTS).0, size: FIRST_OBJECTS << 12 };
    apic::enable();
    // SAFETY: one CPU runs.
    unsafe { clock::initialize(started) };
    first_cpu(&mut plan, boot_root);
    description.option(b"probe").into_iter().for_each(probe);
    if plan.description.option(b"quiet").is_none() {
        announce(&plan);
    }
    doors::kernel().start(&boot(&plan, objects, started));
    smp::release(plan.cpus);
    smp::enter()
}

/// Writes a byte of RAM over itself, for tests: the kernel panics if its tables do not allow the
/// write.
fn probe(address: u64) {
    let at = direct(Physical(address)) as *mut u8;
    // SAFETY: no byte changes.
    unsafe { at.write_volatile(at.read_volatile()) };
}

fn boot<'p>(plan: &'p Plan, boot_frames: MemoryRange, started: u64) -> Boot<'p> {
    Boot {
        memory: plan.free.ranges(),
        boot_frames,
        image_start: plan.module.start,
        image_size: plan.module.size,
        cpus: plan.cpus as u64,
        tsc_frequency: clock::frequency(),
        tsc_at_entry: started,
        acpi_root: plan.topology.root,
        command_line: plan.description.command_line(),
    }
}

fn announce(plan: &Plan) {
    let (memory, free) = (plan.description.memory.total() >> 20, plan.free.total() >> 20);
    let version = env!("CARGO_PKG_VERSION");
    let megahertz = clock::frequency() / 1_000_000;
    serial::line(format_args!("version {version}, {memory} MiB of memory ({free} free), cpus: {}, {megahertz} MHz", plan.cpus));
}
