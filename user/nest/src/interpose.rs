//! The interposition layer: a monitor that stands between a child and everything else. The child's
//! parent port is a proxy, and so is every port that it learns of through one, in either direction,
//! unless the monitor lets it pass. What a monitor does with the messages is its [`Interposer`].
//!
//! Reading on: `stage` starts a child so; `relay` has the workers that carry messages;
//! `reference_translation` says what becomes of references; `proxies` and `objects` are the
//! book-keeping and the kernel objects of proxies.

pub mod reference_translation;
pub mod worker_buffers;
pub mod objects;
pub mod proxies;
pub mod quote;
pub mod relay;
pub mod stage;
pub mod text;

pub use reference_translation::{Arrival, Name, ReferenceRule};
pub use proxies::ProxyInfo;
pub use stage::run;

use crate::host::{Exception, KILLED, KILLED_TEXT, keep_and_watch};
use alloc::vec::Vec;
use reference_translation::ReferenceTranslation;
use worker_buffers::{Answer, WorkerBuffers, copied};
use nacre_abi::Status;
use nacre_control::Follower;
use nacre_control::record::Figures;
use nacre_proto::Errno;
use nacre_proto::flags::REPORT_MESSAGE;
use nacre_sys::ipc::Received;
use nacre_sys::{FOREVER, Reference, Space, Thread, Window};

/// A request on its way: what a monitor may look at, and what it may change before it is sent on.
pub struct InterposedRequest<'a, T> {
    /// Number of the worker that carries it.
    pub worker: usize,
    /// Facts about the proxy that the message came through.
    pub seen: &'a ProxyInfo<T>,
    /// Object that the proxy stands for, to which the message goes; another one can take its place.
    pub original: Reference,
    /// The label.
    pub label: u32,
    /// The words.
    pub words: [u64; 6],
    /// Number of bytes.
    pub size: usize,
    /// True if the message came through the child's parent port.
    pub is_parent: bool,
    /// Nanoseconds for the answer; the client then gets `ETIMEDOUT`.
    pub patience: u64,
    /// Answer in place of the original's, which is not asked then.
    pub answer: Option<Substitute>,
    buffer: Window,
    crossing: Option<&'a ReferenceTranslation<T>>,
}

impl<'a, T> InterposedRequest<'a, T> {
    fn new(desk: &WorkerBuffers, received: &Received, seen: &'a ProxyInfo<T>, crossing: Option<&'a ReferenceTranslation<T>>, original: Reference) -> InterposedRequest<'a, T> {
        InterposedRequest {
            worker: desk.number,
            seen,
            original,
            label: received.label(),
            words: received.words,
            size: received.bytes(),
            is_parent: proxies::index_of(received.word) == 0,
            patience: FOREVER,
            answer: None,
            buffer: desk.request,
            crossing,
        }
    }

    /// A copy of the bytes.
    pub fn bytes(&self) -> Vec<u8> {
        copied(self.buffer, self.size)
    }

    /// Sends these bytes on instead; false if they are too many for a message.
    pub fn set_bytes(&mut self, bytes: &[u8]) -> bool {
        let Some(mut place) = self.buffer.span_mut(0, bytes.len() as u64) else {
            return false;
        };
        place.copy_from(bytes.into());
        self.size = bytes.len();
        true
    }

    /// The references, as they are sent on.
    pub fn references(&self) -> &'a [Reference] {
        self.crossing.map_or(&[], ReferenceTranslation::references)
    }

    /// Returns names of the references, for people.
    pub fn names(&self) -> &'a [Name] {
        self.crossing.map_or(&[], ReferenceTranslation::names)
    }

    /// Returns the numbers of the proxies that were made for ports of the child's that come here
    /// for the first time, and references to them.
    pub fn new_ports(&self) -> impl Iterator<Item = (u64, Reference)> {
        self.crossing.into_iter().flat_map(ReferenceTranslation::new_ports)
    }

    /// The tags of the references that lead to proxies.
    pub fn tags(&self) -> &'a [Option<T>] {
        self.crossing.map_or(&[], ReferenceTranslation::tags)
    }
}

/// Answer that a monitor gives in place of the original.
#[derive(Clone, Debug, Default)]
pub struct Substitute {
    /// The errno.
    pub label: u32,
    /// The words.
    pub words: [u64; 6],
    /// The bytes; what a message has no room for is cut off.
    pub bytes: Vec<u8>,
    /// The references, which are copied and treated as those of an original's answer.
    pub references: Vec<Reference>,
}

/// Answer to a message that was sent on.
pub struct InterposedReply<'a> {
    /// The errno.
    pub label: u32,
    /// The words.
    pub words: [u64; 6],
    /// Names of the references, for people.
    pub names: &'a [Name],
    size: usize,
    buffer: Window,
}

impl<'a> InterposedReply<'a> {
    fn new<T>(desk: &WorkerBuffers, answer: &'a Answer<T>) -> InterposedReply<'a> {
        let names = answer.crossing.as_deref().map_or(&[][..], ReferenceTranslation::names);
        InterposedReply { label: answer.label, words: answer.words, names, size: answer.size, buffer: desk.reply }
    }

    /// A copy of the bytes.
    pub fn bytes(&self) -> Vec<u8> {
        copied(self.buffer, self.size)
    }
}

/// Treatment by a monitor of the messages that pass through it. Several workers call it at the same
/// time.
pub trait Interposer: Sync + 'static {
    /// Note about each proxy. A proxy that nobody has noted anything about has the default.
    type Tag: Clone + Default + Send + 'static;
    /// Note about a request, kept until its answer has come.
    type Asked;
    /// Proof that nothing which can be asked of a port is denied. A port passes as it is by such a
    /// proof alone.
    type Proof;
    /// The monitor lets the child do less at a proxy than its original would. Then originals stay
    /// with the relay: see `reference_translation`.
    const ATTENUATES: bool;

