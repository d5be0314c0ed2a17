//! Images: environments as files, written and read in chunks.
//!
//! An image is a head (`MAGIC`, the version), chunks, and an end. A chunk is its kind (1: what is
//! known of the environment, 2: pages), the size of its bytes here, their size when they are
//! unpacked, the BLAKE3 hash of these numbers and the bytes, and the bytes, packed by LZ4. The end
//! is a chunk of kind 3 whose hash is that of all hashes before it. All numbers are little-endian.
//! So an image that was cut off, or in which a byte was altered, is refused.
//!
//! An image in a [`store`](crate::store) has its pages as they are, without a hash, so that a thaw
//! copies them: each chunk of kind 4 holds the distances of pages, which follow it.
//!
//! A round has the pages alone that have changed since the image or round before it. Its head is
//! `ROUND_MAGIC`, the version, and the hash at the end of the one before: no other can precede it.

use crate::{Object, PAGE, Place};
use alloc::vec::Vec;
use blake3::Hasher;
use lz4_flex::block::{compress, decompress_into};
use serde::{Deserialize, Serialize};

/// First bytes of an image.
pub const MAGIC: [u8; 8] = *b"nacreimg";
/// First bytes of a round.
pub const ROUND_MAGIC: [u8; 8] = *b"nacrernd";
/// Version of the format. Others are refused by name.
pub const VERSION: u64 = 8;
/// Distance at which the data of an environment begins: segments without kernel objects, in which
/// no server's answer lands. An environment's other memory is smaller.
pub const DATA: u64 = 1 << 40;
/// Pages in a chunk, at most.
pub const PAGES_IN_CHUNK: usize = 64;

const HEAD: usize = 16;
const CHUNK_HEAD: usize = 24 + HASH;
const HASH: usize = 32;
/// Hash at the end of an image or a round.
pub type Hash = [u8; HASH];
/// Kinds of chunks.
const FACTS: u64 = 1;
const PAGES: u64 = 2;
const END: u64 = 3;
const RAW: u64 = 4;
/// Maximum size of what is known of an environment, unpacked.
const MAX_FACTS: u64 = 64 << 20;
/// Maximum size of a chunk of pages, unpacked.
const MAX_PAGES: u64 = PAGES_IN_CHUNK as u64 * (PAGE + 8);

/// Object that a port of the monitor was to the environment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Port {
    /// The parent.
    Parent,
    /// A pool of memory: its number, and whether the reference shares it and is for data alone.
    Pool(u64, bool, bool),
    /// A segment: where it lies, its size, the offsets of words that have a condition, the number
    /// of its pool, and whether it may hold kernel objects.
    Segment(u64, u64, Vec<u64>, u64, bool),
    /// Something outside that it had opened.
    Outside(Origin),
    /// A port at which something outside notifies a port of the environment, and that port.
    Told(Place),
    /// The service of commands.
    Control,
    /// A seat at which commands wait: the port of the environment that is told of them, and the
    /// bits.
    Seat(Place, u64),
    /// A port at which a terminal notifies a port of the environment: that port, the number of the
    /// port for the terminal, and the events.
    Attends(Place, u64, u64),
}

/// Way in which something outside was got, and so is got again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Origin {
    /// The service with this number.
    Service(u64),
    /// The initial stream with this number.
    Stream(u64),
    /// The file at an absolute path, with these flags of `open`, at this position.
    File(Vec<u8>, u64, u64),
    /// A file without a name, with these flags, at this position: its contents are kept.
    Unnamed(u64, u64, Vec<u8>),
    /// A hold of the program file at an absolute path, while it runs.
    Program(Vec<u8>),
    /// Something that cannot be got again; in words, for people.
    Lost(Vec<u8>),
}

/// A pool within another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pool {
    /// Number of the pool, above that of the pool around it.
    pub number: u64,
    /// Number of the pool around it; 0 is the outermost one.
    pub parent: u64,
    /// Bytes that it may have.
    pub limit: u64,
}

