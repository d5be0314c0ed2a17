//! Kinds of references in messages, and types of the objects that they lead to.
//!
//! A declaration says of each reference who may keep it and where it comes from. Monitors that
//! attenuate decide by that what crosses. A reference without a kind does not compile.

use crate::{channel, clock, control, dataspace, directory, driver, file, keyed, mailbox, memory, nic, parent, process, segment, terminal};
use nacre_abi::Rights;

/// Kind of a reference in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ref {
    /// Request: the server looks at the object during the call, and keeps nothing. The object is
    /// one of the server's own.
    Peer(Type),
    /// Request: the server keeps the reference, notifies it or hands it on. It never calls it. A
    /// port that is notified ([`Type::Port`]) is refused with `EACCES` unless the reference has
    /// `REFERENCE_NOTIFY`.
    Kept(Type),
    /// Request: the kernel sends exceptions to this port of the caller's.
    Keeper,
    /// Request: a space, given with control to the manager above.
    Space,
    /// Request: a thread, given with control to the manager above.
    Thread,
    /// Reply: a port that the server made.
    Own(Type),
    /// Reply: a port that somebody left at the server, perhaps the caller.
    Found(Type),
    /// Reply: memory with at most these rights.
    Region(Rights),
    /// Reply: a condition of the kernel's.
    Condition,
    /// Reply: interrupt lines of the machine, which root gives its drivers alone.
    Interrupts,
}

/// Rights of memory of which the receiver may do anything.
pub const ANY_RIGHTS: Rights = Rights::ALL;
/// Rights of memory that is shared to be read and written.
pub const DATA: Rights = Rights::READ.union(Rights::WRITE);
/// Rights of a file's contents that change with the file.
pub const CONTENTS: Rights = DATA.union(Rights::EXECUTE);
/// Rights of a file's contents that are read or run.
pub const CODE: Rights = Rights::READ.union(Rights::EXECUTE);
/// Rights of memory that is only read.
pub const READABLE: Rights = Rights::READ;

/// Type of the object behind a port: one with operations, or a sum of such types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A regular file that is open.
    File,
    /// A file or counter without a name, such as memory that is shared.
    Unnamed,
    /// An open device that may be a terminal.
    Terminal,
    /// A directory.
    Directory,
    /// An end of a pipe, a socket or a pseudo-terminal.
    End,
    /// A queue of messages.
    Queue,
    /// A queue of a file system's events.
    Watcher,
    /// A segment of memory.
    Segment,
    /// The hold on memory that is shared.
    Hold,
    /// An attachment of a dataspace.
    Attachment,
    /// A pool of memory.
    Pool,
    /// A process at the service of keyed objects.
    Keyed,
    /// The service of pipes, sockets, keyed objects and queues.
    Channels,
    /// The service that tells the time.
    Clock,
    /// The service of commands, or a seat there.
    Control,
    /// A network card.
    Nic,
    /// A process, which is its program's parent.
    Process,
    /// An owner of locks, which takes no calls.
    Owner,
    /// The wire of a driver, by which it gets requests.
    Wire,
    /// A port that is notified, and takes no calls.
    Port,
    /// Sum: what opening a path gives, as the mode in the reply's first word says.
    Opened,
    /// Sum: what stands behind a stream. The object's own status says which.
    Stream,
    /// Sum: a service, as the request's first word says.
    Service,
    /// Sum: anything. The object's own status says what.
    Any,
}

