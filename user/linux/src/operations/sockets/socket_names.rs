//! Addresses of sockets: what a program writes, what the service finds a socket by, and what a
//! program is shown.
//!
//! The service knows names of up to 108 bytes. That of a local socket is the path that it was bound
//! to, or begins with a zero; who connects to a path finds its socket by the number of the file
//! that stands there. That of a socket of the internet is protocol, address and port; whether an
//! address can be reached the service knows.

use crate::abi::errno::{EBADF, EEXIST, EINVAL, Errno};
use crate::abi::file_flags::{CURRENT, O_PATH};
use crate::abi::socket_flags::{IP_TTL, SOL_IP, SO_REUSEADDR, SO_REUSEPORT};
use crate::operations::files::named_pipe::key as key_of_file;
use crate::operations::paths::file_status;
use crate::operations::paths::path_start;
use crate::operations::paths::permissions;
use crate::operations::sockets::interfaces;
use crate::process::Process;
use crate::process::exchange::Place;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_family::{AF_INET, AF_INET6, AF_UNIX, AF_UNSPEC, ANY, Family, INTERNET_SIZE, LOOPBACK, LOOPBACK6, MAPPED, Version};
use crate::state::files::socket_family::{in_version, internet_name, version, without_hops};
use crate::state::files::socket_kind::{SOCK_RAW, Socket, is_netlink};
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_proto::channel::{self as names, InternetName, MESSAGES};
use nacre_proto::{channel, directory};
use nacre_proto::flags::{BIND_ALONE, BIND_REUSE_ADDRESS, BIND_REUSE_PORT, END_OWN, END_PEER, SOCK_DGRAM, SOCK_STREAM};

/// Maximum length of a socket's name.
pub const LONGEST: usize = 108;
/// Maximum length of an address in a call.
const LONGEST_ADDRESS: u64 = 128;
/// Linux's number of the family by which the system is asked, and bytes of a `sockaddr_nl`.
const AF_NETLINK: u16 = 16;
const NETLINK_SIZE: usize = 12;
const S_IFMT: u64 = 0o170000;
const S_IFSOCK: u64 = 0o140000;
/// First port that is chosen for who does not ask for one, and how many there are.
const FIRST_PORT: u16 = 32768;
const PORTS: u16 = 28232;
/// Ports that are tried before it is said that none is free.
const TRIES: u16 = 512;

/// Checks that the protocol is 0 or the usual one of the kind of socket.
pub fn check_protocol(kind: u64, protocol: u64) -> Result<(), Errno> {
    const TCP: u64 = 6;
    const UDP: u64 = 17;
    match (kind, protocol) {
        (SOCK_STREAM, 0 | TCP) | (SOCK_DGRAM, 0 | UDP) => Ok(()),
        (SOCK_STREAM | SOCK_DGRAM, _) => Err(Errno::EPROTONOSUPPORT),
        _ => Err(Errno::ESOCKTNOSUPPORT),
    }
}

/// The bytes of an address that a call names.
pub fn read(process: &Process, at: u64, size: u64) -> Result<Vec<u8>, Errno> {
    let size = size & 0xffff_ffff;
    if size > LONGEST_ADDRESS {
        return Err(EINVAL);
    }
    Ok(process.memory.readable(at, size)?.to_vec())
}

/// Writes an address as far as there is room, and how long it is.
pub fn write(process: &mut Process, (at, size_at): (u64, u64), bytes: &[u8]) -> Result<(), Errno> {
    let room = process.memory.read_half(size_at)? as i32;
    let room = usize::try_from(room).map_err(|_| EINVAL)?;
    process.memory.write_bytes(at, &bytes[..room.min(bytes.len())])?;
    process.memory.write_half(size_at, bytes.len() as u32)
}

fn family(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?))
}

/// A local address.
enum Local<'a> {
    /// Missing name: the service chooses one.
    Unnamed,
    /// A file's.
    Path(&'a [u8]),
    /// Abstract name, which is in no directory, with its zero.
    Name(&'a [u8]),
}

/// Decodes a `sockaddr_un`.
fn local(bytes: &[u8]) -> Result<Local<'_>, Errno> {
    if family(bytes) != Some(AF_UNIX) || bytes.len() > 2 + LONGEST {
        return Err(EINVAL);
    }
    let name = &bytes[2..];
    Ok(match name.first() {
        None => Local::Unnamed,
        Some(0) => Local::Name(name),
        Some(_) => Local::Path(name.split(|byte| *byte == 0).next().unwrap_or_default()),
    })
}

/// Address of a program's, of the internet.
struct Address {
    version: Version,
    bytes: names::Address,
    port: u16,
}