/// A request that waits for its answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Waiting {
    /// Number of the port that it came through.
    pub port: u64,
    /// The thread that waits.
    pub client: Place,
    /// Label of the message.
    pub label: u32,
    /// Words of the message.
    pub words: [u64; 6],
    /// Bytes of the message.
    pub bytes: Vec<u8>,
    /// Numbers of the ports of things outside that the message brought.
    pub given: Vec<u64>,
}

/// A counter of the environment's: the processor's, or its monotonic clock in ticks, and a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Counter {
    /// Number of the port of the segment that has the words.
    pub segment: u64,
    /// Offset of the word that is added.
    pub offset: u64,
    /// Offset of the word that says whether the monotonic clock counts.
    pub flag: u64,
    /// The port that is told when the environment goes on, and the bits.
    pub told: (Place, u64),
    /// Ticks a second.
    pub speed: u64,
    /// The monotonic clock counts.
    pub is_asked: bool,
}

/// A file that the environment has made or changed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Change {
    /// The absolute path.
    pub path: Vec<u8>,
    /// The mode, with the kind of the file; 0: it is not there any more.
    pub mode: u64,
    /// The inode number that the environment knows it by.
    pub inode: u64,
    /// Numbers of its owner and its group.
    pub owner: [u64; 2],
    /// Times of the last read and of the last change: seconds and nanoseconds of each.
    pub times: [u64; 4],
    /// The contents, or the target of a symbolic link.
    pub contents: Vec<u8>,
    /// Names and values of extended attributes.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Facts of a frozen environment: all but its pages.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The command that was run, word by word.
    pub command: Vec<Vec<u8>>,
    /// Bytes of memory that it lives in, but for its data.
    pub size: u64,
    /// Bytes of memory that it may have.
    pub limit: u64,
    /// Seconds since 1970 when it was frozen.
    pub frozen_at: u64,
    /// Nanoseconds of its monotonic clock when it was frozen.
    pub monotonic: u64,
    /// The processor's counter when it was frozen.
    pub ticks: u64,
    /// The terminal's attributes, as its server gives them; none if there was no terminal.
    pub terminal: Vec<u8>,
    /// The monitor's ports, by their numbers.
    pub ports: Vec<Option<Port>>,
    /// Pools within the outermost one, in the order of their numbers.
    pub pools: Vec<Pool>,
    /// Distances of the threads that were not stopped.
    pub running: Vec<u64>,
    /// Requests that wait for an answer.
    pub waiting: Vec<Waiting>,
    /// Counters that go on where they stood.
    pub counters: Vec<Counter>,
    /// Files that were made, changed and removed, each before what lies in it.
    pub changes: Vec<Change>,
    /// Number of pages that follow.
    pub pages: u64,
    /// The objects.
    pub objects: Vec<Object>,
}

/// Reason why an image is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The file is no image.
    NoImage,
    /// The image has this version.
    Version(u64),
    /// The file ends before the image does.
    Truncated,
    /// A hash is not that of the bytes.
    Altered,
    /// The bytes are those that were written, and make no sense.
    Nonsense,
    /// A round does not follow the image or the round before it.
    Order,
    /// There is no memory for what is in it.
    NoMemory,
    /// The file cannot be read or written.
    File,
    /// A store is too small for it.
    Full,
    /// A store holds something else.
    Taken,
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Fault::NoImage => f.write_str("it is no image of an environment"),
            Fault::Version(version) => write!(f, "it is an image of version {version}; this program reads version {VERSION}"),
            Fault::Truncated => f.write_str("the image is cut off"),
            Fault::Altered => f.write_str("the image was altered: a checksum is wrong"),
            Fault::Nonsense => f.write_str("the image makes no sense"),
            Fault::Order => f.write_str("it does not follow what came before it"),
            Fault::NoMemory => f.write_str("there is not enough memory for what is in it"),
            Fault::File => f.write_str("the file cannot be read or written"),
            Fault::Taken => f.write_str("there is something else in the store: take a new file"),
            Fault::Full => f.write_str("there is no room for it in the store: make that larger (two images lie in it)"),
        }
    }
}

/// Writes an image to `sink`, which takes all of what it is given or fails.
pub struct Writer<S> {
    sink: S,
    hashes: Hasher,
    is_raw: bool,
}

