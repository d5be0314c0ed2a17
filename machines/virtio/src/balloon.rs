//! Balloon: memory that the guest does not need now.
//!
//! The guest tells by itself which of its memory is free (free page reporting), and may give pages
//! up by their numbers. It is never asked to: the size that it is to give up is 0.

use crate::chain::Chain;
use crate::device::{Broken, Device, Served};
use crate::queue::Queue;
use alloc::boxed::Box;
use nacre_machine_memory::GuestMemory;

const NUMBER: u16 = 5;
const CLASS: u32 = 0xff_0000;
const QUEUES: &[u16] = &[128, 128, 128];
/// Feature: the guest tells which memory is free.
const REPORTS: u64 = 1 << 5;
/// Queues: pages that are given up, pages that are taken back, memory that is free.
const GIVEN: usize = 0;
const TAKEN: usize = 1;
/// Size of a page.
const PAGE: u64 = 4096;
/// Limit of the numbers of pages in one request.
const MAX_NUMBERS: u64 = 1024;

/// Taker of memory that the guest does not need.
pub trait Reclaim: Send {
    /// Takes whole pages, whose contents are lost. They are the guest's again, as zeros, when it
    /// touches them.
    fn reclaim(&mut self, at: u64, size: u64);
}

/// A balloon as a virtio device.
pub struct Balloon(
    /// Taker of the memory.
    pub Box<dyn Reclaim>,
);

impl Balloon {
    /// Takes the pages whose numbers a request lists.
    fn take_numbers(&mut self, memory: &dyn GuestMemory, chain: &Chain) -> Result<(), Broken> {
        for index in 0..(chain.readable_len() / 4).min(MAX_NUMBERS) {
            let mut bytes = [0; 4];
            chain.read(memory, 4 * index, &mut bytes)?;
            let at = u64::from(u32::from_le_bytes(bytes)) * PAGE;
            if at + PAGE <= memory.size() {
                self.0.reclaim(at, PAGE);
            }
        }
        Ok(())
    }

    /// Takes the whole pages of the memory that a request consists of.
    fn take_free(&mut self, chain: &Chain) {
        for stretch in &chain.writable {
            let start = stretch.at.next_multiple_of(PAGE);
            let end = (stretch.at + u64::from(stretch.length)) / PAGE * PAGE;
            if start < end {
                self.0.reclaim(start, end - start);
            }
        }
    }
}

impl Device for Balloon {
    fn number(&self) -> u16 {
        NUMBER
    }

    fn class(&self) -> u32 {
        CLASS
    }

    fn features(&self) -> u64 {
        REPORTS
    }

    fn queue_sizes(&self) -> &'static [u16] {
        QUEUES
    }

    fn registers(&self, _: &mut [u8]) {}

    fn serve(
        &mut self, number: usize, queue: &mut Queue, memory: &mut dyn GuestMemory,
    ) -> Result<Served, Broken> {
        queue.serve_each(memory, |memory, chain| {
            match number {
                GIVEN => self.take_numbers(memory, chain)?,
                TAKEN => {}
                _ => self.take_free(chain),
            }
            Ok(0)
        })
    }
}
