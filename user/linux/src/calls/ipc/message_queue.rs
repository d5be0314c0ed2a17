//! POSIX's queues of messages (`mq_open` and its like). The service that has pipes has them too; a
//! descriptor of one is an end of it.
//!
//! A process that is to be told of a message is notified through its agent, which asks what came
//! and makes a signal of it, or writes the cookie to the socket that a thread of the C library
//! reads.

use crate::abi::errno::{Answer, EAGAIN, EBADF, EFAULT, EINTR, EINVAL, ENOENT, ENOSYS, ERESTART, ETIMEDOUT, Errno};
use crate::abi::file_flags::{MAILBOX, O_ACCESS, O_NONBLOCK, O_WRONLY};
use crate::abi::registers::Frame;
use crate::abi::signal_info::LAST;
use crate::abi::time_units::REALTIME;
use crate::calls::files::descriptors;
use crate::calls::sockets;
use crate::operations::clock_reading;
use crate::operations::files::queue_events;
use crate::operations::paths::file_status;
use crate::operations::paths::permissions::{self, READ, WRITE};
use crate::process::Process;
use crate::services::find::PIECE;
use crate::state::capabilities::{FILE_OWNER, RESOURCES};
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::queue_notifications::{COOKIE, Effect, Expected, MAIL};
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_proto::sender::words;
use nacre_proto::flags::{MSG_DONTWAIT, MSG_MORE, O_CREAT, O_EXCL, SIGEV_NONE, SIGEV_SIGNAL, SIGEV_THREAD};
use nacre_proto::mailbox::{self, ANY, PRIVILEGED};
use nacre_rt::fallible;
use nacre_sys::{Reference, SpanMut};
use nacre_sys::ipc::{Buffers, Message, Received};

/// Words of a `struct mq_attr`.
const ATTRIBUTES: usize = 8;
/// Policies whose threads have ranks.
const RANKED: [u64; 2] = [1, 2];

/// Progress of a message that is sent or received.
struct Done {
    total: u64,
    priority: u64,
    /// Number of bytes that have arrived.
    first: usize,
}

impl Done {
    fn of(received: Received) -> Done {
        let [total, priority, ..] = received.words;
        Done { total, priority, first: received.bytes() }
    }
}

/// A queue's open file.
fn queue_at(process: &Process, descriptor: u64) -> Result<Rc<OpenFile>, Errno> {
    process.descriptors.get(descriptor).and_then(|file| if file.is_mailbox() { Ok(file) } else { Err(EBADF) })
}

/// The name that an address leads to; none at all is the name of nothing.
fn name_at(process: &Process, address: u64) -> Result<&'static [u8], Errno> {
    let name = process.memory.path(address)?;
    if name.is_empty() { Err(ENOENT) } else { Ok(name) }
}

/// A number of an attribute, which is signed: what is less than 0 is as wrong as 0.
fn size(word: u64) -> u64 {
    if (word as i64) < 0 { 0 } else { word }
}

/// The service that has the queues.
fn mailboxes(process: &mut Process) -> Result<Reference, Errno> {
    process.services.channels().map_err(|_| {
        process.report(format_args!("mq_open: this needs a process manager: run the program below `process`"));
        ENOSYS
    })
}

/// Returns the thread's rank among waiters.
fn rank(process: &Process) -> u64 {
    if RANKED.contains(&(process.schedule.policy & 7)) { process.schedule.priority } else { 0 }
}

/// Sends a message that waits if it must, but not beyond a moment.
fn wait_for_queue(process: &mut Process, file: &OpenFile, limit: Option<u64>, message: &Message<'_>, into: &mut [u8]) -> Result<Done, Errno> {
    let target = file.reference()?;
    let [flags, rest @ ..] = message.words;
    let [b, c, d, e, f] = rest;
    // What can be done at once is not cut off.
    let at_once = Message { words: [flags | MSG_DONTWAIT, b, c, d, e, f], ..*message };
    match process.exchange_if(false, target, &at_once, Buffers { bytes: SpanMut::from(&mut *into), slots: &[] }) {
        Err(EAGAIN) if !file.is_nonblocking() => {}
        done => return done.map(Done::of),
    }
    let left = match limit {
        None => nacre_sys::FOREVER,
        Some(moment) => moment.checked_sub(clock_reading::now(process, REALTIME)?).filter(|left| *left != 0).ok_or(ETIMEDOUT)?,
    };
    process.memory.confirm(into, Rights::WRITE)?;
    let done = process.exchange_until(left, target, message, Buffers { bytes: SpanMut::from(into), slots: &[] });
    match done {
        // Somebody between us and the service may have taken the answer.
        Err(error @ (EINTR | ETIMEDOUT)) => match mailbox::withdraw(target, process.me().number) {
            Ok(done) if done.is_done != 0 => Ok(Done { total: done.total, priority: done.priority, first: 0 }),
            _ => Err(if error == EINTR { ERESTART } else { error }),
        },
        done => done.map(Done::of),
    }
}

