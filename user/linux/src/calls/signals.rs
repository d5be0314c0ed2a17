//! Dispositions of signals, what is pending for the whole process, and the calls about them.
//!
//! States of a signal: not there; pending (for the process, or for one thread); taken by a thread - ignored, its handler entered, or the process's end.
//! How it gets from one to the other is in [`delivery`](crate::process::post_signal).

use crate::abi::errno::{Answer, EAGAIN, EFAULT, EINTR, EINVAL, ENOMEM, EPERM, ERESTART_UNHANDLED, ESRCH, Errno};
use crate::abi::registers::Frame;
use crate::calls::time::clocks;
use crate::operations::signal_frame;
use crate::process::Process;
use crate::process::end::end_by_signal;
use crate::raw::thread_block::Woken;
use crate::state::signals::pending::{Info, LAST, Pending, SI_TKILL, SI_USER, bit};
use nacre_proto::process as manager;
use nacre_sys::Reference;

/// Ends a program without asking it.
pub const SIGKILL: u64 = 9;
/// An access to memory that is not there.
pub const SIGSEGV: u64 = 11;
/// A pipe that nobody reads.
pub const SIGPIPE: u64 = 13;
/// Lets a stopped program go on.
pub const SIGCONT: u64 = 18;
const SIGSTOP: u64 = 19;
/// The signals that stop: `SIGSTOP`, `SIGTSTP`, `SIGTTIN`, `SIGTTOU`.
pub const STOPS: u64 = bit(SIGSTOP) | bit(20) | bit(21) | bit(22);
/// `SIGCHLD`, `SIGCONT`, `SIGURG`, `SIGWINCH`.
const IGNORED: u64 = bit(17) | bit(SIGCONT) | bit(23) | bit(28);
/// What can never be blocked or handled.
pub const ALWAYS: u64 = bit(SIGKILL) | bit(SIGSTOP);
const HANDLER_DEFAULT: u64 = 0;
/// The handler that is none: the signal takes no effect.
pub const HANDLER_IGNORE: u64 = 1;
/// The handler runs on the alternate stack.
pub const SA_ONSTACK: u64 = 0x0800_0000;
/// A call that the signal cut off is made again.
pub const SA_RESTART: u64 = 0x1000_0000;
const SA_NODEFER: u64 = 0x4000_0000;
const SA_RESETHAND: u64 = 0x8000_0000;
/// In the flags of an alternate stack: the thread is on it.
pub const SS_ONSTACK: u64 = 1;
/// There is none.
pub const SS_DISABLE: u64 = 2;
/// It is given up while a handler runs.
pub const SS_AUTODISARM: u64 = 1 << 31;
const SIGCHLD: u64 = 17;
/// `SA_NOCLDSTOP`, `SA_NOCLDWAIT`.
const CHILD_FLAGS: u64 = 3;
const LEAST_ALTERNATE_STACK: u64 = 2048;

/// What the program wants done about a signal: the words of the kernel's `struct sigaction`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// Address of the handler, or default, or ignore.
    pub handler: u64,
    /// The `SA_` flags.
    pub flags: u64,
    /// Where the handler returns to.
    pub restorer: u64,
    /// What is blocked besides while the handler runs.
    pub mask: u64,
}

impl Action {
    /// What is blocked while the handler runs for `signal`.
    pub fn blocked(&self, signal: u64) -> u64 {
        (self.mask | if self.flags & SA_NODEFER == 0 { bit(signal) } else { 0 }) & !ALWAYS
    }
}

/// What becomes of a signal that a thread takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nothing.
    Ignored,
    /// The process ends.
    Ends,
    /// The process stops.
    Stops,
    /// Its handler is entered.
    Handled,
}

/// The process's signals.
pub struct Signals {
    actions: [Action; LAST as usize],
    /// Those that any thread may take.
    pub pending: Pending,
    /// A signal has stopped the process.
    pub is_stopped: bool,
    /// Signals that were blocked since a disposition changed.
    blocked: u64,
    /// Signals that were ignored and blocked: those wait, so the manager must not drop them.
    heard: u64,
}

