//! Making root: the kernel's own space, root's space, thread and first references, in frames that
//! the machine has set aside.

use crate::create::REGION_END;
use crate::kernel::Kernel;
use crate::list;
use crate::machine::{Frame, INTERRUPT_LINES, Machine, Physical, thread_page::register};
use crate::object::{Region, Space, Thread, links_of};
use nacre_abi::boot_image::{self, Segment};
use nacre_abi::boot_info::{BootInfo, MAX_RANGES, MemoryRange};
use nacre_abi::environment;
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_USE};
use nacre_abi::{ObjectType, PAGE_SIZE, Rights};

/// Facts that the machine found before the kernel starts.
pub struct Boot<'a> {
    /// Memory with nothing in it: page-aligned, sorted.
    pub memory: &'a [MemoryRange],
    /// Frames for the first objects: at least [`Boot::FRAMES`], in one piece, zeroed, marked as the
    /// kernel's.
    pub boot_frames: MemoryRange,
    /// Address of the boot image, a multiple of the page size.
    pub image_start: u64,
    /// Size of the boot image in bytes.
    pub image_size: u64,
    /// CPUs that will run.
    pub cpus: u64,
    /// Ticks of the time-stamp counter a second.
    pub tsc_frequency: u64,
    /// Value of that counter at kernel entry.
    pub tsc_at_entry: u64,
    /// Address of the ACPI root pointer, or 0.
    pub acpi_root: u64,
    /// The kernel's command line.
    pub command_line: &'a [u8],
}

// The frames, by number.
const GLOBALS: u64 = 0;
const OBJECTS: u64 = 1;
const THREAD: u64 = 2;
const INFO: u64 = 3;
const AREA: u64 = 4;
const POOL: u64 = AREA + environment::OBJECTS_PAGES;
const POOL_PAGES: u64 = 100;

/// Offset of the kernel's own space in the frame of globals.
const KERNEL_SPACE: u64 = 3072;
/// Offset of the region of all physical memory.
const PHYSICAL_REGION: u64 = 3328;
/// Offset of root's first mapping in the frame of first objects, behind root's space.
const MAPPINGS: u64 = 256;

impl Boot<'_> {
    /// Number of frames that the first objects need.
    pub const FRAMES: u64 = POOL + POOL_PAGES;

    fn frame(&self, number: u64) -> Physical {
        Physical(self.boot_frames.start + number * PAGE_SIZE)
    }
}

