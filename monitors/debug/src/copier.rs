//! Copies memory that may not be there. The kernel copies the bytes of a message only if both ends
//! are there. A page that somebody serves is asked for in the name of the thread that sends, which
//! waits for it, and has an exception if it is refused. So a thread of its own does it, the hand:
//! its exceptions are answered by us, and it is given up when it waits for too long.

use alloc::vec;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::fault;
use nacre_abi::message::MAX_BYTES;
use nacre_abi::rights::{REFERENCE_CONTROL, REFERENCE_USE};
use nacre_abi::state::ThreadState;
use nacre_abi::{Code, Status};
use nacre_nest::host::{Exception, thread_state};
use nacre_proto::{Errno, Event, Request, ServerEndpoint, parent};
use nacre_rt::thread::{self, Handle};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::lock::Lock;
use nacre_sys::{FOREVER, OwnedPort, OwnedReference, PortSet, Reference, Span, SpanMut, Window};

/// Bytes of the instruction of a call.
const CALL_SIZE: u64 = 2;
/// Labels of what the hand is asked.
const READ: u32 = 1;
const WRITE: u32 = 2;
/// Label of an answer: it could not be copied.
const FAILED: u32 = 1;
/// Wait for memory that somebody serves, in nanoseconds: whoever serves it may be stopped.
const PATIENCE: u64 = 3_000_000_000;
/// Maximum number of hands that are given up. Each leaves some memory behind.
const MAX_LOST: usize = 64;

/// Copies memory.
pub struct Copier {
    hand: Lock<Hand>,
}

/// The thread that touches the memory.
struct Hand {
    thread: Handle,
    _port: OwnedPort,
    target: OwnedReference,
    lost: usize,
}

/// Reference to the thread that sends back what it gets.
static ECHO: AtomicU64 = AtomicU64::new(0);
/// Address of the hand.
static HAND: AtomicU64 = AtomicU64::new(0);

/// Sends back what comes to a port.
fn echo(port: usize) {
    let mut bytes = vec![0; MAX_BYTES as usize];
    loop {
        let Ok(received) = ipc::receive(port as u64, Buffers::new(&mut bytes[..], &[]), FOREVER) else { return };
        if received.needs_reply() {
            // A receiver without the memory is told so by the kernel.
            let _ = ipc::reply(&Message::new(0, [0; 6]).with_bytes(&bytes[..received.bytes()]));
        }
    }
}

/// Copies as many bytes as both sides have. False: not all of it could be copied.
fn send_back(from: Span<'_>, to: SpanMut<'_>) -> bool {
    let size = from.size();
    let message = Message::new(0, [0; 6]).with_bytes(from);
    ipc::call_in_place(Reference(ECHO.load(Ordering::Relaxed)), &message, Buffers::new(to, &[]), FOREVER).is_ok_and(|reply| reply.bytes() == size)
}

/// Does what comes to a port.
fn hand(port: usize) {
    let (mut given, mut back) = (vec![0; MAX_BYTES as usize], vec![0; MAX_BYTES as usize]);
    loop {
        let Ok(received) = ipc::receive(port as u64, Buffers::new(&mut given[..], &[]), FOREVER) else { return };
        let [start, size, ..] = received.words;
        let window = Window::new(start, size).filter(|_| size <= MAX_BYTES);
        let is_copied = match (window, received.label()) {
            (Some(window), READ) => window.span(0, size).is_some_and(|from| send_back(from, SpanMut::from(&mut back[..size as usize]))),
            (Some(window), WRITE) => window.span_mut(0, size).is_some_and(|to| send_back(Span::from(&given[..received.bytes()]), to)),
            _ => false,
        };
        let count = if is_copied && received.label() == READ { size as usize } else { 0 };
        // Who does not wait any more has given this thread up.
        let _ = ipc::reply(&Message::new(if is_copied { 0 } else { FAILED }, [0; 6]).with_bytes(&back[..count]));
    }
}

