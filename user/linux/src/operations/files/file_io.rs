//! Reading and writing open files, wherever they are: by messages to their server, or inside the
//! process. Both may wait, without the library's lock.

use crate::abi::errno::{EAGAIN, EINTR, EIO, EPIPE, ERESTART, ESPIPE, Errno};
use crate::operations::files::in_process_io;
use crate::operations::files::server_io::{self, read_rest};
use crate::operations::files::shared_ring::{self, Written};
use crate::operations::limit_checks;
use crate::operations::proc;
use crate::operations::sockets::socket_transfer;
use crate::operations::terminals::terminal_io;
use crate::process::Process;
use crate::services::OWN_POSITION;
use crate::services::find::PIECE;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::socket_kind::Socket;
use nacre_abi::Rights;
use nacre_proto::{file, sender};
use nacre_sys::{Reference, SpanMut};
use nacre_sys::ipc::{Buffers, Message};

impl Process {
    /// Reads from `offset`, or from the file's own position. Less than was asked for comes at the
    /// end, and when the rest would have to be waited for.
    pub fn read(&mut self, file: &OpenFile, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let most = into.len();
        // A server may say anything.
        read_anywhere(self, file, offset, into).map(|count| count.min(most))
    }

    /// Writes at `offset`, or at the file's own position. Less than was asked for is written when
    /// there is no room, or it would have to be waited for.
    pub fn write(&mut self, file: &OpenFile, offset: u64, from: &[u8]) -> Result<usize, Errno> {
        let from = &from[..limit_checks::within_file_size(self, file, offset, from.len())?];
        // A server may say anything.
        write_anywhere(self, file, offset, from).map(|count| count.min(from.len()))
    }
}

fn read_anywhere(process: &mut Process, file: &OpenFile, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
    file.use_once();
    if !file.is_remote() {
        let done = match &file.kind {
            _ if offset == OWN_POSITION => when_possible(process, file, |process, has_waited| {
                if has_waited {
                    process.memory.confirm(into, Rights::WRITE)?;
                }
                read_inside(process, file, into)
            }),
            Kind::Local(local) if file.node().is_some() => proc::open::read_shown(process, local, Some(offset), into),
            _ => Err(ESPIPE),
        };
        // It may have gone to a server meanwhile.
        if !file.is_remote() || done.is_ok() {
            return done;
        }
    }
    if offset == OWN_POSITION
        && let Some(done) = shared_ring::read_ring(process, file, into, false)
    {
        return done;
    }
    if let Some(socket) = Socket::of(file).filter(|socket| socket.has_messages() || file.options.get().has_limits()) {
        return if offset == OWN_POSITION { socket_transfer::read_socket(process, file, socket, into) } else { Err(ESPIPE) };
    }
    if offset == OWN_POSITION
        && let Some(done) = terminal_io::read_terminal(process, file, into)
    {
        return done;
    }
    let target = file.reference()?;
    file.settle();
    if offset == OWN_POSITION && server_io::is_cut_off(process, file) {
        return server_io::read_gently(process, file, target, into).map_err(cut_off);
    }
    let mut done = 0;
    loop {
        if let Err(error) = process.memory.confirm(&into[done..], Rights::WRITE) {
            return if done == 0 { Err(error) } else { Ok(done) };
        }
        let piece = PIECE.min(into.len() - done);
        let at = if offset == OWN_POSITION { offset } else { offset + done as u64 };
        match read_piece(process, file, target, at, &mut into[done..done + piece]) {
            Ok(count) if count < piece => return Ok(done + count),
            Ok(_) => done += piece,
            Err(error) if done == 0 => return Err(cut_off(error)),
            Err(_) => return Ok(done),
        }
        if done == into.len() {
            return Ok(done);
        }
        if !file.is_read_on() {
            return Ok(done + if file.is_channel() { read_rest(target, &mut into[done..]) } else { 0 });
        }
    }
}

fn read_piece(process: &mut Process, file: &OpenFile, target: Reference, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let message = Message::new(file::read::LABEL, sender::words([offset, into.len() as u64]));
    let received = process.exchange_if(!file.is_regular(), target, &message, Buffers { bytes: SpanMut::from(into), slots: &[] })?;
    Ok(received.words[0] as usize)
}

