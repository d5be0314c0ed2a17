//! Threads.

use nacre_abi::call::{DONATION_ARRIVED, DONATION_BLOCKED, DONATION_TIMED_OUT, DONATION_YIELDED, STOP_INTERRUPT, STOP_UNSERVED};
use nacre_abi::state::{FPU_SIZE, ThreadState};
use nacre_abi::{Call, Status, environment};

use crate::object::object;
use crate::{Reference, Space, raw};

object! {
    /// A flow of control. Its slot is a whole page.
    Thread, ThreadState, ThreadDestroy, ThreadMove, ThreadReference, ThreadGetState, ThreadSetState
}

/// Words of FPU state behind a thread's registers.
const FPU_WORDS: usize = FPU_SIZE as usize / 8;
/// Words of both.
const IMAGE_WORDS: usize = ThreadState::WORDS + FPU_WORDS;

/// Reason for the end of a donation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DonationEnd {
    /// Something has come to the port or set.
    Arrived,
    /// The timeout passed.
    TimedOut,
    /// The thread cannot go on; it will be announced when it can.
    Blocked,
    /// The thread that ran on the time yielded.
    Yielded,
    /// The thread, or whoever it waits for, runs elsewhere; it will not be announced.
    Busy,
}

/// Result of a donation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Donation {
    /// Reason for its end.
    pub end: DonationEnd,
    /// Nanoseconds of the caller's time that it took.
    pub used: u64,
}

/// All of a thread: its registers, and the FPU's (`state.fpu_size` bytes of them are meaningful).
#[derive(Clone, Debug)]
pub struct ThreadImage {
    words: [u64; IMAGE_WORDS],
}

impl ThreadImage {
    /// The registers.
    pub fn state(&self) -> ThreadState {
        let mut words = [0; ThreadState::WORDS];
        words.copy_from_slice(&self.words[..ThreadState::WORDS]);
        ThreadState::from_words(words)
    }

    /// Sets the registers.
    pub fn set_state(&mut self, state: &ThreadState) {
        self.words[..ThreadState::WORDS].copy_from_slice(&state.to_words());
    }

    /// All of it as words, for whoever stores or sends it.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The image that consists of these words; words that lack are zero, words too many are
    /// dropped.
    pub fn from_words(words: &[u64]) -> ThreadImage {
        let mut image = ThreadImage { words: [0; IMAGE_WORDS] };
        let count = words.len().min(IMAGE_WORDS);
        image.words[..count].copy_from_slice(&words[..count]);
        image
    }
}

impl Thread {
    /// The caller, where a call takes 0 for it.
    pub const OWN: Thread = Thread(0);
    /// The reference to its first thread that every program is born with.
    pub const FIRST: Thread = Thread(environment::THREAD);

    /// Makes a stopped thread in `space`, in the free page `slot`.
    pub fn create(slot: u64, space: Space) -> Result<Thread, Status> {
        raw::call(Call::ThreadCreate, [slot, space.0, 0, 0]).map(|_| Thread(slot))
    }

    /// Reads registers and FPU state.
    pub fn get_image(self, links: &[Reference]) -> Result<ThreadImage, Status> {
        let mut image = ThreadImage { words: [0; IMAGE_WORDS] };
        raw::get_state(Call::ThreadGetState, self.0, &mut image.words, links)?;
        Ok(image)
    }

    /// Takes over registers and FPU state.
    pub fn set_image(self, image: &ThreadImage, links: &[Reference]) -> Result<(), Status> {
        raw::set_state(Call::ThreadSetState, self.0, &image.words, links)
    }

    /// Lets a stopped thread run.
    pub fn start(self) -> Result<(), Status> {
        raw::call(Call::ThreadStart, [self.0, 0, 0, 0]).map(drop)
    }

    /// Stops the thread; a wait that it is in is made again when it is started.
    pub fn stop(self) -> Result<(), Status> {
        raw::call(Call::ThreadStop, [self.0, 0, 0, 0]).map(drop)
    }

    /// Stops the thread; a wait that it is in ends with `Interrupted`.
    pub fn interrupt(self) -> Result<(), Status> {
        raw::call(Call::ThreadStop, [self.0, STOP_INTERRUPT, 0, 0]).map(drop)
    }

    /// Interrupts the thread as [`Thread::interrupt`] does, but fails with `Busy` while a server
    /// works on the answer that the thread waits for.
    pub fn interrupt_unserved(self) -> Result<(), Status> {
        raw::call(Call::ThreadStop, [self.0, STOP_INTERRUPT | STOP_UNSERVED, 0, 0]).map(drop)
    }

    /// Lets the thread run only on donated time. The kernel sends `word` to `port` when the thread
    /// is ready. With the null reference the thread runs by its own right.
    pub fn set_scheduler(self, port: Reference, word: u64) -> Result<(), Status> {
        raw::call(Call::ThreadSetScheduler, [self.0, port.0, word, 0]).map(drop)
    }

    /// Schedules the thread as `model` is: by the same scheduler, or by its own right.
    pub fn schedule_as(self, model: Thread) -> Result<(), Status> {
        raw::call(Call::ThreadScheduleAs, [self.0, model.0, 0, 0]).map(drop)
    }

    /// Gives the caller's time to the thread, until something comes to the port or set at `until`
    /// (0: none) or `timeout` nanoseconds have passed (0: never), or it cannot go on.
    pub fn donate(self, until: u64, timeout: u64) -> Result<Donation, Status> {
        let (reason, used) = raw::donate(self.0, until, timeout)?;
        let end = match reason {
            DONATION_ARRIVED => DonationEnd::Arrived,
            DONATION_TIMED_OUT => DonationEnd::TimedOut,
            DONATION_BLOCKED => DonationEnd::Blocked,
            DONATION_YIELDED => DonationEnd::Yielded,
            _ => DonationEnd::Busy,
        };
        Ok(Donation { end, used })
    }

    /// Nanoseconds that it has had of processors.
    pub fn time(self) -> Result<u64, Status> {
        raw::call(Call::ThreadTime, [self.0, 0, 0, 0]).map(|(nanoseconds, _)| nanoseconds)
    }

    /// Returns what it waits for just now, in a word of [`nacre_abi::waiting`].
    pub fn waiting(self) -> Result<u64, Status> {
        raw::call(Call::ThreadTime, [self.0, 0, 0, 0]).map(|(_, waiting)| waiting)
    }

    /// Sets the address at which its foreign calls continue; 0 = they fail. [`Thread::OWN`] is the
    /// caller.
    pub fn set_foreign(self, entry: u64) -> Result<(), Status> {
        raw::call(Call::ThreadSetForeign, [self.0, entry, 0, 0]).map(drop)
    }

    /// Lets others run first.
    pub fn yield_now() {
        // The call has no way to fail.
        let _ = raw::call(Call::ThreadYield, [0; 4]);
    }

    /// Waits.
    pub fn sleep(nanoseconds: u64) -> Result<(), Status> {
        raw::call(Call::ThreadSleep, [nanoseconds, 0, 0, 0]).map(drop)
    }

    /// Sets the caller's base of `fs`, the thread pointer of Linux programs.
    pub fn set_fs_base(value: u64) -> Result<(), Status> {
        raw::call(Call::ThreadSetBase, [0, value, 0, 0]).map(drop)
    }

    /// Sets the caller's base of `gs`.
    pub fn set_gs_base(value: u64) -> Result<(), Status> {
        raw::call(Call::ThreadSetBase, [1, value, 0, 0]).map(drop)
    }
}
