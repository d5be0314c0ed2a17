//! The rounds of a move: when the last one comes, and how a receiver makes one image of all.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nacre_snapshot::check::Places;
use nacre_snapshot::image::{Facts, Fault, Hash, PAGES_IN_CHUNK, Reader, Writer};

/// Size of a page in bytes.
const PAGE: usize = 4096;
/// Maximum number of rounds that are taken.
const MAX_TAKEN: usize = 16;
/// Maximum number of rounds before the last one.
pub const MAX_ROUNDS: u64 = MAX_TAKEN as u64 - 1;
/// Size in bytes of a round after which the last one follows.
const SMALL: u64 = 128 << 10;

/// Returns true if another round is worth while before the last one, after rounds of these sizes:
/// each round but the first one has to be smaller by a quarter than the one before. There are at
/// most `most`.
pub fn is_worth_while(sizes: &[u64], most: u64) -> bool {
    match *sizes {
        _ if sizes.len() as u64 >= most => false,
        [] => true,
        [.., last] if last <= SMALL => false,
        [.., before, last] => last < before / 4 * 3,
        [_] => true,
    }
}

/// Rounds that have come: what is known of the environment, and the newest contents of each page.
pub struct Rounds {
    /// Contents of pages, one after the other.
    contents: File,
    /// Number of a page's contents, by its distance from the start of the environment.
    places: BTreeMap<u64, u64>,
    max_pages: u64,
    facts: Facts,
    /// Hash at the end of the round before.
    before: Hash,
    count: usize,
}

impl Rounds {
    /// Makes rounds of pages of at most so many bytes. `contents` is an empty file.
    pub fn new(contents: File, limit: u64) -> Rounds {
        Rounds { contents, places: BTreeMap::new(), max_pages: limit / PAGE as u64, facts: Facts::default(), before: Hash::default(), count: 0 }
    }

    /// Takes the next round, which is in a file. An error says what is wrong with it.
    pub fn take(&mut self, round: &Path) -> Result<(), Fault> {
        if self.count == MAX_TAKEN {
            return Err(Fault::Order);
        }
        let mut file = BufReader::new(File::open(round).map_err(|_| Fault::File)?);
        let source = |into: &mut [u8]| file.read_exact(into).map_err(|error| if error.kind() == ErrorKind::UnexpectedEof { Fault::Truncated } else { Fault::File });
        let mut reader = if self.count == 0 { Reader::new(source)? } else { Reader::round(source, &self.before)? };
        while let Some((distances, bytes)) = reader.pages()? {
            for (page, bytes) in distances.into_iter().zip(bytes.chunks_exact(PAGE)) {
                self.put(page, bytes)?;
            }
        }
        (self.facts, self.before) = (reader.facts().clone(), reader.hash());
        self.count += 1;
        Ok(())
    }

    fn put(&mut self, page: u64, bytes: &[u8]) -> Result<(), Fault> {
        let next = self.places.len() as u64;
        let place = *self.places.entry(page).or_insert(next);
        if place >= self.max_pages {
            return Err(Fault::NoMemory);
        }
        self.contents.write_all_at(bytes, place * PAGE as u64).map_err(|_| Fault::File)
    }

