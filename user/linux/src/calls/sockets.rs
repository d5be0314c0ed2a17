//! Sockets: made, named, connected. They are files of the service `channel`; which of them the
//! program sees stands in the mode of the open file, beside Linux's bits.

pub mod message;
pub mod options;

use crate::abi::errno::{Answer, EACCES, EAGAIN, ECONNREFUSED, EINPROGRESS, EINTR, EINVAL, ENOSYS, EOPNOTSUPP, EPERM, ERESTART, Errno};
use crate::abi::file_flags::{O_CLOEXEC, O_NONBLOCK};
use crate::abi::poll_events::POLLIN;
use crate::abi::registers::Frame;
use crate::operations::sockets::interfaces;
use crate::operations::sockets::socket_limits;
use crate::operations::sockets::socket_names::{self, name, socket_at};
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_family::Family;
use crate::state::files::socket_kind::{NETLINK, OF_SOCKETS, SOCK_RAW, Socket, TYPE, is_netlink};
use crate::state::files::socket_options::Begun;
use alloc::rc::Rc;
use nacre_proto::channel;
use nacre_proto::sender::words;
use nacre_proto::flags::{END_OWN, END_PEER, O_NONBLOCK as DONT_WAIT, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_STREAM};
use nacre_sys::{Reference, SpanMut, EmptySlot};
use nacre_sys::ipc::{Buffers, Message};

/// Number of socket types, and of address families, that Linux knows.
const TYPES: u64 = 11;
const FAMILIES: u64 = 46;
/// Number of the protocol by which machines are asked for echoes.
const ICMP: u64 = 1;
/// Linux's number of that family, and of the protocols of it that there are: routes and their like,
/// and sockets.
const AF_NETLINK: u64 = 16;
const ROUTES: u64 = 0;
const SOCKETS: u64 = 4;

/// Flags of a type that say how the descriptor is to be.
fn check_flags(kind: u64) -> Result<u64, Errno> {
    let flags = kind & 0xffff_ffff & !TYPE;
    if flags & !u64::from(O_CLOEXEC | O_NONBLOCK) == 0 { Ok(flags) } else { Err(EINVAL) }
}

/// Checks the arguments of `socket` and returns the kind of socket.
fn wanted(family: u64, kind: u64, protocol: u64) -> Result<Socket, Errno> {
    let (family, kind, protocol) = (family & 0xffff_ffff, kind & TYPE, protocol & 0xffff_ffff);
    if family >= FAMILIES {
        return Err(Errno::EAFNOSUPPORT);
    }
    if kind >= TYPES {
        return Err(EINVAL);
    }
    let family = Family::from_number(family).ok_or(Errno::EAFNOSUPPORT)?;
    let kind = if kind == SOCK_RAW && family == Family::Local { SOCK_DGRAM } else { kind };
    if family == Family::Internet && protocol == ICMP && [SOCK_DGRAM, SOCK_RAW].contains(&kind) {
        return Ok(Socket { family, kind, is_icmp: true });
    }
    match family {
        Family::Local if protocol > 1 => return Err(Errno::EPROTONOSUPPORT),
        Family::Local => {}
        Family::Internet | Family::Internet6 => socket_names::check_protocol(kind, protocol)?,
    }
    let is_known = kind == SOCK_STREAM || kind == SOCK_DGRAM || kind == SOCK_SEQPACKET && family == Family::Local;
    if is_known { Ok(Socket { family, kind, is_icmp: false }) } else { Err(Errno::ESOCKTNOSUPPORT) }
}

impl Process {
    /// The service that has the sockets.
    fn channels(&mut self) -> Result<Reference, Errno> {
        self.services.channels().map_err(|_| {
            self.report(format_args!("socket: this needs a process manager: run the program below `process`"));
            ENOSYS
        })
    }
}

/// `socket(family, type, protocol)`.
pub fn socket(process: &mut Process, frame: &mut Frame) -> Answer {
    let [family, kind, protocol, ..] = frame.arguments();
    if family & 0xffff_ffff == AF_NETLINK {
        return netlink(process, kind, protocol);
    }
    let flags = check_flags(kind)?;
    let socket = wanted(family, kind, protocol)?;
    if socket.is_raw() && process.identity.owner()[1] != 0 {
        return Err(EPERM);
    }
    let internet = if socket.family.is_internet() { process.services.internet() } else { None };
    let service = internet.map_or_else(|| process.channels(), Ok)?;
    let made = channel::socket(service, socket.kind_of_service(), flags & DONT_WAIT)?.socket;
    let file = socket.open(made, flags);
    if socket.is_raw() {
        // It hears everything from now on.
        socket_names::choose_to_send(process, &file, socket).map_err(|error| if error == EACCES { EPERM } else { error })?;
    }
    process.open(file, flags as u32 & O_CLOEXEC != 0)
}

