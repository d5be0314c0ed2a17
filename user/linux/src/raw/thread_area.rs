//! A library stack and the block above it.

use crate::raw::thread_block::Block;
use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;

/// Bytes of a thread's block and library stack.
pub const AREA_SIZE: usize = 40960;
pub const STACK_SIZE: usize = AREA_SIZE - size_of::<Block>();

/// A library stack and the block above it.
#[repr(C, align(4096))]
pub struct Area {
    stack: UnsafeCell<[u8; STACK_SIZE]>,
    block: Block,
}

// SAFETY: the stack is used by its one thread alone; the block consists of atomic words.
unsafe impl Sync for Area {}

const _: () = assert!(size_of::<Area>() == AREA_SIZE);

/// All zeros, so that no file's pages are copied for it.
pub static FIRST: Area = Area { stack: UnsafeCell::new([0; STACK_SIZE]), block: Block::zero() };

/// The block of the first thread; its address is what `gs` must be.
pub fn first_block() -> &'static Block {
    &FIRST.block
}

/// Returns the first block, after making it ready at the start of the process.
pub fn prepare_first_block() -> &'static Block {
    FIRST.block.prepare();
    prepared(&FIRST.block)
}

/// The block at the end of a fresh area of [`AREA_SIZE`] bytes at `start`.
///
/// # Safety
/// The area is mapped to be read and written for ever, is full of zeros, and nobody else uses it.
pub unsafe fn block_in(start: u64) -> &'static Block {
    let block = (start + STACK_SIZE as u64) as *mut Block;
    // SAFETY: the caller's promise; the place is a multiple of 64 if the area is page-aligned, as
    // every mapping is.
    prepared(unsafe {
        block.write(Block::new());
        &*block
    })
}

fn prepared(block: &'static Block) -> &'static Block {
    block.stack_top.store(block as *const Block as u64, Ordering::Relaxed);
    block
}
