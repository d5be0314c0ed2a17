//! The driver of disks (number 2).
//!
//! Several requests are on their way at a time, each in a slot of its own. Writes go on behind the
//! caller's back until [`Block::flush`], and reads can be begun before somebody wants the bytes
//! ([`Block::prefetch`]). Nothing that the disk says is trusted but the bytes that it reads out.
//!
//! Invariant: sectors of a write that is on its way are those of no other request, but of reads
//! whose bytes nobody gets.

use crate::memory::{Memory, Shared};
use crate::pci::{Configuration, Function};
use crate::slots::{SLOTS, Slots, Use};
use crate::transport::{Layout, Transport};
use crate::Fault;

/// Bytes of a sector.
pub const SECTOR: u64 = 512;
/// Largest number of bytes in one request to the disk.
pub const MOST: u64 = 128 << 10;
/// Feature: what was written is brought to where it lasts when that is asked for.
const FLUSH: u64 = 1 << 9;

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
    transport: Transport<M>,
    slots: Slots<M>,
    sectors: u64,
    /// A write failed whose caller does not know it yet.
    has_failed: bool,
    fault: Option<Fault>,
}

impl<M: Memory> Block<M> {
    /// Bytes of memory that the disk shares with the driver.
    pub const MEMORY: u64 = Slots::<M>::MEMORY;

    /// Starts the disk. `registers` maps the registers with a number, and `take` takes memory for
    /// the device.
    pub fn start(
        space: &mut impl Configuration, function: Function, registers: impl FnOnce(u8) -> Option<(M, u64)>, take: impl FnOnce(u64) -> Option<Shared<M>>,
    ) -> Result<Block<M>, Fault> {
        let (layout, bar) = Layout::read(space, function)?;
        let (registers, size) = registers(bar).ok_or(Fault("its registers cannot be mapped"))?;
        let transport = Transport::new(registers, size, layout)?;
        transport.begin(FLUSH)?;
        let shared = take(Self::MEMORY).ok_or(Fault("there is no memory for its buffers"))?;
        let slots = Slots::new(shared, &transport)?;
        transport.run();
        let sectors = u64::from(transport.own(0)) | u64::from(transport.own(4)) << 32;
        if sectors > u64::MAX / SECTOR {
            return Err(Fault("the disk claims to be larger than any"));
        }
        Ok(Block { transport, slots, sectors, has_failed: false, fault: None })
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.sectors * SECTOR
    }

    /// Returns the end of so many bytes at a sector, if they are whole sectors of the disk's.
    fn end(&self, sector: u64, size: usize) -> Result<u64, Refusal> {
        let end = sector.checked_add(size as u64 / SECTOR).filter(|end| *end <= self.sectors);
        let end = end.filter(|_| (size as u64).is_multiple_of(SECTOR)).ok_or(Refusal::Failed)?;
        self.fault.map_or(Ok(end), |fault| Err(Refusal::Broken(fault)))
    }

    /// Stops the disk for good after a fault.
    fn broken(&mut self, fault: Fault) -> Refusal {
        let _ = self.transport.reset();
        self.fault = Some(fault);
        Refusal::Broken(fault)
    }

    /// Reads bytes at a sector, whole sectors. `goes_on` is asked between two looks whether there
    /// is to be another.
    pub fn read(&mut self, sector: u64, into: &mut [u8], mut goes_on: impl FnMut() -> bool) -> Result<(), Refusal> {
        let end = self.end(sector, into.len())?;
        let (mut at, mut rest) = (sector, into);
        let mut is_first = true;
        while at < end {
            self.wait_for_writes((at, end), &mut goes_on)?;
            self.begin_reads((at, end), true, &mut goes_on)?;
            let slot = self.slots.reading(at).ok_or(Refusal::Failed)?;
            self.wait(slot, &mut goes_on)?;
            // A read that failed has left its slot. It may have been somebody else's, who wanted
            // more than is wanted here.
            let Some((start, until)) = self.slots.has_read(slot) else {
                if core::mem::take(&mut is_first) {
                    continue;
                }
                return Err(Refusal::Failed);
            };
            let count = (until.min(end) - at) * SECTOR;
            let (part, others) = core::mem::take(&mut rest).split_at_mut(count as usize);
            self.slots.copy_out(slot, (at - start) * SECTOR, part);
            (at, rest) = (until.min(end), others);
            if at == until {
                self.slots.free(slot);
            }
        }
        Ok(())
    }

