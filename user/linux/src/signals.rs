//! Signals: dispositions, masks, and what is pending. Kept here whole; nobody else can send one yet, so a signal comes only from the program itself.
//!
//! States of a signal: not there; pending (sent, blocked by the mask); delivered - ignored, ended the program, or its handler was entered.

use crate::entry::Frame;
use crate::errno::{Answer, EAGAIN, EFAULT, EINVAL, ENOMEM, EPERM, ESRCH, Errno};
use crate::life::{PID, end_by_signal};
use crate::process::Process;
use crate::signal_frame::{self, Context};

/// Number of the last signal.
pub const LAST: u64 = 64;
/// Ends a program without asking it.
pub const SIGKILL: u64 = 9;
/// A pipe that nobody reads.
pub const SIGPIPE: u64 = 13;
const SIGSTOP: u64 = 19;
/// `SIGCHLD`, `SIGCONT`, `SIGURG`, `SIGWINCH`, and the four that stop: nobody could let the program go on.
const IGNORED: [u64; 8] = [17, 18, 23, 28, SIGSTOP, 20, 21, 22];

const HANDLER_DEFAULT: u64 = 0;
const HANDLER_IGNORE: u64 = 1;
const SA_ONSTACK: u64 = 0x0800_0000;
const SA_NODEFER: u64 = 0x4000_0000;
const SA_RESETHAND: u64 = 0x8000_0000;
const SS_ONSTACK: u64 = 1;
const SS_DISABLE: u64 = 2;
const LEAST_ALTERNATE_STACK: u64 = 2048;

/// What the program wants done about a signal: the words of the kernel's `struct sigaction`.
#[derive(Clone, Copy, Debug, Default)]
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

/// The process's signals.
pub struct Signals {
    actions: [Action; LAST as usize],
    mask: u64,
    pending: u64,
    alternate_start: u64,
    alternate_size: u64,
}

const fn bit(signal: u64) -> u64 {
    1 << (signal - 1)
}

/// What can never be blocked or handled.
const ALWAYS: u64 = bit(SIGKILL) | bit(SIGSTOP);

impl Signals {
    /// Nothing blocked, everything default.
    pub const fn new() -> Signals {
        Signals {
            actions: [Action { handler: 0, flags: 0, restorer: 0, mask: 0 }; LAST as usize],
            mask: 0,
            pending: 0,
            alternate_start: 0,
            alternate_size: 0,
        }
    }

    /// Marks a signal as sent, unless it is ignored.
    pub fn send(&mut self, signal: u64) {
        if self.actions[signal as usize - 1].handler != HANDLER_IGNORE || ALWAYS & bit(signal) != 0 {
            self.pending |= bit(signal);
        }
    }

    /// The mask, and a new one for it.
    pub fn swap_mask(&mut self, mask: u64) -> u64 {
        core::mem::replace(&mut self.mask, mask & !ALWAYS)
    }

    /// Takes the lowest signal that is pending and not blocked.
    fn take(&mut self) -> Option<u64> {
        let ready = self.pending & !self.mask;
        let signal = u64::from(ready.trailing_zeros()) + 1;
        (ready != 0).then(|| {
            self.pending &= !bit(signal);
            signal
        })
    }

    fn on_alternate(&self, stack: u64) -> bool {
        self.alternate_size != 0 && stack.wrapping_sub(self.alternate_start) <= self.alternate_size
    }

    /// Where a handler's frame goes: the alternate stack if it is asked for and not in use, else below the red zone.
    fn handler_stack(&self, action: &Action, stack: u64) -> u64 {
        if action.flags & SA_ONSTACK != 0 && self.alternate_size != 0 && !self.on_alternate(stack) {
            return self.alternate_start + self.alternate_size;
        }
        stack.wrapping_sub(signal_frame::RED_ZONE)
    }
}

