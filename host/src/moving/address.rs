//! The two ends of a move: a Unix socket, or a TCP port.

use std::fs;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::wire::{Broken, Message};
use crate::failure::{Class, Context, Failure, Outcome};

/// Host of an address that names none.
const LOOPBACK: &str = "127.0.0.1";

/// An address: the path of a socket, or a host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Path of a Unix socket.
    Socket(PathBuf),
    /// Host and port of TCP.
    Port(String, u16),
}

impl Address {
    /// Reads an address: what has a slash is a path.
    pub fn read(text: &str) -> Result<Address, String> {
        if text.contains('/') {
            return Ok(Address::Socket(PathBuf::from(text)));
        }
        let wrong = || "an address is the path of a socket, with a '/' in it, or HOST:PORT; :PORT is a port of 127.0.0.1".to_string();
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Ok(Address::Port(if host.is_empty() { LOOPBACK } else { host }.to_string(), port.parse().map_err(|_| wrong())?))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Socket(path) => write!(formatter, "{}", path.display()),
            Address::Port(host, port) if host.contains(':') => write!(formatter, "[{host}]:{port}"),
            Address::Port(host, port) => write!(formatter, "{host}:{port}"),
        }
    }
}

/// A connection of either kind.
#[derive(Debug)]
pub enum Stream {
    /// Connection at a Unix socket.
    Unix(UnixStream),
    /// Connection over TCP.
    Tcp(TcpStream),
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(into),
            Stream::Tcp(stream) => stream.read(into),
        }
    }
}

/// A connection to the other side of a move.
#[derive(Debug)]
pub struct Link {
    /// Lines and bytes of the other side.
    pub from: BufReader<Stream>,
}

impl Link {
    fn new(stream: Stream) -> Link {
        Link { from: BufReader::new(stream) }
    }

    /// Connects to a receiver.
    pub fn connect(address: &Address) -> Outcome<Link> {
        let stream = match address {
            Address::Socket(path) => UnixStream::connect(path).map(Stream::Unix),
            Address::Port(host, port) => TcpStream::connect((host.as_str(), *port)).map(Stream::Tcp),
        };
        stream.map(Link::new).map_err(|error| Failure::new(Class::File, format!("cannot connect to {address}: {error}")).remedy("`nacre receive` listens there first"))
    }

    /// Sets the time after which a side that says nothing, or takes nothing, is given up.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        match self.from.get_ref() {
            Stream::Unix(stream) => stream.set_read_timeout(Some(patience)).and_then(|()| stream.set_write_timeout(Some(patience))),
            Stream::Tcp(stream) => stream.set_read_timeout(Some(patience)).and_then(|()| stream.set_write_timeout(Some(patience))),
        }
    }

    /// Says a line.
    pub fn say(&mut self, message: &Message) -> Result<(), Broken> {
        Ok(self.write(message.line().as_bytes())?)
    }

    /// Sends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.from.get_mut() {
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Tcp(stream) => stream.write_all(bytes),
        }
    }
}

/// Waits for connections. Dropping it removes its socket.
#[derive(Debug)]
pub enum Door {
    /// Listener at a socket that this user alone can connect to.
    Unix(UnixListener, PathBuf),
    /// Listener at a port.
    Tcp(TcpListener),
}

impl Door {
    /// Listens at an address.
    pub fn open(address: &Address) -> Outcome<Door> {
        let failed = || format!("cannot listen at {address}");
        match address {
            Address::Socket(path) => {
                remove_dead(path);
                // No moment in which others could connect.
                let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
                let listener = UnixListener::bind(path);
                rustix::process::umask(before);
                Ok(Door::Unix(listener.context(Class::File, failed)?, path.clone()))
            }
            Address::Port(host, port) => Ok(Door::Tcp(TcpListener::bind((host.as_str(), *port)).context(Class::File, failed)?)),
        }
    }

    /// The address, with the port that was chosen if 0 was asked for.
    pub fn shown(&self) -> String {
        match self {
            Door::Unix(_, path) => path.display().to_string(),
            Door::Tcp(listener) => listener.local_addr().map_or(String::new(), |address| address.to_string()),
        }
    }

    /// Returns true if others than this machine's users can connect.
    pub fn is_open_to_others(&self) -> bool {
        matches!(self, Door::Tcp(listener) if listener.local_addr().is_ok_and(|address| !address.ip().is_loopback()))
    }

    /// Waits for the next connection.
    pub fn accept(&self) -> Outcome<Link> {
        let stream = match self {
            Door::Unix(listener, _) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Door::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
        };
        stream.map(Link::new).context(Class::Internal, || format!("cannot listen at {}", self.shown()))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Door::Unix(_, path) = self {
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes the socket of a receiver that has gone. Anything else at that path stays.
fn remove_dead(path: &Path) {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_address_is_a_path_or_a_port() {
        assert_eq!(Address::read("./x:1"), Ok(Address::Socket(PathBuf::from("./x:1"))));
        assert_eq!(Address::read(":7000"), Ok(Address::Port("127.0.0.1".to_string(), 7000)));
        assert_eq!(Address::read("[::1]:7").map(|address| address.to_string()).as_deref(), Ok("[::1]:7"));
        for wrong in ["", "x", "7000", "host:", "host:x", "host:70000"] {
            assert!(Address::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_socket_is_its_user_s_and_goes_with_the_receiver() {
        let folder = crate::scratch::Folder::new("door").unwrap();
        let address = Address::Socket(folder.path().join("socket"));
        let Address::Socket(path) = &address else { return };
        drop(UnixListener::bind(path).unwrap());
        let door = Door::open(&address).unwrap();
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(Door::open(&address).is_err() && !door.is_open_to_others());
        drop(door);
        assert!(!path.exists());
        fs::write(path, "a file").unwrap();
        assert!(Door::open(&address).is_err() && path.exists());
    }
}
