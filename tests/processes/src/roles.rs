//! Roles of children.

use crate::make;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::flags::{ASK_PRIVILEGED, ASK_TEXT, OWN_POSITION, WEXITED};
use nacre_proto::{Errno, file, parent, process};
use nacre_sys::{OwnedPort, PortSet, Reference, Thread, ipc};

/// Status of a role that failed.
const FAILED: i32 = 99;
/// The bit by which an agent is told.
const BIT: u64 = 4;

/// Plays a role.
pub fn play(role: &[u8], argument: &[u8]) -> i32 {
    match role {
        b"exit" => argument.first().map_or(0, |digit| i32::from(*digit - b'0')),
        b"attend" => attend().unwrap_or(FAILED),
        b"fault" => nacre_raw::read(8) as i32,
        b"orphan" => make::child(&[b"exit", b"7"]).map_or(FAILED, |_| 0),
        b"replace" => make::become_another(&[b"exit", b"5"]).map_or(FAILED, |()| FAILED),
        b"count" => parent::processors(Reference::PARENT).map_or(FAILED, |reply| reply.count as i32),
        b"parent-of" => parent_of(argument).unwrap_or(FAILED),
        b"nonsense" => nonsense().unwrap_or(FAILED),
        b"make" => reserve(argument).unwrap_or(FAILED),
        b"spy" => spy(argument).unwrap_or(FAILED),
        b"say" => say(argument).unwrap_or(FAILED),
        _ => loop {
            let _ = Thread::sleep(u64::MAX);
        },
    }
}

/// Parks a thread that the manager has made. It has no stack.
pub extern "C" fn idle() -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// Answers what it is asked with what makes no sense: errors that are none, more than there is room
/// for, a reference that nobody wanted, twice, or not asked at all. The ninth question it answers
/// by its end.
fn nonsense() -> Result<i32, Errno> {
    let mut data = [0; 256];
    let many = [0xff; 12 << 10];
    let _ = process::answer(Reference::PARENT, 0, 1, 2, &b"nobody asked"[..]);
    for turn in 0.. {
        process::visit(Reference::PARENT, &mut data[..])?;
        let _ = match turn {
            0 => process::answer(Reference::PARENT, 1 << 40, 0, 0, &b""[..]),
            1 => process::answer(Reference::PARENT, 5000, 0, 0, &b""[..]),
            2 => process::answer(Reference::PARENT, u64::MAX, u64::MAX, u64::MAX, &many[..]),
            3 => process::answer(Reference::PARENT, 0, u64::MAX, u64::MAX, &many[..]),
            4 | 6 => {
                let port = OwnedPort::new(0, PortSet::NONE)?;
                let file = port.new_reference(REFERENCE_USE)?;
                process::answer_file(Reference::PARENT, u64::MAX, u64::MAX, file.handle()).map(|_| process::answer::Reply {})
            }
            5 => process::answer(Reference::PARENT, 0, 7, 8, &many[..8]),
            7 => process::answer(Reference::PARENT, 0, 0, 0, &b""[..]).and_then(|_| process::answer(Reference::PARENT, 0, 0, 0, &b"again"[..])),
            _ => break,
        };
    }
    Ok(3)
}

/// Ends as a child that plays a role does.
fn parent_of(role: &[u8]) -> Result<i32, Errno> {
    let pid = make::child(&[role])?;
    Ok((process::wait(Reference::PARENT, pid, WEXITED)?.status >> 8) as i32)
}

/// Goes a part of the way to two children and reports that. Then it waits to be killed, ends, or
/// becomes another program.
fn reserve(words: &[u8]) -> Result<i32, Errno> {
    let [step, way] = *words else { return Ok(FAILED) };
    let first = if step > b'0' { Some(make::create()?) } else { None };
    let _built = first.as_ref().filter(|_| step > b'1').map(|(_, port)| make::build(port.handle(), &[b"exit", b"7"])).transpose()?;
    let second = if step > b'2' { Some(make::create()?) } else { None };
    let _prepared = second.as_ref().filter(|_| step > b'3').map(|(_, port)| process::prepare(port.handle(), 1 << 20)).transpose()?;
    file::write(parent::stream(Reference::PARENT, 1)?.file.handle(), OWN_POSITION, b"there")?;
    match way {
        b'e' => Ok(5),
        b'b' => make::become_another(&[b"exit", b"5"]).map(|()| FAILED),
        _ => loop {
            let _ = Thread::sleep(u64::MAX);
        },
    }
}

/// Tries from inside a domain what reaches others: ends with the number of the first attempt that
/// succeeds, 0 if none does.
fn spy(stranger: &[u8]) -> Result<i32, Errno> {
    let stranger = stranger.iter().fold(0, |number, digit| 10 * number + u64::from(*digit - b'0'));
    let own = process::numbers(Reference::PARENT, 0)?;
    let mut text = [0; 64];
    for other in [1, stranger] {
        let refused = [
            process::numbers(Reference::PARENT, other).is_err(),
            process::look(Reference::PARENT, other, &mut text[..]).is_err(),
            process::kill(Reference::PARENT, other, 0, 0, 0, 0).is_err(),
            process::kill(Reference::PARENT, other.wrapping_neg(), 0, 9, 0, 0).is_err(),
            process::kill(Reference::PARENT, u64::MAX, 0, 9, 0, 0).is_err(),
            process::priority_set(Reference::PARENT, 0, other, 1).is_err(),
            process::ask(Reference::PARENT, other, ASK_TEXT | ASK_PRIVILEGED, 0, 0, 0, &b"/proc/1/stat"[..], &mut text[..]).is_err(),
            process::foreground_set(Reference::PARENT, other).is_err(),
            process::list(Reference::PARENT, own.pid + 1, &mut text[..]).is_err(),
            process::list(Reference::PARENT, 1, &mut text[..]).is_ok_and(|first| first.pid == own.pid),
            process::parents(Reference::PARENT).is_err(),
            process::system_name_set(Reference::PARENT, 0, &b"other"[..]).is_err(),
            own.parent == 0,
        ];
        if let Some(number) = refused.iter().position(|refused| !refused) {
            return Ok(number as i32 + 1);
        }
    }
    // The member of a domain does see the processes that it makes.
    let pid = make::child(&[b"sleep"])?;
    process::kill(Reference::PARENT, pid, 0, 9, 0, 0)?;
    Ok(if process::wait(Reference::PARENT, pid, WEXITED)?.status == 9 { 0 } else { FAILED })
}

/// Ends with the number of the first signal that comes.
fn attend() -> Result<i32, Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let agent = port.new_reference(REFERENCE_NOTIFY)?;
    process::attach(Reference::PARENT, BIT, agent.handle())?;
    loop {
        let taken = process::signal_take(Reference::PARENT)?;
        if taken.signal != 0 {
            return Ok(taken.signal as i32);
        }
        let received = ipc::receive_words(port.handle().address())?;
        if received.notification().is_none_or(|bits| bits & BIT == 0) {
            return Ok(FAILED);
        }
    }
}

/// Writes to the output until that fails; ends with the errno.
fn say(text: &[u8]) -> Result<i32, Errno> {
    let output = parent::stream(Reference::PARENT, 1)?.file;
    loop {
        match file::write(output.handle(), OWN_POSITION, text) {
            Ok(_) if text == b"once" => return Ok(0),
            Ok(_) => {}
            Err(errno) => return Ok(errno.0 as i32),
        }
    }
}
