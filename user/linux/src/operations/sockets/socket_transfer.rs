//! Messages of sockets.

use crate::abi::errno::{Answer, EAGAIN, EINTR, EINVAL, EOPNOTSUPP, ERESTART, Errno};
use crate::abi::poll_events::{POLLIN, POLLOUT};
use crate::operations::files::file_signals;
use crate::operations::files::server_io;
use crate::operations::files::shared_ring::{self, Written};
use crate::operations::sockets::ancillary_data::{self, Outgoing, RECORD};
use crate::operations::sockets::{interfaces, known_sockets, netlink, routes, socket_questions};
use crate::operations::sockets::socket_limits;
use crate::operations::sockets::socket_names;
use crate::process::Process;
use crate::services::find::PIECE;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_kind::{self, Socket};
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_proto::channel;
use nacre_proto::sender::words;
use nacre_proto::flags::{MSG_CREDENTIALS, MSG_MORE as MORE_PARTS, SOCK_DGRAM, SOCK_STREAM};
use nacre_rt::fallible;
use nacre_sys::{Reference, SpanMut, EmptySlot};
use nacre_sys::ipc::{Buffers, Message};

const MSG_OOB: u64 = 1;
const MSG_PEEK: u64 = 2;
pub const MSG_CTRUNC: u64 = 8;
pub const MSG_TRUNC: u64 = 0x20;
pub const MSG_DONTWAIT: u64 = 0x40;
const MSG_WAITALL: u64 = 0x100;
const MSG_ERRQUEUE: u64 = 0x2000;
const MSG_NOSIGNAL: u64 = 0x4000;
pub const MSG_WAITFORONE: u64 = 0x1_0000;
pub const MSG_CMSG_CLOEXEC: u64 = 0x4000_0000;
/// The bits of flags that Linux looks at, and one beyond them: the name of whom it is from is
/// wanted.
pub const FLAG_BITS: u64 = 0xffff_ffff;
pub const WITH_NAME: u64 = 1 << 32;
/// Flags with which bytes are sent and received as by `write` and `read`, but for who waits.
const PLAIN_SENDING: u64 = MSG_DONTWAIT | MSG_NOSIGNAL;
const PLAIN_RECEIVING: u64 = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC;
/// References of one message of the system.
const SLOTS: usize = 8;
/// Bytes of a part, with room for what is beside them.
const PART: usize = PIECE - 4096;

/// Something to be sent: to whom, what beside the bytes, and how.
pub struct Sending {
    pub to: Vec<u8>,
    pub beside: Outgoing,
    pub flags: u64,
}

/// Sends bytes of the program's; how many went.
pub fn send(process: &mut Process, file: &OpenFile, socket: Socket, data: &[u8], sending: Sending) -> Answer {
    if sending.flags & MSG_OOB != 0 {
        return Err(EOPNOTSUPP);
    }
    if socket_kind::is_netlink(file) {
        return ask_system(process, file, data);
    }
    let has_bytes_alone = !socket.has_messages() && sending.to.is_empty() && sending.beside.files.is_empty() && sending.beside.credentials.is_none();
    let is_plain = has_bytes_alone && !data.is_empty() && sending.flags & !PLAIN_SENDING == 0;
    let dont_wait = sending.flags & MSG_DONTWAIT != 0;
    if is_plain && let Some(written) = shared_ring::write_ring(process, file, data, dont_wait) {
        let Written { count, has_rest } = written?;
        // An error after some bytes shows in the next call.
        let rest = if has_rest { send_rest(process, file, &data[count..], dont_wait).unwrap_or(0) } else { 0 };
        return Ok((count + rest) as u64);
    }
    send_by_messages(process, file, socket, data, sending)
}

fn send_by_messages(process: &mut Process, file: &OpenFile, socket: Socket, data: &[u8], mut sending: Sending) -> Answer {
    let own = process.owner();
    let [pid, uid, gid] = sending.beside.credentials.map_or(own, |claimed| claimed.map(u64::from));
    let signature = channel::Outgoing { pid, owner: uid | gid << 32, ..channel::Outgoing::default() };
    if socket.has_messages() {
        return send_message(process, file, data, &sending, signature);
    }
    let files = core::mem::take(&mut sending.beside.files);
    let first = data.len().min(PART);
    let mut done = send_parts(
        process,
        file,
        &data[..first],
        &Sending { beside: Outgoing { files, credentials: None }, to: sending.to.clone(), flags: sending.flags },
        signature,
    )?;
    let dont_wait = sending.flags & MSG_DONTWAIT != 0 || file.is_nonblocking();
    while done < data.len() {
        let piece = &data[done..data.len().min(done + PART)];
        match send_parts(process, file, piece, &sending, signature) {
            Ok(count) if count == 0 || count < piece.len() && dont_wait => return Ok((done + count) as u64),
            Ok(count) => done += count,
            Err(_) => break,
        }
    }
    Ok(done as u64)
}

