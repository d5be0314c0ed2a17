//! What can be asked of a socket, and set.

use crate::abi::errno::{Answer, EINVAL, EOPNOTSUPP, Errno};
use crate::abi::registers::Frame;
use crate::abi::socket_flags::{IPV6_V6ONLY, IP_OPTIONS, SOL_IP, SOL_IPV6, SOL_SOCKET, SOL_TCP, TCP_CONGESTION, TCP_INFO, TCP_MAXSEG};
use crate::abi::socket_flags::{SO_ACCEPTCONN, SO_BINDTODEVICE, SO_DOMAIN, SO_ERROR, SO_LINGER, SO_PASSCRED, SO_PEERCRED};
use crate::abi::socket_flags::{SO_PRIORITY, SO_PROTOCOL, SO_RCVBUF, SO_RCVBUFFORCE, SO_RCVLOWAT, SO_RCVTIMEO, SO_SNDBUF, SO_SNDBUFFORCE};
use crate::abi::socket_flags::{SO_SNDLOWAT, SO_SNDTIMEO, SO_TYPE};
use crate::abi::time_units::{MICROSECOND, SECOND};
use crate::operations::clock_reading::duration_of_timeval;
use crate::operations::sockets::connection_facts;
use crate::operations::sockets::interfaces;
use crate::operations::sockets::socket_limits::passes_credentials;
use crate::operations::sockets::socket_names::socket_at;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_family::Family;
use crate::state::files::socket_kind::Socket;
use crate::state::files::socket_options::{Begun, Options, SWITCHES};
use alloc::vec::Vec;
use nacre_proto::channel;
use nacre_proto::flags::{MSG_CREDENTIALS, MSG_DONTWAIT};

/// Buffer sizes in bytes: default, minimum and maximum.
const BUFFER: u32 = 212_992;
const MIN_BUFFERS: [u32; 2] = [4608, 2304];

/// Names of how congestion is met; the first one is Linux's at first.
const CONGESTION: [&[u8; 16]; 2] = [b"cubic\0\0\0\0\0\0\0\0\0\0\0", b"reno\0\0\0\0\0\0\0\0\0\0\0\0"];

