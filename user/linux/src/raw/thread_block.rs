//! What a thread of the program has in the library and `gs` leads to. It lies right above the
//! thread's library stack.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use nacre_sys::{Code, Condition, Owned, Status};

/// Calls below this number may have an answer that the entry gives without the library's lock.
pub const QUICK: usize = 192;
/// The entry must ask the library.
const ASK: i32 = -1;
/// The answer stands where the block says.
pub const ELSEWHERE: i32 = i32::MIN;

/// Fields that the entry's assembly uses come first.
#[repr(C, align(64))]
pub struct Block {
    /// Start of the library's stack: the address of the block itself.
    pub stack_top: AtomicU64,
    /// Temporary place for a stack pointer in the entry.
    pub scratch: AtomicU64,
    /// Address at which the program continues, if it was stopped to enter the library for a signal.
    pub resume: AtomicU64,
    /// Target of the jump on the way out.
    pub jump: AtomicU64,
    /// Address of the answer of the one call whose answer other threads write.
    pub elsewhere: AtomicU64,
    /// Work pending: if not 0, the thread looks for signals and for a stop before it returns to the
    /// program.
    pub attention: AtomicU32,
    /// The frame is whole: the way out restores the registers that a call changes too.
    pub whole: AtomicU32,
    /// 1 when the thread has ended and does nothing any more but wait.
    pub parked: AtomicU32,
    /// Index of the thread in its process.
    pub index: AtomicU32,
    /// Changes whenever the thread is woken.
    word: AtomicU32,
    /// The condition that it waits at; 0 until it waits for the first time.
    condition: AtomicU64,
    /// Number of the system call that the thread made last, of those that the library carries out.
    pub number: AtomicU32,
    /// Counts down, from call to call through the kernel; below 0 the library is shown one.
    pub countdown: AtomicI32,
    /// Answers of calls that need no lock, by number.
    pub quick: [AtomicI32; QUICK],
    /// Signal that a debugger gives the thread, or 0.
    pub injected: AtomicU32,
    /// Number of the thread that its requests tell; 0 if it is the first of its process.
    pub sender: AtomicU32,
}

/// Reason why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// Woken by another thread, or spuriously.
    Called,
    /// The time has passed.
    Late,
}

impl Block {
    /// A block that is all zeros, as fresh memory is; [`Block::prepare`] makes it one that can be
    /// used.
    pub const fn zero() -> Block {
        Block {
            stack_top: AtomicU64::new(0),
            scratch: AtomicU64::new(0),
            resume: AtomicU64::new(0),
            jump: AtomicU64::new(0),
            elsewhere: AtomicU64::new(0),
            attention: AtomicU32::new(0),
            whole: AtomicU32::new(0),
            parked: AtomicU32::new(0),
            index: AtomicU32::new(0),
            word: AtomicU32::new(0),
            condition: AtomicU64::new(0),
            number: AtomicU32::new(0),
            countdown: AtomicI32::new(0),
            quick: [const { AtomicI32::new(0) }; QUICK],
            injected: AtomicU32::new(0),
            sender: AtomicU32::new(0),
        }
    }

    /// A block for a thread that does not run yet.
    pub fn new() -> Block {
        let block = Block::zero();
        block.prepare();
        block
    }

    /// Makes a block of zeros one for a thread that does not run yet.
    pub fn prepare(&self) {
        self.countdown.store(EVERY as i32, Ordering::Relaxed);
        self.quick.iter().for_each(|place| place.store(ASK, Ordering::Relaxed));
    }

    /// Makes call `number` of this thread return `value`.
    pub fn set_quick(&self, number: usize, value: u64) {
        if let Some(place) = self.quick.get(number) {
            place.store(i32::try_from(value).unwrap_or(ASK), Ordering::Relaxed);
        }
    }

    /// Makes call `number` of this thread return the word at `address`. Only one call can have such
    /// an answer.
    pub fn set_quick_from(&self, number: usize, address: u64) {
        self.elsewhere.store(address, Ordering::Release);
        if let Some(place) = self.quick.get(number) {
            place.store(ELSEWHERE, Ordering::Release);
        }
    }

    /// Copies the cached answers of these calls from another thread.
    pub fn copy_quick(&self, from: &Block, numbers: &[usize]) {
        self.elsewhere.store(from.elsewhere.load(Ordering::Acquire), Ordering::Release);
        for (place, value) in numbers.iter().filter_map(|number| self.quick.get(*number).zip(from.quick.get(*number))) {
            place.store(value.load(Ordering::Acquire), Ordering::Release);
        }
    }

    /// Returns true if call `number` of this thread has a cached answer now.
    pub fn is_quick(&self, number: usize) -> bool {
        self.quick.get(number).is_some_and(|place| place.load(Ordering::Relaxed) != ASK)
    }

    /// Returns the value that [`Block::wait`] compares with. The caller takes it before it looks at
    /// the reason to wait.
    pub fn seen(&self) -> u32 {
        self.word.load(Ordering::Acquire)
    }

    /// Waits until [`Block::wake`], or for at most `timeout` nanoseconds (0: for ever). Only the
    /// block's own thread does.
    pub fn wait(&self, seen: u32, timeout: u64) -> Woken {
        let Some(condition) = self.condition() else {
            nacre_sys::Thread::yield_now();
            return Woken::Called;
        };
        match condition.wait(&self.word, seen, timeout) {
            Err(status) if status.code() == Some(Code::TimedOut) => Woken::Late,
            _ => Woken::Called,
        }
    }

    /// Wakes the block's thread if it waits.
    pub fn wake(&self) {
        self.word.fetch_add(1, Ordering::Release);
        let condition = self.condition.load(Ordering::Acquire);
        if condition != 0 {
            // A condition of ours is there: nothing can fail.
            let _ = Condition(condition).signal(1);
        }
    }

    fn condition(&self) -> Option<Condition> {
        let known = self.condition.load(Ordering::Relaxed);
        if known != 0 {
            return Some(Condition(known));
        }
        let made: Result<_, Status> = Owned::make(Condition::create);
        let condition = made.ok()?.leak();
        self.condition.store(condition.0, Ordering::Release);
        Some(condition)
    }

    /// Returns true if there is work before the program continues.
    pub fn has_attention(&self) -> bool {
        self.attention.load(Ordering::Acquire) != 0
    }

    /// Makes the thread look, or says that it has.
    pub fn set_attention(&self, wanted: bool) {
        self.attention.store(u32::from(wanted), Ordering::Release);
    }
}

impl Default for Block {
    fn default() -> Block {
        Block::new()
    }
}

/// Sampling interval of calls through the kernel. A prime, so that loops of several calls do not
/// always show the same call.
pub const EVERY: u32 = 61;
