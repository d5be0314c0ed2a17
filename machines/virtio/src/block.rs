//! Disk: reads, writes, flushes, and its name.

use crate::chain::Chain;
use crate::device::{Broken, Device, Served};
use crate::queue::Queue;
use alloc::boxed::Box;
use alloc::vec;
use nacre_machine_memory::GuestMemory;

/// Size of a sector, by which requests count.
pub const SECTOR: u64 = 512;

const NUMBER: u16 = 2;
const CLASS: u32 = 0x01_8000;
const QUEUES: &[u16] = &[128];
/// Features: a largest number of stretches, no writes, a size of blocks, flushes.
const HAS_MAX_STRETCHES: u64 = 1 << 2;
const READ_ONLY: u64 = 1 << 5;
const HAS_BLOCK_SIZE: u64 = 1 << 6;
const FLUSHES: u64 = 1 << 9;
/// Largest number of stretches of data. Header and status are two more.
const MAX_STRETCHES: u32 = 126;
/// Kinds of request.
const READ: u32 = 0;
const WRITE: u32 = 1;
const FLUSH: u32 = 4;
const NAME: u32 = 8;
/// Bytes of the head of a request, and of the name.
const HEADER: u64 = 16;
const NAME_SIZE: usize = 20;
/// Outcomes.
const DONE: u8 = 0;
const FAILED: u8 = 1;
const UNKNOWN: u8 = 2;
/// Bytes that one request may move. Linux makes none of more than 1,280 KiB, unless it is told to.
const MAX_DATA: u64 = 4 << 20;
/// Bytes that are moved at once.
const PIECE: usize = 16 << 10;

/// Error of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskError;

/// Place of a disk's contents.
pub trait Disk: Send {
    /// Returns the size in bytes.
    fn size(&self) -> u64;

    /// Returns true if nothing can be written.
    fn is_read_only(&self) -> bool;

    /// Reads bytes, at most 16 KiB, that lie inside.
    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), DiskError>;

    /// Writes bytes, at most 16 KiB, that lie inside.
    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), DiskError>;

    /// Returns when what was written is where it is to stay.
    fn flush(&mut self) -> Result<(), DiskError>;
}

/// A disk as a virtio device.
pub struct Block {
    disk: Box<dyn Disk>,
    name: [u8; NAME_SIZE],
}

impl Block {
    /// Makes a disk with a name, which is cut off at 20 bytes. Part of a last sector is not shown.
    pub fn new(disk: Box<dyn Disk>, name: &str) -> Self {
        let mut place = [0; NAME_SIZE];
        place.iter_mut().zip(name.bytes()).for_each(|(place, byte)| *place = byte);
        Block { disk, name: place }
    }

    fn sectors(&self) -> u64 {
        self.disk.size() / SECTOR
    }

    /// Carries a request out. Returns the number of bytes written to the guest.
    fn request(&mut self, memory: &mut dyn GuestMemory, chain: &Chain) -> Result<u64, Broken> {
        let mut header = [0; HEADER as usize];
        // The last byte that the device writes is the outcome.
        let Some(room) = chain.writable_len().checked_sub(1) else { return Err(Broken) };
        if chain.read(memory, 0, &mut header)? != header.len() {
            return Err(Broken);
        }
        let [a, b, c, d, _, _, _, _, sector @ ..] = header;
        let sector = u64::from_le_bytes(sector);
        let (outcome, written) = match u32::from_le_bytes([a, b, c, d]) {
            READ => self.read(memory, chain, sector, room)?,
            WRITE => (self.write(memory, chain, sector)?, 0),
            FLUSH => (outcome(self.disk.flush()), 0),
            NAME => (DONE, chain.write(memory, 0, &self.name[..NAME_SIZE.min(room as usize)])? as u64),
            _ => (UNKNOWN, 0),
        };
        chain.write(memory, room, &[outcome])?;
        Ok(if outcome == DONE && written == room { room + 1 } else { written.min(room) })
    }

    /// Returns the first byte of a transfer, if it lies on the disk and is not too large.
    fn place(&self, sector: u64, length: u64) -> Option<u64> {
        let is_whole = length.is_multiple_of(SECTOR) && length <= MAX_DATA;
        let end = sector.checked_add(length / SECTOR)?;
        (is_whole && end <= self.sectors()).then_some(sector.checked_mul(SECTOR)?)
    }

    fn read(
        &mut self, memory: &mut dyn GuestMemory, chain: &Chain, sector: u64, length: u64,
    ) -> Result<(u8, u64), Broken> {
        let Some(at) = self.place(sector, length) else { return Ok((FAILED, 0)) };
        let mut buffer = vec![0; PIECE.min(length as usize)];
        let mut done = 0;
        while done < length {
            let piece = &mut buffer[..PIECE.min((length - done) as usize)];
            if self.disk.read(at + done, piece).is_err() {
                return Ok((FAILED, done));
            }
            chain.write(memory, done, piece)?;
            done += piece.len() as u64;
        }
        Ok((DONE, length))
    }

    fn write(
        &mut self, memory: &dyn GuestMemory, chain: &Chain, sector: u64,
    ) -> Result<u8, Broken> {
        let length = chain.readable_len() - HEADER;
        let Some(at) = self.place(sector, length).filter(|_| !self.disk.is_read_only()) else {
            return Ok(FAILED);
        };
        let mut buffer = vec![0; PIECE.min(length as usize)];
        let mut done = 0;
        while done < length {
            let piece = &mut buffer[..PIECE.min((length - done) as usize)];
            chain.read(memory, HEADER + done, piece)?;
            if self.disk.write(at + done, piece).is_err() {
                return Ok(FAILED);
            }
            done += piece.len() as u64;
        }
        Ok(DONE)
    }
}

fn outcome(result: Result<(), DiskError>) -> u8 {
    if result.is_ok() { DONE } else { FAILED }
}

impl Device for Block {
    fn number(&self) -> u16 {
        NUMBER
    }

    fn class(&self) -> u32 {
        CLASS
    }

    fn features(&self) -> u64 {
        let read_only = if self.disk.is_read_only() { READ_ONLY } else { 0 };
        HAS_MAX_STRETCHES | HAS_BLOCK_SIZE | FLUSHES | read_only
    }

    fn queue_sizes(&self) -> &'static [u16] {
        QUEUES
    }

    fn registers(&self, into: &mut [u8]) {
        into[..8].copy_from_slice(&self.sectors().to_le_bytes());
        into[12..16].copy_from_slice(&MAX_STRETCHES.to_le_bytes());
        into[20..24].copy_from_slice(&(SECTOR as u32).to_le_bytes());
    }

    fn serve(
        &mut self, _: usize, queue: &mut Queue, memory: &mut dyn GuestMemory,
    ) -> Result<Served, Broken> {
        queue.serve_each(memory, |memory, chain| self.request(memory, chain))
    }
}