/// `mq_open(name, flags, mode, attributes)`.
pub fn mq_open(process: &mut Process, frame: &mut Frame) -> Answer {
    let [name, flags, mode, attributes, ..] = frame.arguments();
    let [_, messages, size_of_each, ..] = if attributes == 0 { [ANY; ATTRIBUTES] } else { process.memory.read_words::<ATTRIBUTES>(attributes)?.map(size) };
    let name = name_at(process, name)?;
    process.descriptors.check_room(1, process.limits.descriptors())?;
    let access = flags as u32 & O_ACCESS;
    let [user, group] = process.identity.of_files;
    let privileged = if process.identity.capabilities.has(RESOURCES) { PRIVILEGED } else { 0 };
    let wanted = flags & (O_CREAT | O_EXCL | u64::from(O_ACCESS | O_NONBLOCK)) | privileged;
    let mode = mode & 0o7777 & !u64::from(process.identity.umask);
    let limit = process.limits.messages();
    let opened = mailbox::open(mailboxes(process)?, wanted, u64::from(user) | u64::from(group) << 32, mode, messages, size_of_each, limit, name)?;
    let file = OpenFile::new(Kind::Remote(opened.queue), MAILBOX | mode as u32, flags as u32 & (O_ACCESS | O_NONBLOCK));
    if opened.is_new == 0 {
        let wanted = if access != O_WRONLY { READ } else { 0 } | if access != 0 { WRITE } else { 0 };
        let status = file_status::of_file(process, &file)?;
        permissions::check_mode(process, &status, wanted)?;
    }
    *file.opened_by.borrow_mut() = Some((None, [b"/", name].concat()));
    process.open(file, true)
}

/// `mq_unlink(name)`.
pub fn mq_unlink(process: &mut Process, frame: &mut Frame) -> Answer {
    let name = name_at(process, frame.arguments()[0])?;
    let may_all = process.identity.capabilities.has(FILE_OWNER);
    let user = if may_all { ANY } else { process.identity.of_files[0].into() };
    mailbox::unlink(mailboxes(process)?, user, name)?;
    Ok(0)
}

/// The moment after which a call does not wait, if it says one.
fn limit(process: &Process, address: u64) -> Result<Option<u64>, Errno> {
    if address == 0 { Ok(None) } else { clock_reading::duration(&process.memory, address).map(Some) }
}

/// The bytes of a message. What is not there matters only if it is not too long.
fn text(process: &Process, file: &OpenFile, address: u64, size: u64, target: Reference) -> Result<Vec<u8>, Errno> {
    if size >= PIECE as u64 && mailbox::facts(target)?.size < size {
        return Err(if file.can_write() { Errno::EMSGSIZE } else { EBADF });
    }
    match process.memory.readable(address, size) {
        Ok(text) => Ok(text.to_vec()),
        Err(_) if !file.can_write() => Err(EBADF),
        Err(_) if mailbox::facts(target)?.size < size => Err(Errno::EMSGSIZE),
        Err(error) => Err(error),
    }
}

