//! Messages through sockets: `send`, `recv` and their like. What is longer than a message of the
//! system goes in parts.

use crate::abi::errno::{Answer, EFAULT, ENOMEM, Errno};
use crate::abi::registers::Frame;
use crate::abi::time_units::MONOTONIC;
use crate::operations::clock_reading;
use crate::operations::sockets::ancillary_data::{self, Incoming, Outgoing};
use crate::operations::sockets::message_header::Header;
use crate::operations::sockets::socket_limits;
use crate::operations::sockets::socket_names::{self, socket_at};
use crate::operations::sockets::socket_transfer::{FLAG_BITS, MSG_CMSG_CLOEXEC, MSG_CTRUNC, MSG_DONTWAIT, MSG_TRUNC, MSG_WAITFORONE};
use crate::operations::sockets::socket_transfer::{Sending, WITH_NAME, receive, send, sent, size, target};
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_kind::Socket;
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_rt::fallible;

/// Maximum number of bytes of a call.
const MOST: u64 = 0x7fff_f000;
/// Bytes of a `struct mmsghdr`, and most of them in a call.
const SEVERAL: u64 = 64;
const MAX_SEVERAL: u64 = 1024;
/// Maximum number of bytes that one call receives into several pieces.
const MAX_GATHERED: u64 = 1 << 20;
/// Maximum number of control bytes of a message.
const MAX_CONTROL: u64 = 20480;
/// Offsets of the control bytes' size and of the flags in a `struct msghdr`.
const CONTROL_SIZE: u64 = 40;
const FLAGS: u64 = 48;

/// `sendto(descriptor, data, size, flags, address, address size)`.
pub fn sendto(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, data, size, flags, at, at_size] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    let data = process.memory.readable(data, size.min(MOST))?;
    let to = target(process, (&file, socket), at, at_size)?;
    file.use_once();
    let answer = send(process, &file, socket, data, Sending { to, beside: Outgoing::default(), flags: flags & FLAG_BITS });
    sent(process, flags, &file, answer)
}

fn send_header(process: &mut Process, file: &OpenFile, socket: Socket, at: u64, flags: u64) -> Answer {
    let header = Header::read(process, at)?;
    if header.control_size > MAX_CONTROL {
        return Err(Errno::ENOBUFS);
    }
    let beside = match header.control {
        0 => Outgoing::default(),
        at => {
            let bytes = process.memory.readable(at, header.control_size)?;
            ancillary_data::parse(process, bytes)?
        }
    };
    let to = target(process, (file, socket), header.name, header.name_size)?;
    let gathered;
    let used = fallible::collect(header.pieces.iter().filter(|piece| piece.1 != 0))?;
    let data = match used[..] {
        [] => &[][..],
        [(at, size)] => process.memory.readable(*at, (*size).min(MOST))?,
        _ => {
            gathered = gather(process, &header.pieces)?;
            &gathered
        }
    };
    file.use_once();
    let answer = send(process, file, socket, data, Sending { to, beside, flags: flags & FLAG_BITS });
    sent(process, flags, file, answer)
}

/// The bytes of several pieces.
fn gather(process: &Process, pieces: &[(u64, u64)]) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    for (at, size) in pieces {
        let piece = process.memory.readable(*at, *size)?;
        bytes.try_reserve(piece.len()).map_err(|_| ENOMEM)?;
        bytes.extend_from_slice(piece);
    }
    Ok(bytes)
}

/// `sendmsg(descriptor, message, flags)`.
pub fn sendmsg(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, at, flags, ..] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    send_header(process, &file, socket, at, flags)
}

/// `sendmmsg(descriptor, messages, count, flags)`.
pub fn sendmmsg(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, at, count, flags, ..] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    for index in 0..(count & 0xffff_ffff).min(MAX_SEVERAL) {
        let at = at + SEVERAL * index;
        match send_header(process, &file, socket, at, flags) {
            Ok(size) => process.memory.write_half(at + 56, size as u32)?,
            Err(error) if index == 0 => return Err(error),
            Err(_) => return Ok(index),
        }
    }
    Ok((count & 0xffff_ffff).min(MAX_SEVERAL))
}