/// Answers exceptions of this program's threads.
fn keep(port: usize) {
    let Ok(mut endpoint) = ServerEndpoint::new(ThreadState::SIZE as usize) else { return };
    loop {
        match endpoint.next(port as u64, FOREVER) {
            Ok(Event::Exception(mut request)) => exception(&mut request),
            Ok(Event::Fault(mut request)) => request.answer(fault::REFUSE, [0; 6]),
            Ok(Event::Request(mut request)) => request.refuse(Errno::ENOSYS),
            Ok(Event::Notification { .. }) => {}
            Err(status) if matches!(status.code(), Some(Code::TimedOut | Code::Interrupted)) => {}
            Err(_) => return,
        }
    }
}

/// The hand's call fails; any other thread's exception ends this program, as it would without us.
fn exception(request: &mut Request<'_>) {
    let hand = HAND.load(Ordering::Relaxed);
    let is_hand = request.keep(0).is_ok_and(|thread| thread.handle().reveal(hand, ThreadState::SIZE).is_ok_and(|found| found.is_some()));
    match thread_state(request.bytes()) {
        Some(state) if is_hand => {
            let failed = ThreadState { rip: state.rip + CALL_SIZE, rax: Status::new(Code::BadAddress).0, ..state };
            let words = failed.to_words();
            request.put(words.map(u64::to_le_bytes).as_flattened());
            request.answer(fault::RESUME, [0; 6]);
        }
        _ => {
            let exception = Exception::from_words(request.words());
            nacre_rt::report!("debug: {exception}");
            request.answer(fault::STOP, [0; 6]);
            // Nobody else ends this program then.
            let _ = parent::exit(Reference::PARENT, exception.exit_status());
        }
    }
}

fn serve(function: fn(usize)) -> Result<(Handle, OwnedPort, OwnedReference), Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let target = port.new_reference(REFERENCE_USE | REFERENCE_CONTROL)?;
    let thread = thread::spawn(function, port.handle().0 as usize)?;
    Ok((thread, port, target))
}

impl Hand {
    fn new(lost: usize) -> Result<Hand, Errno> {
        let (thread, port, target) = serve(hand)?;
        HAND.store(thread.thread().map_or(0, |thread| thread.0), Ordering::Relaxed);
        Ok(Hand { thread, _port: port, target, lost })
    }
}

impl Copier {
    /// Starts the threads.
    pub fn start() -> Result<Copier, Errno> {
        let (_, port, target) = serve(echo)?;
        // Both serve for as long as this program runs.
        ECHO.store(target.leak().0, Ordering::Relaxed);
        port.leak();
        let (_, port, target) = serve(keep)?;
        // A parent that does not let us ends this program where a page is refused.
        let _ = parent::keep(Reference::PARENT, target.handle());
        port.leak();
        target.leak();
        Ok(Copier { hand: Lock::new(Hand::new(0)?) })
    }

    fn ask(&self, message: &Message<'_>, to: SpanMut<'_>) -> Option<usize> {
        let mut hand = self.hand.lock();
        if hand.lost > MAX_LOST {
            return None;
        }
        match ipc::call_in_place(hand.target.handle(), message, Buffers::new(to, &[]), PATIENCE) {
            Ok(reply) => (reply.label() == 0).then_some(reply.bytes()),
            Err(_) => {
                let lost = hand.lost + 1;
                // It waits for a page, and would do so for ever.
                let _ = hand.thread.thread().map(|thread| thread.destroy());
                hand.lost = usize::MAX;
                *hand = Hand::new(lost).ok()?;
                None
            }
        }
    }

    /// Reads all of a window, at most `MAX_BYTES`. False: not all of it is there.
    pub fn read(&self, from: Window, into: &mut [u8]) -> bool {
        let message = Message::new(READ, [from.start(), from.size(), 0, 0, 0, 0]);
        self.ask(&message, SpanMut::from(&mut *into)) == Some(into.len())
    }

    /// Writes all of a window, at most `MAX_BYTES`. False: not all of it could be written.
    pub fn write(&self, to: Window, bytes: &[u8]) -> bool {
        let message = Message::new(WRITE, [to.start(), to.size(), 0, 0, 0, 0]).with_bytes(bytes);
        self.ask(&message, SpanMut::from(&mut [][..])).is_some()
    }
}
