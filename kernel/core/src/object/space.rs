//! A space: an ordered set of mappings, a set of exported regions, its threads, its keeper, its
//! watcher, and the pool of frames that its hardware tables are made of.
//!
//! The pool is a chain through the frames' own records. Tables are taken along the chain; when it
//! ends, all tables but the root are thrown away and taking starts again: a space can run slowly in
//! a small pool, but it can never use more.

use crate::machine::Physical;
use crate::view::view;

view! {
    /// A space.
    Space, 32 words {
        header, set_header: u64 = 0;
        /// The top-level table; null in the kernel's own space, whose addresses are physical.
        root, set_root: Physical = 1;
        /// The CPUs that have its tables loaded, one bit each.
        active, set_active: u64 = 2;
        /// Last frame of the pool's chain, which begins with the root table.
        pool_last, set_pool_last: Physical = 12;
        /// The next frame to take; null when none is left.
        pool_cursor, set_pool_cursor: Physical = 13;
        pool_pages, set_pool_pages: u64 = 14;
        /// Next space of a revocation under way.
        flush_next, set_flush_next: Physical = 15;
        /// Set (1) once a guest has run in it: CPUs may use its tables that are not in `active`.
        entered, set_entered: u64 = 16;
        flush_low, set_flush_low: u64 = 17;
        flush_high, set_flush_high: u64 = 18;
        /// Number of times that the revocation under way has put the space on its list.
        flush_visits, set_flush_visits: u64 = 19;
        /// Number of the revocation that the three words above belong to.
        flush_number, set_flush_number: u64 = 20;
        /// Set while the space is on that list.
        flush_listed, set_flush_listed: u64 = 21;
        population, set_population: u64 = 22;
        /// Generation of the tables, which ends when an entry is taken out. Remembered lookups of
        /// an earlier generation are void.
        generation, set_generation: u64 = 23;
        /// Flags, as `SpaceState` has them.
        flags, set_flags: u64 = 24;
    } places {
        /// `active`: several CPUs may come and go at once.
        active_word = 2;
        mapping_root = 3;
        region_root = 4;
        /// Link to the keeper's port.
        keeper = 5;
        /// Anchor of its threads.
        threads = 8;
        links = 10;
        /// The tree of mappings that are overlays.
        overlay_root = 28;
        /// Link to the port that hears of the end in the keeper's place.
        watcher = 25;
        /// The claim of a short fault on the tables and the pool. See `Kernel::fill_beside`.
        claim = 29;
    }
}

impl Space<'_> {
    /// Returns true if some CPU may use the space's tables.
    #[inline(always)]
    pub fn is_in_use(self) -> bool {
        self.active() | self.entered() != 0
    }
}