impl<M: Machine> Kernel<M> {
    /// The kernel's own space, whose addresses are physical.
    #[inline(always)]
    pub(crate) fn kernel_space(&self) -> Space<'_> {
        self.space(self.globals.get().add(KERNEL_SPACE))
    }

    /// Root's space.
    pub(crate) fn root_space(&self) -> Space<'_> {
        self.space(self.globals.get().add((OBJECTS - GLOBALS) * PAGE_SIZE))
    }

    /// Makes root, ready to run. Once, on the first CPU.
    ///
    /// # Panics
    /// If the boot image is not one.
    pub fn start(&self, boot: &Boot<'_>) {
        assert!(boot.boot_frames.size >= Boot::FRAMES * PAGE_SIZE, "the machine set too few frames aside");
        self.globals.set(boot.frame(GLOBALS));
        self.home_set(self.globals.get(), self.kernel_space().at);
        list::init(&self.machine, self.run_queue());
        list::init(&self.machine, self.announcements());
        list::init(&self.machine, self.told());
        self.bindings_init();
        let physical = self.make_physical();
        let root = self.make_root_space(boot);
        self.map_image(boot, physical);
        self.write_info(boot);
        let thread = self.make_root_thread(boot, root);
        self.give_references(boot, physical, thread);
        self.make_ready(thread);
    }

    /// The kernel's own space and the region of everything in it.
    fn make_physical(&self) -> Region<'_> {
        let space = self.kernel_space();
        space.set_header(crate::object::header(ObjectType::Space));
        self.space_init(space);
        let region = self.region(self.globals.get().add(PHYSICAL_REGION));
        region.set_header(crate::object::header(ObjectType::Region));
        self.region_init(region, space, (0, REGION_END), Rights::ALL);
        region
    }

    fn make_root_space(&self, boot: &Boot<'_>) -> Space<'_> {
        let space = self.space(boot.frame(OBJECTS));
        space.set_header(crate::object::header(ObjectType::Space));
        self.space_init(space);
        for page in 0..POOL_PAGES {
            self.open_frame(boot.frame(POOL + page));
            self.pool_add(space, boot.frame(POOL + page));
        }
        space
    }

    /// Makes a frame that was the kernel's plain memory.
    fn open_frame(&self, at: Physical) {
        if let Some(frame) = self.machine.frame(at)
            && frame.kind.get() == Frame::KERNEL
        {
            self.frame_set_kind(at, frame, Frame::PLAIN);
        }
    }

    /// Maps `size` bytes of the machine at `from` to `address` of root's space, as mapping number
    /// `number`.
    fn root_map(&self, physical: Region<'_>, number: u64, segment: Segment) {
        let at = self.root_space().at.add(MAPPINGS + number * ObjectType::Mapping.size());
        let rights = Rights::from_bits(segment.rights).unwrap_or(Rights::NONE);
        let mapping = self.mapping(at);
        mapping.set_header(crate::object::header(ObjectType::Mapping));
        self.mapping_init(mapping, self.root_space(), (segment.address, segment.size), (physical, segment.offset), rights);
    }

    fn read_image(&self, boot: &Boot<'_>, bytes: &mut [u8; 1024]) {
        for (index, chunk) in bytes.chunks_exact_mut(8).enumerate() {
            chunk.copy_from_slice(&self.machine.read_word(Physical(boot.image_start + 8 * index as u64)).to_le_bytes());
        }
    }

    /// Maps root's segments, the whole image, the page of facts, and the object area.
    fn map_image(&self, boot: &Boot<'_>, physical: Region<'_>) {
        let size = boot.image_size.next_multiple_of(PAGE_SIZE);
        for at in (boot.image_start..boot.image_start + size).step_by(PAGE_SIZE as usize) {
            self.open_frame(Physical(at));
        }
        let mut bytes = [0; 1024];
        self.read_image(boot, &mut bytes);
        let header = boot_image::header(&bytes).expect("the module beside the kernel is not a boot image of this version");
        for number in 0..header.segment_count {
            let segment = boot_image::segment(&bytes, number).expect("the boot image's segment table is cut off");
            let inside = segment.offset.checked_add(segment.size).is_some_and(|end| end <= size);
            assert!(inside && segment.offset % PAGE_SIZE == 0, "a segment of root lies outside the boot image");
            self.root_map(physical, number, Segment { offset: boot.image_start + segment.offset, ..segment });
        }
        let read = Rights::READ.union(Rights::EXECUTE).0;
        let rest = [
            Segment { offset: boot.image_start, address: environment::BOOT_IMAGE, size, rights: read },
            Segment { offset: boot.frame(INFO).0, address: environment::BOOT_INFO, size: PAGE_SIZE, rights: Rights::READ.0 },
            Segment { offset: boot.frame(AREA).0, address: environment::OBJECTS, size: environment::OBJECTS_PAGES * PAGE_SIZE, rights: Rights::ALL.0 },
        ];
        for (number, segment) in rest.into_iter().enumerate() {
            self.root_map(physical, header.segment_count + number as u64, segment);
        }
        self.open_frame(boot.frame(INFO));
        for page in 0..environment::OBJECTS_PAGES {
            self.open_frame(boot.frame(AREA + page));
        }
        self.root_thread.set(Physical(header.root_entry));
    }

    fn write_info(&self, boot: &Boot<'_>) {
        let at = |offset: usize| boot.frame(INFO).add(offset as u64);
        let word = |offset: usize, value: u64| self.machine.write_word(at(offset), value);
        word(core::mem::offset_of!(BootInfo, version), u64::from(nacre_abi::VERSION));
        word(core::mem::offset_of!(BootInfo, image_start), boot.image_start);
        word(core::mem::offset_of!(BootInfo, image_size), boot.image_size);
        word(core::mem::offset_of!(BootInfo, cpus), boot.cpus);
        word(core::mem::offset_of!(BootInfo, tsc_frequency), boot.tsc_frequency);
        word(core::mem::offset_of!(BootInfo, tsc_at_entry), boot.tsc_at_entry);
        word(core::mem::offset_of!(BootInfo, acpi_root), boot.acpi_root);
        word(core::mem::offset_of!(BootInfo, objects_pages), environment::OBJECTS_PAGES);
        let ranges = &boot.memory[..boot.memory.len().min(MAX_RANGES)];
        word(core::mem::offset_of!(BootInfo, range_count), ranges.len() as u64);
        for (index, range) in ranges.iter().enumerate() {
            let offset = core::mem::offset_of!(BootInfo, ranges) + index * size_of::<MemoryRange>();
            word(offset, range.start);
            word(offset + 8, range.size);
        }
        let line = &boot.command_line[..boot.command_line.len().min(256)];
        word(core::mem::offset_of!(BootInfo, command_line_size), line.len() as u64);
        for (index, chunk) in line.chunks(8).enumerate() {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            word(core::mem::offset_of!(BootInfo, command_line) + 8 * index, u64::from_le_bytes(bytes));
        }
    }

    fn make_root_thread(&self, boot: &Boot<'_>, root: Space<'_>) -> Thread<'_> {
        let entry = self.root_thread.replace(boot.frame(THREAD)).0;
        let thread = self.thread(boot.frame(THREAD));
        thread.set_header(crate::object::header(ObjectType::Thread));
        self.thread_init(thread, root);
        thread.set_register(register::PROGRAM_COUNTER, entry);
        thread.lower(Thread::STOPPED);
        thread
    }

    /// Puts the references that root is born with into its object area.
    fn give_references(&self, boot: &Boot<'_>, physical: Region<'_>, thread: Thread<'_>) {
        let at = |address: u64| boot.frame(AREA).add(address - environment::OBJECTS);
        self.reference_fill(at(environment::PARENT), TargetType::Null as u64, 0);
        let links = [
            (environment::PHYSICAL, ObjectType::Region, physical.at, REFERENCE_USE),
            (environment::SPACE, ObjectType::Space, thread.space(), REFERENCE_ALL),
            (environment::THREAD, ObjectType::Thread, thread.at, REFERENCE_ALL),
        ];
        for (address, object, target, rights) in links {
            let reference = self.reference_fill(at(address), object as u64, rights);
            list::link_set(&self.machine, reference.target(), target, links_of(object, target));
        }
        let resources = [
            (environment::IO_PORTS, TargetType::IoPorts, 65536),
            (environment::INTERRUPTS, TargetType::Interrupts, u64::from(INTERRUPT_LINES)),
            (environment::CLOCK, TargetType::Clock, 0),
        ];
        for (address, kind, count) in resources {
            self.reference_fill(at(address), kind as u64, REFERENCE_ALL).set_count(count);
        }
    }
}
