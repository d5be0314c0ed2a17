//! Where everything of a child lies: in its segments, and in its space.
//!
//! A child costs its parent one segment: given back, nothing of the child is left. Where memory may
//! be paged, a foreign child has a second one for memory without kernel objects that the library
//! itself does not stand on: the *data segment*, whose pages may go. The first segment, in order:
//!
//! | pages | what | seen by the child |
//! | --- | --- | --- |
//! | 1 | its first thread | no |
//! | a few | its space and the mappings that are not given to it | no |
//! | pool | donated for its tables | no |
//! | `OBJECTS_PAGES` or more | object area, with the mappings that it is given and the references it is born with | at `OBJECTS` |
//! | private | written parts of program and library; the library's alone where there is a data segment | at their addresses |
//! | inheritance | what it takes over, if it was born inside a process | at [`INHERITANCE`] |
//! | stack | where there is no data segment | below [`STACK_END`], a foreign program's below [`FOREIGN_STACK_END`] |
//!
//! The data segment has what a fork's child gets a copy of, or the written parts of program and
//! dynamic linker, and the stack.

use crate::elf::Image;
use crate::refusal::SpawnError;
use alloc::vec::Vec;
use nacre_abi::environment::{DATA_REFERENCES, FOREIGN_LIBRARY, FREE, OBJECTS, OBJECTS_PAGES};
use nacre_abi::{ObjectType, PAGE_SIZE, Rights};
use nacre_sys::{Reference, Region};

/// The highest address of a child's stack. With the object area it shares its last table, if the
/// stack has at most 1.9 MiB.
pub const STACK_END: u64 = OBJECTS + (2 << 20);
/// Programs lie below: from here up there are mappings that they make, the library, objects and
/// stack.
pub const PROGRAM_END: u64 = 0x7000_0000_0000;
/// Address of a position-independent program: Linux's, where addresses are not chosen at random.
/// What sanitizers keep for themselves lies elsewhere.
pub const PROGRAM_BIAS: u64 = 0x5555_5555_4000;
/// The largest stack: it may not reach down to the object area.
pub const MAX_STACK: u64 = STACK_END - OBJECTS - (OBJECTS_PAGES + 1) * PAGE_SIZE;
/// The highest address of a foreign program's stack, below which there is room for it to grow.
pub const FOREIGN_STACK_END: u64 = OBJECTS + (16 << 20);
/// The largest stack that a foreign program starts with.
pub const MAX_FOREIGN_STACK: u64 = 8 << 20;
/// Distance before the continuation of foreign calls at which a thread goes on after a fault in the
/// range of its stack that its manager leaves to the library. All registers are as they were, but
/// for the instruction pointer, whose old value is in the base of `fs`.
pub const REFLECTED: u64 = 16;
/// Distance before the library's first instruction at which a thread begins that the process's
/// manager has made to ask the library something. The thread has no register values and no stack.
pub const VISITED: u64 = 16;
/// Address of a position-independent dynamic linker.
pub const LINKER_BIAS: u64 = 0x6f00_0000_0000;

/// Addresses that the first page keeps free, so that a null pointer is a fault.
pub const PROGRAM_START: u64 = 0x1_0000;
/// Addresses at which the library may lie.
pub const LIBRARY_RANGE: core::ops::Range<u64> = FOREIGN_LIBRARY..OBJECTS;

/// Address of the child's inheritance. A fork's child has its first stack at the end of it.
pub const INHERITANCE: u64 = OBJECTS + (1 << 20);
/// Room for that stack.
const FIRST_STACK: u64 = PAGE_SIZE;
/// Free slots that an object area has at least.
const SPARE_SLOTS: u64 = 512;

/// State that a child takes over from the process that makes it.
#[derive(Clone, Copy, Default)]
pub struct Heritage<'a> {
    /// As the library of foreign calls reads it.
    pub bytes: &'a [u8],
    /// References that it names.
    pub references: &'a [Reference],
    /// Memory of a fork's child; its program is in it.
    pub areas: &'a [Area],
}

