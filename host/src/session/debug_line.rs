//! The line between a debugger on this machine and a monitor in the guest: a port of 127.0.0.1,
//! whose connections are joined, one at a time, with a fourth serial line of the guest.
//!
//! The monitor sends one byte when it listens. Nothing is sent to it before. When a connection ends
//! the monitor gets a packet that says so, and all bytes up to its answer belong to that
//! connection.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::failure::{Class, Context, Outcome};
use crate::scratch::Folder;

/// Bytes that are taken at a time, at most.
const PART: usize = 4096;

/// A port for a debugger, and a socket for the machine.
pub struct DebugLine {
    port: TcpListener,
    socket: UnixListener,
    folder: Folder,
}

/// Connection that is there, and the answer that ends the bytes of the one before.
#[derive(Default)]
struct Shared {
    client: Option<TcpStream>,
    awaited: Option<Vec<u8>>,
    /// Bytes in which that answer was not found yet.
    seen: Vec<u8>,
}

impl DebugLine {
    /// Listens at a port of this machine; 0 takes a free one.
    pub fn open(port: u16) -> Outcome<DebugLine> {
        let folder = Folder::new("gdb")?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).context(Class::Usage, || format!("cannot listen at 127.0.0.1:{port}"))?;
        let socket = UnixListener::bind(folder.path().join("line")).context(Class::File, || "cannot make a socket for the machine".to_string())?;
        Ok(DebugLine { port: listener, socket, folder })
    }

    /// Path of the socket that the machine connects to.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("line")
    }

    /// Returns the port's number.
    pub fn number(&self) -> u16 {
        self.port.local_addr().map_or(0, |address| address.port())
    }

    /// Carries bytes for as long as this process runs. The folder stays as long as the result.
    pub fn carry(self) -> Folder {
        let DebugLine { port, socket, folder } = self;
        thread::spawn(move || {
            let Ok((line, _)) = socket.accept() else { return };
            let _ = serve(&port, line);
        });
        folder
    }
}

fn locked(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(port: &TcpListener, mut line: UnixStream) -> std::io::Result<()> {
    // The monitor listens.
    line.read_exact(&mut [0])?;
    let shared = Arc::new(Mutex::new(Shared::default()));
    let (output, to_client) = (line.try_clone()?, shared.clone());
    thread::spawn(move || carry_output(output, &to_client));
    for number in 0u64.. {
        let (mut client, _) = port.accept()?;
        let _ = client.set_nodelay(true);
        locked(&shared).client = Some(client.try_clone()?);
        carry_input(&mut client, &mut line)?;
        let mut shared = locked(&shared);
        shared.client = None;
        shared.awaited = Some(packet(&format!("gone:{number}")));
        shared.seen.clear();
        drop(shared);
        line.write_all(&packet(&format!("vNacreGone:{number}")))?;
    }
    Ok(())
}

/// Carries what a client sends until it ends. Fails if the machine has gone.
fn carry_input(client: &mut TcpStream, line: &mut UnixStream) -> std::io::Result<()> {
    let mut buffer = [0; PART];
    loop {
        match client.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => line.write_all(&buffer[..count])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Ok(()),
        }
    }
}

fn carry_output(mut line: UnixStream, shared: &Mutex<Shared>) {
    let mut buffer = [0; PART];
    loop {
        let count = match line.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(count) if count > 0 => count,
            _ => break,
        };
        let (bytes, client) = {
            let mut shared = locked(shared);
            (shared.take(&buffer[..count]), shared.client.as_ref().and_then(|client| client.try_clone().ok()))
        };
        if let Some(mut client) = client {
            // One that has gone shows where it is read from.
            let _ = client.write_all(&bytes);
        }
    }
    if let Some(client) = &locked(shared).client {
        let _ = client.shutdown(Shutdown::Both);
    }
}

impl Shared {
    /// Returns the bytes that belong to the present connection.
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Some(awaited) = &self.awaited else { return bytes.to_vec() };
        self.seen.extend_from_slice(bytes);
        let Some(at) = self.seen.windows(awaited.len()).position(|part| part == awaited) else {
            let useless = self.seen.len().saturating_sub(awaited.len());
            self.seen.drain(..useless);
            return Vec::new();
        };
        let rest = self.seen.split_off(at + awaited.len());
        self.seen.clear();
        self.awaited = None;
        rest
    }
}

/// A packet of the debugger's protocol.
fn packet(text: &str) -> Vec<u8> {
    let sum = text.bytes().fold(0u8, u8::wrapping_add);
    format!("${text}#{sum:02x}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_an_old_connection_are_dropped() {
        let mut shared = Shared { awaited: Some(packet("gone:3")), ..Shared::default() };
        assert_eq!(shared.take(b"+$OK#9a+$gone:"), b"");
        assert_eq!(shared.take(b"2#ffjunk$gone:3#"), b"");
        let sum = packet("gone:3")[8..].to_vec();
        assert_eq!(shared.take(&[&sum[..], b"+$new"].concat()), b"+$new");
        assert_eq!(shared.take(b"x"), b"x");
    }

    #[test]
    fn a_client_is_joined_with_the_machine_and_its_end_is_told() {
        let line = DebugLine::open(0).unwrap();
        let (address, socket) = (line.port.local_addr().unwrap(), line.socket());
        let _folder = line.carry();
        let mut machine = UnixStream::connect(socket).unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"early").unwrap();
        machine.write_all(b"+").unwrap();
        let mut got = [0; 5];
        machine.read_exact(&mut got).unwrap();
        machine.write_all(b"answer").unwrap();
        let mut answer = [0; 6];
        client.read_exact(&mut answer).unwrap();
        assert_eq!((&got, &answer), (b"early", b"answer"));
        drop(client);
        let mut told = vec![0; packet("vNacreGone:0").len()];
        machine.read_exact(&mut told).unwrap();
        assert_eq!(told, packet("vNacreGone:0"));
        let mut next = TcpStream::connect(address).unwrap();
        next.write_all(b"!").unwrap();
        machine.read_exact(&mut got[..1]).unwrap();
        machine.write_all(b"late").unwrap();
        machine.write_all(&packet("gone:0")).unwrap();
        machine.write_all(b"new").unwrap();
        next.read_exact(&mut answer[..3]).unwrap();
        assert_eq!(&answer[..3], b"new");
    }
}