/// The address in a `sockaddr_in` or, for a socket of version 6, a `sockaddr_in6`.
fn internet(socket: Socket, bytes: &[u8]) -> Result<Address, Errno> {
    match socket.family {
        Family::Internet6 => version_6(bytes),
        _ => version_4(bytes).map(|(port, bytes)| Address { version: Version::Four, bytes: bytes.into(), port }),
    }
}

/// Decodes a `sockaddr_in6`. Addresses that stand for those of version 4 are of that version.
fn version_6(bytes: &[u8]) -> Result<Address, Errno> {
    const LEAST: usize = 24;
    let long = bytes.get(..LEAST).ok_or(EINVAL)?;
    if family(bytes) != Some(AF_INET6) {
        return Err(Errno::EAFNOSUPPORT);
    }
    let (port, address) = (u16::from_be_bytes([long[2], long[3]]), &long[8..]);
    let address: [u8; 16] = address.try_into().map_err(|_| EINVAL)?;
    let (version, bytes) = match address.strip_prefix(&MAPPED[..]) {
        Some(mapped) => (Version::Four, <[u8; 4]>::try_from(mapped).map_err(|_| EINVAL)?.into()),
        None if address == LOOPBACK6 => (Version::Six, LOOPBACK.into()),
        None if address == [0; 16] => (Version::Six, ANY.into()),
        None => (Version::Six, address.into()),
    };
    Ok(Address { version, bytes, port })
}

/// Port and address of a `sockaddr_in`.
fn version_4(bytes: &[u8]) -> Result<(u16, [u8; 4]), Errno> {
    let Some([family_low, family_high, high, low, a, b, c, d]) = bytes.get(..8).filter(|_| bytes.len() >= INTERNET_SIZE) else { return Err(EINVAL) };
    if u16::from_le_bytes([*family_low, *family_high]) != AF_INET {
        return Err(Errno::EAFNOSUPPORT);
    }
    Ok((u16::from_be_bytes([*high, *low]), [*a, *b, *c, *d]))
}

/// Returns the key of the socket at `path`, which is the file's number. `ECONNREFUSED`: the file is
/// no socket.
fn key_of_path(process: &mut Process, path: &[u8]) -> Result<Vec<u8>, Errno> {
    let directory = path_start::directory(process, CURRENT, path)?;
    let found = file_status::of_path(directory, path)?;
    if found.mode & S_IFMT != S_IFSOCK {
        return Err(Errno::ECONNREFUSED);
    }
    Ok(key_of_file(&found))
}

/// Number of hops that packets of a socket may take.
fn hops(file: &OpenFile) -> u16 {
    file.options.get().internet(SOL_IP, IP_TTL) as u16
}

/// Returns the key of the socket that a program names to connect or to send to.
pub fn key(process: &mut Process, file: &OpenFile, socket: Socket, bytes: &[u8]) -> Result<Vec<u8>, Errno> {
    if socket.family.is_internet() {
        let Address { version, bytes, port } = internet(socket, bytes)?;
        let kind = socket.kind_of_name();
        return match bytes {
            address if socket.is_icmp => Ok(internet_name(version, kind, if address == ANY.into() { LOOPBACK.into() } else { address }, hops(file))),
            address if address == ANY.into() || address.is_loopback() => Ok(internet_name(version, kind, LOOPBACK, port)),
            address => Some(internet_name(version, kind, address, port)).filter(|name| InternetName::read(name).is_some()).ok_or(Errno::ENETUNREACH),
        };
    }
    match local(bytes)? {
        Local::Unnamed => Err(EINVAL),
        Local::Name(name) => Ok(name.to_vec()),
        Local::Path(path) => key_of_path(process, path),
    }
}

/// Returns the key of the socket to connect to, and gives an internet socket a name. Empty: the
/// call dissolves the connection.
pub fn to_connect(process: &mut Process, file: &OpenFile, socket: Socket, bytes: &[u8]) -> Result<Vec<u8>, Errno> {
    if family(bytes) == Some(AF_UNSPEC) && (socket.kind == SOCK_DGRAM || socket.is_icmp) {
        return Ok(Vec::new());
    }
    let key = key(process, file, socket, bytes)?;
    if socket.family.is_internet() {
        choose(process, file, socket, version(&key).unwrap_or(Version::Four))?;
    }
    Ok(key)
}

/// Number by which the system knows the netlink sockets of a process.
pub fn netlink_number(process: &mut Process) -> u32 {
    process.pid() as u32
}

/// A `sockaddr_nl`; 0 is the system itself.
fn shown_netlink(number: u32) -> Vec<u8> {
    let mut shown = AF_NETLINK.to_le_bytes().to_vec();
    shown.extend([0; 2]);
    shown.extend([number, 0].iter().flat_map(|word| word.to_le_bytes()));
    shown
}