/// Memory that a fork's child starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// First address.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
    /// Rights of the child.
    pub rights: Rights,
    /// The region that is shown from this offset on; `None`: fresh memory, which whoever makes the
    /// child fills.
    pub shows: Option<(Region, u64)>,
}

/// Source of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The child's segment.
    Segment,
    /// The child's data segment.
    Data,
    /// The file of the image with this number.
    File(usize),
    /// Somebody else's region.
    Region(Region),
}

/// A mapping of the child's space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First address in the child.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
    /// Source of the mapping.
    pub from: From,
    /// Offset of the mapping in its source.
    pub offset: u64,
    /// Rights of the child.
    pub rights: Rights,
}

/// Bytes of a file that are put into a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Number of the image.
    pub image: usize,
    /// Offset in the file.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Offset in the segment.
    pub to: u64,
    /// True if that is the data segment.
    pub is_data: bool,
}

/// The plan of one child. All offsets count from the start of its segment, or of its data segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Offset of the space object.
    pub space: u64,
    /// Offset of the pages for tables.
    pub pool: u64,
    /// Number of pages for tables.
    pub pool_pages: u64,
    /// Offset of the object area.
    pub objects: u64,
    /// Number of pages of the object area.
    pub objects_pages: u64,
    /// Number of mappings, the first ones, that stand in the child's object area so that it can
    /// change them.
    pub given: usize,
    /// Offset of the inheritance.
    pub inheritance: u64,
    /// Offset of the stack.
    pub stack: u64,
    /// True if the stack is in the data segment.
    pub stack_is_data: bool,
    /// Size of the stack in bytes.
    pub stack_size: u64,
    /// End address of the stack in the child.
    pub stack_end: u64,
    /// The mappings, in ascending order of address for each image.
    pub windows: Vec<Window>,
    /// Copies from files to segments.
    pub copies: Vec<Copy>,
    /// Size of the segment.
    pub size: u64,
    /// Size of the data segment; `None`: there is none.
    pub data_size: Option<u64>,
}

/// Sizes that the caller chooses.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Pages for tables; at least 5. Each costs the parent some 1,200 instructions; with too few
    /// the kernel fills tables again and again. The usual 32 serve a program with some 20 MiB in
    /// use; one that maps more donates more (`space_donate`).
    pub pool_pages: u64,
    /// Bytes of stack, at first: a foreign program's grows. A native one has at least the usual 256
    /// KiB, since its own does not.
    pub stack: u64,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { pool_pages: 32, stack: 256 << 10 }
    }
}

const FIRST_MAPPING: u64 = PAGE_SIZE + ObjectType::Space.size();

/// Returns the address, in a child's space, of a mapping that it is given.
pub fn given_slot(number: usize) -> u64 {
    FREE + number as u64 * ObjectType::Mapping.size()
}

impl Plan {
    /// Returns the offset of mapping `number`.
    pub fn mapping(&self, number: usize) -> u64 {
        match number.checked_sub(self.given) {
            None => self.objects + (given_slot(number) - OBJECTS),
            Some(hidden) => FIRST_MAPPING + hidden as u64 * ObjectType::Mapping.size(),
        }
    }

    /// Gives `size` bytes of the segment away.
    fn take(&mut self, size: u64) -> Result<u64, SpawnError> {
        let start = self.size;
        self.size = start.checked_add(size).ok_or(SpawnError::TooLarge(u64::MAX, None))?;
        Ok(start)
    }

    /// Gives `size` bytes of the data segment away if there is one, else of the segment.
    fn take_data(&mut self, size: u64) -> Result<(From, u64), SpawnError> {
        let Some(start) = self.data_size else { return Ok((From::Segment, self.take(size)?)) };
        self.data_size = Some(start.checked_add(size).ok_or(SpawnError::TooLarge(u64::MAX, None))?);
        Ok((From::Data, start))
    }