/// Delivers what is pending: enters handlers one over the other, or ends the program. `result` is what the interrupted call gives.
pub fn deliver(process: &mut Process, frame: &mut Frame, result: u64) -> Answer {
    let mut result = result;
    while let Some(signal) = process.signals.take() {
        let action = process.signals.actions[signal as usize - 1];
        match action.handler {
            HANDLER_IGNORE => {}
            HANDLER_DEFAULT if IGNORED.contains(&signal) => {}
            HANDLER_DEFAULT => end_by_signal(process, signal),
            _ => {
                enter_handler(process, frame, signal, &action, result);
                result = 0;
            }
        }
    }
    Ok(result)
}

/// Lets the program go on in its handler. A stack that cannot take the frame ends the program, as on Linux.
fn enter_handler(process: &mut Process, frame: &mut Frame, signal: u64, action: &Action, result: u64) {
    let signals = &mut process.signals;
    let context = Context {
        result,
        mask: signals.mask,
        alternate: [signals.alternate_start, if signals.alternate_size == 0 { SS_DISABLE } else { 0 }, signals.alternate_size],
    };
    let stack = signals.handler_stack(action, frame.stack);
    let Ok(()) = signal_frame::push(&process.memory, frame, stack, signal, action, &context) else { end_by_signal(process, 11) };
    signals.mask |= action.mask & !ALWAYS;
    if action.flags & SA_NODEFER == 0 {
        signals.mask |= bit(signal);
    }
    if action.flags & SA_RESETHAND != 0 {
        signals.actions[signal as usize - 1].handler = HANDLER_DEFAULT;
    }
}

/// Sends a signal to the program, as if it had done so itself, and delivers it.
pub fn raise(process: &mut Process, frame: &mut Frame, signal: u64, result: u64) -> Answer {
    process.signals.send(signal);
    deliver(process, frame, result)
}

fn checked(signal: u64) -> Result<u64, Errno> {
    if (1..=LAST).contains(&signal) { Ok(signal) } else { Err(EINVAL) }
}

/// Sends `signal` if `mine` says that the target is this process; 0 only asks whether it exists.
fn send_to(process: &mut Process, frame: &mut Frame, mine: bool, target: u64, signal: u64) -> Answer {
    let signal = signal & 0xffff_ffff;
    if signal > LAST {
        return Err(EINVAL);
    }
    if !mine {
        process.report(format_args!("kill: process {}: this needs a process manager: run `process` below the program", target as i32));
        return Err(ESRCH);
    }
    if signal == 0 { Ok(0) } else { raise(process, frame, signal, 0) }
}

/// `kill(pid, signal)`: 0, -1 and the own group are this process alone.
pub fn kill(process: &mut Process, frame: &mut Frame) -> Answer {
    let [target, signal, ..] = frame.arguments();
    let mine = matches!(target as i32, 0 | -1) || (target as i32).unsigned_abs() == PID as u32;
    send_to(process, frame, mine, target, signal)
}

/// `tkill(thread, signal)`.
pub fn tkill(process: &mut Process, frame: &mut Frame) -> Answer {
    let [thread, signal, ..] = frame.arguments();
    send_to(process, frame, thread as i32 == PID as i32, thread, signal)
}

/// `tgkill(group, thread, signal)`.
pub fn tgkill(process: &mut Process, frame: &mut Frame) -> Answer {
    let [group, thread, signal, ..] = frame.arguments();
    let mine = group as i32 == PID as i32 && thread as i32 == PID as i32;
    send_to(process, frame, mine, thread, signal)
}

fn mask_size(size: u64) -> Result<(), Errno> {
    if size == 8 { Ok(()) } else { Err(EINVAL) }
}

/// `rt_sigaction(signal, new, old, size)`.
pub fn rt_sigaction(process: &mut Process, frame: &mut Frame) -> Answer {
    let [signal, new, old, size, ..] = frame.arguments();
    let signal = checked(signal & 0xffff_ffff)?;
    mask_size(size)?;
    if new != 0 && ALWAYS & bit(signal) != 0 {
        return Err(EINVAL);
    }
    let Action { handler, flags, restorer, mask } = process.signals.actions[signal as usize - 1];
    let wanted = if new == 0 { None } else { Some(process.memory.read_words::<4>(new)?) };
    if old != 0 {
        process.memory.write_words(old, &[handler, flags, restorer, mask])?;
    }
    if let Some([handler, flags, restorer, mask]) = wanted {
        process.signals.actions[signal as usize - 1] = Action { handler, flags, restorer, mask };
    }
    Ok(0)
}