impl Signals {
    /// Everything default.
    pub const fn new() -> Signals {
        let action = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };
        Signals { actions: [action; LAST as usize], pending: Pending::new(), is_stopped: false, blocked: 0, heard: 0 }
    }

    /// What the program wants done about a signal.
    pub fn action(&self, signal: u64) -> Action {
        self.actions.get(signal as usize - 1).copied().unwrap_or_default()
    }

    /// The same, to change it.
    pub fn set_action(&mut self, signal: u64, action: Action) {
        if let Some(place) = self.actions.get_mut(signal as usize - 1) {
            *place = action;
            self.blocked = 0;
        }
    }

    /// What becomes of it.
    pub fn fate(&self, signal: u64) -> Fate {
        let handler = if bit(signal) & ALWAYS != 0 { HANDLER_DEFAULT } else { self.action(signal).handler };
        match handler {
            HANDLER_IGNORE => Fate::Ignored,
            HANDLER_DEFAULT if bit(signal) & IGNORED != 0 => Fate::Ignored,
            HANDLER_DEFAULT if bit(signal) & STOPS != 0 => Fate::Stops,
            HANDLER_DEFAULT => Fate::Ends,
            _ => Fate::Handled,
        }
    }

    /// A bit for each signal that the program wants to take no effect.
    pub fn ignored(&self) -> u64 {
        (1..=LAST).filter(|signal| self.action(*signal).handler == HANDLER_IGNORE).map(bit).sum()
    }

    /// A bit for each signal that the program handles.
    pub fn handled(&self) -> u64 {
        (1..=LAST).filter(|signal| self.action(*signal).handler > HANDLER_IGNORE).map(bit).sum()
    }

    /// Whether the program handles any signal.
    pub fn has_handlers(&self) -> bool {
        self.actions.iter().any(|action| action.handler > HANDLER_IGNORE)
    }

    /// The handler was entered.
    pub fn was_entered(&mut self, signal: u64) {
        let action = self.action(signal);
        if action.flags & SA_RESETHAND != 0 {
            self.set_action(signal, Action { handler: HANDLER_DEFAULT, ..action });
        }
    }
}

/// A signal's number, of which only 32 bits count.
pub fn checked(signal: u64) -> Result<u64, Errno> {
    let signal = signal & 0xffff_ffff;
    if (1..=LAST).contains(&signal) { Ok(signal) } else { Err(EINVAL) }
}

/// A signal's number, or 0 for a question.
fn checked_or_none(signal: u64) -> Result<u64, Errno> {
    if signal & 0xffff_ffff == 0 { Ok(0) } else { checked(signal) }
}

/// `kill(pid, signal)`.
pub fn kill(process: &mut Process, frame: &mut Frame) -> Answer {
    let [target, signal, ..] = frame.arguments();
    let signal = checked_or_none(signal)?;
    let info = Info::from(signal, SI_USER, process.pid(), 0);
    send(process, target as i32, info)
}

/// Sends a signal to the processes that a number means. Without a manager 0, -1 and the own group are this process alone.
pub fn send(process: &mut Process, target: i32, info: Info) -> Answer {
    let own = process.pid();
    if target > 0 && target as u64 == own {
        return post(process, info);
    }
    if process.is_managed() {
        return send_to_others(process, target as i64 as u64, 0, info);
    }
    if matches!(target, 0 | -1) || u64::from(target.unsigned_abs()) == own {
        return post(process, info);
    }
    process.report(format_args!("kill: process {target}: this needs a process manager: run `process` below the program"));
    Err(ESRCH)
}

/// Sends a signal to the own process; number 0 only asks.
fn post(process: &mut Process, info: Info) -> Answer {
    if info.signal != 0 {
        process.post(info)?;
    }
    Ok(0)
}

/// Sends a signal by the manager. What comes back to the process itself has come when the call ends.
fn send_to_others(process: &mut Process, target: u64, thread: u64, info: Info) -> Answer {
    manager::kill(Reference::PARENT, target, thread, info.signal, info.code as i64 as u64, info.fields[1])?;
    if process.agent.is_some() {
        process.fetch_signals();
    }
    Ok(0)
}