    fn add_image(&mut self, number: usize, image: &Image, shares: bool, is_library: bool) -> Result<(), SpawnError> {
        for segment in &image.segments {
            let pages = segment.pages();
            let size = pages.end - pages.start;
            let mut window = Window { start: pages.start, size, from: From::Segment, offset: 0, rights: segment.rights };
            if shares && segment.can_share() {
                window.from = From::File(number);
                window.offset = segment.offset - segment.offset % PAGE_SIZE;
            } else {
                (window.from, window.offset) = if is_library { (From::Segment, self.take(size)?) } else { self.take_data(size)? };
                let to = window.offset + (segment.address - pages.start);
                self.copies.push(Copy { image: number, offset: segment.offset, size: segment.file_size, to, is_data: window.from == From::Data });
            }
            self.windows.push(window);
        }
        Ok(())
    }
}

impl Plan {
    fn add_area(&mut self, area: &Area) -> Result<(), SpawnError> {
        let (from, offset) = match area.shows {
            Some((region, offset)) => (From::Region(region), offset),
            None => self.take_data(area.size)?,
        };
        self.windows.push(Window { start: area.start, size: area.size, from, offset, rights: area.rights });
        Ok(())
    }

    /// The stack; a fork's child has one among its areas.
    fn add_stack(&mut self, size: u64, foreign: bool, forked: bool) -> Result<(), SpawnError> {
        if forked {
            return Ok(());
        }
        let (end, least, most) = if foreign { (FOREIGN_STACK_END, 4 * PAGE_SIZE, MAX_FOREIGN_STACK) } else { (STACK_END, Sizes::default().stack, MAX_STACK) };
        self.stack_size = size.clamp(least, most).next_multiple_of(PAGE_SIZE).min(most);
        self.stack_end = end;
        let (from, offset) = self.take_data(self.stack_size)?;
        (self.stack, self.stack_is_data) = (offset, from == From::Data);
        let rights = Rights::READ.union(Rights::WRITE);
        self.windows.push(Window { start: end - self.stack_size, size: self.stack_size, from, offset, rights });
        Ok(())
    }

    /// The inheritance, behind which a fork's child has its first stack.
    fn add_inheritance(&mut self, size: u64, forked: bool) -> Result<(), SpawnError> {
        let size = size.next_multiple_of(PAGE_SIZE) + if forked { FIRST_STACK } else { 0 };
        if size == 0 {
            return Ok(());
        }
        if INHERITANCE + size > FOREIGN_STACK_END - MAX_FOREIGN_STACK {
            return Err(SpawnError::Arguments);
        }
        self.inheritance = self.take(size)?;
        if forked {
            (self.stack, self.stack_size, self.stack_end) = (self.inheritance + size - FIRST_STACK, FIRST_STACK, INHERITANCE + size);
        }
        let rights = Rights::READ.union(Rights::WRITE);
        self.windows.push(Window { start: INHERITANCE, size, from: From::Segment, offset: self.inheritance, rights });
        Ok(())
    }
}