/// `recvfrom(descriptor, buffer, size, flags, address, address size)`.
pub fn recvfrom(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, buffer, room, flags, at, size_at] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    let into = process.memory.writable(buffer, room.min(MOST))?;
    file.use_once();
    let received = receive(process, &file, socket, into, (0, flags & FLAG_BITS | if at != 0 { WITH_NAME } else { 0 }))?;
    if at != 0 {
        let from = socket_names::shown_sender(&file, socket, &received.from);
        socket_names::write(process, (at, size_at), &from)?;
    }
    Ok(size(socket, &received, flags))
}

fn receive_header(process: &mut Process, file: &OpenFile, socket: Socket, at: u64, flags: u64) -> Answer {
    let header = Header::read(process, at)?;
    for (at, size) in &header.pieces {
        if !process.memory.map.allows(*at, *size, Rights::WRITE) && *size != 0 {
            return Err(EFAULT);
        }
    }
    let is_signed = socket_limits::passes_credentials(file);
    let mut incoming = Incoming::new(header.control, header.control_size);
    let most = incoming.files(is_signed);
    file.use_once();
    let how = flags & FLAG_BITS | if header.name != 0 { WITH_NAME } else { 0 };
    let used = fallible::collect(header.pieces.iter().filter(|piece| piece.1 != 0))?;
    let mut received = match used[..] {
        [] => receive(process, file, socket, &mut [], (most, how))?,
        [(at, size)] => {
            let into = process.memory.writable(*at, (*size).min(MOST))?;
            receive(process, file, socket, into, (most, how))?
        }
        _ => {
            let room = used.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.1)).min(MAX_GATHERED);
            let mut buffer = fallible::zeros(room as usize)?;
            let received = receive(process, file, socket, &mut buffer, (most, how))?;
            process.memory.scatter(&header.pieces, &buffer[..received.count])?;
            received
        }
    };
    if is_signed {
        incoming.put_credentials(process, received.credentials)?;
    }
    if socket.family.is_internet() && socket.has_messages() {
        incoming.put_facts(process, file, &received.from)?;
    }
    incoming.put_files(process, core::mem::take(&mut received.files), flags & MSG_CMSG_CLOEXEC != 0)?;
    if header.name != 0 {
        let from = socket_names::shown_sender(file, socket, &received.from);
        let room = from.len().min(header.name_size as usize);
        process.memory.write_bytes(header.name, &from[..room])?;
        process.memory.write_half(at + 8, from.len() as u32)?;
    }
    let cut = if socket.has_messages() && received.total > received.count { MSG_TRUNC } else { 0 };
    let lost = if received.is_cut || incoming.is_cut { MSG_CTRUNC } else { 0 };
    process.memory.write_words(at + CONTROL_SIZE, &[incoming.used()])?;
    process.memory.write_half(at + FLAGS, (flags & MSG_CMSG_CLOEXEC | cut | lost) as u32)?;
    Ok(size(socket, &received, flags))
}

/// `recvmsg(descriptor, message, flags)`.
pub fn recvmsg(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, at, flags, ..] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    receive_header(process, &file, socket, at, flags)
}

/// `recvmmsg(descriptor, messages, count, flags, timeout)`: as on Linux, the time is looked at only
/// between messages.
pub fn recvmmsg(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, at, count, flags, timeout, _] = frame.arguments();
    let limit = if timeout == 0 { None } else { Some(clock_reading::duration(&process.memory, timeout)?) };
    let end = match limit {
        Some(limit) => Some(clock_reading::now(process, MONOTONIC)?.saturating_add(limit)),
        None => None,
    };
    let (file, socket) = socket_at(process, descriptor)?;
    let count = (count & 0xffff_ffff).min(MAX_SEVERAL);
    let mut how = flags & !MSG_WAITFORONE;
    for index in 0..count {
        let at = at + SEVERAL * index;
        match receive_header(process, &file, socket, at, how) {
            Ok(size) => process.memory.write_half(at + 56, size as u32)?,
            Err(error) if index == 0 => return Err(error),
            Err(_) => return Ok(index),
        }
        how |= if flags & MSG_WAITFORONE != 0 { MSG_DONTWAIT } else { 0 };
        if let Some(end) = end
            && clock_reading::now(process, MONOTONIC)? >= end
        {
            return Ok(index + 1);
        }
    }
    Ok(count)
}