    /// Begins to read so many bytes at a sector, as far as there are slots for it: somebody will
    /// want them soon.
    pub fn prefetch(&mut self, sector: u64, size: u64) {
        let end = sector.saturating_add(size / SECTOR).min(self.sectors);
        let is_written = self.slots.writing((sector, end)).is_some();
        if sector < end && self.fault.is_none() && !is_written {
            // What fails now fails again when the bytes are wanted.
            let _ = self.begin_reads((sector, end), false, &mut || false);
        }
    }

    /// Begins to read sectors that no slot has. If they are needed, the first one is in a slot
    /// afterwards.
    fn begin_reads(&mut self, (start, end): (u64, u64), is_needed: bool, goes_on: &mut impl FnMut() -> bool) -> Result<(), Refusal> {
        let (mut at, mut is_new) = (start, false);
        while at < end {
            if let Some(slot) = self.slots.reading(at) {
                at = self.slots.range(slot).1;
                continue;
            }
            let until = self.slots.next_read(at).min(end).min(at + MOST / SECTOR);
            let is_first = is_needed && at == start;
            let slot = match self.slots.unused((start, end)) {
                Some(slot) => slot,
                None if is_first => self.wait_for_any(goes_on)?,
                None => break,
            };
            self.slots.give(slot, Use::Read, (at, until), &[]);
            (at, is_new) = (until, true);
        }
        if is_new {
            self.slots.notify(&self.transport);
        }
        Ok(())
    }

    /// Writes bytes at a sector, whole sectors. A failure may be told by a later call.
    pub fn write(&mut self, sector: u64, bytes: &[u8], mut goes_on: impl FnMut() -> bool) -> Result<(), Refusal> {
        let end = self.end(sector, bytes.len())?;
        self.tell_failure()?;
        self.wait_for_writes((sector, end), &mut goes_on)?;
        self.slots.drop_reads((sector, end));
        let mut at = sector;
        for part in bytes.chunks(MOST as usize) {
            let slot = match self.slots.unused((0, 0)) {
                Some(slot) => slot,
                None => self.wait_for_any(&mut goes_on)?,
            };
            let until = at + part.len() as u64 / SECTOR;
            self.slots.give(slot, Use::Write, (at, until), part);
            self.slots.notify(&self.transport);
            at = until;
        }
        Ok(())
    }

    /// Returns when all that was written lasts.
    pub fn flush(&mut self, mut goes_on: impl FnMut() -> bool) -> Result<(), Refusal> {
        self.end(0, 0)?;
        self.wait_for_writes((0, u64::MAX), &mut goes_on)?;
        self.tell_failure()?;
        let slot = match self.slots.unused((0, 0)) {
            Some(slot) => slot,
            None => self.wait_for_any(&mut goes_on)?,
        };
        self.slots.give(slot, Use::Flush, (0, 0), &[]);
        self.slots.notify(&self.transport);
        self.wait(slot, &mut goes_on)?;
        self.tell_failure()
    }

    fn tell_failure(&mut self) -> Result<(), Refusal> {
        if core::mem::take(&mut self.has_failed) { Err(Refusal::Failed) } else { Ok(()) }
    }

    /// Takes the answers that have come.
    fn look(&mut self) -> Result<(), Refusal> {
        match self.slots.take_answers() {
            Ok(has_failed) => {
                self.has_failed |= has_failed;
                Ok(())
            }
            Err(fault) => Err(self.broken(fault)),
        }
    }

    /// Waits until a request is answered.
    fn wait(&mut self, slot: usize, goes_on: &mut impl FnMut() -> bool) -> Result<(), Refusal> {
        self.wait_until(|slots| !slots.is_busy(slot), goes_on)
    }

    /// Waits until the writes to these sectors are answered.
    fn wait_for_writes(&mut self, range: (u64, u64), goes_on: &mut impl FnMut() -> bool) -> Result<(), Refusal> {
        self.wait_until(|slots| slots.writing(range).is_none(), goes_on)
    }

    /// Waits until there is an unused slot. Bytes that were read for later are given up.
    fn wait_for_any(&mut self, goes_on: &mut impl FnMut() -> bool) -> Result<usize, Refusal> {
        self.wait_until(|slots| slots.unused((0, 0)).is_some(), goes_on)?;
        self.slots.unused((0, 0)).ok_or(Refusal::Failed)
    }

    fn wait_until(&mut self, is_so: impl Fn(&Slots<M>) -> bool, goes_on: &mut impl FnMut() -> bool) -> Result<(), Refusal> {
        loop {
            self.look()?;
            if is_so(&self.slots) {
                return Ok(());
            }
            if !goes_on() {
                return Err(self.broken(Fault("the disk does not answer")));
            }
            core::hint::spin_loop();
        }
    }
}

const _: () = assert!(SLOTS >= 2);
