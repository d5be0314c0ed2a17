//! Protocol 7, `process`: what a process asks of its manager. Numbers, errors and rules are
//! Linux's.

use crate::flags::{BEGIN_FLAGS, CHILD_FLAGS, QUESTIONS, SIGNAL_CODES, WAIT_OPTIONS};

crate::protocol! {
    /// Requests of a process to its manager, at the port that is also its parent. Every process has
    /// a port of its own, which tells the manager who calls. Numbers, errors and rules are Linux's.
    /// The manager carries out the default effect of a signal if the process has no agent and does
    /// not ignore the signal. An agent fetches the signals of its process and handles them itself.
    /// The manager carries out `SIGKILL` by destroying the environment.
    process = 7;

    /// Attaches an agent: signals wait until it fetches them, and the manager notifies `bits` at
    /// `agent` when there are some. Signals that wait already are notified at once. A second agent
    /// replaces the first.
    1 attach(bits: Hex; references agent: Kept(Port)) -> ();
    /// Returns the numbers of a process; `pid` 0 is the caller. `world` is the same for all
    /// processes of one manager, and another one for those of each other manager of the machine.
    /// `ESRCH`: no process has this number.
    2 numbers(pid: Number) -> (pid: Number, parent: Number, group: Number, session: Number, world: Hex);
    /// A child that does not live anywhere yet, and the port that it gets as its parent. It has the
    /// caller's group, session and identity; when it ends the caller gets the signal `exit_signal`,
    /// if that is not 0. Until it begins it is a reservation of the caller, and no other process
    /// sees it. It is over, and nobody is told, when it is abandoned, when the last reference to
    /// the port goes, and when the caller ends or becomes another program. `EAGAIN`: as many
    /// processes as are allowed, 64 reservations, or the caller's domain has as many processes as
    /// are still free. `EINVAL`: the caller has not begun itself.
    3 create(exit_signal: Number) -> (pid: Number; references port: Own(Process));
    /// Returns memory for a new environment, filled with zeros, in which the caller makes space,
    /// threads and first objects. The manager destroys this memory to end the process. An
    /// environment that was prepared before and has not begun is destroyed. Port: that of the
    /// process concerned, which need not have begun. `ENOMEM`: there is not so much memory.
    4 prepare(size: Number) -> (size: Number; references region: Region(ANY_RIGHTS));
    /// Moves the process into the environment that was prepared last, with this space, and starts
    /// this stopped thread. The manager destroys the old environment, if there is one, and does not
    /// answer the call, because the process has become another program. The space's keeper is the
    /// process's port. `ignored`: one bit for each signal, 1 for the first, that takes no effect.
    /// `visited`: entry point of the threads that the manager makes there to ask for visits, or 0
    /// for none. Port: that of the process concerned. `EINVAL`: nothing was prepared.
    5 begin(flags: Flags(BEGIN_FLAGS), ignored: Hex, visited: Hex; references space: Space, thread: Thread) -> ();
    /// Gives the process up. Its maker gets no signal and cannot wait for it. Port: that of a
    /// process that has not begun. `EINVAL`: it has begun.
    6 abandon() -> ();
    /// Waits until a child has changed. `which`: a process, -1 any, 0 one of the own group, a
    /// negative number one of that group. `status` is as that of Linux's `wait4`; pid 0: none has
    /// changed, and `WNOHANG` was set. Times are in microseconds. `ECHILD`: there is no such child.
    /// `EINVAL`: no options of it.
    7 wait(which: Signed, options: Flags(WAIT_OPTIONS)) -> (pid: Number, status: Hex, user: Number, user_time: Number, system_time: Number);
    /// Sends a signal: to a process, a group (negative), the own group (0) or all (-1); if `thread`
    /// is not 0 to that thread of the process, which may then be 0. Signal 0 only looks. Code 0 is
    /// that of `kill`; with another one the signal carries the value. `ESRCH`: there is nobody.
    /// `EPERM`: nobody to whom the caller may send it. `EINVAL`: no signal. `EAGAIN`: too many are
    /// waiting.
    8 kill(target: Signed, thread: Number, signal: Number, code: Choice(SIGNAL_CODES), value: Hex) -> ();
    /// The oldest signal that has come, 0 if none has; for which thread, or 0. The value of
    /// `SIGCHLD` from the manager is the child's `si_status`.
    9 signal_take() -> (signal: Number, code: Choice(SIGNAL_CODES), sender: Number, user: Number, value: Hex, thread: Number);
    /// Sets which signals the process ignores, and what it wants to know of its children. The
    /// manager drops ignored signals. A new child inherits both.
    10 dispositions(ignored: Hex, flags: Flags(CHILD_FLAGS)) -> ();
    /// Moves a process, itself (0) or a child, to a group. `EACCES`: the child runs another program
    /// by now. `EPERM`: a leader of a session, or another session's group. `ESRCH`: no child.
    11 group_set(pid: Number, group: Number) -> ();
    /// The caller becomes leader of a session and group of its own, without a terminal. `EPERM`: it
    /// leads a group.
    12 session_create() -> (session: Number);
    /// A number for a further thread. `EAGAIN`: as many threads as are allowed, or the process has
    /// as many further ones as are still free.
    13 thread_create() -> (thread: Number);
    /// The thread has ended. `ESRCH`: the process has none with this number.
    14 thread_end(thread: Number) -> ();
    /// The process is stopped by this signal now, or (0) goes on. `EIO`: its group is orphaned, so
    /// `SIGTSTP`, `SIGTTIN` and `SIGTTOU` do not stop it.
    15 stopped(signal: Number) -> ();
    /// The group in the foreground of the session's terminal. `ENOTTY`: it has none.
    16 foreground() -> (group: Number);
    /// Brings a group of the session to the foreground. `ENOTTY`: the session has no terminal.
    /// `EPERM`: the group is of another session. `ESRCH`: there is no such group.
    17 foreground_set(group: Number) -> ();
    /// The terminal that is this device becomes the session's. The caller hands the port that it
    /// gets to `terminal.attend`. `EPERM`: the caller does not lead the session, that has a
    /// terminal, or another session has this one and `steals` is 0.
    18 terminal_acquire(device: Number, steals: Number) -> (; references port: Own(Port));
    /// The device that the session's terminal is. `ENXIO`: it has none.
    19 terminal() -> (device: Number);
    /// User, effective and saved user of the process, by which others may send it signals, and its
    /// real group. Questions to other processes carry its user and group. A new child has the same.
    20 identity(user: Number, effective: Number, saved: Number, group: Number) -> ();
    /// Maximum number of processes and threads of the user, and of signals that may wait for the
    /// process. A new child has the same.
    21 limits(processes: Number, signals: Number) -> ();
    /// The signal that the process gets when its parent ends (0: none), and whether orphans below
    /// it become its children.
    22 family(death_signal: Number, reaper: Number) -> ();
    /// Makes the process and all its later children a domain. Its members list, look at, signal,
    /// ask and wait for members alone, and move no group of others to the foreground. A parent
    /// outside has number 0 to them. Processes outside see members as before. Domains nest. Port:
    /// the port of the process concerned. `EAGAIN`: 16 deep.
    35 domain() -> ();
    /// Limits how many processes and further threads there are at once of the process and all that
    /// it makes from now on, those that have ended and were not waited for included. Who has as
    /// many makes no more (`EAGAIN`). Bounds nest. Port: the port of the process concerned.
    /// `EINVAL`: 0. `EAGAIN`: 16 deep.
    36 bound(most: Number) -> ();
    /// Sets the name of the process. The words of its command may follow behind a zero, each with a
    /// final zero; the manager keeps their first 1,024 bytes.
    23 name_set(; bytes name: Text) -> ();
    /// The process with the smallest number of at least this one: what is known of it. `state` is
    /// Linux's letter. `ESRCH`: there are no more.
    24 list(pid: Number) -> (pid: Number, parent: Number, group: Number, session: Number, state: Number, threads: Number; bytes name: Text);
    /// Sets a file that the process gets from `parent.stream`, even after it has become another
    /// program. Meant for programs that keep no descriptors themselves. `EINVAL`: a number above 2.
    25 stream_set(number: Number; references file: Kept(Stream)) -> ();
    /// Sets the pool that the process, and those that it makes later, find as `SERVICE_MEMORY`.
    /// Meant for monitors that give memory. Port: that of the process concerned. A pool that has
    /// gone is as none.
    63 memory_set(; references pool: Kept(Pool)) -> ();
    /// A region to be read: a word for each number, with the number of its process's parent. It is
    /// kept up to date, so that asking who the parent is takes no message. `EPERM`: the caller is
    /// in a domain.
    26 parents() -> (size: Number; references region: Region(READABLE));
    /// The caller is another program from now on, in the environment that it lives in: what `begin`
    /// does with `BEGIN_PROGRAM`. An agent that it has stays. `ignored`: a bit for each signal, 1
    /// for the first, that takes no effect. `name`: as that of `name_set`.
    27 renew(ignored: Hex; bytes name: Text) -> ();

    /// More of what is known of a process, for those who look at it: its user and effective user,
    /// the group in the foreground of its session's terminal (0: it has none), which signals it
    /// ignores, 20 less its nice value, nanoseconds that it has had of processors, and the words of
    /// its command, each with a final zero. `ESRCH`: there is none with this number.
    30 look(pid: Number) -> (user: Number, effective: Number, foreground: Number, ignored: Hex, priority: Number, time: Number; bytes command: Text);
    /// The highest priority, 20 less the nice value, among a process (`which` 0), the members of a
    /// group (1), or the processes of a user (2). 0 means the caller's. `ESRCH`: there is nobody.
    /// `EINVAL`: no such kind.
    31 priority(which: Number, who: Number) -> (value: Number);
    /// Sets it for all of them. `EPERM`: not all are the caller's user's. `EACCES`: more than it
    /// was, and the caller is not the superuser.
    32 priority_set(which: Number, who: Number, value: Number) -> ();
    /// Asks whether the caller may use its terminal, which is this device. 0: it may, because the
    /// terminal is not its session's, or its group is in the foreground. 1: it may not; the manager
    /// sends `signal`, `SIGTTIN` or `SIGTTOU`, to the rest of its group, and the caller is to take
    /// it itself. Signal 0 only looks. `EIO`: the group is orphaned.
    40 terminal_check(device: Number, signal: Number) -> (stops: Number);
    /// The session that the terminal belongs to, and the group in its foreground; 0: none.
    /// `is_own`: it is the caller's.
    41 terminal_owner(device: Number) -> (session: Number, group: Number, is_own: Number);
    /// The session gives up its terminal, whose foreground gets `SIGHUP` and `SIGCONT`; who does
    /// not lead the session cannot. `ENOTTY`: it has none.
    42 terminal_leave() -> ();

    /// Returns the host name, whose size is `host`, and behind it the domain name. Each manager has
    /// names of its own, which are at first those of the world around it.
    60 system_names() -> (host: Number; bytes names: Text);
    /// Gives the host (0) or its domain (1) another name. `EINVAL`: it has more than 64 bytes, or
    /// it is none of both. `EPERM`: the caller is in a domain.
    61 system_name_set(which: Number; bytes name: Text) -> ();
    /// Limits the number of processors that it and its children are told of. Port: that of the
    /// process concerned. `EINVAL`: 0.
    62 processors_limit(count: Number) -> ();
    /// Waits until a child has become another program, or has ended: for a maker whose memory it
    /// uses meanwhile. `ESRCH`: there is none with this number.
    33 released(pid: Number) -> ();
    /// Asks the library of another process, or of the one that has a thread with this number, and
    /// waits for its answer. The library judges by the caller's user and group, as Linux does; the
    /// manager tells it both. Only the superuser's question is privileged. `ESRCH`: there is none.
    /// `EPERM`: it may not be asked, or has no library that answers. `EAGAIN`: too many ask it.
    50 ask(pid: Number, question: Flags(QUESTIONS), first: Hex, second: Hex, third: Hex; bytes data: Data) -> (first: Hex, second: Hex; bytes found: Data);
    /// `ask` for what is answered with a reference.
    51 ask_file(pid: Number, question: Flags(QUESTIONS), first: Hex, second: Hex, third: Hex) -> (first: Hex, second: Hex; references file: Found(Any));
    /// Waits until a process asks this one something, and is what was asked. `owner`: the user of
    /// the process that asks, and above 32 bits its group. One thread at a time does that, which
    /// the manager has made.
    52 visit() -> (question: Flags(QUESTIONS), first: Hex, second: Hex, third: Hex, owner: Hex; bytes data: Data);
    /// Answers what the last visit was about, with an error or (0) these words and up to 4,096
    /// bytes. Who visits again without an answer has refused it.
    53 answer(error: Number, first: Hex, second: Hex; bytes data: Data) -> ();
    /// Answers as `answer` does, with a reference.
    54 answer_file(first: Hex, second: Hex; references file: Kept(Any)) -> ();
    /// The space and the first thread of a process, for the tracer that the manager has started
    /// itself, and for nobody else (`EPERM`). `ESRCH`: it has none.
    64 reach(pid: Number) -> (; references space: Space, thread: Thread);
    /// Nanoseconds of processors that the first threads of the programs have had that the process
    /// was before, and the processes that it has waited for, with those that they have waited for.
    /// `all`: those of all processes that the manager has had.
    34 times() -> (before: Number, children: Number, all: Number);
}