fn write_anywhere(process: &mut Process, file: &OpenFile, offset: u64, from: &[u8]) -> Result<usize, Errno> {
    file.use_once();
    if !file.is_remote() {
        if offset != OWN_POSITION {
            return Err(ESPIPE);
        }
        let done = when_possible(process, file, |process, has_waited| {
            if has_waited {
                process.memory.confirm(from, Rights::READ)?;
            }
            write_inside(process, file, from)
        });
        // It may have gone to a server meanwhile.
        if !file.is_remote() || done.is_ok() {
            return done;
        }
    }
    if let Some(socket) = Socket::of(file) {
        return if offset == OWN_POSITION { socket_transfer::write_socket(process, file, socket, from) } else { Err(ESPIPE) };
    }
    if offset == OWN_POSITION
        && let Some(written) = shared_ring::write_ring(process, file, from, false)
    {
        let Written { count, has_rest } = written?;
        // An error after some bytes shows in the next call.
        return Ok(if has_rest { count + write_rest(process, file, &from[count..]).unwrap_or(0) } else { count });
    }
    if file.is_pair() {
        return if offset == OWN_POSITION { terminal_io::write_pair(process, file, from) } else { Err(ESPIPE) };
    }
    file.settle();
    let written = write_to_server(process, file, offset, from);
    file.settle();
    written
}

pub fn write_to_server(process: &mut Process, file: &OpenFile, offset: u64, from: &[u8]) -> Result<usize, Errno> {
    let target = file.reference()?;
    if from.is_empty() && file.is_channel() {
        return Ok(0);
    }
    let waits = file.is_channel() && !file.is_nonblocking();
    let mut done = 0;
    loop {
        let piece = PIECE.min(from.len() - done);
        let at = if offset == OWN_POSITION { offset } else { offset + done as u64 };
        match write_piece(process, file, target, at, &from[done..done + piece]) {
            Ok(count) if count >= piece => done += piece,
            // The rest waits for room.
            Ok(count) if waits && count != 0 => done += count,
            Ok(count) => return Ok(done + count),
            Err(EIO) if process.services.is_gone(target) => return Err(EPIPE),
            Err(error) if done == 0 => return Err(cut_off(error)),
            Err(_) => return Ok(done),
        }
        if done == from.len() {
            return Ok(done);
        }
    }
}

fn write_piece(process: &mut Process, file: &OpenFile, target: Reference, offset: u64, from: &[u8]) -> Result<usize, Errno> {
    if offset == OWN_POSITION && server_io::is_cut_off(process, file) {
        return server_io::write_gently(process, file, target, from);
    }
    let message = Message { bytes: from.into(), ..Message::new(file::write::LABEL, sender::words([offset])) };
    let received = process.exchange_if(!file.is_regular(), target, &message, Buffers::NONE)?;
    Ok(received.words[0] as usize)
}

fn read_inside(process: &mut Process, file: &OpenFile, into: &mut [u8]) -> Result<usize, Errno> {
    match &file.kind {
        Kind::Pipe(end) => end.read(into),
        Kind::Local(local) => in_process_io::read_local(process, local, into),
        _ => Err(EIO),
    }
}

fn write_inside(process: &mut Process, file: &OpenFile, from: &[u8]) -> Result<usize, Errno> {
    match &file.kind {
        Kind::Pipe(end) => end.write(from),
        Kind::Local(local) => in_process_io::write_local(process, local, from),
        _ => Err(EIO),
    }
}

/// Carries out an operation on a file inside the process as soon as it can be; `EAGAIN` from it
/// means that it cannot yet. It is told if there was a wait before.
fn when_possible(process: &mut Process, file: &OpenFile, mut operation: impl FnMut(&mut Process, bool) -> Result<usize, Errno>) -> Result<usize, Errno> {
    let mut has_waited = false;
    loop {
        match operation(process, has_waited) {
            // Without a kernel nobody could end the wait.
            Err(EAGAIN) if !file.is_nonblocking() && process.lock.is_some() => {}
            done => {
                process.pipe_changed();
                return done;
            }
        }
        if process.is_interrupted() {
            return Err(ERESTART);
        }
        process.me().awaits_pipe = true;
        process.sleep(nacre_sys::FOREVER);
        process.me().awaits_pipe = false;
        has_waited = true;
        if file.is_remote() {
            return Err(EAGAIN);
        }
    }
}

/// The answer to a read or write that waited and was interrupted.
fn cut_off(error: Errno) -> Errno {
    if error == EINTR { ERESTART } else { error }
}

/// Writes a pipe or stream by messages.
fn write_rest(process: &mut Process, file: &OpenFile, from: &[u8]) -> Result<usize, Errno> {
    match Socket::of(file) {
        Some(_) => socket_transfer::send_rest(process, file, from, false),
        None => write_to_server(process, file, OWN_POSITION, from),
    }
}
