//! What can be asked of a socket, and set.

use crate::abi::errno::{Answer, EAGAIN, EINVAL, EOPNOTSUPP, Errno};
use crate::abi::registers::Frame;
use crate::calls::files::poll;
use crate::calls::sockets::{Socket, socket_at};
use crate::calls::sockets::address::Family;
use crate::calls::time::clocks::{MICROSECOND, SECOND, duration_of_timeval};
use crate::process::Process;
use crate::state::files::descriptor_table::OpenFile;
use alloc::vec::Vec;
use nacre_proto::channel;
use nacre_proto::flags::{MSG_CREDENTIALS, MSG_DONTWAIT};

const SOL_SOCKET: u32 = 1;
const SOL_IP: u32 = 0;
const SOL_TCP: u32 = 6;
const SO_DEBUG: u32 = 1;
const SO_REUSEADDR: u32 = 2;
const SO_TYPE: u32 = 3;
const SO_ERROR: u32 = 4;
const SO_DONTROUTE: u32 = 5;
const SO_BROADCAST: u32 = 6;
const SO_SNDBUF: u32 = 7;
const SO_RCVBUF: u32 = 8;
const SO_KEEPALIVE: u32 = 9;
const SO_OOBINLINE: u32 = 10;
const SO_PRIORITY: u32 = 12;
const SO_LINGER: u32 = 13;
const SO_REUSEPORT: u32 = 15;
const SO_PASSCRED: u32 = 16;
const SO_PEERCRED: u32 = 17;
const SO_RCVLOWAT: u32 = 18;
const SO_SNDLOWAT: u32 = 19;
const SO_RCVTIMEO: u32 = 20;
const SO_SNDTIMEO: u32 = 21;
const SO_TIMESTAMP: u32 = 29;
const SO_ACCEPTCONN: u32 = 30;
const SO_SNDBUFFORCE: u32 = 32;
const SO_RCVBUFFORCE: u32 = 33;
const SO_PROTOCOL: u32 = 38;
const SO_DOMAIN: u32 = 39;
/// What buffers hold at first, at least and at most.
const BUFFER: u32 = 212_992;
const LEAST_BUFFERS: [u32; 2] = [4608, 2304];
/// Options that are kept, and are 0 or 1.
const SWITCHES: [u32; 9] = [SO_DEBUG, SO_REUSEADDR, SO_DONTROUTE, SO_BROADCAST, SO_KEEPALIVE, SO_OOBINLINE, SO_REUSEPORT, SO_PASSCRED, SO_TIMESTAMP];

/// What has been set of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// One bit for each of the switches.
    switches: u32,
    /// Sizes of the buffers for sending and receiving; 0: as they are at first.
    buffers: [u32; 2],
    /// How long to wait to receive, and to send, in nanoseconds; 0: for ever.
    limits: [u64; 2],
    /// Whether the rest is sent when it is closed, and how many seconds that may take.
    linger: [u32; 2],
    priority: u32,
    least: u32,
    /// Options of TCP and IP, which change nothing here.
    no_delay: u32,
    /// What became of a connection that was not waited for, until somebody asks.
    pub begun: Option<Begun>,
    /// True once a socket of datagrams is known to have an address.
    pub is_named: bool,
}

/// A connection that `connect` did not wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is there: the next `connect` says so.
    Made,
    /// It was refused: this error is told once.
    Failed(Errno),
}

impl Options {
    /// Whether waits have a limit.
    pub fn has_limits(self) -> bool {
        self.limits != [0; 2]
    }

    /// The options of a socket that is known to have an address.
    pub fn named(self) -> Options {
        Options { is_named: true, ..self }
    }

    /// The same with what became of a connection.
    pub fn with(self, begun: Option<Begun>) -> Options {
        Options { begun, ..self }
    }

    /// Whether there is an error to be told of a connection that was not waited for.
    pub fn has_failed(self) -> bool {
        matches!(self.begun, Some(Begun::Failed(_)))
    }

    fn switch(self, option: u32) -> Option<u32> {
        let index = SWITCHES.iter().position(|other| *other == option)?;
        Some(self.switches >> index & 1)
    }

