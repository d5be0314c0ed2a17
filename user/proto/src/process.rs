//! Protocol 7, `process`: what a process asks of its manager. Numbers and errors are Linux's; statuses are those of `parent.exit`.

crate::protocol! {
    /// What a process asks of its manager, at the port that is also its parent. Every process has a port of its own.
    process = 7;

    /// The process has started: who it is, and the port that is notified when something is to be fetched (see `signal_take`) or has changed.
    1 attach(; references agent) -> (pid: Number, parent: Number, group: Number, session: Number);
    /// Numbers as they are now.
    2 numbers(pid: Number) -> (pid: Number, parent: Number, group: Number, session: Number);
    /// A child that does not run yet, and the port that it gets as its parent. `EAGAIN`: as many processes as are allowed.
    3 create(exit_signal: Number) -> (pid: Number; references port);
    /// At the child's port: all of it lives in this segment, which is destroyed to end it; it starts with this thread.
    4 begin(; references segment, thread) -> ();
    /// The caller becomes another program: what it lived in goes, and this takes its place. There is no answer, but an error.
    5 replace(; references segment, thread) -> ();
    /// Waits until a child has changed: `which` is Linux's pid argument of `wait4`, `options` those of `waitid`. Pid 0: none has (`WNOHANG`). `ECHILD`: there is none.
    6 wait(which: Signed, options: Hex) -> (pid: Number, status: Status, group: Number, user_time: Number, system_time: Number);
    /// Sends a signal: to a process, a group (negative), the own group (0) or all (-1); to one thread if that is not 0. Signal 0 only looks.
    7 kill(target: Signed, thread: Number, signal: Number, code: Signed, value: Hex) -> ();
    /// The next signal that has come, 0 if none has.
    8 signal_take() -> (signal: Number, code: Signed, sender: Number, user: Number, value: Hex, thread: Number);
    /// Moves a process to a group.
    9 group_set(pid: Number, group: Number) -> ();
    /// A session of its own.
    10 session_create() -> (session: Number);
    /// A number for a further thread. `EAGAIN`: as many threads as are allowed.
    11 thread_create() -> (thread: Number);
    /// The thread has ended.
    12 thread_end(thread: Number) -> ();
    /// The process has stopped by this signal, or (0) goes on.
    13 stopped(signal: Number) -> ();
    /// The group in the foreground of the session's terminal. `ENOTTY`: the session has none.
    14 foreground() -> (group: Number);
    /// Brings a group to the foreground.
    15 foreground_set(group: Number) -> ();
    /// This terminal becomes the session's, whose leader asks.
    16 terminal_acquire(force: Number; references terminal) -> ();
    /// The session's terminal. `ENXIO`: it has none.
    17 terminal() -> (; references terminal);
}
