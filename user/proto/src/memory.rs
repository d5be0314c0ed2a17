//! Protocol 2, `memory`: pools, from which segments are taken.

use crate::flags::{POOL_FLAGS, SEGMENT_FLAGS};

crate::protocol! {
    /// A pool of memory. Segments and further pools are taken from it, up to its limit. When the
    /// last reference to a pool is gone, so is the pool. References can lie only in memory that may
    /// hold kernel objects, and a segment stays while there is a reference to it. So a reference to
    /// a segment in that segment's own memory keeps both. Whoever hands out a pool ends such memory
    /// by `pool_destroy`, and hands out to all others references that `share` made with
    /// `POOL_DATA`.
    memory = 2;

    /// Takes a segment of `size` bytes, rounded up to pages and filled with zeros: the port that
    /// controls it, and its region. The region has the right OBJECTS only if `SEGMENT_OBJECTS` is
    /// given. `holds` tells whether `SEGMENT_PAGEABLE` does: who gives memory that stays anyway
    /// leaves it out. `holds` tells of `SEGMENT_PROMISED`, too. Nobody can wait at words of memory
    /// that is pageable or promised. `ENOMEM`: the pool's limit is reached; whoever made the pool
    /// can give it more. `EINVAL`: the size is 0, or flags are set that have no meaning. `EACCES`:
    /// `SEGMENT_OBJECTS` is given, and this reference leads to data alone. The parent's service
    /// `SERVICE_OBJECTS` is a pool for kernel objects.
    1 segment_create(size: Number, flags: Flags(SEGMENT_FLAGS)) -> (size: Number, holds: Flags(SEGMENT_FLAGS); references segment: Own(Segment), region: Region(ANY_RIGHTS));
    /// Makes a pool within this one, with a limit of its own in bytes. Memory is taken from this
    /// pool only when it is used. It gives data alone if this reference does. `EINVAL`: the limit
    /// is 0.
    2 pool_create(limit: Number) -> (; references pool: Own(Pool));
    /// The limit and what is in use, in bytes. The limit is less than that of the pool's maker if
    /// the pools around it have less to give.
    3 status() -> (limit: Number, used: Number);
    /// Destroys the pool with all segments and pools taken from it.
    /// `EPERM`: this reference is one of those that `share` gives, or the pool is the outermost.
    4 pool_destroy() -> ();
    /// A reference to the same pool that cannot destroy it, for those who share it and do not trust
    /// each other. It does not keep the pool. What comes through a reference that leads to data
    /// alone, or to no names, leads to no more. `EINVAL`: flags are set that have no meaning.
    5 share(flags: Flags(POOL_FLAGS)) -> (; references pool: Own(Pool));
    /// Takes one run of the machine's memory that is contiguous, at a multiple of `alignment` (a
    /// power of two up to 1 TiB, or 0), and all below the address `below` (0: anywhere). The
    /// segment answers `segment.locate`. `EACCES`: this reference leads to data alone. `EINVAL`:
    /// the size is 0, or the alignment is none. `ENOMEM`: there is no such run, or the pool's limit
    /// is reached.
    6 run_create(size: Number, alignment: Hex, below: Hex) -> (size: Number, address: Hex; references segment: Own(Segment), region: Region(ANY_RIGHTS));
    /// Takes memory of some colours: pages whose number, divided by `colours`, leaves `first`, or
    /// one of the `count` remainders from it on. Pages of different colours never share a set of a
    /// cache that is indexed by these bits of the address. The segment keeps its size, and answers
    /// `segment.locate`. `EACCES`: this reference leads to data alone. `EINVAL`: `colours` is not a
    /// power of two up to 1,024, or `first` and `count` are none of them. `ENOMEM`: there are not
    /// so many such pages, or the pool's limit is reached.
    7 coloured_create(size: Number, colours: Number, first: Number, count: Number) -> (size: Number; references segment: Own(Segment), region: Region(ANY_RIGHTS));
}
