//! The store: a file that is memory, in which images lie whose data is shown where it lies.

use alloc::rc::Rc;
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

    /// Begins an image in a half; see [`Store::begin`].
    pub fn begin(&self, half: u64, data: u64, filled: &[u64]) -> Result<Writing, Fault> {
        self.store.borrow_mut().begin(half, data, filled)
    }

    /// Writes a page of data; see [`Store::page`].
    pub fn page(&self, writing: &Writing, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.store.borrow_mut().page(writing, offset, bytes)
    }

    /// Writes more of the image behind the data; see [`Store::stream`].
    pub fn stream(&self, writing: &mut Writing, bytes: &[u8]) -> Result<(), Fault> {
        self.store.borrow_mut().stream(writing, bytes)
    }

    /// Ends an image; see [`Store::end`].
    pub fn end(&self, writing: &Writing, hash: Hash) -> Result<Stored, Fault> {
        self.store.borrow_mut().end(writing, hash)
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
