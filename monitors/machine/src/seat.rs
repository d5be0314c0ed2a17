//! The place of one processor: how its thread is called out of its guest, or woken from a halt.
//! Whoever wants the guest to be left sets `PENDING` in the frame, and if the processor's thread is
//! in the guest, stops it and starts it again: it then makes its call again, and finds the word.

use core::sync::atomic::{AtomicBool, Ordering, fence};
use nacre_abi::frame::word;
use nacre_sys::lock::{Condition, Lock};
use nacre_sys::{Frame, Thread};

struct State {
    /// The processor's frame and thread, once there are any.
    occupant: Option<(Frame, Thread)>,
    /// Something has happened since the processor's thread last looked.
    is_called: bool,
}

/// The place of one processor.
pub struct Seat {
    state: Lock<State>,
    /// The processor's thread waits here while its guest halts.
    called: Condition,
    /// The processor's thread is in its guest, or about to be.
    is_inside: AtomicBool,
}

impl Seat {
    /// A seat that nobody has taken.
    pub const fn new() -> Seat {
        Seat { state: Lock::new(State { occupant: None, is_called: false }), called: Condition::new(), is_inside: AtomicBool::new(false) }
    }

    /// The processor whose frame this is runs on this thread from now on.
    pub fn take(&self, frame: Frame, thread: Thread) {
        self.state.lock().occupant = Some((frame, thread));
    }

    /// The frame goes: nobody writes there any more.
    pub fn leave(&self) {
        self.state.lock().occupant = None;
    }

    /// Makes the processor's thread look.
    pub fn call(&self) {
        let mut state = self.state.lock();
        state.is_called = true;
        self.called.signal();
        let Some((frame, thread)) = &state.occupant else { return };
        frame.set(word::PENDING, 1);
        // Either the thread finds the word, or this finds it inside.
        fence(Ordering::SeqCst);
        if self.is_inside.load(Ordering::SeqCst) {
            // A thread that cannot be stopped is not in the guest any more.
            let _ = thread.stop().and_then(|()| thread.start());
        }
    }

    /// The processor's thread is about to look at everything.
    pub fn look(&self) {
        let mut state = self.state.lock();
        state.is_called = false;
        if let Some((frame, _)) = &state.occupant {
            frame.set(word::PENDING, 0);
        }
    }

    /// Enters the guest by `enter`, which ends when somebody calls.
    pub fn inside<T>(&self, enter: impl FnOnce() -> T) -> T {
        self.is_inside.store(true, Ordering::SeqCst);
        let result = enter();
        self.is_inside.store(false, Ordering::SeqCst);
        result
    }

    /// Waits until somebody calls, or for so many nanoseconds. It can end earlier.
    pub fn wait(&self, timeout: u64) {
        let state = self.state.lock();
        if !state.is_called {
            drop(self.called.wait_for(state, timeout));
        }
    }
}
