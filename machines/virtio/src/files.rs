//! Transport of 9P: messages of the guest's to a server of files, and its answers.

use crate::device::{Broken, Device, Served};
use crate::queue::Queue;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use nacre_machine_memory::GuestMemory;

const NUMBER: u16 = 9;
const CLASS: u32 = 0x00_0200;
const QUEUES: &[u16] = &[128];
/// Feature: the device has a name.
const HAS_TAG: u64 = 1;
/// Limit of the bytes of a name.
const MAX_TAG: usize = 60;

/// Server of files.
pub trait FileServer: Send {
    /// Returns the size of the longest message, either way.
    fn max_message(&self) -> usize;

    /// Carries a message out, and writes the answer. Returns its size, which is at most that of
    /// `answer`; 0: there is no answer to such a message.
    fn request(&mut self, message: &[u8], answer: &mut [u8]) -> usize;
}

/// A server of files as a virtio device, which a guest mounts by its name.
pub struct Files {
    tag: String,
    server: Box<dyn FileServer>,
}

impl Files {
    /// Makes a device with a name, which is cut off at 60 bytes.
    pub fn new(tag: &str, server: Box<dyn FileServer>) -> Self {
        let tag = tag.chars().scan(0, |size, next| {
            *size += next.len_utf8();
            (*size <= MAX_TAG).then_some(next)
        });
        Files { tag: tag.collect(), server }
    }
}

impl Device for Files {
    fn number(&self) -> u16 {
        NUMBER
    }

    fn class(&self) -> u32 {
        CLASS
    }

    fn features(&self) -> u64 {
        HAS_TAG
    }

    fn queue_sizes(&self) -> &'static [u16] {
        QUEUES
    }

    fn registers(&self, into: &mut [u8]) {
        into[..2].copy_from_slice(&(self.tag.len() as u16).to_le_bytes());
        into[2..2 + self.tag.len()].copy_from_slice(self.tag.as_bytes());
    }

    fn serve(
        &mut self, _: usize, queue: &mut Queue, memory: &mut dyn GuestMemory,
    ) -> Result<Served, Broken> {
        let server = &mut self.server;
        queue.serve_each(memory, |memory, chain| {
            let limit = server.max_message();
            let mut message = vec![0; limit.min(chain.readable_len() as usize)];
            chain.read(memory, 0, &mut message)?;
            let mut answer = vec![0; limit.min(chain.writable_len() as usize)];
            let count = server.request(&message, &mut answer).min(answer.len());
            Ok(chain.write(memory, 0, &answer[..count])? as u64)
        })
    }
}