/// `rt_sigprocmask(how, new, old, size)`.
pub fn rt_sigprocmask(process: &mut Process, frame: &mut Frame) -> Answer {
    let [how, new, old, size, ..] = frame.arguments();
    mask_size(size)?;
    let before = process.signals.mask;
    if new != 0 {
        let [mask] = process.memory.read_words(new)?;
        let after = match how {
            0 => before | mask,
            1 => before & !mask,
            2 => mask,
            _ => return Err(EINVAL),
        };
        process.signals.swap_mask(after);
    }
    if old != 0 {
        process.memory.write_words(old, &[before])?;
    }
    if process.signals.pending == 0 { Ok(0) } else { deliver(process, frame, 0) }
}

/// `rt_sigpending(set, size)`.
pub fn rt_sigpending(process: &mut Process, frame: &mut Frame) -> Answer {
    let [set, size, ..] = frame.arguments();
    mask_size(size)?;
    process.memory.write_words(set, &[process.signals.pending & process.signals.mask])?;
    Ok(0)
}

/// `rt_sigreturn()`: goes on where a handler's frame says.
pub fn rt_sigreturn(process: &mut Process, frame: &mut Frame) -> Answer {
    let Ok((result, mask)) = signal_frame::pop(&process.memory, frame) else { end_by_signal(process, 11) };
    process.signals.swap_mask(mask);
    deliver(process, frame, result)
}

/// `rt_sigsuspend(mask, size)`: waits for a signal that is let through.
pub fn rt_sigsuspend(process: &mut Process, frame: &mut Frame) -> Answer {
    let [mask, size, ..] = frame.arguments();
    mask_size(size)?;
    let [mask] = process.memory.read_words(mask)?;
    let before = process.signals.swap_mask(mask);
    if process.signals.pending & !process.signals.mask == 0 {
        crate::time::wait_for_ever();
    }
    let answer = deliver(process, frame, crate::errno::negated(crate::errno::EINTR));
    process.signals.swap_mask(before);
    answer
}

/// `pause()`.
pub fn pause(_: &mut Process, _: &mut Frame) -> Answer {
    crate::time::wait_for_ever()
}

/// `rt_sigtimedwait(set, info, timeout, size)`: takes a pending signal of the set; none can come while the program waits.
pub fn rt_sigtimedwait(process: &mut Process, frame: &mut Frame) -> Answer {
    let [set, info, timeout, size, ..] = frame.arguments();
    mask_size(size)?;
    let [set] = process.memory.read_words(set)?;
    let found = process.signals.pending & set;
    if found != 0 {
        let signal = u64::from(found.trailing_zeros()) + 1;
        if info != 0 {
            process.memory.write_words(info, &signal_frame::info(signal))?;
        }
        process.signals.pending &= !bit(signal);
        return Ok(signal);
    }
    if timeout == 0 {
        crate::time::wait_for_ever();
    }
    crate::time::sleep(crate::time::duration(&process.memory, timeout)?);
    Err(EAGAIN)
}

/// `sigaltstack(new, old)`.
pub fn sigaltstack(process: &mut Process, frame: &mut Frame) -> Answer {
    let [new, old, ..] = frame.arguments();
    let signals = &mut process.signals;
    let inside = signals.on_alternate(frame.stack);
    let flags = if signals.alternate_size == 0 { SS_DISABLE } else { u64::from(inside) * SS_ONSTACK };
    let before = [signals.alternate_start, flags, signals.alternate_size];
    if new != 0 {
        let [start, flags, size] = process.memory.read_words(new)?;
        let disable = flags & 0xffff_ffff & SS_DISABLE != 0;
        if inside {
            return Err(EPERM);
        }
        if !disable && size < LEAST_ALTERNATE_STACK {
            return Err(ENOMEM);
        }
        start.checked_add(size).ok_or(EFAULT)?;
        (signals.alternate_start, signals.alternate_size) = if disable { (0, 0) } else { (start, size) };
    }
    if old != 0 {
        process.memory.write_words(old, &before)?;
    }
    Ok(0)
}