/// Sends a signal to a thread of the process with a number, or (0) of any.
fn send_to_thread(process: &mut Process, group: u64, number: u64, info: Info) -> Answer {
    if (number as i32) <= 0 || (group as i32) < 0 {
        return Err(EINVAL);
    }
    let group = if group == 0 { process.pid() } else { group };
    match process.threads.find(number & 0xffff_ffff).filter(|_| group == process.pid()) {
        Some(index) if info.signal != 0 => process.post_to(index, info).map(|()| 0),
        Some(_) => Ok(0),
        None if process.is_managed() => send_to_others(process, group, number & 0xffff_ffff, info),
        None => Err(ESRCH),
    }
}

/// `tkill(thread, signal)`.
pub fn tkill(process: &mut Process, frame: &mut Frame) -> Answer {
    let [thread, signal, ..] = frame.arguments();
    let info = Info::from(checked_or_none(signal)?, SI_TKILL, process.pid(), 0);
    send_to_thread(process, 0, thread, info)
}

/// `tgkill(process, thread, signal)`.
pub fn tgkill(process: &mut Process, frame: &mut Frame) -> Answer {
    let [group, thread, signal, ..] = frame.arguments();
    let info = Info::from(checked_or_none(signal)?, SI_TKILL, process.pid(), 0);
    if (group as i32) <= 0 { Err(EINVAL) } else { send_to_thread(process, group & 0xffff_ffff, thread, info) }
}

/// A `siginfo` that a program hands over with a signal. To others it may not look as if the system had sent it.
fn info_at(process: &Process, signal: u64, address: u64, to_others: bool) -> Result<Info, Errno> {
    let words: [u64; 6] = process.memory.read_words(address)?;
    let code = words[1] as i32;
    if to_others && (code >= 0 || code == SI_TKILL) {
        return Err(EPERM);
    }
    Ok(Info { signal: checked_or_none(signal)?, code, fields: [words[2], words[3], words[4], words[5]] })
}

/// `rt_sigqueueinfo(process, signal, info)`.
pub fn rt_sigqueueinfo(process: &mut Process, frame: &mut Frame) -> Answer {
    let [target, signal, address, ..] = frame.arguments();
    let own = process.pid();
    let info = info_at(process, signal, address, target as i32 as u64 != own)?;
    send(process, target as i32, info)
}

/// `rt_tgsigqueueinfo(process, thread, signal, info)`.
pub fn rt_tgsigqueueinfo(process: &mut Process, frame: &mut Frame) -> Answer {
    let [group, thread, signal, address, ..] = frame.arguments();
    let own = process.pid();
    let info = info_at(process, signal, address, group as i32 as u64 != own)?;
    if (group as i32) <= 0 { Err(EINVAL) } else { send_to_thread(process, group & 0xffff_ffff, thread, info) }
}

/// Signals of faults: `SIGILL SIGTRAP SIGBUS SIGFPE SIGSEGV`.
const FAULTS: u64 = bit(4) | bit(5) | bit(7) | bit(8) | bit(SIGSEGV);

impl Process {
    /// After a fork or `execve`: signals come as they did before.
    pub fn take_up_signals(&mut self) -> Result<(), Errno> {
        if self.memory.is_lazy() {
            self.need_exceptions()?;
        }
        if !self.attends() && !self.timers.is_armed() {
            return Ok(());
        }
        self.need_agent()?;
        self.look_again();
        let handled = (1..=LAST).any(|signal| FAULTS & bit(signal) != 0 && self.signals.fate(signal) == Fate::Handled);
        if handled { self.need_exceptions() } else { Ok(()) }
    }

    /// A handler needs somebody who hears of what it is for.
    fn prepare_handler(&mut self, signal: u64, handler: u64) {
        if handler == HANDLER_DEFAULT || handler == HANDLER_IGNORE {
            return;
        }
        let prepared = match FAULTS & bit(signal) {
            0 if self.is_managed() => self.need_agent().map(drop),
            0 => Ok(()),
            _ => self.need_exceptions(),
        };
        if prepared.is_err() {
            self.report(format_args!("sigaction: a handler for faults: the parent does not hand over exceptions"));
        }
    }