impl<S: FnMut(&[u8]) -> Result<(), Fault>> Writer<S> {
    /// Begins an image with what is known.
    pub fn new(mut sink: S, facts: &Facts) -> Result<Writer<S>, Fault> {
        sink(&head(MAGIC))?;
        Writer::begin(sink, facts)
    }

    /// Begins a round that follows the image or round with this hash.
    pub fn round(mut sink: S, facts: &Facts, before: &Hash) -> Result<Writer<S>, Fault> {
        sink(&head(ROUND_MAGIC))?;
        sink(before)?;
        Writer::begin(sink, facts)
    }

    fn begin(sink: S, facts: &Facts) -> Result<Writer<S>, Fault> {
        let mut writer = Writer { sink, hashes: Hasher::new(), is_raw: false };
        let bytes = postcard::to_allocvec(facts).map_err(|_| Fault::NoMemory)?;
        writer.chunk(FACTS, &bytes)?;
        Ok(writer)
    }

    /// Writes pages as they are from then on, for a store.
    pub fn write_raw(&mut self) {
        self.is_raw = true;
    }

    /// Adds pages: their distances, and their bytes one after the other.
    pub fn pages(&mut self, distances: &[u64], bytes: &[u8]) -> Result<(), Fault> {
        let mut raw: Vec<u8> = distances.iter().flat_map(|distance| distance.to_le_bytes()).collect();
        if self.is_raw {
            self.chunk(RAW, &raw)?;
            return (self.sink)(bytes);
        }
        raw.extend_from_slice(bytes);
        self.chunk(PAGES, &raw)
    }

    /// Ends the image. Returns the hash that a round names which follows it.
    pub fn end(mut self) -> Result<Hash, Fault> {
        let hash = *self.hashes.finalize().as_bytes();
        (self.sink)(&chunk_head(END, 0, 0, &hash)).map(|()| hash)
    }

    fn chunk(&mut self, kind: u64, raw: &[u8]) -> Result<(), Fault> {
        let packed = compress(raw);
        let hash = hash_of([kind, packed.len() as u64, raw.len() as u64], &packed);
        self.hashes.update(&hash);
        (self.sink)(&chunk_head(kind, packed.len() as u64, raw.len() as u64, &hash))?;
        (self.sink)(&packed)
    }
}

