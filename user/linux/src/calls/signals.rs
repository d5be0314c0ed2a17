//! Dispositions of signals, what is pending for the whole process, and the calls about them.
//!
//! States of a signal: not there; pending (for the process, or for one thread); taken by a thread -
//! ignored, its handler entered, or the process's end. How it gets from one to the other is in
//! [`delivery`](crate::process::post_signal).

use crate::abi::errno::{Answer, EAGAIN, EFAULT, EINTR, EINVAL, ENOMEM, EPERM, ERESTART_UNHANDLED, ESRCH, Errno};
use crate::abi::registers::Frame;
use crate::abi::signal_info::{Info, LAST, SI_USER, bit};
use crate::abi::signal_numbers::{ALWAYS, CHILD_FLAGS, HANDLER_IGNORE, SIGCHLD, SIGSEGV, SS_AUTODISARM, SS_DISABLE, SS_ONSTACK};
use crate::operations::clock_reading;
use crate::operations::send_signal::{send, send_to_others};
use crate::operations::signal_frame;
use crate::operations::signal_setup;
use crate::process::Process;
use crate::process::end::end_by_signal;
use crate::raw::thread_block::Woken;
use crate::state::signals::dispositions::{Action, Fate};
use crate::state::signals::pending::SI_TKILL;

const MIN_ALTERNATE_STACK: u64 = 2048;

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

/// A `siginfo` that a program hands over with a signal. To others it may not look as if the system
/// had sent it.
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
        signal_setup::prepare_handler(process, signal, handler);
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

/// Waits for a signal that has a handler, or ends the process.
fn wait_for_signal(process: &mut Process) -> Errno {
    while !process.is_interrupted() {
        process.sleep(nacre_sys::FOREVER);
    }
    ERESTART_UNHANDLED
}

/// `rt_sigsuspend(mask, size)`: waits for a signal that is let through.
pub fn rt_sigsuspend(process: &mut Process, frame: &mut Frame) -> Answer {
    let [mask, size, ..] = frame.arguments();
    mask_size(size)?;
    let [mask] = process.memory.read_words(mask)?;
    signal_setup::mask_for_call(process, mask);
    Err(wait_for_signal(process))
}

/// `pause()`.
pub fn pause(process: &mut Process, _: &mut Frame) -> Answer {
    Err(wait_for_signal(process))
}

/// `rt_sigtimedwait(set, info, timeout, size)`: takes a signal of the set, which is there or comes.
pub fn rt_sigtimedwait(process: &mut Process, frame: &mut Frame) -> Answer {
    let [set, info_address, timeout, size, ..] = frame.arguments();
    mask_size(size)?;
    let wanted = process.memory.read_words::<1>(set)?[0] & !ALWAYS;
    let limit = if timeout == 0 { None } else { Some(clock_reading::duration(&process.memory, timeout)?) };
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
        if !disable && size < MIN_ALTERNATE_STACK {
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
