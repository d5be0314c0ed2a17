//! The driver of disks (number 2).
//!
//! One request is on its way at a time. Nothing that the disk says is trusted but the bytes that it
//! reads out.

use crate::exchange::Exchange;
use crate::memory::{Memory, Shared};
use crate::pci::{Configuration, Function};
use crate::Fault;
use alloc::vec;
use alloc::vec::Vec;

/// Bytes of a sector.
pub const SECTOR: u64 = 512;
/// Largest number of bytes in one request.
pub const MOST: u64 = 64 << 10;
/// Bytes of a request's head, and of an answer's end.
const HEAD: u64 = 16;
const END: u64 = 1;
/// Bytes of a request or an answer, on whole pages.
const BUFFER: u64 = (MOST + HEAD).next_multiple_of(4096);
/// Feature: what was written is brought to where it lasts when that is asked for.
const FLUSH: u64 = 1 << 9;

/// Kinds of request.
mod kind {
    pub const READ: u32 = 0;
    pub const WRITE: u32 = 1;
    pub const FLUSH: u32 = 4;
}

/// Refusal of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The disk could not do it.
    Failed,
    /// The disk broke the rules, or did not answer in time: it is out of use.
    Broken(Fault),
}

/// A disk. The head of this module describes it.
pub struct Block<M> {
    exchange: Exchange<M>,
    sectors: u64,
    fault: Option<Fault>,
}

impl<M: Memory> Block<M> {
    /// Bytes of memory that the disk shares with the driver.
    pub const MEMORY: u64 = 4096 + 2 * BUFFER;

    /// Starts the disk, as [`Exchange::start`] does.
    pub fn start(
        space: &mut impl Configuration, function: Function, registers: impl FnOnce(u8) -> Option<(M, u64)>, take: impl FnOnce(u64) -> Option<Shared<M>>,
    ) -> Result<Block<M>, Fault> {
        let exchange = Exchange::start(space, function, registers, take, (BUFFER, FLUSH))?;
        let sectors = u64::from(exchange.own(0)) | u64::from(exchange.own(4)) << 32;
        if sectors > u64::MAX / SECTOR {
            return Err(Fault("the disk claims to be larger than any"));
        }
        Ok(Block { exchange, sectors, fault: None })
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.sectors * SECTOR
    }

    /// Reads bytes at a sector, whole sectors and at most [`MOST`] of them. `goes_on` is asked
    /// between two looks whether there is to be another.
    pub fn read(&mut self, sector: u64, into: &mut [u8], goes_on: impl FnMut() -> bool) -> Result<(), Refusal> {
        let answer = self.request((kind::READ, sector), &[], into.len(), goes_on)?;
        into.copy_from_slice(&answer);
        Ok(())
    }

    /// Writes bytes at a sector, as [`Block::read`] reads them.
    pub fn write(&mut self, sector: u64, bytes: &[u8], goes_on: impl FnMut() -> bool) -> Result<(), Refusal> {
        self.request((kind::WRITE, sector), bytes, 0, goes_on).map(drop)
    }

    /// Returns when all that was written lasts.
    pub fn flush(&mut self, goes_on: impl FnMut() -> bool) -> Result<(), Refusal> {
        self.request((kind::FLUSH, 0), &[], 0, goes_on).map(drop)
    }

    fn request(&mut self, head: (u32, u64), bytes: &[u8], wanted: usize, goes_on: impl FnMut() -> bool) -> Result<Vec<u8>, Refusal> {
        let size = (bytes.len() + wanted) as u64;
        let end = head.1.checked_add(size / SECTOR);
        if size > MOST || !size.is_multiple_of(SECTOR) || end.is_none_or(|end| end > self.sectors) {
            return Err(Refusal::Failed);
        }
        if let Some(fault) = self.fault {
            return Err(Refusal::Broken(fault));
        }
        self.ask(head, bytes, wanted, goes_on).map_err(|fault| {
            self.exchange.stop();
            self.fault = Some(fault);
            Refusal::Broken(fault)
        })?.ok_or(Refusal::Failed)
    }

    /// Asks the disk; `None`: it could not do it.
    fn ask(&mut self, (kind, sector): (u32, u64), bytes: &[u8], wanted: usize, mut goes_on: impl FnMut() -> bool) -> Result<Option<Vec<u8>>, Fault> {
        let request = [&kind.to_le_bytes()[..], &[0; 4], &sector.to_le_bytes(), bytes].concat();
        // What the disk does not write is no success.
        let mut answer = vec![u8::MAX; wanted + END as usize];
        self.exchange.set_answer_size(answer.len() as u64)?;
        self.exchange.send(&request)?;
        let length = loop {
            if let Some(length) = self.exchange.receive(&mut answer)? {
                break length;
            }
            if !goes_on() {
                return Err(Fault("the disk does not answer"));
            }
            core::hint::spin_loop();
        };
        if length > answer.len() {
            return Err(Fault("the disk answered with what is no answer"));
        }
        let is_whole = length == answer.len() && answer.pop() == Some(0);
        Ok(is_whole.then_some(answer))
    }
}
