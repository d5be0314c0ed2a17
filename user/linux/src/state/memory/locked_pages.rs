//! Pages that the program has locked.

use crate::state::memory::ranges::Ranges;
use core::ops::{Deref, DerefMut};

/// The ranges that are locked, and whether what is mapped from now on will be.
#[derive(Debug, Default)]
pub struct Locked {
    ranges: Ranges,
    pub has_future: bool,
    /// Pages that are mapped from now on are locked once they are touched.
    pub is_later: bool,
}

impl Deref for Locked {
    type Target = Ranges;

    fn deref(&self) -> &Ranges {
        &self.ranges
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Ranges {
        &mut self.ranges
    }
}
