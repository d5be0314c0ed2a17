//! Guests: a processor's state in a page, run in another space.

use nacre_abi::frame::word;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::Errno;
use nacre_sys::{Frame, OwnedMapping, OwnedSpace, Reference, Space, Window};

use super::fixture::{Fixture, pages};
use crate::figure::sample_results;

/// Pages that a space needs at least.
const POOL: u64 = 5;
/// Address of the guest's code.
const CODE: u64 = 0x1000;
/// `cpuid`, and back to it.
const INSTRUCTIONS: u64 = 0xfceb_a20f;
const LENGTH: u64 = 2;

/// Puts a segment of 16-bit code into the frame.
fn segment(frame: &Frame, number: usize, attributes: u64, base: u64) {
    frame.set(word::SEGMENTS + 2 * number, attributes << 16 | 0xffff << 32);
    frame.set(word::SEGMENTS + 2 * number + 1, base);
}

/// A guest that asks for nothing but CPUID: into it, out of it, and past the instruction.
pub fn exit(fixture: &Fixture) -> Result<u64, Errno> {
    let (code, page, pool) = (pages(1)?, pages(1)?, pages(POOL)?);
    let window = |at| Window::new(at, PAGE_SIZE).ok_or(Errno::EINVAL);
    window(code)?.write_word(0, INSTRUCTIONS);
    let space = OwnedSpace::make(|slot| Space::create(slot, pool, POOL, Reference::NONE))?;
    let rights = Rights::READ.union(Rights::EXECUTE);
    let _shown = OwnedMapping::new(space.handle(), CODE, PAGE_SIZE, fixture.region(), Fixture::offset(code), rights)?;
    let frame = Frame::begin(window(page)?, space.handle().0).ok_or(Errno::EINVAL)?;
    (0..6).for_each(|number| segment(&frame, number, 0x93, 0));
    segment(&frame, 1, 0x9b, CODE);
    segment(&frame, 7, 0x82, 0);
    segment(&frame, 9, 0x8b, 0);
    frame.set(word::RFLAGS, 2);
    frame.set(word::CR0, 0x10);
    frame.set(word::DR6, 0xffff_0ff0);
    sample_results(200, || {
        let entered = frame.enter();
        frame.set(word::RIP, frame.get(word::RIP) + LENGTH);
        entered
    })
}