/// First bytes, with the version.
fn head(magic: [u8; 8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(&magic);
    head[8..].copy_from_slice(&VERSION.to_le_bytes());
    head
}

/// The hash of a chunk with these numbers before its bytes.
fn hash_of(numbers: [u64; 3], packed: &[u8]) -> [u8; HASH] {
    let mut hasher = Hasher::new();
    for number in numbers {
        hasher.update(&number.to_le_bytes());
    }
    *hasher.update(packed).finalize().as_bytes()
}

fn chunk_head(kind: u64, size: u64, unpacked: u64, hash: &[u8; HASH]) -> [u8; CHUNK_HEAD] {
    let mut head = [0; CHUNK_HEAD];
    for (place, number) in head.chunks_exact_mut(8).zip([kind, size, unpacked]) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    head[24..].copy_from_slice(hash);
    head
}

/// Reads an image from `source`, which fills all of what it is given or fails.
pub struct Reader<S> {
    source: S,
    hashes: Hasher,
    facts: Facts,
    left: u64,
    is_raw: bool,
}

impl<S: FnMut(&mut [u8]) -> Result<(), Fault>> Reader<S> {
    /// Begins to read: what is known, as it was written.
    pub fn new(mut source: S) -> Result<Reader<S>, Fault> {
        read_head(&mut source, MAGIC)?;
        Reader::begin(source)
    }

    /// Begins to read a round that follows the image or round with this hash.
    pub fn round(mut source: S, before: &Hash) -> Result<Reader<S>, Fault> {
        read_head(&mut source, ROUND_MAGIC)?;
        let mut named = [0; HASH];
        source(&mut named)?;
        if named == *before { Reader::begin(source) } else { Err(Fault::Order) }
    }

    fn begin(source: S) -> Result<Reader<S>, Fault> {
        let mut reader = Reader { source, hashes: Hasher::new(), facts: Facts::default(), left: 0, is_raw: false };
        let (kind, raw) = reader.chunk()?;
        if kind != FACTS {
            return Err(Fault::Nonsense);
        }
        reader.facts = decode(&raw)?;
        reader.left = reader.facts.pages;
        Ok(reader)
    }

    /// Takes pages as they are from then on: what is read lies in a store.
    pub fn read_raw(&mut self) {
        self.is_raw = true;
    }

    /// Returns the facts of the environment.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the hash at the end, once that was found.
    pub fn hash(&self) -> Hash {
        *self.hashes.finalize().as_bytes()
    }

    /// The next pages, one after the other with their distances; `None` at the end, which was then
    /// found whole.
    pub fn pages(&mut self) -> Result<Option<(Vec<u64>, Vec<u8>)>, Fault> {
        let all = self.hash();
        let (kind, raw) = self.chunk_after(Some(all))?;
        let count = raw.len() as u64 / if kind == RAW { 8 } else { PAGE + 8 };
        match kind {
            END if self.left == 0 => Ok(None),
            PAGES if count > 0 && raw.len() as u64 == count * (PAGE + 8) && count <= self.left => {
                self.left -= count;
                let (distances, bytes) = raw.split_at(8 * count as usize);
                Ok(Some((distances.chunks_exact(8).map(number).collect(), bytes.to_vec())))
            }
            RAW if self.is_raw && count > 0 && raw.len() as u64 == count * 8 && count <= self.left => {
                self.left -= count;
                let mut bytes = zeros(count * PAGE)?;
                (self.source)(&mut bytes)?;
                Ok(Some((raw.chunks_exact(8).map(number).collect(), bytes)))
            }
            _ => Err(Fault::Nonsense),
        }
    }

    fn chunk(&mut self) -> Result<(u64, Vec<u8>), Fault> {
        self.chunk_after(None)
    }

    fn chunk_after(&mut self, all: Option<[u8; HASH]>) -> Result<(u64, Vec<u8>), Fault> {
        let mut head = [0; CHUNK_HEAD];
        (self.source)(&mut head)?;
        let [kind, size, unpacked] = [0, 8, 16].map(|at| number(&head[at..at + 8]));
        let hash = &head[24..];
        let limit = match kind {
            FACTS => MAX_FACTS,
            PAGES => MAX_PAGES,
            RAW => PAGES_IN_CHUNK as u64 * 8,
            END if size == 0 && unpacked == 0 && all.is_some_and(|all| all == hash) => return Ok((END, Vec::new())),
            END => return Err(Fault::Altered),
            _ => return Err(Fault::Nonsense),
        };
        // LZ4 makes nothing larger by more than this.
        if unpacked > limit || size > limit + limit / 128 + 64 {
            return Err(Fault::Nonsense);
        }
        let mut packed = zeros(size)?;
        (self.source)(&mut packed)?;
        if hash_of([kind, size, unpacked], &packed) != hash {
            return Err(Fault::Altered);
        }
        self.hashes.update(hash);
        let mut raw = zeros(unpacked)?;
        match decompress_into(&packed, &mut raw) {
            Ok(count) if count == raw.len() => Ok((kind, raw)),
            _ => Err(Fault::Nonsense),
        }
    }
}

/// Reads the first bytes, which have to be these.
fn read_head(source: &mut impl FnMut(&mut [u8]) -> Result<(), Fault>, wanted: [u8; 8]) -> Result<(), Fault> {
    let mut head = [0; HEAD];
    source(&mut head).map_err(|fault| if fault == Fault::Truncated { Fault::NoImage } else { fault })?;
    let (magic, version) = head.split_at(8);
    match number(version) {
        _ if magic != wanted => Err(Fault::NoImage),
        VERSION => Ok(()),
        other => Err(Fault::Version(other)),
    }
}

/// Decodes the facts of an image, unpacked. They are what was written, and nothing is checked yet:
/// see [`check`](crate::check::check).
pub fn decode(raw: &[u8]) -> Result<Facts, Fault> {
    postcard::from_bytes(raw).map_err(|_| Fault::Nonsense)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

fn zeros(size: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size as usize).map_err(|_| Fault::NoMemory)?;
    bytes.resize(size as usize, 0);
    Ok(bytes)
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