    /// Lets the manager send ignored signals that a thread blocks from now on, because they wait while they are blocked.
    pub fn hear_blocked(&mut self, mask: u64) {
        if mask & !self.signals.blocked == 0 {
            return;
        }
        self.signals.blocked |= mask;
        let fresh = self.signals.ignored() & mask & !self.signals.heard;
        if fresh != 0 {
            self.signals.heard |= fresh;
            self.tell_dispositions();
        }
    }

    /// Tells the manager what the process does not want to hear of.
    fn tell_dispositions(&mut self) {
        if self.is_managed() {
            let ignored = self.signals.ignored() & !self.signals.heard;
            // Signals that come all the same are dropped here.
            let _ = manager::dispositions(Reference::PARENT, ignored, self.signals.action(SIGCHLD).flags & CHILD_FLAGS);
        }
    }
}

fn mask_size(size: u64) -> Result<(), Errno> {
    if size == 8 { Ok(()) } else { Err(EINVAL) }
}

/// `rt_sigaction(signal, new, old, size)`.
pub fn rt_sigaction(process: &mut Process, frame: &mut Frame) -> Answer {
    let [signal, new, old, size, ..] = frame.arguments();
    let signal = checked(signal)?;
    mask_size(size)?;
    if new != 0 && ALWAYS & bit(signal) != 0 {
        return Err(EINVAL);
    }
    let before = process.signals.action(signal);
    let wanted = if new == 0 { None } else { Some(process.memory.read_words::<4>(new)?) };
    if old != 0 {
        process.memory.write_words(old, &[before.handler, before.flags, before.restorer, before.mask])?;
    }
    if let Some([handler, flags, restorer, mask]) = wanted {
        process.prepare_handler(signal, handler);
        process.signals.set_action(signal, Action { handler, flags, restorer, mask: mask & !ALWAYS });
        let blocked = process.me().mask;
        process.hear_blocked(blocked);
        if handler == HANDLER_IGNORE || before.handler == HANDLER_IGNORE || signal == SIGCHLD && (flags ^ before.flags) & CHILD_FLAGS != 0 {
            process.tell_dispositions();
        }
        if process.signals.fate(signal) == Fate::Ignored {
            process.forget(bit(signal));
        }
    }
    Ok(0)
}

/// `rt_sigprocmask(how, new, old, size)`.
pub fn rt_sigprocmask(process: &mut Process, frame: &mut Frame) -> Answer {
    let [how, new, old, size, ..] = frame.arguments();
    mask_size(size)?;
    let before = process.me().mask;
    let wanted = if new == 0 { None } else { Some(process.memory.read_words::<1>(new)?[0]) };
    if let Some(mask) = wanted {
        let after = match how as u32 {
            0 => before | mask,
            1 => before & !mask,
            2 => mask,
            _ => return Err(EINVAL),
        };
        process.set_mask(after);
    }
    if old != 0 {
        process.memory.write_words(old, &[before])?;
    }
    Ok(0)
}

/// `rt_sigpending(set, size)`.
pub fn rt_sigpending(process: &mut Process, frame: &mut Frame) -> Answer {
    let [set, size, ..] = frame.arguments();
    if size > 8 {
        return Err(EINVAL);
    }
    let shared = process.signals.pending.set();
    let thread = process.me();
    let found = (shared | thread.pending.set()) & thread.mask;
    process.memory.write_bytes(set, &found.to_le_bytes()[..size as usize])?;
    Ok(0)
}

/// `rt_sigreturn()`: goes on where a handler's frame says.
pub fn rt_sigreturn(process: &mut Process, frame: &mut Frame) -> Answer {
    let Ok(mask) = signal_frame::pop(process, frame) else { end_by_signal(process, SIGSEGV) };
    let thread = process.me();
    thread.mask = mask & !ALWAYS;
    thread.block.whole.store(1, core::sync::atomic::Ordering::Relaxed);
    // The way out is the one that restores all registers.
    thread.block.set_attention(true);
    Ok(frame.rax)
}

