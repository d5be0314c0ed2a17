//! Waiting for files in a process whose signals can cut a wait off. The answer to a call may be on
//! its way, through monitors between us and the server, when that happens: what it took would be
//! lost, and what it gave would be given twice. So nothing is taken or given by a call that waits:
//! it is tried at once, and between two tries there is a wait for the file that takes nothing.

use crate::abi::errno::{EAGAIN, EINTR, ERESTART, ERESTART_UNHANDLED, Errno};
use crate::abi::poll_events::{ALWAYS, POLLIN, POLLOUT};
use crate::operations::files::readiness::{FOR_EVER, wait_for_one};
use crate::process::Process;
use crate::services::OWN_POSITION;
use crate::services::find::PIECE;
use crate::state::files::open_file::OpenFile;
use nacre_abi::Rights;
use nacre_proto::channel::{self, Outgoing};
use nacre_proto::{file, sender};
use nacre_proto::flags::{MSG_BARE, MSG_DONTWAIT};
use nacre_sys::{Reference, SpanMut};
use nacre_sys::ipc::{Buffers, Message};

/// Bytes of an answer that are not data.
const BESIDES: usize = 4096;

/// Returns true if a signal can interrupt a call on this file.
pub fn is_cut_off(process: &Process, file: &OpenFile) -> bool {
    process.agent.is_some() && process.lock.is_some() && !file.is_regular() && !file.is_mailbox()
}

/// Tries until it can be done; `EAGAIN` from `attempt` says that it cannot yet.
pub fn await_turn<T>(process: &mut Process, file: &OpenFile, event: u64, mut attempt: impl FnMut(&mut Process) -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match attempt(process) {
            Err(EAGAIN) if !file.is_nonblocking() => {}
            done => return done,
        }
        wait_for_one(process, file, event, FOR_EVER).map_err(|error| if matches!(error, EINTR | ERESTART_UNHANDLED) { ERESTART } else { error })?;
    }
}

/// Waits until a file that is no channel has the event. Returns false if its server does not
/// support that.
fn await_event(process: &mut Process, file: &OpenFile, target: Reference, event: u64) -> Result<bool, Errno> {
    if file.is_nonblocking() {
        return Ok(true);
    }
    await_turn(process, file, event, |_| match file::poll(target, event | ALWAYS) {
        Ok(reply) if reply.events == 0 => Err(EAGAIN),
        Ok(_) => Ok(true),
        Err(_) => Ok(false),
    })
}

/// Reads what there is of a file, or waits for it. Of a device more than one message's bytes are
/// read; a signal ends that with what was read so far.
pub fn read_gently(process: &mut Process, file: &OpenFile, target: Reference, into: &mut [u8]) -> Result<usize, Errno> {
    if file.is_channel() {
        let most = into.len().min(PIECE - BESIDES);
        let attempt = |process: &mut Process| {
            process.memory.confirm(into, Rights::WRITE)?;
            Ok(channel::receive(target, MSG_DONTWAIT | MSG_BARE, most as u64, 0, 0, &mut into[..most])?.count as usize)
        };
        let count = await_turn(process, file, POLLIN, attempt)?.min(most);
        return Ok(if count == most { count + read_rest(target, &mut into[count..]) } else { count });
    }
    let mut done = 0;
    loop {
        let piece = PIECE.min(into.len() - done);
        let count = match read_piece_gently(process, file, target, &mut into[done..done + piece]) {
            Err(_) if done != 0 => return Ok(done),
            count => count?,
        };
        done += count;
        if count < piece || done == into.len() || !file.is_read_on() || process.is_interrupted() {
            return Ok(done);
        }
    }
}

/// One message of [`crate::operations::files::server_io::read_gently`].
fn read_piece_gently(process: &mut Process, file: &OpenFile, target: Reference, into: &mut [u8]) -> Result<usize, Errno> {
    // Another reader can be first; then this waits for what comes next.
    let is_told = await_event(process, file, target, POLLIN)?;
    process.memory.confirm(into, Rights::WRITE)?;
    let message = Message::new(file::read::LABEL, sender::words([OWN_POSITION, into.len() as u64]));
    let most = into.len();
    let received = process.exchange_if(!is_told, target, &message, Buffers { bytes: SpanMut::from(into), slots: &[] })?;
    Ok((received.words[0] as usize).min(most))
}

/// Writes a piece, or what there is room for.
pub fn write_gently(process: &mut Process, file: &OpenFile, target: Reference, from: &[u8]) -> Result<usize, Errno> {
    let at_once = |process: &mut Process, message: &Message<'_>| Ok(process.exchange_if(false, target, message, Buffers::NONE)?.words[0] as usize);
    if file.is_channel() {
        let outgoing = Outgoing { flags: MSG_DONTWAIT, ..Outgoing::default() };
        let message = Message { bytes: from.into(), ..Message::new(channel::send::LABEL, outgoing.words()) };
        return await_turn(process, file, POLLOUT, |process| at_once(process, &message));
    }
    at_once(process, &Message { bytes: from.into(), ..Message::new(file::write::LABEL, sender::words([OWN_POSITION])) })
}

/// More of a pipe or a stream socket, as far as it is there.
pub fn read_rest(target: Reference, into: &mut [u8]) -> usize {
    const MOST: usize = PIECE - 4096;
    let mut done = 0;
    while done < into.len() {
        let piece = MOST.min(into.len() - done);
        let Ok(reply) = channel::receive(target, MSG_DONTWAIT | MSG_BARE, piece as u64, 0, 0, &mut into[done..done + piece]) else { break };
        done += (reply.count as usize).min(piece);
        if reply.count < piece as u64 {
            break;
        }
    }
    done
}