/// The address that a program sees for a socket itself (`END_OWN`) or for the one at its other end.
pub fn shown_end(process: &mut Process, file: &OpenFile, socket: Socket, which: u64) -> Result<Vec<u8>, Errno> {
    if is_netlink(file) {
        return Ok(shown_netlink(if which == END_OWN { netlink_number(process) } else { 0 }));
    }
    let found = name(file, which)?;
    let found = if which == END_PEER { without_hops(&found) } else { found };
    if !socket.family.is_internet() {
        return Ok(socket.family.shown(&found));
    }
    let across = name(file, if which == END_OWN { END_PEER } else { END_OWN });
    match across.as_deref().map(version) {
        Err(_) => Ok(socket.family.shown(&found)),
        // Who takes part in both versions has the one of the other end.
        Ok(Some(Version::Four)) => Ok(socket.family.shown_peer(&in_version(&found, Version::Four))),
        Ok(_) => Ok(socket.family.shown_peer(&found)),
    }
}

/// The address that a program sees for the sender of what it received.
pub fn shown_sender(file: &OpenFile, socket: Socket, from: &[u8]) -> Vec<u8> {
    match from {
        _ if is_netlink(file) => shown_netlink(0),
        [] => Vec::new(),
        from => socket.family.shown_peer(&without_hops(from)),
    }
}

/// Gives a socket the address that a program names.
pub fn bind(process: &mut Process, file: &OpenFile, socket: Socket, bytes: &[u8]) -> Result<(), Errno> {
    if is_netlink(file) {
        // The number is the process's, whatever it asks for.
        return if family(bytes) == Some(AF_NETLINK) && bytes.len() >= NETLINK_SIZE { Ok(()) } else { Err(EINVAL) };
    }
    let target = file.reference()?;
    if socket.family.is_internet() {
        return bind_internet(process, file, socket, bytes);
    }
    match local(bytes)? {
        Local::Unnamed => channel::bind(target, 0, 0, 0, &[][..])?,
        Local::Name(name) => channel::bind(target, 0, 0, 0, name)?,
        Local::Path(path) => return bind_path(process, file, path),
    };
    Ok(())
}

/// Makes a file, by whose number the socket is found.
fn in_use(error: Errno) -> Errno {
    if error == EEXIST { Errno::EADDRINUSE } else { error }
}

fn bind_path(process: &mut Process, file: &OpenFile, path: &[u8]) -> Result<(), Errno> {
    let directory = path_start::directory(process, CURRENT, path)?;
    let mode = S_IFSOCK | 0o777 & !u64::from(process.identity.umask);
    let place = Place { directory, path };
    let parent = permissions::check_new_name(process, place).map_err(in_use)?;
    directory::make_node(directory, mode, 0, path).map_err(in_use)?;
    process.make_own(place, parent, 0)?;
    let bound = file_status::of_path(directory, path).and_then(|made| {
        let key = key_of_file(&made);
        let bytes = [&key[..], path].concat();
        channel::bind(file.reference()?, key.len() as u64, 0, 0, &bytes[..])
    });
    if bound.is_err() {
        // The file is this socket's alone, which has another name.
        let _ = directory::remove(directory, 0, path);
    }
    bound.map(drop)
}

fn bind_internet(process: &mut Process, file: &OpenFile, socket: Socket, bytes: &[u8]) -> Result<(), Errno> {
    let Address { version, bytes: address, port } = internet(socket, bytes)?;
    if InternetName::read(&internet_name(version, socket.kind_of_name(), address, port)).is_none() {
        return Err(Errno::EADDRNOTAVAIL);
    }
    if socket.is_raw() {
        // It has a name, which is any address.
        let is_own = address == ANY.into() || address.is_loopback() || interfaces::all(process).iter().any(|card| address == card.address.into());
        return if is_own { Ok(()) } else { Err(Errno::EADDRNOTAVAIL) };
    }
    if !name(file, END_OWN)?.is_empty() {
        return Err(EINVAL);
    }
    let version = if version == Version::Six && address == ANY.into() { widest(file, socket) } else { version };
    let sharing = sharing(process, file);
    if port != 0 { take_port(file, socket, (version, address, port), sharing) } else { choose_port(process, file, socket, (version, address)) }
}

/// Returns which others may have the port of a socket, and the user of the process.
fn sharing(process: &mut Process, file: &OpenFile) -> (u64, u64) {
    let options = file.options.get();
    let flag = |option, flag| if options.switch(option) == Some(1) { flag } else { 0 };
    (flag(SO_REUSEADDR, BIND_REUSE_ADDRESS) | flag(SO_REUSEPORT, BIND_REUSE_PORT), process.owner()[1])
}