/// A limit as a `timeval`.
fn timeval(limit: u64) -> Vec<u8> {
    let words = [limit / SECOND, limit % SECOND / MICROSECOND];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The value of an option, as bytes.
fn value(process: &mut Process, file: &OpenFile, socket: Socket, (level, option): (u32, u32)) -> Result<Vec<u8>, Errno> {
    let options = file.options.get();
    let target = file.reference()?;
    let number = match (level, option) {
        (SOL_TCP, _) if socket.family.is_internet() && socket.has_messages() => return Err(Errno::ENOPROTOOPT),
        (SOL_IP, IP_OPTIONS) if socket.family.is_internet() => return Ok(Vec::new()),
        (SOL_TCP, TCP_CONGESTION) if socket.family.is_internet() => return Ok(CONGESTION[usize::from(options.is_reno)].to_vec()),
        (SOL_TCP, TCP_INFO) if socket.family.is_internet() => return Ok(connection_facts::all(process, file)),
        (SOL_TCP, TCP_MAXSEG) if socket.family.is_internet() => connection_facts::segment(process, file),
        (SOL_TCP | SOL_IP, _) if socket.family.is_internet() => options.internet(level, option),
        (SOL_IPV6, IPV6_V6ONLY) if socket.family == Family::Internet6 => options.is_version_6_only.into(),
        (SOL_IPV6, _) if socket.family == Family::Internet6 => options.internet(level, option),
        (SOL_SOCKET, SO_TYPE) => socket.kind as u32,
        (SOL_SOCKET, SO_DOMAIN) => socket.family.number().into(),
        (SOL_SOCKET, SO_PROTOCOL) => socket.protocol(),
        (SOL_SOCKET, SO_ERROR) if let Some(Begun::Failed(error)) = options.begun => {
            file.options.set(options.with(None));
            u32::from(error.0)
        }
        (SOL_SOCKET, SO_ERROR) => channel::error(target)?.error as u32,
        (SOL_SOCKET, SO_ACCEPTCONN) => channel::facts(target)?.listens as u32,
        (SOL_SOCKET, SO_SNDBUF | SO_RCVBUF) => Some(options.buffers[(option - SO_SNDBUF) as usize]).filter(|size| *size != 0).unwrap_or(BUFFER),
        (SOL_SOCKET, SO_PRIORITY) => options.priority,
        (SOL_SOCKET, SO_RCVLOWAT) => options.least.max(1),
        (SOL_SOCKET, SO_SNDLOWAT) => 1,
        (SOL_SOCKET, SO_RCVTIMEO | SO_SNDTIMEO) => return Ok(timeval(options.limits[(option - SO_RCVTIMEO) as usize])),
        (SOL_SOCKET, SO_LINGER) => return Ok(options.linger.iter().flat_map(|word| word.to_le_bytes()).collect()),
        (SOL_SOCKET, SO_BINDTODEVICE) => return Ok(Vec::new()),
        (SOL_SOCKET, SO_PEERCRED) => return Ok(peer(target)),
        (SOL_SOCKET, _) => options.switch(option).ok_or(Errno::ENOPROTOOPT)?,
        _ => return Err(EOPNOTSUPP),
    };
    Ok(number.to_le_bytes().to_vec())
}

/// Returns the credentials of the peer, or nobody's if there is none.
fn peer(target: nacre_sys::Reference) -> Vec<u8> {
    let words = channel::credentials(target).map_or([0, u32::MAX, u32::MAX], |peer| [peer.pid as u32, peer.uid as u32, peer.gid as u32]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// `getsockopt(descriptor, level, option, value, size)`.
pub fn getsockopt(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, level, option, at, size_at, _] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    let room = process.memory.read_half(size_at)? as i32;
    let room = usize::try_from(room).map_err(|_| EINVAL)?;
    let bytes = value(process, &file, socket, (level as u32, option as u32))?;
    let size = room.min(bytes.len());
    process.memory.write_bytes(at, &bytes[..size])?;
    process.memory.write_half(size_at, size as u32)?;
    Ok(0)
}

/// `setsockopt(descriptor, level, option, value, size)`.
pub fn setsockopt(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, level, option, at, size, _] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    let (level, option, size) = (level as u32, option as u32, size as u32 as i32);
    if size < 0 {
        return Err(EINVAL);
    }
    let mut options = file.options.get();
    match level {
        SOL_SOCKET if option == SO_BINDTODEVICE => check_device(process, (at, size as u64))?,
        SOL_SOCKET if size < 4 => return Err(EINVAL),
        SOL_SOCKET => set(process, &mut options, option, (at, size))?,
        SOL_IPV6 if socket.family != Family::Internet6 => return Err(Errno::ENOPROTOOPT),
        SOL_IPV6 if size < 4 => return Err(EINVAL),
        SOL_IPV6 if option == IPV6_V6ONLY => options.is_version_6_only = process.memory.read_half(at)? != 0,
        SOL_TCP if socket.family.is_internet() && socket.has_messages() => return Err(Errno::ENOPROTOOPT),
        SOL_IPV6 => options.set_internet(level, option, process.memory.read_half(at)?)?,
        SOL_IP if socket.family.is_internet() && size < 4 => {
            let value = if size == 0 { 0 } else { process.memory.readable(at, 1)?.first().copied().unwrap_or(0) };
            options.set_internet(level, option, value.into())?;
        }
        SOL_TCP if socket.family.is_internet() && option == TCP_CONGESTION => options.is_reno = is_reno(process, (at, size as u64))?,
        SOL_TCP if socket.family.is_internet() && size < 4 => return Err(EINVAL),
        SOL_TCP | SOL_IP if socket.family.is_internet() => options.set_internet(level, option, process.memory.read_half(at)?)?,
        _ => return Err(EOPNOTSUPP),
    }
    file.options.set(options);
    if (level, option) == (SOL_SOCKET, SO_PASSCRED) && passes_credentials(&file) && !socket.has_messages() {
        // To receive nothing with this flag says that senders are to be told from now on. What
        // comes of it does not matter.
        let _ = channel::receive(file.reference()?, MSG_DONTWAIT | MSG_CREDENTIALS, 0, 0, 0, &mut [0; 64][..]);
    }
    Ok(0)
}

/// Reads the name of how congestion is to be met, which changes nothing. Returns true for `reno`.
fn is_reno(process: &mut Process, (at, size): (u64, u64)) -> Result<bool, Errno> {
    const LONGEST: u64 = 15;
    let bytes = process.memory.readable(at, size.min(LONGEST))?;
    match bytes.split(|byte| *byte == 0).next() {
        _ if bytes.is_empty() => Err(EINVAL),
        Some(b"reno") => Ok(true),
        Some(b"cubic") => Ok(false),
        _ => Err(Errno::ENOENT),
    }
}

/// Checks the name of an interface that a socket is to be bound to, which changes nothing. An empty
/// name is none's.
fn check_device(process: &mut Process, (at, size): (u64, u64)) -> Result<(), Errno> {
    const LONGEST: u64 = 15;
    let bytes = process.memory.readable(at, size.min(LONGEST))?;
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
    let is_there = name.is_empty() || interfaces::all(process).iter().any(|interface| interface.name.strip_suffix(b"\0") == Some(&name[..]));
    if is_there { Ok(()) } else { Err(Errno::ENODEV) }
}

fn set(process: &Process, options: &mut Options, option: u32, (at, size): (u64, i32)) -> Result<(), Errno> {
    let number = process.memory.read_half(at)?;
    match option {
        SO_SNDBUF | SO_RCVBUF => set_buffer(options, (option - SO_SNDBUF) as usize, number.min(BUFFER)),
        SO_SNDBUFFORCE | SO_RCVBUFFORCE => set_buffer(options, (option - SO_SNDBUFFORCE) as usize, number),
        SO_PRIORITY => options.priority = number,
        SO_RCVLOWAT => options.least = number,
        SO_LINGER if size < 8 => return Err(EINVAL),
        SO_LINGER => options.linger = [u32::from(number != 0), process.memory.read_half(at + 4)?],
        SO_RCVTIMEO | SO_SNDTIMEO => {
            if size < 16 {
                return Err(EINVAL);
            }
            let limit = duration_of_timeval(&process.memory, at).map_err(|error| if error == EINVAL { Errno::EDOM } else { error })?;
            options.limits[(option - SO_RCVTIMEO) as usize] = limit;
        }
        _ if SWITCHES.contains(&option) => options.set_switch(option, number != 0),
        _ => return Err(Errno::ENOPROTOOPT),
    }
    Ok(())
}

/// Linux keeps twice what is asked for.
fn set_buffer(options: &mut Options, which: usize, size: u32) {
    options.buffers[which] = (size.min(i32::MAX as u32 / 2) * 2).max(MIN_BUFFERS[which]);
}
