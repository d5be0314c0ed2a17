//! Waits of the caller, and the ends of others'.

use crate::abi::errno::{ESRCH, Errno};
use crate::process::{Process, lock};
use crate::raw::thread_block::Woken;
use crate::state::threads::thread::Thread;

pub const GETPID: usize = 39;
pub const GETPPID: usize = 110;

impl Process {
    /// The thread whose call this is.
    #[inline]
    pub fn me(&mut self) -> &mut Thread {
        self.thread_at(self.caller)
    }

    /// The thread at a place, or the first one.
    pub fn thread_at(&mut self, index: usize) -> &mut Thread {
        // Whoever makes a call is in the table; the first place is never empty while the process
        // lives.
        let index = if self.threads.get(index).is_some() { index } else { 0 };
        self.threads.get_mut(index).unwrap_or_else(|| unreachable!("a process without its first thread"))
    }

    /// Gives the library's lock up while `wait` runs.
    pub fn unlocked<R>(&mut self, wait: impl FnOnce() -> R) -> R {
        lock::unlocked(self, wait)
    }

    /// Waits at the thread's block, without the lock, until somebody wakes it or `timeout`
    /// nanoseconds have passed (0: for ever). Returns at once if there is a signal to look at;
    /// whoever calls this looks with [`Process::is_interrupted`].
    pub fn sleep(&mut self, timeout: u64) -> Woken {
        let seen = self.me().block.seen();
        self.sleep_since(seen, timeout)
    }

    /// Sleeps as [`Process::sleep`] does, but not if somebody has woken the thread since `seen`,
    /// which was [`Block::seen`](crate::raw::thread_block::Block::seen) then. Who gives the lock up
    /// between a look at what it waits for and the sleep needs that.
    pub fn sleep_since(&mut self, seen: u32, timeout: u64) -> Woken {
        let block = self.me().block;
        if block.has_attention() {
            return Woken::Called;
        }
        self.me().sleeping = true;
        let woken = self.unlocked(|| block.wait(seen, timeout));
        self.me().sleeping = false;
        woken
    }

    /// Returns true if the caller's wait must end for a signal, or because the process is to stop.
    pub fn is_interrupted(&mut self) -> bool {
        if !self.me().block.has_attention() {
            return false;
        }
        // It may have been for something that is there no more.
        self.look_again();
        self.me().block.has_attention()
    }

    /// Makes all threads answer `getpid` and `getppid` with these numbers, without the lock.
    /// Without a parent's number they ask the manager each time.
    pub fn set_quick_numbers(&mut self, own: u64, parent: Option<u64>) {
        for (_, thread) in self.threads.all() {
            thread.block.set_quick(GETPID, own);
            thread.block.set_quick(GETPPID, parent.unwrap_or(u64::MAX));
        }
    }

    /// Makes all threads answer `getppid` with the word at this address, for ever, without the
    /// lock.
    pub fn set_quick_parent(&mut self, address: u64) {
        for (_, thread) in self.threads.all() {
            thread.block.set_quick_from(GETPPID, address);
        }
    }

    /// Stops all threads but the caller, for ever: the process ends, or becomes another program.
    pub fn halt_others(&mut self) -> NoReturn {
        let caller = self.caller;
        for (_, thread) in self.threads.all().filter(|(index, _)| *index != caller) {
            // One that cannot be stopped has ended already.
            let _ = thread.kernel.stop();
        }
        NoReturn(())
    }

    /// Returns the index of the thread that a call names; 0 is the caller.
    pub fn thread_named(&self, number: u64) -> Result<usize, Errno> {
        if number as i32 == 0 { Ok(self.caller) } else { self.threads.find(number & 0xffff_ffff).ok_or(ESRCH) }
    }

    /// Updates the flag that makes the caller look for work on its way out.
    pub fn look_again(&mut self) {
        let shared = self.signals.pending.set();
        let stopped = self.signals.is_stopped;
        let thread = self.me();
        let open = (shared | thread.pending.set()) & !thread.mask != 0;
        thread.block.set_attention(open || stopped);
    }

    /// Something has changed in a file of the process: whoever waits for that looks again.
    pub fn pipe_changed(&mut self) {
        self.threads.all().filter(|(_, thread)| thread.awaits_pipe).for_each(|(_, thread)| thread.block.wake());
    }
}

/// Witness that no thread of the program runs any more, and that it never goes on. What destroys
/// parts of the program asks for it, so nothing is destroyed that could still be needed.
pub struct NoReturn(());

/// Waits.
pub fn sleep(nanoseconds: u64) {
    if nanoseconds != 0 {
        // The only error is that somebody interrupted the wait, which ends it as well.
        let _ = nacre_sys::Thread::sleep(nanoseconds);
    }
}

/// Waits for what cannot happen, as Linux would.
pub fn wait_for_ever() -> ! {
    loop {
        sleep(u64::MAX);
    }
}