impl Type {
    /// Protocols that the object answers; none for a sum.
    pub const fn protocols(self) -> &'static [u32] {
        match self {
            Type::File | Type::Unnamed | Type::Watcher => &[file::NUMBER],
            Type::Terminal => &[file::NUMBER, terminal::NUMBER],
            Type::Directory => &[file::NUMBER, directory::NUMBER],
            Type::End => &[file::NUMBER, terminal::NUMBER, channel::NUMBER],
            Type::Queue => &[file::NUMBER, mailbox::NUMBER],
            Type::Segment => &[segment::NUMBER, dataspace::NUMBER],
            Type::Hold => &[segment::NUMBER],
            Type::Attachment => &[dataspace::NUMBER],
            Type::Pool => &[memory::NUMBER, dataspace::NUMBER],
            Type::Keyed => &[keyed::NUMBER],
            Type::Channels => &[channel::NUMBER, keyed::NUMBER, mailbox::NUMBER],
            Type::Clock => &[clock::NUMBER],
            Type::Control => &[control::NUMBER],
            Type::Nic => &[nic::NUMBER],
            Type::Process => &[parent::NUMBER, process::NUMBER],
            Type::Wire => &[driver::NUMBER],
            Type::Owner | Type::Port | Type::Opened | Type::Stream | Type::Service | Type::Any => &[],
        }
    }

    /// Members of a sum; none for all other types.
    pub const fn members(self) -> &'static [Type] {
        match self {
            Type::Opened => &[Type::File, Type::Terminal, Type::Directory],
            Type::Stream | Type::Any => &[Type::File, Type::Terminal, Type::Directory, Type::End, Type::Queue],
            Type::Service => &[Type::Directory, Type::Pool, Type::Process, Type::Clock, Type::Channels, Type::Control, Type::Nic],
            _ => &[],
        }
    }
}

impl core::fmt::Display for Ref {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (what, of) = match self {
            Ref::Peer(of) => ("looked at:", of),
            Ref::Kept(of) => ("kept:", of),
            Ref::Own(of) => ("made:", of),
            Ref::Found(of) => ("left there:", of),
            Ref::Keeper => return f.write_str("keeper"),
            Ref::Space => return f.write_str("space"),
            Ref::Thread => return f.write_str("thread"),
            Ref::Condition => return f.write_str("condition"),
            Ref::Interrupts => return f.write_str("interrupt lines"),
            Ref::Region(rights) => return write!(f, "region, rights {:#x}", rights.0),
        };
        let mut name = alloc::format!("{of:?}");
        name.make_ascii_lowercase();
        write!(f, "{what} {name}")
    }
}

/// Names that declarations use.
pub mod names {
    pub use super::Ref::*;
    pub use super::Type::*;
    pub use super::{ANY_RIGHTS, CODE, CONTENTS, DATA, READABLE};
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PROTOCOLS;
    use crate::flags::{self, SERVICES};
    use alloc::vec::Vec;

    /// Type of the object that the parent finds for the service with this number.
    fn of_service(number: u64) -> Option<Type> {
        Some(match number {
            flags::SERVICE_FILES => Type::Directory,
            flags::SERVICE_MEMORY | flags::SERVICE_OBJECTS => Type::Pool,
            flags::SERVICE_PROCESS => Type::Process,
            flags::SERVICE_CLOCK => Type::Clock,
            flags::SERVICE_CHANNELS | flags::SERVICE_NETWORK => Type::Channels,
            flags::SERVICE_CONTROL => Type::Control,
            flags::SERVICE_NIC => Type::Nic,
            _ => return None,
        })
    }

    #[test]
    fn every_service_is_a_member() {
        for service in SERVICES {
            let of = of_service(service.value);
            assert!(of.is_some_and(|of| Type::Service.members().contains(&of)), "{}: {of:?}", service.name);
        }
    }

    #[test]
    fn every_protocol_is_reached_from_a_process() {
        let (mut reached, mut ahead) = (Vec::new(), Vec::from([Type::Process]));
        while let Some(of) = ahead.pop() {
            if reached.contains(&of) {
                continue;
            }
            reached.push(of);
            ahead.extend(of.members());
            for operation in PROTOCOLS.iter().filter(|one| of.protocols().contains(&one.number)).flat_map(|one| one.operations) {
                let brought = operation.references_out.iter().map(|(_, kind)| *kind).chain(operation.more_out.iter().map(|(_, kind, _)| *kind));
                ahead.extend(brought.filter_map(|kind| match kind {
                    Ref::Own(of) | Ref::Found(of) => Some(of),
                    _ => None,
                }));
            }
        }
        for protocol in PROTOCOLS {
            // Drivers are root's own children: nobody else has what answers this one.
            let is_hidden = protocol.number == driver::NUMBER;
            assert_eq!(reached.iter().any(|of| of.protocols().contains(&protocol.number)), !is_hidden, "{}", protocol.name);
        }
    }
}
