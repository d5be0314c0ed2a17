//! `prctl`, and what it keeps about the process.

use crate::abi::errno::{Answer, EFAULT, EINVAL, Errno};
use crate::abi::registers::Frame;
use crate::abi::signal_info::LAST;
use crate::calls::identity::capabilities;
use crate::process::Process;
use crate::state::process_attributes::SLACK;
use nacre_proto::process as manager;
use nacre_sys::Reference;

fn set_name(process: &mut Process, address: u64) -> Answer {
    let name = process.memory.string(address, 16).or_else(|_| process.memory.readable(address, 15).map_err(|_| EFAULT))?;
    let mut text = [0; 16];
    text[..name.len()].copy_from_slice(name);
    process.me().name = text;
    if process.caller == 0 && process.is_managed() {
        // Only those who look at lists of processes miss it.
        let _ = manager::name_set(Reference::PARENT, name);
    }
    Ok(0)
}

/// The manager hears of what concerns other processes.
fn tell_family(process: &mut Process) -> Answer {
    if process.is_managed() {
        manager::family(Reference::PARENT, process.traits.death_signal, process.traits.is_reaper.into())?;
    }
    Ok(0)
}

/// 0 or 1, or `EINVAL`.
fn truth(value: u64) -> Result<bool, Errno> {
    if value <= 1 { Ok(value == 1) } else { Err(EINVAL) }
}

/// `prctl(option, ..)`: an option is asked, or set.
pub fn prctl(process: &mut Process, frame: &mut Frame) -> Answer {
    let [option, argument, third, fourth, fifth, _] = frame.arguments();
    match ask(process, option as u32, argument)? {
        Some(value) => Ok(value),
        None => set(process, option as u32, argument, [third, fourth, fifth]),
    }
}

/// Writes half a word, and gives 0.
fn told(process: &mut Process, address: u64, value: u64) -> Result<Option<u64>, Errno> {
    process.memory.write_half(address, value as u32).map(|()| Some(0))
}

/// Options that ask; `None` for others.
fn ask(process: &mut Process, option: u32, argument: u64) -> Result<Option<u64>, Errno> {
    let traits = process.traits;
    match option {
        // PR_GET_PDEATHSIG
        2 => told(process, argument, traits.death_signal),
        // PR_GET_DUMPABLE
        3 => Ok(Some(traits.dumpable)),
        // PR_GET_KEEPCAPS
        7 => Ok(Some(traits.keeps_capabilities.into())),
        // PR_GET_TIMING, PR_GET_SECCOMP, PR_GET_SECUREBITS: as everything is at first
        13 | 21 | 27 => Ok(Some(0)),
        // PR_GET_NAME
        16 => {
            let name = process.me().name;
            process.memory.write_bytes(argument, &name).map(|()| Some(0))
        }
        // PR_CAPBSET_READ
        23 => capabilities::read_bound(process, argument).map(Some),
        // PR_GET_TSC
        25 => told(process, argument, 1),
        // PR_GET_TIMERSLACK
        30 => Ok(Some(traits.slack)),
        // PR_GET_CHILD_SUBREAPER
        37 => told(process, argument, traits.is_reaper.into()),
        // PR_GET_TID_ADDRESS
        40 => {
            let address = process.me().clear_number;
            process.memory.write_words(argument, &[address]).map(|()| Some(0))
        }
        _ => Ok(None),
    }
}

/// Options that set.
fn set(process: &mut Process, option: u32, argument: u64, rest: [u64; 3]) -> Answer {
    let is_alone = rest == [0; 3];
    match option {
        // PR_SET_PDEATHSIG
        1 if argument <= LAST => {
            process.traits.death_signal = argument;
            return tell_family(process);
        }
        // PR_SET_DUMPABLE
        4 => process.traits.dumpable = truth(argument)?.into(),
        // PR_SET_KEEPCAPS
        8 => process.traits.keeps_capabilities = truth(argument)?,
        // PR_SET_TIMING: the only kind
        14 if argument == 0 => {}
        // PR_SET_NAME
        15 => return set_name(process, argument),
        // PR_CAPBSET_DROP
        24 => return capabilities::drop_bound(process, argument),
        // PR_SET_TIMERSLACK
        29 => process.traits.slack = if argument as i64 <= 0 { SLACK } else { argument },
        // PR_SET_CHILD_SUBREAPER
        36 => {
            process.traits.is_reaper = argument != 0;
            return tell_family(process);
        }
        // PR_SET_NO_NEW_PRIVS
        38 if argument == 1 && is_alone => process.traits.no_new_privileges = true,
        // PR_GET_NO_NEW_PRIVS
        39 if argument == 0 && is_alone => return Ok(process.traits.no_new_privileges.into()),
        // PR_SET_THP_DISABLE, PR_GET_THP_DISABLE: no page is large by itself
        41 if is_alone => {}
        42 if argument == 0 && is_alone => {}
        // PR_CAP_AMBIENT, asked, or cleared: no file gives capabilities, so none are ambient
        47 if argument == 1 && rest[0] <= crate::state::capabilities::LAST || argument == 4 && rest[0] == 0 => {}
        _ => return Err(EINVAL),
    }
    Ok(0)
}