    /// Name of the monitor, in lists.
    fn monitor(&self) -> &'static str;

    /// Counts of the monitor's own work, in lists.
    fn figures(&self) -> Figures {
        Figures::new()
    }

    /// The monitor's answers to commands that it follows, if it follows any.
    fn follower(&self) -> Option<&dyn Follower> {
        None
    }

    /// Returns true if those within are told of commands by this monitor.
    fn attends(&self) -> bool {
        true
    }

    /// Returns the tag of proxies for what a process that runs already has (see
    /// [`stage::adopt`]).
    fn tag_of(&self, _pid: u64) -> Self::Tag {
        Self::Tag::default()
    }

    /// A worker has received a message, and has done nothing with it yet.
    #[inline]
    fn receives(&self, _worker: usize) {}

    /// A worker is about to answer, and to receive again.
    #[inline]
    fn rests(&self, _worker: usize) {}

    /// Returns true if a message that is words alone, with an answer of words alone, may go on
    /// after [`Interposer::words`] without an [`InterposedRequest`].
    fn lets_words_pass(&self) -> bool;

    /// Decides if such a message goes on.
    fn words(&self, _seen: &ProxyInfo<Self::Tag>, _label: u32, _words: &[u64; 6]) -> Result<(), Errno> {
        Ok(())
    }

    /// The time-stamp that [`Interposer::words_done`] gets.
    fn time(&self) -> u64 {
        0
    }

    /// Returns true if the monitor wants to see the answer of such a message, which then goes the
    /// long way.
    fn reads_answer(_label: u32) -> bool {
        false
    }

    /// Returns true if the child is ours alone, also where a manager would make it a process.
    fn keeps_child(&self) -> bool {
        false
    }

    /// The child is a process of our manager's, with this number and port, and has not begun.
    fn is_process(&self, _port: Reference, _pid: u64) {}

    /// The random bytes that the child finds, if the monitor chooses them.
    fn random(&self) -> Option<[u8; 16]> {
        None
    }

    /// Returns true if other processes can ask something of the child, which is a manager's: a
    /// thread of the manager's carries that to it.
    fn answers_others(&self) -> bool {
        true
    }

    /// The child lies ready, and its thread is stopped. `keeper` hears of its exceptions; a child
    /// without one is a manager's, who becomes the keeper and starts it.
    fn is_made(&self, _space: Space, _thread: Thread, _keeper: Option<Reference>) {}

    /// A manager has started the child.
    fn is_begun(&self) {}

    /// The child, which is no manager's, wants exceptions of its space to go to `keeper`. Its end
    /// is told to `watcher`.
    fn keep(&self, space: Space, keeper: Reference, watcher: Reference) -> Result<(), Status> {
        keep_and_watch(space, keeper, watcher)
    }

    /// Such a message has been answered.
    fn words_done(&self, _label: u32, _failed: bool, _started: u64) {}

    /// Decides how a reference crosses with a request. Where the monitor attenuates, it decides
    /// about ports that were declared alone.
    fn sent(&self, seen: &ProxyInfo<Self::Tag>, arrival: Arrival) -> ReferenceRule<Self::Tag, Self::Proof>;

    /// A request is to be sent on: what is kept of it, or the error that it is answered with
    /// instead.
    fn request(&self, letter: &mut InterposedRequest<'_, Self::Tag>) -> Result<Self::Asked, Errno>;

    /// The answer to a request is here, and nothing was done with it yet. It waits until this
    /// returns.
    #[inline]
    fn arrives(&self, _asked: &Self::Asked) {}

    /// Decides how a reference crosses with an answer. Where the monitor attenuates, it decides
    /// about ports that were declared alone.
    fn returned(&self, asked: &mut Self::Asked, reply: &Received, arrival: Arrival) -> ReferenceRule<Self::Tag, Self::Proof>;

    /// Takes note that a request has been answered, or could not be.
    fn answered(&self, worker: usize, asked: Self::Asked, returned: &Result<InterposedReply<'_>, Status>);

    /// The proxy was notified with these bits: whether `original`, which it stands for, is to be,
    /// too.
    fn notified(&self, _worker: usize, _seen: &ProxyInfo<Self::Tag>, _original: Reference, _bits: u64) -> bool {
        true
    }

    /// The child did what the machine does not do, which ends it: with which status. Who runs the
    /// system is told as if we were not there.
    fn exception(&self, worker: usize, exception: &Exception) -> u64;

    /// A thread of the child was destroyed from outside, or all of it was taken back, which ends
    /// it: with which status. Who runs the system is told.
    fn killed(&self, worker: usize) -> u64;

    /// The child is a manager's process, and was ended by this signal.
    fn signalled(&self, _signal: u64) {}

    /// The child has ended, and this program is about to.
    fn ended(&self);
}

/// Tells whoever runs the system how the child ended, as its parent would. If nobody listens, the
/// status tells.
fn report_end(name: &str, how: &dyn core::fmt::Display) {
    let _ = nacre_proto::parent::report(Reference::PARENT, REPORT_MESSAGE, alloc::format!("{name}: {how}").as_bytes());
}

/// Tells of a child that did what the machine does not do.
pub fn report_exception(name: &str, exception: &Exception) {
    report_end(name, exception);
}

/// Tells of a child of which a thread was destroyed: the status of its end.
pub fn report_killed(name: &str) -> u64 {
    report_end(name, &KILLED_TEXT);
    KILLED
}