/// Sends one message. One of the internet that nobody receives is lost, and that is only told to
/// who is connected.
fn send_message(process: &mut Process, file: &OpenFile, data: &[u8], sending: &Sending, signature: channel::Outgoing) -> Answer {
    let sent = send_parts(process, file, data, sending, signature);
    if sent == Err(Errno::ENOTCONN) && Socket::of(file).is_some_and(|socket| socket.is_icmp) {
        return Err(Errno::EDESTADDRREQ);
    }
    let other = Socket::of(file).filter(|_| sent == Err(Errno::ECONNREFUSED)).and_then(|socket| socket_names::in_both(socket, &sending.to));
    let Some(to) = other else {
        return sent.map(|count| count as u64).map_err(|error| interfaces::error_of(process, file, &sending.to, error));
    };
    let again = Sending { to, beside: Outgoing { files: sending.beside.files.clone(), credentials: sending.beside.credentials }, flags: sending.flags };
    match send_parts(process, file, data, &again, signature) {
        Err(Errno::ECONNREFUSED) => Ok(data.len() as u64),
        sent => sent.map(|count| count as u64),
    }
}

/// Answers what a program asks the system by a netlink socket: the answers go into that socket,
/// which is connected with itself. `ENOBUFS`: they do not fit.
fn ask_system(process: &mut Process, file: &OpenFile, data: &[u8]) -> Answer {
    let [pid, uid, gid] = process.owner();
    let signature = channel::Outgoing { pid, owner: uid | gid << 32, ..channel::Outgoing::default() };
    let number = socket_names::netlink_number(process);
    let answers = match socket_kind::asks_of_sockets(file) {
        true => socket_questions::answers(data, number, &known_sockets::all(process)),
        false => routes::answers(data, number, &interfaces::all(process)),
    };
    for answer in netlink::together(answers) {
        let sending = Sending { to: Vec::new(), beside: Outgoing::default(), flags: MSG_DONTWAIT };
        send_parts(process, file, &answer, &sending, signature).map_err(|_| Errno::ENOBUFS)?;
    }
    Ok(data.len() as u64)
}

/// Sends what is one message, or one piece of a stream: its first parts are kept by the service
/// until the last comes.
fn send_parts(process: &mut Process, file: &OpenFile, data: &[u8], sending: &Sending, signature: channel::Outgoing) -> Result<usize, Errno> {
    let files = &sending.beside.files;
    let count = data.len().div_ceil(PART).max(files.len().div_ceil(SLOTS)).max(1);
    if data.len() > channel::MAX_MESSAGE {
        return Err(Errno::EMSGSIZE);
    }
    // A message in parts is tried once.
    let is_limited = sending.flags & MSG_DONTWAIT == 0 && socket_limits::has_limit(file, POLLOUT);
    if is_limited && count > 1 && !socket_limits::wait_if_limited(process, file, POLLOUT)? {
        return Err(EAGAIN);
    }
    if !sending.to.is_empty() && let Some(socket) = Socket::of(file) {
        socket_names::choose_to_send(process, file, socket)?;
    }
    let target = file.reference()?;
    let mut done = 0;
    for part in 0..count {
        let is_last = part + 1 == count;
        let piece = data.get(PART * part..).unwrap_or_default();
        let piece = &piece[..piece.len().min(PART)];
        let some = files.get(SLOTS * part..).unwrap_or_default();
        let some = &some[..some.len().min(SLOTS)];
        let references = some.iter().map(|file| file.reference().map_err(|_| EINVAL)).collect::<Result<Vec<_>, _>>()?;
        let to: &[u8] = if is_last { &sending.to } else { &[] };
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(to.len() + RECORD * some.len() + piece.len())?;
        bytes.extend(to);
        some.iter().for_each(|file| bytes.extend(ancillary_data::record(file)));
        bytes.extend(piece);
        // The parts before the last are taken by one try.
        let waits = count == 1 && sending.flags & MSG_DONTWAIT == 0 && (is_limited || server_io::is_cut_off(process, file));
        let flags = sending.flags & MSG_DONTWAIT | if waits { MSG_DONTWAIT } else { 0 } | if is_last { 0 } else { MORE_PARTS };
        let outgoing = channel::Outgoing { flags, name_size: to.len(), control_size: RECORD * some.len(), part: part as u64, ..signature };
        let message = Message { bytes: (&bytes[..]).into(), references: &references, ..Message::new(channel::send::LABEL, outgoing.words()) };
        let received = match waits {
            true if is_limited => socket_limits::try_within_limit(process, file, POLLOUT, |process| process.exchange_if(false, target, &message, Buffers::NONE)),
            true => server_io::await_turn(process, file, POLLOUT, |process| process.exchange_if(false, target, &message, Buffers::NONE)),
            false => process.exchange(target, &message, Buffers::NONE),
        };
        let received = received.map_err(|error| if error == EINTR { ERESTART } else { error })?;
        done += (received.words[0] as usize).min(piece.len());
    }
    Ok(done)
}

