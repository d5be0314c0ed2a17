//! Requests, modes, features and messages of `userfaultfd`.

/// The version of the interface.
pub const API: u64 = 0xaa;
/// `UFFDIO_API(version, features, requests)`.
pub const API_REQUEST: u32 = 0xc018_aa3f;
/// `UFFDIO_REGISTER(start, size, mode, requests)`.
pub const REGISTER: u32 = 0xc020_aa00;
/// `UFFDIO_UNREGISTER(start, size)`.
pub const UNREGISTER: u32 = 0x8010_aa01;
/// `UFFDIO_WAKE(start, size)`.
pub const WAKE: u32 = 0x8010_aa02;
/// `UFFDIO_COPY(to, from, size, mode, done)`.
pub const COPY: u32 = 0xc028_aa03;
/// `UFFDIO_ZEROPAGE(start, size, mode, done)`.
pub const ZERO_PAGE: u32 = 0xc020_aa04;
/// `UFFDIO_WRITEPROTECT(start, size, mode)`.
pub const WRITE_PROTECT: u32 = 0xc018_aa06;
/// `UFFDIO_CONTINUE(start, size, mode, done)`.
pub const CONTINUE: u32 = 0xc020_aa07;
/// `USERFAULTFD_IOC_NEW(flags)`, of the device.
pub const NEW: u32 = 0xaa00;

/// Requests that a file answers, as bits: the three that are about no memory.
pub const REQUESTS: u64 = 1 << 0x3f | 0b11;
/// Requests about memory whose missing pages are told: `WAKE`, `COPY`, `ZEROPAGE`.
pub const REQUESTS_MISSING: u64 = 0b1_1100;
/// Request about memory that may be protected: `WRITEPROTECT`.
pub const REQUEST_PROTECT: u64 = 1 << 6;

/// Request about memory whose pages others have: `CONTINUE`.
pub const REQUEST_CONTINUE: u64 = 1 << 7;

/// `UFFD_FEATURE_PAGEFAULT_FLAG_WP`.
pub const FEATURE_PROTECT: u64 = 1;
/// `UFFD_FEATURE_SIGBUS`: a fault is a signal, and nobody is told.
pub const FEATURE_SIGNAL: u64 = 1 << 7;
/// `UFFD_FEATURE_THREAD_ID`.
pub const FEATURE_THREAD: u64 = 1 << 8;
/// `UFFD_FEATURE_EXACT_ADDRESS`.
pub const FEATURE_ADDRESS: u64 = 1 << 11;
/// `UFFD_FEATURE_EVENT_REMAP`: an area moves, and stays registered.
pub const FEATURE_MOVED: u64 = 1 << 2;
/// `UFFD_FEATURE_EVENT_REMOVE`: pages of an area are emptied.
pub const FEATURE_EMPTIED: u64 = 1 << 3;
/// `UFFD_FEATURE_EVENT_UNMAP`: an area, or a part of it, goes.
pub const FEATURE_UNMAPPED: u64 = 1 << 6;
/// `UFFD_FEATURE_MISSING_SHMEM`: shared memory can be registered.
pub const FEATURE_SHARED: u64 = 1 << 5;
/// `UFFD_FEATURE_MINOR_SHMEM`: pages of it that others have are told.
pub const FEATURE_MINOR: u64 = 1 << 10;
/// `UFFD_FEATURE_WP_HUGETLBFS_SHMEM`: pages of it can be protected.
pub const FEATURE_PROTECT_SHARED: u64 = 1 << 12;
/// Features that there are.
pub const FEATURES: u64 = FEATURE_SHARED | FEATURE_MINOR | FEATURE_PROTECT_SHARED | FEATURE_PROTECT | FEATURE_MOVED | FEATURE_EMPTIED | FEATURE_UNMAPPED | FEATURE_SIGNAL | FEATURE_THREAD | FEATURE_ADDRESS;

/// Kind of the message that an area has moved: from, to, size.
pub const EVENT_MOVED: u8 = 0x14;
/// Kind of the message that pages are emptied: start, end.
pub const EVENT_EMPTIED: u8 = 0x15;
/// Kind of the message that an area has gone: start, end.
pub const EVENT_UNMAPPED: u8 = 0x16;

/// Mode of `REGISTER`: missing pages are told.
pub const MODE_MISSING: u64 = 1;
/// Writes to protected pages are told.
pub const MODE_PROTECT: u64 = 2;
/// Pages are told that others have.
pub const MODE_MINOR: u64 = 4;
/// Mode of `COPY`, `ZEROPAGE` and `CONTINUE`: nobody is woken.
pub const DONT_WAKE: u64 = 1;
/// Mode of `COPY`: the page may not be written.
pub const COPY_PROTECTED: u64 = 2;
/// Mode of `WRITEPROTECT`: pages may not be written.
pub const PROTECTED: u64 = 1;
/// Mode of `WRITEPROTECT`: nobody is woken.
pub const PROTECT_DONT_WAKE: u64 = 2;

/// Bytes of a message.
pub const MESSAGE: usize = 32;
/// Flag of a fault: it was a write.
pub const FAULT_WRITE: u64 = 1;
/// The page is there, and may not be written.
pub const FAULT_PROTECTED: u64 = 2;
/// Flag of a fault: others have the page.
pub const FAULT_MINOR: u64 = 4;

/// The message of a fault.
pub fn message(flags: u64, address: u64, thread: u64) -> [u8; MESSAGE] {
    const PAGE_FAULT: u8 = 0x12;
    let mut bytes = [0; MESSAGE];
    bytes[0] = PAGE_FAULT;
    bytes[8..16].copy_from_slice(&flags.to_le_bytes());
    bytes[16..24].copy_from_slice(&address.to_le_bytes());
    bytes[24..28].copy_from_slice(&(thread as u32).to_le_bytes());
    bytes
}

/// The message of a change.
pub fn event(kind: u8, words: [u64; 3]) -> [u8; MESSAGE] {
    let mut bytes = [0; MESSAGE];
    bytes[0] = kind;
    for (place, word) in bytes[8..].chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
