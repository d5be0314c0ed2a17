//! Gate of a server: heap memory that is set aside before a request is served, so that no request
//! can end the server because memory is used up.
//!
//! The heap keeps pieces of [`PIECE`] bytes in reserve. An allocation that finds no other memory
//! takes a piece, and the gate is shut until the heap has all pieces again. While the gate is shut
//! a server refuses requests with `ENOMEM`, but for those that free memory or need none for longer
//! than the request. One piece is enough for what any request allocates; what needs more at once
//! must be able to fail.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nacre_abi::{Code, Status};

use crate::FunctionCell;

/// Bytes of a piece.
pub const PIECE: usize = 64 << 10;
/// Maximum number of pieces of all servers of a program.
pub const MAX_PIECES: usize = 64;

/// Number of pieces that the servers of this program want.
static WANTED: AtomicUsize = AtomicUsize::new(0);
static SHUT: AtomicBool = AtomicBool::new(false);
static REFILL: FunctionCell<fn() -> bool> = FunctionCell::new();

/// Pieces that are set aside for one server until this is dropped.
#[derive(Debug)]
pub struct Headroom(usize);

impl Headroom {
    /// Sets `pieces` more pieces aside. `NoMemory`: there is no memory for them.
    pub fn take(pieces: usize) -> Result<Headroom, Status> {
        let taken = Headroom(pieces);
        let wanted = WANTED.fetch_add(pieces, Ordering::Relaxed) + pieces;
        if wanted <= MAX_PIECES && refill() { Ok(taken) } else { Err(Status::new(Code::NoMemory)) }
    }
}

impl Drop for Headroom {
    fn drop(&mut self) {
        WANTED.fetch_sub(self.0, Ordering::Relaxed);
        refill();
    }
}

/// Returns true if all pieces are there, after an attempt to get back those that were used.
pub fn is_open() -> bool {
    !SHUT.load(Ordering::Relaxed) || refill()
}

/// Shuts the gate: the heap has used a piece.
pub fn shut() {
    SHUT.store(true, Ordering::Relaxed);
}

/// Returns the number of pieces that the heap is to keep.
pub fn wanted() -> usize {
    WANTED.load(Ordering::Relaxed)
}

/// Sets the heap's function that takes as many pieces as are [`wanted`], and returns true if it has
/// so many.
pub fn set_refill(refill: fn() -> bool) {
    REFILL.set(refill);
}

#[cold]
fn refill() -> bool {
    // Before the attempt: another thread may use a piece meanwhile.
    SHUT.store(false, Ordering::Relaxed);
    let is_full = REFILL.get().is_none_or(|refill| refill());
    if !is_full {
        shut();
    }
    is_full
}
