//! Answers a child's parent port for a monitor that cares only about some of what its child asks.
//! All the rest goes to our own parent, and what that answers is handed over as it is: from then on
//! the child talks past us, at no cost.

use crate::plan::{FOREIGN_STACK_END, MAX_FOREIGN_STACK, REFLECTED};
use alloc::vec::Vec;
use nacre_abi::environment::{FOREIGN_LIBRARY, OBJECTS};
use nacre_abi::fault;
use nacre_abi::message::THREAD_ENDED;
use nacre_abi::state::ThreadState;
use nacre_proto::flags::{SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::parent::{self, exit, find, processors, report, stream};
use nacre_proto::server::Output;
use nacre_proto::{Answer, Errno, Event, Given, HandlerResult, Request, ServerEndpoint};
use nacre_sys::{OwnedReference, Port, Reference, Space, Status};

/// Something that a thread of the child did and that the machine does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Kind of the exception: see [`fault`](nacre_abi::fault).
    pub kind: u64,
    /// The machine's error code.
    pub error: u64,
    /// The address that was accessed, for kinds that are about memory.
    pub address: u64,
    /// The instruction.
    pub instruction: u64,
}

impl Exception {
    /// Decodes the words of the kernel's message.
    pub fn from_words(words: [u64; 6]) -> Exception {
        Exception { kind: words[0], error: words[1], address: words[2], instruction: words[3] }
    }

    /// The signal that Linux makes of it.
    pub fn signal(&self) -> u64 {
        match self.kind {
            0 | 16 | 19 => 8,
            1 | 3 => 5,
            6 => 4,
            17 => 7,
            _ => 11,
        }
    }

    /// The exit status that says so.
    pub fn exit_status(&self) -> u64 {
        256 + self.signal()
    }
}

impl core::fmt::Display for Exception {
    /// Writes what ended the program, as the end of a sentence that begins with its name.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let what = match self.kind {
            0 => "a division by zero",
            fault::KIND_BREAKPOINT => "a breakpoint",
            fault::KIND_OPCODE => "an unknown instruction",
            fault::KIND_PROTECTION => "a protected instruction or a wild address",
            fault::KIND_MEMORY => "an access to memory that is not there",
            16 | 19 => "a floating-point error",
            fault::KIND_CALL_MEMORY => "a call for which its space has no memory left",
            _ => "an exception",
        };
        let Exception { kind, address, instruction, .. } = self;
        write!(f, "ended by {what} (kind {kind}), instruction {instruction:#x}, address {address:#x}")
    }
}

/// The exit status of an environment of which a thread was destroyed from outside: as a shell sees
/// a program that was killed.
pub const KILLED: u64 = 256 + 9;

/// Text about a program that was killed, as the end of a sentence that begins with its name.
pub const KILLED_TEXT: &str = "killed: a thread of it was destroyed from outside";

/// Makes `keeper` the port that hears of exceptions of a child's space, and of its end.
pub fn keep(space: Space, keeper: Reference) -> Result<(), Status> {
    keep_and_watch(space, keeper, Reference::NONE)
}

/// Makes exceptions of a child's space go to `keeper`, and ends of its threads to `watcher`.
/// Without a watcher the keeper hears of both. A parent whose child keeps itself watches it, or
/// would not hear of its end.
pub fn keep_and_watch(space: Space, keeper: Reference, watcher: Reference) -> Result<(), Status> {
    let state = space.get_state()?;
    space.set_state_and_links(&state, &[keeper, watcher])
}

/// Action on a thread after an exception.
pub enum ExceptionAction {
    /// The thread goes on; with this state, if there is one.
    Resume(Option<ThreadState>),
    /// The thread stays stopped.
    Stop,
    /// The child has ended, with this status.
    End(u64),
}

/// A monitor's answers. Each is our own parent's unless it is written.
pub trait Handler {
    /// The memory that the child finds, if it is not ours.
    fn pool(&self) -> Option<Reference> {
        None
    }

    /// The child looks for a service.
    fn find(&mut self, service: u64) -> Result<Given, Errno> {
        match self.pool() {
            Some(pool) if [SERVICE_MEMORY, SERVICE_OBJECTS].contains(&service) => Ok(pool.into()),
            _ => parent::find(Reference::PARENT, service).map(|reply| reply.found.into()),
        }
    }

    /// The child asks for an initial stream.
    fn stream(&mut self, number: u64) -> Result<Given, Errno> {
        parent::stream(Reference::PARENT, number).map(|reply| reply.file.into())
    }

    /// The child has a line for whoever runs the system.
    fn report(&mut self, kind: u64, text: &[u8]) -> Result<(), Errno> {
        parent::report(Reference::PARENT, kind, text).map(drop)
    }

    /// The child asks on how many processors it may run at a time.
    fn processors(&mut self) -> Result<u64, Errno> {
        parent::processors(Reference::PARENT).map(|reply| reply.count)
    }

    /// The child wants exceptions of its space to go to `keeper`: see [`keep`].
    fn keep(&mut self, _keeper: Reference) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    /// A thread of the child did what the machine does not do. `state` is there if the kernel could
    /// tell it.
    fn exception(&mut self, exception: &Exception, _state: Option<&ThreadState>, _thread: Option<OwnedReference>) -> ExceptionAction {
        ExceptionAction::End(exception.exit_status())
    }

