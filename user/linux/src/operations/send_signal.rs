//! Signals that the process sends.

use crate::abi::errno::{Answer, ESRCH};
use crate::abi::signal_info::Info;
use crate::process::Process;
use nacre_proto::process as manager;
use nacre_sys::Reference;

/// Sends a signal to the processes that a number means. Without a manager 0, -1 and the own group
/// are this process alone.
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
    process.report(format_args!("kill: process {target}: this needs a process manager: run the program below `process`"));
    Err(ESRCH)
}

/// Sends a signal to the own process; number 0 only asks.
fn post(process: &mut Process, info: Info) -> Answer {
    if info.signal != 0 {
        process.post(info)?;
    }
    Ok(0)
}

/// Sends a signal by the manager. What comes back to the process itself has come when the call
/// ends.
pub fn send_to_others(process: &mut Process, target: u64, thread: u64, info: Info) -> Answer {
    manager::kill(Reference::PARENT, target, thread, info.signal, info.code as i64 as u64, info.fields[1])?;
    if process.agent.is_some() {
        process.fetch_signals();
    }
    Ok(0)
}
