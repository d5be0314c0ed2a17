//! What the threads share: the processor's own, one that waits for the timer, one that reads what
//! is typed. Whoever wants the guest to be left sets `PENDING` in the frame, and if the processor's
//! thread is in the guest, stops it and starts it again: it then makes its call again, and finds
//! the word.

use crate::clock::Clock;
use alloc::collections::VecDeque;
use core::sync::atomic::{AtomicBool, Ordering, fence};
use nacre_abi::frame::word;
use nacre_proto::Errno;
use nacre_rt::thread;
use nacre_sys::lock::{Condition, Lock};
use nacre_sys::{Frame, Thread};

/// Bytes that were typed and that the guest has not taken.
const INPUT: usize = 4096;
/// Alarm that is not set.
const NEVER: u64 = u64::MAX;

struct State {
    frame: Option<Frame>,
    clock: Option<Clock>,
    input: VecDeque<u8>,
    /// Time at which the guest is to be left.
    alarm: u64,
    /// Something has happened since the processor's thread last looked.
    is_called: bool,
    /// Somebody wants the machine to end.
    is_over: bool,
}

/// State that the processor's thread finds when it looks.
pub struct Looked {
    /// Somebody has called.
    pub is_called: bool,
    /// The machine is to end.
    pub is_over: bool,
}

/// All of it.
pub struct Shared {
    state: Lock<State>,
    /// The processor's thread waits here while its guest halts.
    called: Condition,
    /// The timer's thread waits here.
    set: Condition,
    /// Condition for whoever reads what is typed: there is room again.
    taken: Condition,
    /// The processor's thread is in its guest, or about to be.
    is_inside: AtomicBool,
}

/// The one machine of this program.
pub static SHARED: Shared = Shared {
    state: Lock::new(State { frame: None, clock: None, input: VecDeque::new(), alarm: NEVER, is_called: false, is_over: false }),
    called: Condition::new(),
    set: Condition::new(),
    taken: Condition::new(),
    is_inside: AtomicBool::new(false),
};

impl Shared {
    /// Starts the timer's thread.
    pub fn begin(&self, frame: Frame, clock: Clock) -> Result<(), Errno> {
        {
            let mut state = self.state.lock();
            (state.frame, state.clock) = (Some(frame), Some(clock));
        }
        // It goes on for as long as the program.
        thread::spawn(|_| SHARED.keep_time(), 0).map(drop)
    }

    /// Makes the processor's thread look. The caller has the lock.
    fn call(&self, state: &mut State) {
        state.is_called = true;
        if let Some(frame) = &state.frame {
            frame.set(word::PENDING, 1);
        }
        self.called.signal();
        // Either the thread finds the word, or this finds it inside.
        fence(Ordering::SeqCst);
        if self.is_inside.load(Ordering::SeqCst) {
            // A thread that cannot be stopped is not in the guest any more.
            let _ = Thread::FIRST.stop().and_then(|()| Thread::FIRST.start());
        }
    }

    fn keep_time(&self) {
        let mut state = self.state.lock();
        loop {
            let now = state.clock.map_or(0, |clock| clock.now());
            if state.alarm <= now {
                state.alarm = NEVER;
                self.call(&mut state);
            }
            let left = if state.alarm == NEVER { nacre_sys::FOREVER } else { (state.alarm - now).max(1) };
            state = self.set.wait_for(state, left);
        }
    }

    /// The guest is to be left at this time, or any earlier.
    pub fn set_alarm(&self, at: Option<u64>) {
        let at = at.unwrap_or(NEVER);
        let mut state = self.state.lock();
        let is_earlier = at < state.alarm;
        state.alarm = at;
        if is_earlier {
            self.set.signal();
        }
    }

    /// Enters the guest by `enter`, which ends when somebody calls.
    pub fn inside<T>(&self, enter: impl FnOnce() -> T) -> T {
        self.is_inside.store(true, Ordering::SeqCst);
        let result = enter();
        self.is_inside.store(false, Ordering::SeqCst);
        result
    }

    /// The processor's thread looks at what has come since it last did.
    pub fn look(&self) -> Looked {
        let mut state = self.state.lock();
        let is_called = core::mem::take(&mut state.is_called);
        if let Some(frame) = &state.frame {
            frame.set(word::PENDING, 0);
        }
        Looked { is_called, is_over: state.is_over }
    }

    /// Waits until somebody calls, or the time has come.
    pub fn wait(&self, until: Option<u64>) {
        let mut state = self.state.lock();
        while !state.is_called {
            let now = state.clock.map_or(0, |clock| clock.now());
            let left = match until {
                Some(until) if until <= now => return,
                Some(until) => until - now,
                None => nacre_sys::FOREVER,
            };
            state = self.called.wait_for(state, left);
        }
    }

    /// Gives typed bytes to `take`, which says how many it took.
    pub fn take_input(&self, take: impl FnOnce(&[u8]) -> usize) {
        let mut state = self.state.lock();
        if !state.input.is_empty() {
            let count = take(state.input.make_contiguous());
            state.input.drain(..count.min(INPUT));
            self.taken.signal();
        }
    }

    /// Bytes were typed. If there is no room, it `waits`, or they are lost: whoever sits at a
    /// terminal may want to leave.
    pub fn type_bytes(&self, bytes: &[u8], waits: bool) {
        let mut state = self.state.lock();
        for byte in bytes {
            while waits && state.input.len() >= INPUT {
                state = self.taken.wait(state);
            }
            if state.input.len() < INPUT {
                state.input.push_back(*byte);
            }
        }
        self.call(&mut state);
    }

    /// The frame goes: nobody writes there any more.
    pub fn forget_frame(&self) {
        self.state.lock().frame = None;
    }

    /// The machine is to end.
    pub fn end(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        self.call(&mut state);
    }
}