/// A socket of the family by which the system is asked for interfaces, routes and sockets, and
/// tells that a message has come to a queue. All of that is done here: so it is one of local
/// datagrams, which are sent to itself.
fn netlink(process: &mut Process, kind: u64, protocol: u64) -> Answer {
    let flags = check_flags(kind)?;
    if ![SOCK_RAW, SOCK_DGRAM].contains(&(kind & TYPE)) {
        return Err(Errno::ESOCKTNOSUPPORT);
    }
    let about = match protocol & 0xffff_ffff {
        ROUTES => 0,
        SOCKETS => OF_SOCKETS,
        _ => return Err(Errno::EPROTONOSUPPORT),
    };
    let [pid, uid, gid] = process.owner();
    let made = channel::socket(process.channels()?, SOCK_DGRAM, flags & DONT_WAIT)?.socket;
    let mut name = [0; 256];
    channel::bind(made.handle(), 0, 0, 0, &[][..])?;
    let size = channel::name(made.handle(), END_OWN, &mut name[..])?.name;
    channel::connect(made.handle(), pid, uid, gid, name.get(..size).unwrap_or_default())?;
    let file = Socket { family: Family::Local, kind: SOCK_DGRAM, is_icmp: false }.open(made, flags);
    file.mode.set(file.mode.get() | NETLINK | about);
    process.open(file, flags as u32 & O_CLOEXEC != 0)
}

/// Such a socket behind a descriptor.
pub fn netlink_at(process: &mut Process, descriptor: u64) -> Result<Rc<OpenFile>, Errno> {
    let (file, _) = socket_at(process, descriptor)?;
    if is_netlink(&file) { Ok(file) } else { Err(EINVAL) }
}

/// `socketpair(family, type, protocol, descriptors)`.
pub fn socketpair(process: &mut Process, frame: &mut Frame) -> Answer {
    let [family, kind, protocol, address, ..] = frame.arguments();
    let flags = check_flags(kind)?;
    process.descriptors.check_room(2, process.limits.descriptors())?;
    process.memory.writable(address, 8)?;
    let socket = wanted(family, kind, protocol)?;
    if socket.family != Family::Local {
        return Err(EOPNOTSUPP);
    }
    let [pid, uid, gid] = process.owner();
    let service = process.channels()?;
    let made = channel::pair(service, socket.kind, flags & DONT_WAIT, pid, uid, gid)?;
    let close_on_exec = flags as u32 & O_CLOEXEC != 0;
    let first = process.open(socket.open(made.first, flags), close_on_exec)?;
    let second = process.open(socket.open(made.second, flags), close_on_exec).inspect_err(|_| drop(process.descriptors.close(first)))?;
    process.memory.write_half(address, first as u32)?;
    process.memory.write_half(address + 4, second as u32)?;
    Ok(0)
}

/// `bind(descriptor, address, size)`.
pub fn bind(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, at, size, ..] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    let bytes = socket_names::read(process, at, size)?;
    socket_names::bind(process, &file, socket, &bytes)?;
    Ok(0)
}

/// `listen(descriptor, backlog)`.
pub fn listen(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, backlog, ..] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    let target = file.reference()?;
    if socket.family.is_internet() {
        socket_names::choose(process, &file, socket, socket_names::widest(&file, socket))?;
    }
    let [pid, uid, gid] = process.owner();
    channel::listen(target, backlog & 0xffff_ffff, pid, uid, gid)?;
    Ok(0)
}

