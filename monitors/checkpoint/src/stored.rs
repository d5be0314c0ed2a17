//! The store: a file that is memory, in which images lie whose data is shown where it lies.

use crate::freeze::{Figures, freeze};
use crate::output::Output;
use crate::world::{ORIGINAL, World};
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::RefCell;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::places::Place;
use nacre_proto::flags::{O_RDWR, SERVICE_FILES, SHARE_WRITE};
use nacre_proto::structures::Status;
use nacre_proto::{Errno, directory, file, parent};
use nacre_snapshot::image::{Fault, Hash};
use nacre_snapshot::store::{Memory, Store, Stored, Writing};
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space, Window};

/// Path of the store. It never loses bytes at its end, so its memory stays.
const PATH: &[u8] = b"/dev/store";

/// The store as memory that we see.
struct Seen(Window);

impl Memory for Seen {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Option<()> {
        self.0.read(at, into)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Option<()> {
        self.0.write(at, bytes)
    }
}

/// The file of a store, all of which we see.
pub struct StoreFile {
    store: RefCell<Store<Seen>>,
    region: OwnedReference,
    _shown: OwnedMapping,
    _place: Place,
    _hold: OwnedReference,
}

/// Returns true if an absolute path leads to the store.
pub fn is_store(path: &[u8]) -> bool {
    path == PATH
}

impl StoreFile {
    /// Opens the store. With `is_new`, it is laid out for images if it has none.
    pub fn open(is_new: bool) -> Result<Result<Rc<StoreFile>, Fault>, Errno> {
        let files = parent::find(Reference::PARENT, SERVICE_FILES)?.found;
        let file = directory::open(files.handle(), O_RDWR, 0, PATH)?.file;
        let mut bytes = [0; Status::SIZE];
        file::status(file.handle(), &mut bytes)?;
        let size = Status::from_bytes(&bytes).map_or(0, |status| status.size) & !(PAGE_SIZE - 1);
        let shared = file::share(file.handle(), size, SHARE_WRITE)?;
        let place = Place::take(size).ok_or(Errno::ENOMEM)?;
        let region = Region::through(shared.region.handle());
        let shown = OwnedMapping::new(Space::OWN, place.window().start(), size, region, 0, Rights::READ.union(Rights::WRITE))?;
        let seen = Seen(place.window());
        let store = if is_new { Store::prepare(seen) } else { Store::open(seen) };
        Ok(store.map(|store| Rc::new(StoreFile { store: RefCell::new(store), region: shared.region, _shown: shown, _place: place, _hold: shared.hold })))
    }

    /// The region that shows all of it.
    pub fn region(&self) -> Region {
        Region::through(self.region.handle())
    }

    /// The newest image.
    pub fn newest(&self) -> Result<Stored, Fault> {
        self.store.borrow().newest()
    }

    /// Returns the offsets of pages of an image's data that may hold anything but zeros.
    pub fn filled(&self, stored: &Stored, range: (u64, u64)) -> Vec<u64> {
        self.store.borrow().filled(stored, range)
    }

    /// Reads the image behind the data, from its start on.
    pub fn source(&self, stored: &Stored) -> impl FnMut(&mut [u8]) -> Result<(), Fault> + use<> {
        let (window, start, mut at) = (self.store.borrow().memory().0, stored.stream_start(), 0);
        let size = stored.stream;
        move |into: &mut [u8]| {
            let end = at + into.len() as u64;
            if end > size {
                return Err(Fault::Truncated);
            }
            window.read(start + at, into).ok_or(Fault::File)?;
            at = end;
            Ok(())
        }
    }
}

/// The half of a store that is not the newest, as a place for an image.
struct Half {
    file: Rc<StoreFile>,
    number: u64,
    writing: Option<Writing>,
    stored: Option<Stored>,
}

impl Output for Half {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let writing = self.writing.as_mut().ok_or(Fault::File)?;
        self.file.store.borrow_mut().stream(writing, bytes)
    }

    fn begins(&mut self, data: u64, filled: &[u64]) -> Result<bool, Fault> {
        self.writing = Some(self.file.store.borrow_mut().begin(self.number, data, filled)?);
        Ok(true)
    }

    fn page(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let writing = self.writing.as_ref().ok_or(Fault::File)?;
        self.file.store.borrow_mut().page(writing, offset, bytes)
    }

    fn ends(&mut self, hash: Hash) -> Result<(), Fault> {
        let writing = self.writing.as_ref().ok_or(Fault::File)?;
        self.stored = Some(self.file.store.borrow_mut().end(writing, hash)?);
        Ok(())
    }
}

/// Freezes the original of a world into the store; see [`freeze`]. The image before stays until
/// this one is whole.
pub fn write(world: &mut World, holder: Option<u64>) -> Result<Figures, String> {
    if world.store.is_none() {
        let opened = StoreFile::open(true).map_err(|errno| format!("cannot be opened: {errno}"))?;
        world.store = Some(opened.map_err(|fault| fault.to_string())?);
    }
    let file = world.store.clone().ok_or("cannot be opened")?;
    let number = file.newest().map_or(0, |newest| 1 - newest.half);
    if world.lives.values().any(|life| life.outside.arena.data.shows_half(number)) {
        return Err(String::from("copies still show the older image in it: end them first, or write to another file"));
    }
    let mut half = Half { file, number, writing: None, stored: None };
    let figures = freeze(world, ORIGINAL, holder, None, &mut half)?;
    if let (Some(stored), Some(life)) = (half.stored, world.lives.get_mut(&ORIGINAL)) {
        life.outside.arena.data.point_to(stored);
    }
    Ok(figures)
}