/// Takes a port: it is found by the loopback address, whatever it was bound to.
fn take_port(file: &OpenFile, socket: Socket, (version, address, port): (Version, names::Address, u16), (sharing, user): (u64, u64)) -> Result<(), Errno> {
    let target = file.reference()?;
    let kind = socket.kind_of_name();
    let key = internet_name(version, kind, LOOPBACK, port);
    let bytes = [&key[..], &internet_name(version, kind, address, port)].concat();
    channel::bind(target, key.len() as u64, sharing, user, &bytes[..])?;
    Ok(())
}

/// Takes a port that is free.
fn choose_port(process: &mut Process, file: &OpenFile, socket: Socket, (version, address): (Version, names::Address)) -> Result<(), Errno> {
    let mut random = [0; 2];
    process.services.random(&mut random)?;
    let start = u16::from_le_bytes(random) % PORTS;
    let (sharing, user) = sharing(process, file);
    for number in 0..TRIES {
        let port = FIRST_PORT + (start + number) % PORTS;
        match take_port(file, socket, (version, address, port), (sharing | BIND_ALONE, user)) {
            Err(Errno::EADDRINUSE) => {}
            result => return result,
        }
    }
    Err(Errno::EADDRINUSE)
}

/// Gives a socket of the internet a port if it has none.
pub fn choose(process: &mut Process, file: &OpenFile, socket: Socket, version: Version) -> Result<(), Errno> {
    if name(file, END_OWN)?.is_empty() { choose_port(process, file, socket, (version, LOOPBACK.into())) } else { Ok(()) }
}

/// Returns the versions that a socket takes part in if it has no address of one of them.
pub fn widest(file: &OpenFile, socket: Socket) -> Version {
    match socket.family {
        Family::Internet6 if file.options.get().is_version_6_only => Version::Six,
        Family::Internet6 => Version::Both,
        _ => Version::Four,
    }
}

/// Returns the key of who takes part in both versions, for a key of one.
pub fn in_both(socket: Socket, key: &[u8]) -> Option<Vec<u8>> {
    let is_of_one = socket.family.is_internet() && matches!(version(key), Some(Version::Four | Version::Six));
    let is_of_one = is_of_one && InternetName::read(key).is_some_and(|name| name.address.four().is_some());
    is_of_one.then(|| in_version(key, Version::Both))
}

/// Gives a socket of datagrams of the internet, which is about to send one, any address and a port
/// if it has none: else nobody could answer.
pub fn choose_to_send(process: &mut Process, file: &OpenFile, socket: Socket) -> Result<(), Errno> {
    if !socket.family.is_internet() || !socket.has_messages() || file.options.get().is_named {
        return Ok(());
    }
    if name(file, END_OWN)?.is_empty() {
        match choose_port(process, file, socket, (widest(file, socket), ANY.into())) {
            // Another thread was first.
            Err(EINVAL) => {}
            done => done?,
        }
    }
    file.options.set(file.options.get().named());
    Ok(())
}

/// The name of an end, as the service knows it.
pub fn name(file: &OpenFile, which: u64) -> Result<alloc::vec::Vec<u8>, Errno> {
    let mut bytes = [0; 256];
    let count = channel::name(file.reference()?, which, &mut bytes[..])?.name;
    Ok(bytes.get(..count).unwrap_or_default().to_vec())
}

/// The socket behind a descriptor.
pub fn socket_at(process: &mut Process, descriptor: u64) -> Result<(Rc<OpenFile>, Socket), Errno> {
    let file = process.descriptors.get(descriptor)?;
    if file.flags.get() & O_PATH != 0 {
        return Err(EBADF);
    }
    let socket = Socket::of(&file).or_else(|| unknown_socket(process, &file)).ok_or(Errno::ENOTSOCK)?;
    Ok((file, socket))
}

/// Asks the server of a file of which nothing is known whether it is a socket, and remembers that.
/// Such a file is a stream that the program was born with.
fn unknown_socket(process: &mut Process, file: &OpenFile) -> Option<Socket> {
    if file.mode.get() != 0 || !file.is_remote() {
        return None;
    }
    let end = file.reference().ok()?;
    let (kind, name) = process.unlocked(|| Some((channel::facts(end).ok()?.kind, name(file, END_OWN).unwrap_or_default())))?;
    let family = match version(&name) {
        None => Family::Local,
        Some(Version::Four) => Family::Internet,
        Some(_) => Family::Internet6,
    };
    let of_icmp = InternetName::read(&name).filter(|name| name.is_icmp());
    let kind = if of_icmp.is_some_and(|name| name.kind == MESSAGES) { SOCK_RAW } else { kind };
    let socket = Socket { family, kind, is_icmp: of_icmp.is_some() };
    file.mode.set(socket.mode());
    Some(socket)
}
