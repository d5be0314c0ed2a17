//! Sockets outside of the machine, as a trait that the machine's owner implements. None of these
//! calls waits. Whoever implements it notes when something may have changed at a socket, and then
//! gives the socket's number to `Gateway::turn`.

/// Address and port of the internet.
pub type Address = ([u8; 4], u16);

/// Error of a socket that is of no use any more, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// Stage of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The other side has not answered.
    Asking,
    /// The connection stands.
    Standing,
    /// There will be no connection.
    Refused,
}

/// Result of receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Empty: no bytes have come yet.
    Nothing,
    /// Number of bytes that have come.
    Bytes(usize),
    /// The other side sends nothing more.
    End,
}

/// Sockets outside.
pub trait Outside {
    /// Asks for a connection. Returns the number of its socket.
    fn connect(&mut self, to: Address) -> Result<u32, Gone>;

    /// Returns the stage of a connection that was asked for.
    fn stage(&mut self, socket: u32) -> Stage;

    /// Sends bytes over a connection. Returns how many were taken.
    fn send(&mut self, socket: u32, bytes: &[u8]) -> Result<usize, Gone>;

    /// Receives bytes from a connection.
    fn receive(&mut self, socket: u32, into: &mut [u8]) -> Result<Received, Gone>;

    /// Sends nothing more over a connection.
    fn finish(&mut self, socket: u32);

    /// Makes a socket for datagrams. Returns its number.
    fn open(&mut self) -> Result<u32, Gone>;

    /// Sends a datagram, or loses it.
    fn send_to(&mut self, socket: u32, to: Address, bytes: &[u8]);

    /// Receives a datagram: its sender and its whole size, of which at most the buffer is filled.
    fn receive_from(&mut self, socket: u32, into: &mut [u8]) -> Option<(Address, usize)>;

    /// Gives a socket up. Its number may be used again.
    fn close(&mut self, socket: u32);
}
