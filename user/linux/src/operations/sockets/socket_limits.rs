//! Limits and options of sockets that calls follow.

use crate::abi::errno::{EAGAIN, Errno};
use crate::abi::poll_events;
use crate::abi::socket_flags::SO_PASSCRED;
use crate::operations::files::readiness;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_kind::Socket;

/// Returns true if the socket tells the sender with each message.
pub fn passes_credentials(file: &OpenFile) -> bool {
    file.options.get().switch(SO_PASSCRED) == Some(1)
}

/// Returns true for a stream socket that transfers bytes only and whose waits have no limit.
pub fn has_bytes_alone(file: &OpenFile) -> bool {
    let options = file.options.get();
    Socket::of(file).is_some_and(|socket| !socket.has_messages()) && !options.has_limits() && options.switch(SO_PASSCRED) == Some(0)
}

/// Copies to an accepted socket the options that it inherits from the listener: of the internet,
/// all; of this machine alone, that its senders are told.
pub fn inherit(listener: &OpenFile, accepted: &OpenFile) {
    let mut options = accepted.options.get();
    if Socket::of(listener).is_some_and(|socket| socket.family.is_internet()) {
        options = listener.options.get().with(options.begun);
        options.is_named = accepted.options.get().is_named;
    }
    options.set_switch(SO_PASSCRED, passes_credentials(listener));
    accepted.options.set(options);
}

/// Waits for an event within the socket's limit, if there is one. Returns false if the limit has
/// passed.
pub fn wait_if_limited(process: &mut Process, file: &OpenFile, event: u64) -> Result<bool, Errno> {
    let limit = file.options.get().limits[usize::from(event == poll_events::POLLOUT)];
    if limit == 0 || file.is_nonblocking() {
        return Ok(true);
    }
    readiness::wait_for_one(process, file, event, limit)
}

/// Returns true if waits for an event have a limit.
pub fn has_limit(file: &OpenFile, event: u64) -> bool {
    file.options.get().limits[usize::from(event == poll_events::POLLOUT)] != 0 && !file.is_nonblocking()
}

/// Tries until it can be done; `EAGAIN` also if the event, after which it may be, did not come in
/// time.
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
