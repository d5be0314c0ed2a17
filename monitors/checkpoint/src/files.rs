//! Image files: written beside the one before, which they replace when they are whole, and handed
//! out to the host.

use crate::freeze::{Figures, freeze};
use crate::world::{ORIGINAL, World};
use crate::{store_file, stored};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use nacre_nest::Services;
use nacre_nest::command::{create, lossy};
use nacre_proto::flags::{O_RDONLY, SERVICE_FILES};
use nacre_proto::{Errno, directory, file, parent};
use nacre_snapshot::image::Fault;
use nacre_sys::{OwnedReference, Reference};

/// Bytes that are read or written at a time.
const PART: usize = 16384;

/// File that images are written to.
pub struct Images {
    services: Services,
    path: Vec<u8>,
    shown: String,
    /// Number of images that stay.
    kept: u64,
}

impl Images {
    /// Images at an absolute path, which people called `given`. The last `kept` of them stay; a
    /// store always keeps two.
    pub fn new(path: &[u8], given: &[u8], kept: Option<u64>) -> Result<Images, String> {
        let services = Services::find().map_err(|refusal| format!("{refusal}"))?;
        let images = Images { services, path: path.to_vec(), shown: lossy(given), kept: kept.unwrap_or(1) };
        // A path that cannot be written is told before the program starts.
        match store_file::is_store(path) {
            true if images.kept > 2 => return Err(format!("{}: a store keeps two images: leave --keep out", images.shown)),
            true => {}
            false => drop(create(&images.services, &images.partial())?),
        }
        Ok(images)
    }

    /// Path of the image that is so much older than the newest.
    fn older(&self, age: u64) -> Vec<u8> {
        if age == 0 { self.path.clone() } else { [&self.path[..], format!(".{age}").as_bytes()].concat() }
    }

    /// Puts an image that is whole in the newest one's place, and each before it one further.
    fn put_in_place(&self) -> Result<(), Errno> {
        let files = self.services.files();
        let rename = |from: &[u8], to: &[u8]| directory::rename(files, 0, from.len() as u64, &[from, to].concat()[..], files);
        for age in (1..self.kept).rev() {
            match rename(&self.older(age - 1), &self.older(age)) {
                // There are not so many yet.
                Ok(_) | Err(Errno::ENOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        rename(&self.partial(), &self.path).map(|_| ())
    }

    fn partial(&self) -> Vec<u8> {
        [&self.path[..], b".part"].concat()
    }

    /// Freezes the environment into the next image. With `ends`, it stands still afterwards, unless
    /// that failed.
    pub fn write(&self, world: &mut World, ends: bool) -> Result<Figures, String> {
        let written = self.try_write(world, ends.then_some(0));
        // It could be written, and not take its place.
        if written.is_err() && let Some(life) = world.lives.get_mut(&ORIGINAL) {
            life.release()?;
        }
        written
    }

    fn try_write(&self, world: &mut World, holder: Option<u64>) -> Result<Figures, String> {
        if store_file::is_store(&self.path) {
            return stored::write(world, holder).map_err(|why| format!("{}: {why}", self.shown));
        }
        let (partial, files) = (self.partial(), self.services.files());
        let file = create(&self.services, &partial)?;
        let mut at = 0;
        let figures = freeze(world, ORIGINAL, holder, None, &mut |bytes: &[u8]| {
            for part in bytes.chunks(PART) {
                write_all(file.handle(), &mut at, part)?;
            }
            Ok(())
        });
        let kept = figures.and_then(|figures| {
            self.put_in_place().map_err(|errno| format!("cannot write {}: {errno}", self.shown))?;
            Ok(figures)
        });
        match kept {
            Ok(figures) => {
                file::hand_out(file.handle(), &self.path[..]).map_err(|errno| format!("cannot hand out {}: {errno}", self.shown)).map(|_| figures)
            }
            Err(why) => {
                let _ = directory::remove(files, 0, &partial[..]);
                Err(format!("{}: {why}", self.shown))
            }
        }
    }
}

/// Freezes the environment with this number into a file without a name, as [`freeze`] does.
pub fn write_unnamed(world: &mut World, number: u64, holder: Option<u64>, round: Option<u64>) -> Result<(OwnedReference, Figures), String> {
    let files = parent::find(Reference::PARENT, SERVICE_FILES).map_err(|errno| format!("cannot make a file: {errno}"))?.found;
    let made = directory::memory(files.handle(), 0).map_err(|errno| format!("cannot make a file: {errno}"))?.file;
    let mut at = 0;
    let figures = freeze(world, number, holder, round, &mut |bytes: &[u8]| bytes.chunks(PART).try_for_each(|part| write_all(made.handle(), &mut at, part)))?;
    Ok((made, figures))
}

fn write_all(file: Reference, at: &mut u64, mut bytes: &[u8]) -> Result<(), Fault> {
    while !bytes.is_empty() {
        let count = file::write(file, *at, bytes).map_err(|_| Fault::File)?.count as usize;
        bytes = bytes.get(count..).filter(|_| count > 0).ok_or(Fault::File)?;
        *at += count as u64;
    }
    Ok(())
}

/// Reads the file at a path from its start on, as much as is asked for.
pub fn source(path: &[u8]) -> Result<impl FnMut(&mut [u8]) -> Result<(), Fault> + use<>, Errno> {
    let files = parent::find(Reference::PARENT, SERVICE_FILES)?.found;
    let file = directory::open(files.handle(), O_RDONLY, 0, path)?.file;
    let (mut at, mut part) = (0, vec![0; PART]);
    Ok(move |into: &mut [u8]| {
        for piece in into.chunks_mut(PART) {
            let mut filled = 0;
            while filled < piece.len() {
                let wanted = piece.len() - filled;
                let count = file::read(file.handle(), at, wanted as u64, &mut part[..wanted]).map_err(|_| Fault::File)?.count as usize;
                if count == 0 || count > wanted {
                    return Err(Fault::Truncated);
                }
                piece[filled..filled + count].copy_from_slice(&part[..count]);
                (filled, at) = (filled + count, at + count as u64);
            }
        }
        Ok(())
    })
}
