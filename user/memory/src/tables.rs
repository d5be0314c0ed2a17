//! The spaces that stand between frames and the child, and what the bank does with them.
//!
//! Each manager has an `O`, which shows what is here: one mapping for each frame that holds a page.
//! `T` shows each dataspace by one mapping of the `O` of its manager, whose region has us for its
//! keeper. Regions that clients hold are made over `T` and never change: a dataspace moves to
//! another manager when its mapping in `T` does.

use alloc::vec::Vec;
use core::ops::Range;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{Code, PAGE_SIZE, Rights};
use nacre_dataspaces::hands::Refused;
use nacre_dataspaces::runs::{Run, Runs};
use nacre_dataspaces::{Hands, Page};
use nacre_nest::Services;
use nacre_nest::places::Place;
use nacre_nest::services::Segment;
use nacre_nest::supply::{Segment as _, ResourceSource};
use nacre_proto::flags::{SEGMENT_PAGEABLE, SHARE_WRITE};
use nacre_proto::{Errno, dataspace, file, memory, segment};
use nacre_sys::{Mapping, OwnedMapping, OwnedReference, OwnedRegion, Port, Reference, Region, Space, Status, EmptySlot, Window};

/// Address of the pages in both spaces.
const BASE: u64 = nacre_sys::window::WINDOWS.start;
/// Number of pages of both spaces.
pub const PAGES: u64 = 1 << 30;
/// Pages that are donated for a space that only composes.
const POOL: u64 = 5;
/// All that memory without objects can be used for.
const DATA: Rights = Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE);

/// Frames of a segment, and where they are shown.
pub struct Tables {
    /// `O` of the manager.
    here: Space,
    frames: Region,
    window: Window,
    /// A slot for each frame's mapping.
    mappings: Vec<EmptySlot<Mapping>>,
    /// Frames that one mapping shows.
    runs: Runs,
    /// Pages of the layer below never go.
    stays: bool,
    kept: (OwnedMapping, OwnedReference, [Option<OwnedReference>; 2], Place),
}

/// `T`, over which dataspaces have their regions, and the region of each manager's `O`.
pub struct Top {
    space: Space,
    layers: Vec<Layer>,
    _objects: Segment,
}

/// Objects of a manager below `T`.
struct Layer {
    region: OwnedRegion,
    _objects: Segment,
}

/// View of a dataspace in `T`: a mapping over the `O` of its manager, while nothing is being done
/// to the dataspace.
pub struct Shown {
    slot: EmptySlot<Mapping>,
    is_there: bool,
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.hide();
    }
}

impl Shown {
    /// A dataspace that nobody reaches yet.
    pub fn new() -> Result<Shown, Status> {
        Ok(Shown { slot: EmptySlot::new()?, is_there: false })
    }

    /// Shows pages of a manager. Faults wait meanwhile, since whoever answers them is calling.
    pub fn show(&mut self, top: &Top, manager: usize, pages: &Range<u64>) -> Result<(), Status> {
        self.hide();
        let (start, size) = (pages.start * PAGE_SIZE, (pages.end - pages.start) * PAGE_SIZE);
        let region = top.layers.get(manager).map(|layer| layer.region.handle()).ok_or(Status::new(Code::BadRange))?;
        Mapping::create(self.slot.address(), top.space, BASE + start, size, region, start, DATA)?;
        self.is_there = true;
        Ok(())
    }

    /// Hides the dataspace: nobody reaches it any more.
    pub fn hide(&mut self) {
        if core::mem::take(&mut self.is_there) {
            // A mapping that is not there any more hides just as well.
            let _ = self.slot.handle().destroy();
        }
    }

    /// Returns true if the dataspace is shown.
    pub fn is_there(&self) -> bool {
        self.is_there
    }
}

fn space(services: &mut Services) -> Result<(Space, Segment), Errno> {
    let objects = services.segment((1 + POOL) * PAGE_SIZE).map_err(|_| Errno::ENOMEM)?;
    let base = objects.window().start();
    Ok((Space::create(base, base + PAGE_SIZE, POOL, Reference::NONE)?, objects))
}

/// Makes `T` without managers.
pub fn top(services: &mut Services) -> Result<Top, Errno> {
    let (space, objects) = space(services)?;
    Ok(Top { space, layers: Vec::new(), _objects: objects })
}