impl Process {
    /// Another mask until the call ends; a handler that the call is interrupted for runs with it, and returns to the mask before.
    pub fn mask_for_call(&mut self, mask: u64) {
        let thread = self.me();
        thread.saved_mask = Some(thread.mask);
        thread.mask = mask & !ALWAYS;
        self.look_again();
    }

    /// The end of such a call, if no signal interrupted it.
    pub fn unmask_after_call(&mut self) {
        if !self.is_interrupted()
            && let Some(mask) = self.me().saved_mask.take()
        {
            self.set_mask(mask);
        }
    }

    /// Waits for a signal that has a handler, or ends the process.
    fn wait_for_signal(&mut self) -> Errno {
        while !self.is_interrupted() {
            self.sleep(nacre_sys::FOREVER);
        }
        ERESTART_UNHANDLED
    }
}

/// `rt_sigsuspend(mask, size)`: waits for a signal that is let through.
pub fn rt_sigsuspend(process: &mut Process, frame: &mut Frame) -> Answer {
    let [mask, size, ..] = frame.arguments();
    mask_size(size)?;
    let [mask] = process.memory.read_words(mask)?;
    process.mask_for_call(mask);
    Err(process.wait_for_signal())
}

/// `pause()`.
pub fn pause(process: &mut Process, _: &mut Frame) -> Answer {
    Err(process.wait_for_signal())
}

/// `rt_sigtimedwait(set, info, timeout, size)`: takes a signal of the set, which is there or comes.
pub fn rt_sigtimedwait(process: &mut Process, frame: &mut Frame) -> Answer {
    let [set, info_address, timeout, size, ..] = frame.arguments();
    mask_size(size)?;
    let wanted = process.memory.read_words::<1>(set)?[0] & !ALWAYS;
    let limit = if timeout == 0 { None } else { Some(clocks::duration(&process.memory, timeout)?) };
    process.me().waits_for = wanted;
    let result = wait_for(process, wanted, limit);
    process.me().waits_for = 0;
    process.look_again();
    let info = result?;
    if info_address != 0 {
        process.memory.write_words(info_address, &info.words())?;
    }
    Ok(info.signal)
}

fn wait_for(process: &mut Process, wanted: u64, limit: Option<u64>) -> Result<Info, Errno> {
    let mut late = limit == Some(0);
    loop {
        let own = process.me().pending.take(wanted);
        if let Some(info) = own.or_else(|| process.signals.pending.take(wanted)) {
            return Ok(info);
        }
        if late {
            return Err(EAGAIN);
        }
        if process.is_interrupted() {
            return Err(EINTR);
        }
        late = process.sleep(limit.unwrap_or(nacre_sys::FOREVER)) == Woken::Late;
    }
}

/// `sigaltstack(new, old)`.
pub fn sigaltstack(process: &mut Process, frame: &mut Frame) -> Answer {
    let [new, old, ..] = frame.arguments();
    let wanted = if new == 0 { None } else { Some(process.memory.read_words::<3>(new)?) };
    let thread = process.me();
    let inside = signal_frame::on_alternate(thread, frame.stack);
    let before = signal_frame::alternate_words(thread, frame.stack);
    if let Some([start, flags, size]) = wanted {
        let flags = flags & 0xffff_ffff;
        if inside {
            return Err(EPERM);
        }
        if !matches!(flags & !SS_AUTODISARM, 0 | SS_ONSTACK | SS_DISABLE) {
            return Err(EINVAL);
        }
        let disable = flags & SS_DISABLE != 0;
        if !disable && size < LEAST_ALTERNATE_STACK {
            return Err(ENOMEM);
        }
        start.checked_add(size).ok_or(EFAULT)?;
        thread.alternate = if disable { [0, 0] } else { [start, size] };
        thread.alternate_flags = flags & SS_AUTODISARM;
    }
    if old != 0 {
        process.memory.write_words(old, &before)?;
    }
    Ok(0)
}