    fn set_switch(&mut self, option: u32, on: bool) {
        if let Some(index) = SWITCHES.iter().position(|other| *other == option) {
            self.switches = self.switches & !(1 << index) | u32::from(on) << index;
        }
    }
}

/// Whether who sends is told with each message.
pub fn passes_credentials(file: &OpenFile) -> bool {
    file.options.get().switch(SO_PASSCRED) == Some(1)
}

/// Whether what is sent and received here is bytes of a stream and no more, and is waited for without a limit.
pub fn has_bytes_alone(file: &OpenFile) -> bool {
    let options = file.options.get();
    Socket::of(file).is_some_and(|socket| !socket.has_messages()) && !options.has_limits() && options.switch(SO_PASSCRED) == Some(0)
}

/// What a socket that was accepted has from the one that listens.
pub fn inherit(listener: &OpenFile, accepted: &OpenFile) {
    let mut options = accepted.options.get();
    options.set_switch(SO_PASSCRED, passes_credentials(listener));
    accepted.options.set(options);
}

/// If waits have a limit: waits for an event within it. `false`: it did not come.
pub fn wait_if_limited(process: &mut Process, file: &OpenFile, event: u64) -> Result<bool, Errno> {
    let limit = file.options.get().limits[usize::from(event == poll::POLLOUT)];
    if limit == 0 || file.is_nonblocking() {
        return Ok(true);
    }
    poll::wait_for_one(process, file, event, limit)
}

/// Whether waits for an event have a limit.
pub fn has_limit(file: &OpenFile, event: u64) -> bool {
    file.options.get().limits[usize::from(event == poll::POLLOUT)] != 0 && !file.is_nonblocking()
}

/// Tries until it can be done; `EAGAIN` also if the event, after which it may be, did not come in time.
pub fn try_within_limit<T>(
    process: &mut Process,
    file: &OpenFile,
    event: u64,
    mut attempt: impl FnMut(&mut Process) -> Result<T, Errno>,
) -> Result<T, Errno> {
    loop {
        match attempt(process) {
            Err(EAGAIN) if wait_if_limited(process, file, event)? => {}
            done => return done,
        }
    }
}

/// A limit as a `timeval`.
fn timeval(limit: u64) -> Vec<u8> {
    let words = [limit / SECOND, limit % SECOND / MICROSECOND];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The value of an option, as bytes.
fn value(process: &mut Process, file: &OpenFile, socket: Socket, (level, option): (u32, u32)) -> Result<Vec<u8>, Errno> {
    let options = file.options.get();
    let target = process.services.reference(file)?;
    let number = match (level, option) {
        (SOL_TCP, 1) if socket.family == Family::Internet => options.no_delay,
        (SOL_TCP | SOL_IP, _) if socket.family == Family::Internet => 0,
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
        (SOL_SOCKET, SO_PEERCRED) => return Ok(peer(target)),
        (SOL_SOCKET, _) => options.switch(option).ok_or(Errno::ENOPROTOOPT)?,
        _ => return Err(EOPNOTSUPP),
    };
    Ok(number.to_le_bytes().to_vec())
}

/// Whose the other end is: nobody's if there is none.
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
        SOL_SOCKET if size < 4 => return Err(EINVAL),
        SOL_SOCKET => set(process, &mut options, option, (at, size))?,
        SOL_TCP | SOL_IP if socket.family == Family::Internet => options.no_delay = process.memory.read_half(at)?,
        _ => return Err(EOPNOTSUPP),
    }
    file.options.set(options);
    if (level, option) == (SOL_SOCKET, SO_PASSCRED) && passes_credentials(&file) && !socket.has_messages() {
        // To receive nothing with this flag says that senders are to be told from now on. What comes of it does not matter.
        let _ = channel::receive(process.services.reference(&file)?, MSG_DONTWAIT | MSG_CREDENTIALS, 0, 0, 0, &mut [0; 64][..]);
    }
    Ok(0)
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
    options.buffers[which] = (size.min(i32::MAX as u32 / 2) * 2).max(LEAST_BUFFERS[which]);
}
