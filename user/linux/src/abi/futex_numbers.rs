//! Operations of `futex`, and bits of a futex that has an owner.

pub(crate) const WAIT: u64 = 0;
pub(crate) const WAKE: u64 = 1;
pub(crate) const REQUEUE: u64 = 3;
pub(crate) const CMP_REQUEUE: u64 = 4;
pub(crate) const WAKE_OP: u64 = 5;
pub(crate) const LOCK_PI: u64 = 6;
pub(crate) const UNLOCK_PI: u64 = 7;
pub(crate) const TRYLOCK_PI: u64 = 8;
pub(crate) const WAIT_BITSET: u64 = 9;
pub(crate) const WAKE_BITSET: u64 = 10;
pub(crate) const LOCK_PI2: u64 = 13;
pub const CLOCK_REALTIME: u64 = 256;
pub const PRIVATE: u64 = 128;
pub(crate) const ALL_BITS: u32 = u32::MAX;
/// Bit of the word: other threads wait.
pub(crate) const WAITERS: u32 = 0x8000_0000;
/// Bit of the word: the owner has ended.
pub const OWNER_DIED: u32 = 0x4000_0000;
/// Bits of the word: the number of the owner.
pub(crate) const NUMBER: u32 = 0x3fff_ffff;
