//! Number of the thread that sends a request, which the request tells for those who show requests.
//!
//! A process with one thread tells none, and pays nothing for it. Threads that serve the library
//! have no block, so `gs` leads nowhere there: they are known by their stacks.

use crate::raw::thread_block::Block;
use core::arch::asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::PAGE_SIZE;
use nacre_proto::sender;

/// Thread of the library that serves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Servant {
    /// The signal thread.
    Signals,
    /// A query thread, of which there is one at a time.
    Queries,
}

/// Maximum number of bytes of a servant's stack.
const STACK_SIZE: u64 = 64 << 10;

/// Ends of the servants' stacks.
static STACKS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Address on the caller's stack.
#[inline(always)]
fn here() -> u64 {
    let place = 0u8;
    &raw const place as u64
}

/// Notes that the caller is a servant. It does so before it sends anything.
#[inline(never)]
pub fn serves(servant: Servant) {
    STACKS[servant as usize].store((here() | (PAGE_SIZE - 1)) + 1, Ordering::Relaxed);
}

/// Requests tell their thread's number from now on: there is a second thread of the program, and
/// all have blocks.
pub fn tell() {
    sender::set(number);
}

fn number() -> u64 {
    let here = here();
    if STACKS.iter().any(|end| end.load(Ordering::Relaxed).wrapping_sub(here) <= STACK_SIZE) {
        return 0;
    }
    let number: u64;
    // SAFETY: the caller serves nobody, so it is a thread of the program in the library, and `gs`
    // leads to its block: `start` has set the first thread's, and others begin with it.
    unsafe { asm!("mov {0:e}, gs:[{1}]", out(reg) number, const offset_of!(Block, sender), options(nostack, readonly, preserves_flags)) };
    number
}