    /// Writes the image of the environment as it was at the last round.
    pub fn write(mut self, image: &Path) -> Result<(), Fault> {
        // A page that was given back, or holds an object now, was sent in a round before.
        let there = Places::new(&self.facts, &self.facts.objects);
        self.places.retain(|page, _| there.has(*page));
        self.facts.pages = self.places.len() as u64;
        let mut file = BufWriter::new(File::create(image).map_err(|_| Fault::File)?);
        let mut writer = Writer::new(|part: &[u8]| file.write_all(part).map_err(|_| Fault::File), &self.facts)?;
        let all: Vec<(u64, u64)> = self.places.into_iter().collect();
        let mut bytes = vec![0; PAGES_IN_CHUNK * PAGE];
        for some in all.chunks(PAGES_IN_CHUNK) {
            for ((_, place), into) in some.iter().zip(bytes.chunks_exact_mut(PAGE)) {
                self.contents.read_exact_at(into, place * PAGE as u64).map_err(|_| Fault::File)?;
            }
            let distances: Vec<u64> = some.iter().map(|(page, _)| *page).collect();
            writer.pages(&distances, &bytes[..some.len() * PAGE])?;
        }
        writer.end()?;
        file.flush().map_err(|_| Fault::File)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    type Pages<'a> = &'a [(u64, u8)];

    /// Writes a round of an environment of four pages; the hash at its end.
    fn round(path: &Path, before: Option<&Hash>, pages: Pages<'_>) -> Hash {
        let mut bytes = Vec::new();
        let facts = Facts { command: vec![b"sh".to_vec()], size: 4 * PAGE as u64, pages: pages.len() as u64, ..Facts::default() };
        let sink = |part: &[u8]| { bytes.extend_from_slice(part); Ok(()) };
        let mut writer = match before {
            Some(before) => Writer::round(sink, &facts, before),
            None => Writer::new(sink, &facts),
        }.unwrap();
        for (page, byte) in pages {
            writer.pages(&[page * PAGE as u64], &[*byte; PAGE]).unwrap();
        }
        let hash = writer.end().unwrap();
        std::fs::write(path, bytes).unwrap();
        hash
    }

    fn read(path: &Path) -> Vec<(u64, u8)> {
        let bytes = std::fs::read(path).unwrap();
        let mut left = &bytes[..];
        let mut reader = Reader::new(|into: &mut [u8]| left.read_exact(into).map_err(|_| Fault::Truncated)).unwrap();
        let mut all = Vec::new();
        while let Some((distances, bytes)) = reader.pages().unwrap() {
            all.extend(distances.iter().zip(bytes.chunks(PAGE)).map(|(page, bytes)| (page / PAGE as u64, bytes[0])));
        }
        all
    }

    #[test]
    fn an_image_has_the_newest_contents_of_each_page() {
        let folder = Folder::new("rounds").unwrap();
        let path = folder.path().join("round");
        let contents = || File::options().read(true).write(true).create(true).truncate(true).open(folder.path().join("pages")).unwrap();
        let mut rounds = Rounds::new(contents(), 1 << 20);
        let mut before = round(&path, None, &[(0, 1), (1, 1), (3, 1)]);
        rounds.take(&path).unwrap();
        for pages in [&[(1, 2)][..], &[], &[(1, 3), (2, 3), (9, 3), (3, 0)]] {
            before = round(&path, Some(&before), pages);
            rounds.take(&path).unwrap();
        }
        // The same one again does not follow, nor does another image.
        assert_eq!(rounds.take(&path), Err(Fault::Order));
        round(&path, None, &[]);
        assert_eq!(rounds.take(&path), Err(Fault::NoImage));
        rounds.write(&path).unwrap();
        assert_eq!(read(&path), [(0, 1), (1, 3), (2, 3), (3, 0)], "the tenth page is outside");
        // A receiver takes no more pages, and no more rounds, than it has said.
        round(&path, None, &[(0, 1), (1, 1)]);
        assert_eq!(Rounds::new(contents(), PAGE as u64).take(&path), Err(Fault::NoMemory));
        let mut rounds = Rounds::new(contents(), 1 << 20);
        let mut before = round(&path, None, &[]);
        for _ in 0..MAX_TAKEN {
            rounds.take(&path).unwrap();
            before = round(&path, Some(&before), &[]);
        }
        assert_eq!(rounds.take(&path), Err(Fault::Order));
    }

    #[test]
    fn rounds_end_when_they_gain_nothing() {
        let large = 1 << 20;
        let is_worth_while = |sizes: &[u64]| super::is_worth_while(sizes, 5);
        assert!(!super::is_worth_while(&[], 0));
        assert!(is_worth_while(&[]) && is_worth_while(&[large]) && is_worth_while(&[large, large / 2]));
        assert!(!is_worth_while(&[SMALL]) && !is_worth_while(&[large, SMALL]), "the rest is small");
        assert!(!is_worth_while(&[large, large]) && !is_worth_while(&[large, 2 * large]), "it does not shrink");
        assert!(!is_worth_while(&[large << 5, large << 4, large << 3, large << 2, large << 1]), "there were too many");
    }
}