    /// A thread of the child was destroyed by somebody else, or the last one was: the status that
    /// the child ends with, `None` if it goes on.
    fn thread_ended(&mut self) -> Option<u64> {
        Some(KILLED)
    }

    /// The child sent a message of another protocol.
    fn other(&mut self, request: &mut Request<'_>) {
        request.refuse(Errno::ENOSYS);
    }
}

/// A handler as a server of the protocol, with the status that the child ended with.
struct Service<'a, H> {
    handler: &'a mut H,
    ended: Option<u64>,
}

impl<H: Handler> parent::Server for Service<'_, H> {
    fn find(&mut self, _: &mut Request<'_>, service: u64) -> HandlerResult<find::Output> {
        find::Output { found: self.handler.find(service)? }.now()
    }

    fn stream(&mut self, _: &mut Request<'_>, number: u64) -> HandlerResult<stream::Output> {
        stream::Output { file: self.handler.stream(number)? }.now()
    }

    fn exit(&mut self, _: &mut Request<'_>, status: u64) -> HandlerResult<exit::Output> {
        self.ended = Some(parent::checked_status(status));
        Ok(Answer::Later)
    }

    fn keep(&mut self, _: &mut Request<'_>, keeper: Reference) -> HandlerResult<parent::keep::Output> {
        self.handler.keep(keeper)?;
        parent::keep::Output::default().now()
    }

    fn processors(&mut self, _: &mut Request<'_>) -> HandlerResult<processors::Output> {
        processors::Output { count: self.handler.processors()? }.now()
    }

    fn report(&mut self, _: &mut Request<'_>, kind: u64, text: &[u8]) -> HandlerResult<report::Output> {
        self.handler.report(kind, text)?;
        report::Output::default().now()
    }
}

/// The thread's state in an exception's bytes, if the kernel put it there.
pub fn thread_state(bytes: &[u8]) -> Option<ThreadState> {
    let words: Vec<u64> = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect();
    words.try_into().ok().map(ThreadState::from_words)
}

/// Returns the state in which a thread goes on after its stack has overflowed: its library makes
/// the stack grow. Returns `None` for any other exception.
pub fn reflected(exception: &Exception, state: ThreadState) -> Option<ThreadState> {
    let is_stack = exception.kind == fault::KIND_MEMORY && (FOREIGN_STACK_END - MAX_FOREIGN_STACK..FOREIGN_STACK_END).contains(&exception.address);
    let in_library = (FOREIGN_LIBRARY..OBJECTS).contains(&state.rip);
    let entry = state.foreign_entry.checked_sub(REFLECTED).filter(|entry| (FOREIGN_LIBRARY..OBJECTS).contains(entry))?;
    (is_stack && !in_library).then_some(ThreadState { rip: entry, fs_base: state.rip, ..state })
}

impl<H: Handler> Service<'_, H> {
    fn exception(&mut self, request: &mut Request<'_>) {
        let exception = Exception::from_words(request.words());
        let state = thread_state(request.bytes());
        let thread = request.keep(0).ok();
        match self.handler.exception(&exception, state.as_ref(), thread) {
            ExceptionAction::Resume(state) => {
                if let Some(state) = state {
                    let bytes: Vec<u8> = state.to_words().iter().flat_map(|word| word.to_le_bytes()).collect();
                    request.put(&bytes);
                }
                request.answer(fault::RESUME, [0; 6]);
            }
            ExceptionAction::Stop => request.answer(fault::STOP, [0; 6]),
            ExceptionAction::End(status) => {
                request.answer(fault::STOP, [0; 6]);
                self.ended = Some(status);
            }
        }
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Request(mut request) if request.protocol() == parent::NUMBER => parent::dispatch(self, &mut request),
            Event::Request(mut request) => self.handler.other(&mut request),
            Event::Exception(mut request) => self.exception(&mut request),
            Event::Fault(mut request) => request.answer(fault::REFUSE, [0; 6]),
            Event::Notification { bits, .. } if bits & THREAD_ENDED != 0 => self.ended = self.handler.thread_ended(),
            Event::Notification { .. } => {}
        }
    }
}

/// Maximum number of bytes of a message to a parent.
const CAPACITY: usize = 4096;

/// Answers at `port`, the child's parent and keeper, until the child ends: its exit status. A port
/// serves one child: what is taken back leaves its notification there.
pub fn attend(port: Port, handler: &mut impl Handler) -> Result<u64, Status> {
    attend_within(port, handler, nacre_sys::FOREVER)
}

/// Attends a child as [`attend`] does. Fails with `TimedOut` when `patience` nanoseconds have
/// passed without a message from the child.
pub fn attend_within(port: Port, handler: &mut impl Handler, patience: u64) -> Result<u64, Status> {
    let mut endpoint = ServerEndpoint::new(CAPACITY).map_err(|_| Status::new(nacre_abi::Code::NoMemory))?;
    let mut service = Service { handler, ended: None };
    loop {
        let event = endpoint.next(port.address(), patience)?;
        service.handle(event);
        if let Some(status) = service.ended {
            return Ok(status);
        }
    }
}
