//! Images in the store: each is written into the half that is not the newest.

use crate::freeze::{Figures, freeze};
use crate::output::Output;
use crate::store_file::StoreFile;
use crate::world::{ORIGINAL, World};
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use nacre_proto::Errno;
use nacre_snapshot::image::{Fault, Hash};
use nacre_snapshot::store::{Stored, Writing};

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
        self.file.stream(writing, bytes)
    }

    fn begins(&mut self, data: u64, filled: &[u64]) -> Result<bool, Fault> {
        self.writing = Some(self.file.begin(self.number, data, filled)?);
        Ok(true)
    }

    fn page(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let writing = self.writing.as_ref().ok_or(Fault::File)?;
        self.file.page(writing, offset, bytes)
    }

    fn ends(&mut self, hash: Hash) -> Result<(), Fault> {
        let writing = self.writing.as_ref().ok_or(Fault::File)?;
        self.stored = Some(self.file.end(writing, hash)?);
        Ok(())
    }
}

/// Freezes the original of a world into the store; see [`freeze`]. The image before stays until
/// this one is whole.
pub fn write(world: &mut World, holder: Option<u64>) -> Result<Figures, String> {
    if world.store.is_none() {
        let opened = StoreFile::open(true).map_err(|errno| match errno {
            Errno::ENOENT => String::from("the machine has no store: `nacre run --store FILE:SIZE` gives it one"),
            errno => format!("cannot be opened: {errno}"),
        })?;
        world.store = Some(opened.map_err(|fault| fault.to_string())?);
    }
    let file = world.store.clone().ok_or("cannot be opened")?;
    let newest = file.newest();
    if let (Some(made), Some(life)) = (world.made.filter(|made| newest == Ok(*made)), world.lives.get_mut(&ORIGINAL)) {
        // Copies that showed the image before it may have ended since.
        life.outside.arena.data.point_to(made);
    }
    let number = newest.map_or(0, |newest| 1 - newest.half);
    if world.lives.values().any(|life| life.outside.arena.data.shows_half(number)) {
        return Err(String::from("copies still show the older image in it: end them first, or write to another file"));
    }
    let mut half = Half { file, number, writing: None, stored: None };
    let figures = freeze(world, ORIGINAL, holder, None, &mut half)?;
    if let (Some(stored), Some(life)) = (half.stored, world.lives.get_mut(&ORIGINAL)) {
        life.outside.arena.data.point_to(stored);
        world.made = Some(stored);
    }
    Ok(figures)
}