/// The answer to a call that sends: a broken pipe is a signal, too, unless that is not wanted.
pub fn sent(process: &mut Process, flags: u64, file: &OpenFile, answer: Answer) -> Answer {
    if flags & MSG_NOSIGNAL == 0 { file_signals::written(process, file, answer) } else { answer }
}

/// The key of whom a message is to go to; empty: whom the socket is connected to.
pub fn target(process: &mut Process, (file, socket): (&OpenFile, Socket), at: u64, size: u64) -> Result<Vec<u8>, Errno> {
    if at == 0 || size == 0 || socket_kind::is_netlink(file) {
        return Ok(Vec::new());
    }
    let bytes = socket_names::read(process, at, size)?;
    if !socket.has_messages() && socket.family.is_internet() {
        return Ok(Vec::new());
    }
    if socket.kind == SOCK_DGRAM || socket.is_icmp || socket.kind == SOCK_STREAM && bytes.len() > 2 { socket_names::key(process, file, socket, &bytes) } else { Ok(Vec::new()) }
}

/// Received message.
#[derive(Default)]
pub struct Received {
    /// Bytes that are in the buffer now.
    pub count: usize,
    /// Full length of the message in bytes.
    pub total: usize,
    pub from: Vec<u8>,
    pub credentials: [u32; 3],
    pub files: Vec<OpenFile>,
    /// Records of all files, including those that have not arrived yet.
    records: Vec<u8>,
    pub is_cut: bool,
    /// Something of what is received is still there.
    has_more: bool,
}

/// Receives one message, or what there is of a stream, into a buffer, with up to `most` files.
pub fn receive(process: &mut Process, file: &OpenFile, socket: Socket, into: &mut [u8], (most, flags): (usize, u64)) -> Result<Received, Errno> {
    let is_plain = !socket.has_messages() && !into.is_empty() && flags & !PLAIN_RECEIVING == 0;
    if is_plain && let Some(done) = shared_ring::read_ring(process, file, into, flags & MSG_DONTWAIT != 0) {
        return done.map(|count| Received { count, total: count, ..Received::default() });
    }
    receive_by_messages(process, file, socket, into, (most, flags & FLAG_BITS))
}

fn receive_by_messages(process: &mut Process, file: &OpenFile, socket: Socket, into: &mut [u8], (most, flags): (usize, u64)) -> Result<Received, Errno> {
    if flags & MSG_ERRQUEUE != 0 {
        return Err(EAGAIN);
    }
    if flags & MSG_OOB != 0 {
        return Err(if socket.has_messages() { EOPNOTSUPP } else { EINVAL });
    }
    if into.is_empty() && !socket.has_messages() && most == 0 {
        let mut byte = [0];
        receive(process, file, socket, &mut byte, (0, flags & MSG_DONTWAIT | MSG_PEEK))?;
        return Ok(Received::default());
    }
    let mut result = Received::default();
    let wait_all = flags & MSG_WAITALL != 0 && !socket.has_messages();
    let mut again = flags & MSG_DONTWAIT;
    loop {
        let before = result.count;
        if again == 0 && !socket_limits::wait_if_limited(process, file, POLLIN)? {
            return if before == 0 { Err(EAGAIN) } else { Ok(result) };
        }
        let is_rest = result.has_more && !socket.has_messages();
        let place = if is_rest { &mut [][..] } else { &mut into[before..] };
        match receive_part(process, file, place, (most, flags & MSG_PEEK | again), &mut result) {
            Err(error) if before == 0 && result.files.is_empty() => return Err(error),
            Err(_) => return Ok(result),
            Ok(()) => {}
        }
        let has_room = result.count < into.len();
        if result.has_more && (has_room && socket.has_messages() || result.files.len() < most) {
            again = MSG_DONTWAIT;
            continue;
        }
        result.is_cut |= result.has_more && result.files.len() >= most && most != 0;
        if socket.has_messages() || !has_room || result.count == before || !result.files.is_empty() {
            return finish(process, file, socket, result);
        }
        // What is there beyond one message of the system is taken, too.
        again = if wait_all { flags & MSG_DONTWAIT } else { MSG_DONTWAIT };
        if !wait_all && result.count % PART != 0 {
            return Ok(result);
        }
    }
}