/// Plans a child from its images - program, then its dynamic linker and the library if it is
/// foreign - each with whether its file can be mapped. A fork's child has the library alone.
/// `splits`: a foreign child has a data segment.
pub fn plan(images: &[(&Image, bool)], sizes: Sizes, heritage: &Heritage<'_>, splits: bool) -> Result<Plan, SpawnError> {
    let forked = !heritage.areas.is_empty();
    let foreign = images.len() > 1 || forked;
    let segments: usize = images.iter().map(|(image, _)| image.segments.len()).sum();
    let given = if forked { heritage.areas.len() } else if foreign { segments + 2 } else { 0 };
    let hidden = segments + heritage.areas.len() + 3 - given;
    let mut plan = Plan { space: PAGE_SIZE, pool_pages: sizes.pool_pages.max(5), given, data_size: (splits && foreign).then_some(0), ..Plan::default() };
    let all = (given + hidden).max(segments + heritage.areas.len() + 3);
    plan.windows.try_reserve_exact(all).map_err(|error| SpawnError::Service("memory for its plan", error.into()))?;
    plan.take((FIRST_MAPPING + hidden as u64 * ObjectType::Mapping.size()).next_multiple_of(PAGE_SIZE))?;
    plan.pool = plan.take(plan.pool_pages.saturating_mul(PAGE_SIZE))?;
    let references = heritage.references.len() as u64 + DATA_REFERENCES + SPARE_SLOTS;
    let born = given as u64 * ObjectType::Mapping.size() + references * ObjectType::Reference.size();
    plan.objects_pages = OBJECTS_PAGES.max(born.div_ceil(PAGE_SIZE));
    plan.objects = plan.take(plan.objects_pages * PAGE_SIZE)?;
    heritage.areas.iter().try_for_each(|area| plan.add_area(area))?;
    for (number, (image, shares)) in images.iter().enumerate() {
        plan.add_image(number, image, *shares, foreign && number + 1 == images.len())?;
    }
    let objects = Rights::READ.union(Rights::WRITE).union(Rights::OBJECTS);
    plan.windows.push(Window { start: OBJECTS, size: plan.objects_pages * PAGE_SIZE, from: From::Segment, offset: plan.objects, rights: objects });
    plan.add_stack(sizes.stack, foreign, forked)?;
    plan.add_inheritance(heritage.bytes.len() as u64, forked)?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::Segment;
    use alloc::vec;

    fn image() -> Image {
        let text = Segment { offset: 0x1000, file_size: 0x2345, address: 0x40_1000, memory_size: 0x2345, rights: Rights(5) };
        let data = Segment { offset: 0x3800, file_size: 0x100, address: 0x40_4800, memory_size: 0x1900, rights: Rights(3) };
        Image {
            entry: 0x40_1000,
            segments: vec![text, data],
            headers_address: 0,
            header_count: 2,
            native_version: None,
            interpreter: None,
            constant: 0..0,
        }
    }

    #[test]
    fn text_is_shared_and_data_copied() {
        let plan = plan(&[(&image(), true)], Sizes { pool_pages: 10, stack: 0x4_8000 }, &Heritage::default(), false).unwrap();
        assert_eq!((plan.pool, plan.objects, plan.stack), (0x2000, 0xc000, 0x1f000));
        assert_eq!(plan.size, 0x67000);
        let text = Window { start: 0x40_1000, size: 0x3000, from: From::File(0), offset: 0x1000, rights: Rights(5) };
        let data = Window { start: 0x40_4000, size: 0x3000, from: From::Segment, offset: 0x1c000, rights: Rights(3) };
        assert_eq!(plan.windows[..2], [text, data]);
        assert_eq!(plan.copies, [Copy { image: 0, offset: 0x3800, size: 0x100, to: 0x1c800, is_data: false }]);
    }

    #[test]
    fn a_native_program_has_the_usual_stack_whoever_starts_it() {
        let images = [(&image(), true), (&image(), true)];
        let sizes = Sizes { stack: 0x8000, ..Sizes::default() };
        let stack = |images: &[_]| plan(images, sizes, &Heritage::default(), false).unwrap().stack_size;
        assert_eq!((stack(&images[..1]), stack(&images)), (256 << 10, 0x8000));
    }

    #[test]
    fn without_a_region_of_the_file_everything_is_copied() {
        let plan = plan(&[(&image(), false), (&image(), true)], Sizes::default(), &Heritage::default(), false).unwrap();
        assert_eq!(plan.copies.len(), 3);
        assert_eq!(plan.windows.len(), 6);
        assert!(plan.windows[..2].iter().all(|window| window.from == From::Segment));
    }

    #[test]
    fn many_mappings_get_more_pages() {
        let mut many = image();
        many.segments = (0..64)
            .map(|n| Segment { offset: 0, file_size: 0, address: 0x40_0000 + n * 0x1000, memory_size: 1, rights: Rights(3) })
            .collect();
        let plan = plan(&[(&many, true)], Sizes::default(), &Heritage::default(), false).unwrap();
        assert!(plan.mapping(65) + 128 <= plan.pool);
        assert_eq!(plan.pool, 0x4000);
    }

    #[test]
    fn sizes_beyond_everything_are_refused() {
        let mut huge = image();
        huge.segments[1].memory_size = PROGRAM_END - huge.segments[1].address;
        assert!(plan(&[(&huge, true)], Sizes::default(), &Heritage::default(), false).unwrap().size > 1 << 46);
        let sizes = Sizes { pool_pages: u64::MAX, stack: u64::MAX };
        assert_eq!(plan(&[(&image(), true)], sizes, &Heritage::default(), false), Err(SpawnError::TooLarge(u64::MAX, None)));
    }

    #[test]
    fn a_forks_child_has_its_areas_first_and_no_stack_but_the_first() {
        let areas = [
            Area { start: 0x1000, size: 0x3000, rights: Rights(3), shows: None },
            Area { start: 0x8000, size: 0x1000, rights: Rights(1), shows: Some((Region(64), 0x2000)) },
        ];
        let heritage = Heritage { bytes: &[7; 5000], references: &[Reference(64); 1000], areas: &areas };
        let plan = plan(&[(&image(), true)], Sizes::default(), &heritage, false).unwrap();
        assert_eq!((plan.given, plan.objects_pages), (2, 24));
        assert_eq!(plan.windows[1], Window { start: 0x8000, size: 0x1000, from: From::Region(Region(64)), offset: 0x2000, rights: Rights(1) });
        let last = plan.windows.last().unwrap();
        assert_eq!((last.start, last.size, plan.stack_end), (INHERITANCE, 0x3000, INHERITANCE + 0x3000));
        assert_eq!(plan.stack, plan.inheritance + 0x2000);
    }

    #[test]
    fn an_inheritance_that_would_reach_the_stack_is_refused() {
        let bytes = vec![0; 8 << 20];
        let heritage = Heritage { bytes: &bytes, ..Heritage::default() };
        assert_eq!(plan(&[(&image(), true), (&image(), true)], Sizes::default(), &heritage, false), Err(SpawnError::Arguments));
    }

    #[test]
    fn a_foreign_child_has_its_data_and_stack_in_a_segment_whose_pages_may_go() {
        let images = [(&image(), true), (&image(), true)];
        let whole = plan(&images, Sizes::default(), &Heritage::default(), false).unwrap();
        let split = plan(&images, Sizes::default(), &Heritage::default(), true).unwrap();
        assert_eq!((whole.data_size, split.data_size), (None, Some(0x3000 + (256 << 10))));
        assert_eq!(split.size, whole.size - split.data_size.unwrap());
        let from: Vec<From> = split.windows.iter().map(|window| window.from).collect();
        // The library's written data stays, and so do objects.
        assert_eq!(from, [From::File(0), From::Data, From::File(1), From::Segment, From::Segment, From::Data]);
        assert_eq!(split.copies.iter().map(|copy| (copy.to, copy.is_data)).collect::<Vec<_>>(), [(0x800, true), (split.windows[3].offset + 0x800, false)]);
        assert_eq!((split.stack, split.stack_is_data, whole.stack_is_data), (0x3000, true, false));
        assert_eq!(plan(&images[..1], Sizes::default(), &Heritage::default(), true).unwrap().data_size, None);
    }

    #[test]
    fn copies_of_a_forks_child_lie_in_the_data_segment_one_behind_the_other() {
        let area = |start, shows| Area { start, size: 0x3000, rights: Rights(3), shows };
        let areas = [area(0x1000, None), area(0x8000, Some((Region(64), 0x2000))), area(0x1_0000, None)];
        let heritage = Heritage { bytes: &[7; 5000], references: &[], areas: &areas };
        let plan = plan(&[(&image(), true)], Sizes::default(), &heritage, true).unwrap();
        assert_eq!(plan.windows[..3].iter().map(|window| (window.from, window.offset)).collect::<Vec<_>>(), [(From::Data, 0), (From::Region(Region(64)), 0x2000), (From::Data, 0x3000)]);
        assert_eq!((plan.data_size, plan.stack_is_data), (Some(0x6000), false));
        assert_eq!(plan.windows.last().unwrap().from, From::Segment);
    }
}
