//! How long interrupts were kept off: the longest stretch of every way in, for `nacre latency`.
//! Under QEMU's `-icount` the time-stamp counter counts instructions.
//!
//! Only a kernel built with the feature `latency` measures; in any other all of this is nothing. A
//! stretch begins at the first instruction of the core and ends with its last: the entry code's
//! own, 71 at most, are not in it, nor is waiting for the kernel lock. Each new longest is told at
//! once, as a line on QEMU's debug console.

use super::io;
use crate::cell::Locked;
use core::cell::Cell;
use core::fmt::{self, Write};

const ON: bool = cfg!(feature = "latency");
/// QEMU's debug console.
const CONSOLE: u16 = 0xe9;
/// Numbers of calls, then vectors.
const DOORS: usize = 512;
/// Index of the first vector; calls come before.
const VECTORS: usize = 256;
/// Shortest duration that is worth a line.
const LEAST: u64 = 500;

static LONGEST: Locked<[Cell<u64>; DOORS]> = Locked([const { Cell::new(LEAST) }; DOORS]);

/// A way into the kernel: a call's number, or a vector.
#[derive(Clone, Copy)]
pub enum EntryKind {
    /// A system call.
    Call(u64),
    /// An exception or an interrupt.
    Vector(u64),
}

/// Now, under the lock.
#[inline(always)]
pub fn begin() -> u64 {
    if ON { io::time_stamp() } else { 0 }
}

/// The core is done with what began at `begun`.
#[inline(always)]
pub fn end(door: EntryKind, begun: u64) {
    if ON {
        note(door, io::time_stamp() - begun);
    }
}

fn note(door: EntryKind, ticks: u64) {
    let (name, number) = match door {
        EntryKind::Call(number) => ("call", number as usize % VECTORS),
        EntryKind::Vector(vector) => ("vector", vector as usize % VECTORS),
    };
    let place = number + if name == "call" { 0 } else { VECTORS };
    if LONGEST.0[place].get() < ticks {
        LONGEST.0[place].set(ticks);
        // Nothing can be done about a failure to say something.
        let _ = writeln!(Console, "{name} {number} {ticks}");
    }
}

struct Console;

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| io::write_u8(CONSOLE, byte));
        Ok(())
    }
}