impl Top {
    /// Adds a manager of `count` frames of memory from `from`. `keeper` is asked for pages that are
    /// not here.
    pub fn add_manager(&mut self, services: &mut Services, count: usize, from: &Source<'_>, keeper: Port) -> Result<Tables, Errno> {
        let (here, objects) = space(services)?;
        let region = OwnedRegion::new(here, BASE, PAGES * PAGE_SIZE, DATA, keeper.as_keeper())?;
        let tables = frames(from.pool(services), here, count, from)?;
        self.layers.push(Layer { region, _objects: objects });
        Ok(tables)
    }
}

/// Source of frames.
pub enum Source<'a> {
    /// A segment of the pool, which the layer below may page.
    Segment,
    /// A dataspace of this manager of the layer below.
    Manager(&'a [u8]),
    /// One contiguous run of the machine's memory.
    Run,
    /// Pages of some colours: how many there are, and which.
    Coloured(u64, Range<u64>),
    /// File contents, such as a device's window. True: mapped writable as well.
    File(&'a OwnedReference, bool),
}

impl Source<'_> {
    /// The pool that frames come from: memory by its addresses comes from pools alone that give
    /// more than data.
    fn pool(&self, services: &Services) -> Reference {
        match self {
            Source::Run | Source::Coloured(..) => services.memory(),
            Source::Segment | Source::Manager(_) | Source::File(..) => services.data_memory(),
        }
    }

    /// Takes memory: its region, and what keeps it.
    fn take(&self, pool: Reference, size: u64) -> Result<(OwnedReference, [Option<OwnedReference>; 2]), Errno> {
        match self {
            Source::Segment => {
                let taken = memory::segment_create(pool, size, SEGMENT_PAGEABLE)?;
                Ok((taken.region, [Some(taken.segment), None]))
            }
            Source::Manager(name) => {
                let made = dataspace::create(pool, size, *name)?;
                let attached = dataspace::attach(made.dataspace.handle(), 0)?;
                Ok((attached.region, [Some(made.dataspace), Some(attached.attachment)]))
            }
            Source::Run => {
                let taken = memory::run_create(pool, size, 0, 0)?;
                Ok((taken.region, [Some(taken.segment), None]))
            }
            Source::Coloured(colours, chosen) => {
                let taken = memory::coloured_create(pool, size, *colours, chosen.start, chosen.end - chosen.start)?;
                Ok((taken.region, [Some(taken.segment), None]))
            }
            Source::File(file, written) => {
                let shared = file::share(file.handle(), size, if *written { SHARE_WRITE } else { 0 })?;
                Ok((shared.region, [Some(shared.hold), None]))
            }
        }
    }
}

fn frames(pool: Reference, here: Space, count: usize, from: &Source<'_>) -> Result<Tables, Errno> {
    let size = count as u64 * PAGE_SIZE;
    let (region, kept) = from.take(pool, size)?;
    let place = Place::take(size).ok_or(Errno::ENOMEM)?;
    let (window, frames) = (place.window(), Region::through(region.handle()));
    let rights = if matches!(from, Source::File(_, false)) { Rights::READ } else { Rights::READ.union(Rights::WRITE) };
    let shown = OwnedMapping::new(Space::SELF, window.start(), size, frames, 0, rights)?;
    let mut mappings = Vec::new();
    mappings.try_reserve_exact(count).map_err(|_| Errno::ENOMEM)?;
    for _ in 0..count {
        mappings.push(EmptySlot::new()?);
    }
    let runs = Runs::new(count).ok_or(Errno::ENOMEM)?;
    Ok(Tables { here, frames, window, mappings, runs, stays: false, kept: (shown, region, kept, place) })
}

impl Top {
    /// A region of `pages`, for whoever gets a reference to it. `keeper` is asked while the pages
    /// are not shown in `T`.
    pub fn region(&self, pages: &Range<u64>, reads: bool, keeper: Port) -> Result<OwnedRegion, Status> {
        let rights = if reads { Rights::READ.union(Rights::EXECUTE) } else { DATA };
        OwnedRegion::new(self.space, BASE + pages.start * PAGE_SIZE, (pages.end - pages.start) * PAGE_SIZE, rights, keeper.as_keeper())
    }