/// Discards the rest of a message that was received in parts.
fn finish(process: &mut Process, file: &OpenFile, socket: Socket, result: Received) -> Result<Received, Errno> {
    if result.has_more {
        let target = file.reference()?;
        let size = u64::from(socket.has_messages());
        let message = Message::new(channel::receive::LABEL, words([MSG_DONTWAIT, size, u64::from(size == 0)]));
        // It is there, and nobody waits for it.
        let _ = process.exchange_some(target, &message, Buffers::NONE);
    }
    Ok(result)
}

/// One message of the system.
fn receive_part(process: &mut Process, file: &OpenFile, into: &mut [u8], (most, flags): (usize, u64), result: &mut Received) -> Result<(), Errno> {
    let target = file.reference()?;
    let wanted = into.len().min(PART);
    let passed = socket_limits::passes_credentials(file);
    let slots = (0..(most - result.files.len().min(most)).min(SLOTS)).map(|_| EmptySlot::<Reference>::new()).collect::<Result<Vec<_>, _>>()?;
    let handles: Vec<Reference> = slots.iter().map(EmptySlot::handle).collect();
    let in_parts = if flags & MSG_PEEK == 0 && (into.len() > wanted || !handles.is_empty()) { MORE_PARTS } else { 0 };
    let flags = flags | in_parts | if passed { MSG_CREDENTIALS } else { 0 };
    let offset = if flags & MSG_PEEK != 0 { result.count as u64 } else { 0 };
    let mut bytes = fallible::zeros((wanted + 4096).min(PIECE))?;
    let waits = flags & MSG_DONTWAIT == 0 && server_io::is_cut_off(process, file);
    let flags = if waits { flags | MSG_DONTWAIT } else { flags };
    let message = Message::new(channel::receive::LABEL, words([flags, wanted as u64, handles.len() as u64, offset]));
    let received = match waits {
        true => server_io::await_turn(process, file, POLLIN, |process| {
            process.exchange_some_at_once(target, &message, Buffers { bytes: SpanMut::from(&mut bytes[..]), slots: &handles })
        }),
        false => process.exchange_some(target, &message, Buffers { bytes: SpanMut::from(&mut bytes[..]), slots: &handles }),
    };
    let received = received.map_err(|error| if error == EINTR { ERESTART } else { error })?;
    let [count, name_size, total, flags, _, control_size] = received.words;
    let mut rest = bytes.get(..received.bytes()).unwrap_or_default();
    let mut take = |size: u64| {
        let (first, behind) = rest.split_at(rest.len().min(size as usize));
        rest = behind;
        first
    };
    if passed {
        let signature = take(16);
        let word = |at: usize| signature.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
        result.credentials = [word(0), word(8), word(12)];
    }
    let name = take(name_size);
    if !name.is_empty() {
        result.from = name.to_vec();
    }
    let records = take(control_size);
    let data = take(count);
    // Like Linux: what cannot be put anywhere is lost.
    let reached = process.memory.confirm(&into[..data.len()], Rights::WRITE);
    if reached.is_ok() {
        into[..data.len()].copy_from_slice(data);
    }
    result.records.extend(records);
    for reference in slots.into_iter().take(received.references()).map(EmptySlot::occupied) {
        let record = result.records.get(RECORD * result.files.len()..).unwrap_or_default();
        let file = ancillary_data::open_file(reference, record);
        result.files.push(file);
    }
    reached?;
    result.count += data.len();
    result.total = result.total.max(total as usize);
    result.is_cut |= flags & MSG_CTRUNC != 0;
    result.has_more = flags & MORE_PARTS != 0;
    Ok(())
}

/// Returns the result of a call that receives a message.
pub fn size(socket: Socket, received: &Received, flags: u64) -> u64 {
    let whole = flags & MSG_TRUNC != 0 && socket.has_messages();
    if whole { received.total as u64 } else { received.count as u64 }
}

/// `read` of a socket.
pub fn read_socket(process: &mut Process, file: &OpenFile, socket: Socket, into: &mut [u8]) -> Result<usize, Errno> {
    if into.is_empty() { Ok(0) } else { receive(process, file, socket, into, (0, 0)).map(|received| received.count) }
}

/// `write` of a socket.
pub fn write_socket(process: &mut Process, file: &OpenFile, socket: Socket, from: &[u8]) -> Result<usize, Errno> {
    let sending = Sending { to: Vec::new(), beside: Outgoing::default(), flags: 0 };
    send(process, file, socket, from, sending).map(|count| count as usize)
}

/// Sends what is left of bytes of which a ring has taken the first.
pub fn send_rest(process: &mut Process, file: &OpenFile, from: &[u8], dont_wait: bool) -> Result<usize, Errno> {
    let socket = Socket::of(file).ok_or(Errno::ENOTSOCK)?;
    let sending = Sending { to: Vec::new(), beside: Outgoing::default(), flags: if dont_wait { MSG_DONTWAIT } else { 0 } };
    send_by_messages(process, file, socket, from, sending).map(|count| count as usize)
}
