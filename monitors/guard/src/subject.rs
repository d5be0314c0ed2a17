//! Subjects of the policy: the objects that the child's references lead to.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use nacre_proto::describe::{Kind as Field, Operation};

/// Name of the child's parent, and of the port that each of its processes has in its place.
pub const PARENT: &[u8] = b"parent";
/// Name of pools of memory.
pub const MEMORY: &[u8] = b"memory";
/// Name of segments of memory, and of the hold on memory that is shared.
pub const SEGMENT: &[u8] = b"segment";
/// Name of files that no path names, such as memory that is shared.
pub const UNNAMED: &[u8] = b"unnamed";
/// Name of the service of pipes and sockets, and of what the child made there.
pub const CHANNELS: &[u8] = b"channels";
/// Name of what others made at that service, and of all that is found there by a name.
pub const CHANNELS_OUTSIDE: &[u8] = b"channels:outside";
/// Name of the service of sockets of the internet, and of what the child has there.
pub const NETWORK: &[u8] = b"network";
/// Name of sockets of the internet that others may have.
pub const NETWORK_OUTSIDE: &[u8] = b"network:outside";
/// Name of the child's own processes.
pub const PROCESS_OWN: &[u8] = b"process:own";
/// Name of all other processes.
pub const PROCESS_OUTSIDE: &[u8] = b"process:outside";

/// Kind of an object, as far as the policy cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The child's parent.
    Parent,
    /// A directory: paths lead on from it.
    Directory,
    /// The service of channels, or that of the internet. Its requests say what they are about.
    Service,
    /// The service of the internet at a port that the child made there, below its own.
    Account,
    /// A port of the manager's that servers notify. The child hands it to a terminal, whose server
    /// keeps the proxy.
    Notified,
    /// All else.
    Plain,
}

impl Kind {
    /// Returns true for a service, at whatever port.
    pub fn is_service(self) -> bool {
        matches!(self, Kind::Service | Kind::Account)
    }
}

/// An object that the child has a reference to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The path of a file, `stream:N`, or the name of a service.
    pub name: Vec<u8>,
    /// Kind of the object.
    pub kind: Kind,
    /// Somebody outside handed it to the child, so that its server may be anybody.
    pub is_strange: bool,
}

impl Subject {
    /// Returns true for an initial stream that is no directory.
    pub fn is_stream(&self) -> bool {
        self.name.starts_with(b"stream:")
    }
}

/// Note on a proxy. A port without a note may be asked nothing.
pub type Tag = Option<Arc<Subject>>;

/// A tag of an object of a server that the parent gave.
pub fn tag(name: &[u8], kind: Kind) -> Tag {
    Some(Arc::new(Subject { name: name.to_vec(), kind, is_strange: false }))
}

/// Returns the subject of a call on the parent: the name of a choice without its common beginning,
/// or the number.
pub fn of_parent(operation: &Operation, words: &[u64; 6]) -> Vec<u8> {
    let named = match operation.words_in.first() {
        Some((_, Field::Choice(table))) => table.iter().find(|flag| flag.value == words[0]),
        _ => None,
    };
    match named {
        Some(flag) => flag.name.split_once('_').map_or(flag.name, |(_, name)| name).to_ascii_lowercase().into_bytes(),
        None if operation.name == "stream" => stream(words[0]),
        None => number(words[0]),
    }
}

fn number(value: u64) -> Vec<u8> {
    alloc::format!("{value}").into_bytes()
}

/// The name of a stream.
pub fn stream(number: u64) -> Vec<u8> {
    String::into_bytes(alloc::format!("stream:{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::{describe, parent};

    #[test]
    fn calls_on_the_parent_are_about_names() {
        let about = |label, word| of_parent(describe(label).unwrap(), &[word, 0, 0, 0, 0, 0]);
        assert_eq!(about(parent::find::LABEL, 1), b"files");
        assert_eq!(about(parent::find::LABEL, 77), b"77");
        assert_eq!(about(parent::stream::LABEL, 2), b"stream:2");
        assert_eq!(about(parent::report::LABEL, 1), b"foreign_call");
    }
}