    /// A reference to hand out.
    pub fn reference(region: &OwnedRegion) -> Result<OwnedReference, Status> {
        region.new_reference(REFERENCE_USE)
    }
}

impl Tables {
    /// The machine's address of a frame, and how many bytes lie there in one run.
    pub fn locate(&self, frame: usize) -> Result<(u64, u64), Errno> {
        let (_, _, [taken, _], _) = &self.kept;
        let taken = taken.as_ref().ok_or(Errno::EACCES)?;
        let found = segment::locate(taken.handle(), frame as u64 * PAGE_SIZE)?;
        Ok((found.address, found.size))
    }

    /// Makes one mapping for frames in a row. Nothing is made for none.
    fn map(&mut self, page: u64, run: Run) -> Result<(), Refused> {
        if run.count == 0 {
            return Ok(());
        }
        let rights = if run.written { DATA } else { Rights::READ.union(Rights::EXECUTE) };
        let (slot, size) = (self.mappings[run.first].address(), run.count as u64 * PAGE_SIZE);
        Mapping::create(slot, self.here, BASE + page * PAGE_SIZE, size, self.frames, run.first as u64 * PAGE_SIZE, rights).map_err(|_| Refused)?;
        self.runs.add(run);
        Ok(())
    }

    fn unmap(&mut self, run: Run) -> Result<(), Refused> {
        self.mappings[run.first].handle().destroy().map_err(|_| Refused)?;
        self.runs.remove(run);
        Ok(())
    }

    fn part(&self, frame: usize) -> Option<Window> {
        self.window.part(frame as u64 * PAGE_SIZE, PAGE_SIZE)
    }
}

impl Hands for Tables {
    fn show(&mut self, page: u64, frame: usize, written: bool) -> Result<(), Refused> {
        self.map(page, Run { first: frame, count: 1, written })
    }

    fn show_run(&mut self, page: u64, frame: usize, count: usize, written: bool) -> usize {
        if self.map(page, Run { first: frame, count, written }).is_ok() { count } else { 0 }
    }

    fn hide(&mut self, page: u64, frame: usize) -> Result<(), Refused> {
        let run = self.runs.of(frame);
        if run.count == 0 {
            return Ok(());
        }
        self.unmap(run)?;
        for rest in run.without(frame) {
            // What cannot be shown now is shown when somebody asks for it. Nobody finds less
            // meanwhile than a page that is not here, since whoever brings pages is at work.
            let _ = self.map(page + rest.first as u64 - frame as u64, rest);
        }
        Ok(())
    }

    fn hide_run(&mut self, page: u64, frame: usize, count: usize) -> usize {
        let mut done = 0;
        while done < count {
            let run = self.runs.of(frame + done);
            let is_whole = run.count > 0 && run.first == frame + done && run.count <= count - done;
            let hidden = if is_whole { self.unmap(run) } else { self.hide(page + done as u64, frame + done) };
            if hidden.is_err() {
                break;
            }
            done += if is_whole { run.count } else { 1 };
        }
        done
    }

    fn check_shown(&mut self, page: u64, frame: usize, written: bool) -> Result<(), Refused> {
        if self.runs.of(frame).count == 0 { self.show(page, frame, written) } else { Ok(()) }
    }

    fn read(&mut self, frame: usize, into: &mut Page) {
        let _ = self.part(frame).and_then(|window| window.read(0, into));
    }

    fn write(&mut self, frame: usize, from: &Page) {
        let _ = self.part(frame).and_then(|window| window.write(0, from));
    }

    fn clear(&mut self, frame: usize) {
        let _ = self.part(frame).and_then(|window| window.fill(0, PAGE_SIZE, 0));
    }

    fn keep(&mut self, frame: usize, is_kept: bool) -> Result<(), Refused> {
        let (_, _, [taken, _], _) = &self.kept;
        let Some(taken) = taken.as_ref().filter(|_| !self.stays) else { return Ok(()) };
        let offset = frame as u64 * PAGE_SIZE;
        let done = if is_kept { segment::pin(taken.handle(), offset, PAGE_SIZE, 0).map(drop) } else { segment::unpin(taken.handle(), offset, PAGE_SIZE).map(drop) };
        self.stays = done == Err(Errno::ENOSYS);
        if done.is_ok() || self.stays { Ok(()) } else { Err(Refused) }
    }
}
