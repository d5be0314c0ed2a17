//! Choice of who translates the guest's addresses, which can change while it runs.

use core::sync::atomic::{AtomicU8, Ordering};

/// Translator of a guest's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// Processor: nested paging.
    Nested,
    /// Monitor: shadow paging.
    Shadow,
    /// Both by turns, for tests.
    Turns,
}

const ALL: [Paging; 3] = [Paging::Nested, Paging::Shadow, Paging::Turns];

/// Number of the translator that was asked for last.
static WANTED: AtomicU8 = AtomicU8::new(0);

/// Asks for a translator from the next entries on.
pub fn want(paging: Paging) {
    let number = ALL.iter().position(|other| *other == paging).unwrap_or(0);
    WANTED.store(number as u8, Ordering::Relaxed);
}

/// Returns the translator that was asked for last.
pub fn wanted() -> Paging {
    let number = usize::from(WANTED.load(Ordering::Relaxed));
    ALL.get(number).copied().unwrap_or(Paging::Nested)
}
