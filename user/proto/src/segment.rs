//! Protocol 3, `segment`: memory taken from a pool.

crate::protocol! {
    /// Memory taken from a pool. Its region is mapped; this port controls it. When the last reference to the port is gone the segment is destroyed:
    /// kernel objects in it are destroyed and its mappings unmapped.
    segment = 3;

    /// Its size in bytes.
    1 status() -> (size: Number);
    /// Changes the size, rounded up to pages; new bytes are zeros. `ENOMEM`: the pool's limit is reached, or the segment cannot grow where it is.
    2 resize(size: Number) -> (size: Number);
    /// Destroys the segment.
    3 destroy() -> ();
}