/// An exchange that may wait for long.
fn wait_for(process: &mut Process, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<nacre_sys::ipc::Received, Errno> {
    process.exchange(target, message, buffers).map_err(|error| if error == EINTR { ERESTART } else { error })
}

/// `connect(descriptor, address, size)`.
pub fn connect(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, at, size, ..] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    let bytes = socket_names::read(process, at, size)?;
    if is_netlink(&file) {
        return Ok(0);
    }
    let options = file.options.get();
    if let Some(begun) = options.begun {
        file.options.set(options.with(None));
        return match begun {
            Begun::Made => Ok(0),
            Begun::Failed(error) => Err(error),
        };
    }
    let key = socket_names::to_connect(process, &file, socket, &bytes)?;
    let target = file.reference()?;
    let owner = process.owner();
    let message = Message { bytes: (&key[..]).into(), ..Message::new(channel::connect::LABEL, words(owner)) };
    let mut done = wait_for(process, target, &message, Buffers::NONE);
    if done.as_ref().is_err_and(|error| *error == ECONNREFUSED)
        && let Some(other) = socket_names::in_both(socket, &key)
    {
        done = wait_for(process, target, &Message { bytes: (&other[..]).into(), ..message }, Buffers::NONE);
    }
    if socket.family.is_internet() && socket.has_messages() && done.as_ref().is_err_and(|error| *error == ECONNREFUSED) {
        // That nobody is there is told to who sends something.
        return Ok(0);
    }
    // TCP without waiting has never got an answer when it returns.
    let begun = match done {
        Ok(_) => Begun::Made,
        Err(error @ ECONNREFUSED) => Begun::Failed(error),
        Err(error) => return Err(interfaces::error_of(process, &file, &key, error)),
    };
    if socket.family.is_internet() && !socket.has_messages() && file.is_nonblocking() {
        file.options.set(options.with(Some(begun)));
        process.pipe_changed();
        return Err(EINPROGRESS);
    }
    done.map(|_| 0)
}

fn accept_with(process: &mut Process, [descriptor, at, size_at]: [u64; 3], flags: u64) -> Answer {
    let flags = flags & 0xffff_ffff;
    if flags & !u64::from(O_CLOEXEC | O_NONBLOCK) != 0 {
        return Err(EINVAL);
    }
    let (file, socket) = socket_at(process, descriptor)?;
    process.descriptors.check_room(1, process.limits.descriptors())?;
    if !socket_limits::wait_if_limited(process, &file, POLLIN)? {
        return Err(EAGAIN);
    }
    let target = file.reference()?;
    let slot = EmptySlot::<Reference>::new()?;
    let mut name = [0; socket_names::LONGEST];
    let message = Message::new(channel::accept::LABEL, words([flags & DONT_WAIT]));
    let received = wait_for(process, target, &message, Buffers { bytes: SpanMut::from(&mut name[..]), slots: &[slot.handle()] })?;
    let accepted = socket.open(slot.occupied(), flags);
    socket_limits::inherit(&file, &accepted);
    if at != 0 {
        let name = name.get(..received.bytes()).unwrap_or_default();
        socket_names::write(process, (at, size_at), &socket.family.shown_peer(name))?;
    }
    process.open(accepted, flags as u32 & O_CLOEXEC != 0)
}

/// `accept(descriptor, address, size)`.
pub fn accept(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, at, size_at, ..] = frame.arguments();
    accept_with(process, [descriptor, at, size_at], 0)
}

/// `accept4(descriptor, address, size, flags)`.
pub fn accept4(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, at, size_at, flags, ..] = frame.arguments();
    accept_with(process, [descriptor, at, size_at], flags)
}

/// `shutdown(descriptor, how)`.
pub fn shutdown(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, how, ..] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    let how = how & 0xffff_ffff;
    let target = file.reference()?;
    if how > 2 {
        return Err(EINVAL);
    }
    if socket.family.is_internet() {
        name(&file, END_PEER)?;
    }
    channel::shutdown(target, how)?;
    Ok(0)
}

fn tell_name(process: &mut Process, frame: &Frame, which: u64) -> Answer {
    let [descriptor, at, size_at, ..] = frame.arguments();
    let (file, socket) = socket_at(process, descriptor)?;
    let shown = socket_names::shown_end(process, &file, socket, which)?;
    socket_names::write(process, (at, size_at), &shown)?;
    Ok(0)
}

/// `getsockname(descriptor, address, size)`.
pub fn getsockname(process: &mut Process, frame: &mut Frame) -> Answer {
    tell_name(process, frame, END_OWN)
}

/// `getpeername(descriptor, address, size)`.
pub fn getpeername(process: &mut Process, frame: &mut Frame) -> Answer {
    tell_name(process, frame, END_PEER)
}
