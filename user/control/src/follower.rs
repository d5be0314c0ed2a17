//! Commands that a monitor answers for as long as somebody waits: with lines, as they come.

use crate::seats::Command;
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_sys::OwnedReference;

/// A monitor that answers such commands.
pub trait Follower: Sync {
    /// Begins to answer a command. `news` is to be notified when there is something to be told.
    /// `None`: the command is none of the monitor's. An error ends it.
    fn begin(&self, command: &Command, news: OwnedReference) -> Option<Result<(), Errno>>;

    /// Takes what is to be told next, not more than a part of an answer: the command's number, and
    /// the text.
    fn take(&self) -> Option<(u64, Vec<u8>)>;

    /// Number of the command that is answered now, if there is one.
    fn current(&self) -> Option<u64>;

    /// Takes note that nobody waits for the answer to a command any more.
    fn end(&self, number: u64);
}
