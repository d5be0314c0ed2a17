//! Breakpoints in the code of a guest's kernel: HLT, an instruction of one byte that always leaves
//! a guest. To programs it is forbidden, so there are none on pages that programs reach. (INT3 and
//! ICEBP do not leave a guest of QEMU 7.2, VMMCALL has three bytes.)
//!
//! A breakpoint stands for a linear address. It is put into memory as soon as the guest's tables
//! lead there, and again when the guest has written over it, as a kernel does that unpacks itself.
//! So it can be set before there are tables.

use crate::walk::{Access, Paging, walk};
use alloc::vec::Vec;
use nacre_machine_memory::GuestMemory;

/// HLT.
const BREAK: u8 = 0xf4;
/// Control register 0: paging.
const CR0_PG: u64 = 1 << 31;
const PAGE: u64 = 0x1000;
/// Maximum number of breakpoints.
const MAX_BREAKPOINTS: usize = 1024;

/// Finds a linear address in guest-physical memory, whoever may reach it.
fn translate(memory: &dyn GuestMemory, paging: &Paging, address: u64) -> Option<u64> {
    walk(memory, paging, address, Access::default()).ok().map(|found| found.address)
}

/// Returns true if programs of the guest reach a linear address.
fn is_for_programs(memory: &dyn GuestMemory, paging: &Paging, address: u64) -> bool {
    paging.cr0 & CR0_PG != 0 && walk(memory, paging, address, Access::default()).is_ok_and(|found| found.rights.user)
}

fn byte_at(memory: &dyn GuestMemory, at: u64) -> Option<u8> {
    let mut byte = [0];
    memory.read(at, &mut byte).ok().map(|()| byte[0])
}

/// A breakpoint.
#[derive(Clone, Copy, Debug)]
struct Breakpoint {
    address: u64,
    /// Guest-physical address of the instruction, and the byte that it replaces.
    place: Option<(u64, u8)>,
}

impl Breakpoint {
    /// Returns true if the instruction stands in memory.
    fn stands(&self, memory: &dyn GuestMemory) -> bool {
        self.place.is_some_and(|(at, _)| byte_at(memory, at) == Some(BREAK))
    }
}

/// The breakpoints of a guest.
#[derive(Clone, Debug, Default)]
pub struct Breakpoints(Vec<Breakpoint>);

impl Breakpoints {
    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one. Returns false if there are too many, or if programs reach the address by now.
    pub fn insert(&mut self, memory: &dyn GuestMemory, paging: &Paging, address: u64) -> bool {
        if is_for_programs(memory, paging, address) {
            return false;
        }
        let is_known = self.0.iter().any(|known| known.address == address);
        if !is_known && self.0.len() < MAX_BREAKPOINTS {
            self.0.push(Breakpoint { address, place: None });
        }
        is_known || self.0.iter().any(|known| known.address == address)
    }

    /// Takes one away. Returns false if there is none.
    pub fn remove(&mut self, memory: &mut dyn GuestMemory, address: u64) -> bool {
        let found = self.0.iter().position(|known| known.address == address);
        found.map(|index| take_out(memory, self.0.swap_remove(index))).is_some()
    }

    /// Takes all away.
    pub fn clear(&mut self, memory: &mut dyn GuestMemory) {
        self.0.drain(..).for_each(|known| take_out(memory, known));
    }

    /// Puts those into memory that do not stand there and that these tables lead to.
    pub fn arm(&mut self, memory: &mut dyn GuestMemory, paging: &Paging) {
        for known in &mut self.0 {
            known.place = known.place.filter(|_| known.stands(memory));
        }
        for index in 0..self.0.len() {
            if self.0[index].place.is_some() {
                continue;
            }
            let address = self.0[index].address;
            let Some(at) = translate(memory, paging, address).filter(|_| !is_for_programs(memory, paging, address)) else { continue };
            // Another one may stand at the same place, by another address.
            let Some(old) = byte_at(memory, at).map(|byte| self.hidden(at).unwrap_or(byte)) else { continue };
            if memory.write(at, &[BREAK]).is_ok() {
                self.0[index].place = Some((at, old));
            }
        }
    }

    /// Returns true if the instruction at this linear address is one of ours.
    pub fn has(&self, memory: &dyn GuestMemory, paging: &Paging, address: u64) -> bool {
        translate(memory, paging, address).is_some_and(|at| self.hidden(at).is_some())
    }

    /// Byte of the guest's that a breakpoint replaces at a guest-physical address.
    fn hidden(&self, at: u64) -> Option<u8> {
        self.0.iter().filter_map(|known| known.place).find(|(place, _)| *place == at).map(|(_, byte)| byte)
    }

    /// Reads linear memory as it is without breakpoints; returns the number of bytes that could be
    /// read.
    pub fn read(&self, memory: &dyn GuestMemory, paging: &Paging, address: u64, into: &mut [u8]) -> usize {
        let mut done = 0;
        while done < into.len() {
            let from = address.wrapping_add(done as u64);
            let size = ((PAGE - from % PAGE) as usize).min(into.len() - done);
            let part = &mut into[done..done + size];
            let Some(at) = translate(memory, paging, from) else { return done };
            if memory.read(at, part).is_err() {
                return done;
            }
            for (byte, place) in part.iter_mut().zip(at..) {
                if *byte == BREAK {
                    *byte = self.hidden(place).unwrap_or(BREAK);
                }
            }
            done += size;
        }
        done
    }

    /// Writes linear memory, whatever its rights, and below breakpoints. Returns false if not all
    /// could be written.
    pub fn write(&mut self, memory: &mut dyn GuestMemory, paging: &Paging, address: u64, bytes: &[u8]) -> bool {
        bytes.iter().enumerate().all(|(offset, byte)| {
            let Some(at) = translate(memory, paging, address.wrapping_add(offset as u64)) else { return false };
            let mut places = self.0.iter_mut().filter_map(|known| known.place.as_mut()).filter(|(place, _)| *place == at).peekable();
            if places.peek().is_some() && byte_at(memory, at) == Some(BREAK) {
                places.for_each(|(_, old)| *old = *byte);
                return true;
            }
            memory.write(at, &[*byte]).is_ok()
        })
    }
}

/// Gives the guest its byte back, unless it has written over the instruction.
fn take_out(memory: &mut dyn GuestMemory, known: Breakpoint) {
    if let Some((at, old)) = known.place.filter(|_| known.stands(memory)) {
        // Memory that took the instruction takes this byte.
        let _ = memory.write(at, &[old]);
    }
}

#[cfg(test)]
#[path = "breakpoints_tests.rs"]
mod tests;