/// `mq_timedsend(descriptor, message, size, priority, limit)`.
pub fn mq_timedsend(process: &mut Process, frame: &mut Frame) -> Answer {
    const PRIORITIES: u64 = 32_768;
    let [descriptor, address, size, priority, until, _] = frame.arguments();
    let limit = limit(process, until)?;
    let priority = priority & 0xffff_ffff;
    if priority >= PRIORITIES {
        return Err(EINVAL);
    }
    let file = queue_at(process, descriptor)?;
    let target = file.reference()?;
    let text = text(process, &file, address, size, target)?;
    let last = text.len().saturating_sub(1) / PIECE * PIECE;
    let writer = process.me().number;
    for (number, part) in text[..last].chunks(PIECE).enumerate() {
        mailbox::part(target, writer, number as u64, part)?;
    }
    let flags = if last == 0 { 0 } else { MSG_MORE };
    let [user, ..] = process.identity.owner();
    let words = [flags, priority, rank(process), process.pid(), user.into(), writer];
    let message = Message { bytes: (&text[last..]).into(), ..Message::new(mailbox::send::LABEL, words) };
    wait_for_queue(process, &file, limit, &message, &mut [])?;
    queue_events::fetch_mail(process);
    Ok(0)
}

/// `mq_timedreceive(descriptor, message, size, priority, limit)`.
pub fn mq_timedreceive(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, address, room, priority, until, _] = frame.arguments();
    let limit = limit(process, until)?;
    let file = queue_at(process, descriptor)?;
    let reader = process.me().number;
    let mut first = fallible::zeros(PIECE.min(usize::try_from(room).unwrap_or(PIECE)))?;
    let message = Message::new(mailbox::receive::LABEL, words([0, room, rank(process), reader]));
    let Done { total, priority: value, first: count } = wait_for_queue(process, &file, limit, &message, &mut first)?;
    first.truncate(count);
    let target = file.reference()?;
    let mut text = first;
    while (text.len() as u64) < total {
        let mut more = fallible::zeros(PIECE)?;
        let count = mailbox::rest(target, reader, &mut more[..])?.data.min(PIECE);
        fallible::append(&mut text, &more[..count])?;
        if count == 0 {
            return Err(EFAULT);
        }
    }
    if priority != 0 {
        process.memory.write_half(priority, value as u32)?;
    }
    process.memory.write_bytes(address, &text)?;
    Ok(total)
}

/// `mq_getsetattr(descriptor, new, old)`.
pub fn mq_getsetattr(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, new, old, ..] = frame.arguments();
    let wanted = if new == 0 { None } else { Some(process.memory.read_words::<ATTRIBUTES>(new)?[0]) };
    if wanted.is_some_and(|flags| flags & !u64::from(O_NONBLOCK) != 0) {
        return Err(EINVAL);
    }
    let file = queue_at(process, descriptor)?;
    let facts = mailbox::facts(file.reference()?)?;
    if let Some(flags) = wanted {
        descriptors::set_flags(&file, flags as u32)?;
    }
    if old != 0 {
        process.memory.write_words(old, &[facts.flags & u64::from(O_NONBLOCK), facts.messages, facts.size, facts.count, 0, 0, 0, 0])?;
    }
    Ok(0)
}

/// Returns the notification that a `sigevent` asks for, its kind, and its signal.
fn effect(process: &mut Process, address: u64) -> Result<(Effect, u64, u64), Errno> {
    let [value, word] = process.memory.read_words(address)?;
    let (signal, kind) = (word & 0xffff_ffff, word >> 32);
    let effect = match kind {
        SIGEV_NONE => Effect::Nothing,
        SIGEV_SIGNAL if signal > LAST => return Err(EINVAL),
        SIGEV_SIGNAL => Effect::Signal(signal, value),
        SIGEV_THREAD => {
            let cookie = process.memory.readable(value, COOKIE as u64)?.try_into().map_err(|_| EFAULT)?;
            Effect::Cookie(sockets::netlink_at(process, signal)?, cookie)
        }
        _ => return Err(EINVAL),
    };
    Ok((effect, kind, signal))
}

/// `mq_notify(descriptor, event)`.
pub fn mq_notify(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, event, ..] = frame.arguments();
    let wanted = if event == 0 { None } else { Some(effect(process, event)?) };
    let file = queue_at(process, descriptor)?;
    let Some((effect, kind, signal)) = wanted else {
        queue_events::leave_mailbox(process, &file);
        return Ok(0);
    };
    // What came before is told before.
    queue_events::fetch_mail(process);
    let (agent, target, pid) = (process.need_agent()?, file.reference()?, process.pid());
    let number = mailbox::expect(target, kind, signal, pid, MAIL, agent)?.number;
    process.mail.push(Expected { number, file, effect });
    Ok(0)
}
