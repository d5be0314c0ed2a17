//! A server of this machine that both systems reach over their network.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

use crate::failure::{Class, Context, Outcome};

/// Bytes that are moved at once.
const PIECE: usize = 64 << 10;

/// The server, for as long as this process lives.
pub struct Peer {
    port: u16,
}

impl Peer {
    /// Starts it on a port that is free.
    pub fn listen() -> Outcome<Peer> {
        let cannot = || "cannot listen on this machine's own network".to_string();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context(Class::Machine, cannot)?;
        let port = listener.local_addr().context(Class::Machine, cannot)?.port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || serve(stream));
            }
        });
        Ok(Peer { port })
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Does what the first byte asks for: `s` takes bytes to their end and answers with one, `g` gives
/// as many as the next eight bytes say, `e` sends each back.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut wanted, mut piece) = ([0], vec![0; PIECE]);
    stream.read_exact(&mut wanted)?;
    match wanted[0] {
        b's' => {
            while stream.read(&mut piece)? > 0 {}
            stream.write_all(&[1])
        }
        b'g' => {
            let mut size = [0; 8];
            stream.read_exact(&mut size)?;
            io::copy(&mut io::repeat(0).take(u64::from_le_bytes(size)), &mut stream).map(drop)
        }
        b'e' => loop {
            match stream.read(&mut piece)? {
                0 => return Ok(()),
                done => stream.write_all(&piece[..done])?,
            }
        },
        _ => Ok(()),
    }
}
