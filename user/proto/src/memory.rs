//! Protocol 2, `memory`: pools, from which segments are taken.

use crate::flags::SEGMENT_FLAGS;

crate::protocol! {
    /// A pool of memory. Segments and further pools are taken from it, up to its limit. When the last reference to a pool is gone, so is the pool.
    memory = 2;

    /// Takes a segment of `size` bytes, rounded up to pages and filled with zeros: the port that controls it, and its region.
    /// The region has the right OBJECTS only if `SEGMENT_OBJECTS` is given.
    /// `ENOMEM`: the pool's limit is reached; whoever made the pool can give it more. `EINVAL`: the size is 0, or flags are set that have no meaning.
    1 segment_create(size: Number, flags: Flags(SEGMENT_FLAGS)) -> (size: Number; references segment: Own(Segment), region: Region(ANY_RIGHTS));
    /// Makes a pool within this one, with a limit of its own in bytes. Memory is taken from this pool only when it is used.
    /// `EINVAL`: the limit is 0.
    2 pool_create(limit: Number) -> (; references pool: Own(Pool));
    /// The limit and what is in use, in bytes.
    3 status() -> (limit: Number, used: Number);
    /// Destroys the pool with all segments and pools taken from it.
    /// `EPERM`: this reference is one of those that `share` gives, or the pool is the outermost.
    4 pool_destroy() -> ();
    /// A reference to the same pool that cannot destroy it, for those who share it and do not trust each other. It does not keep the pool.
    5 share() -> (; references pool: Own(Pool));
}
