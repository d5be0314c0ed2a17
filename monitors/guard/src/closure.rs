//! Decides whether a port may cross as it is: if each operation that it answers is allowed, and all
//! that those bring is open again. The declarations of the protocols say what an operation brings.

use crate::policy::Policy;
use crate::reach;
use crate::subject::{CHANNELS, CHANNELS_OUTSIDE, MEMORY, NETWORK, SEGMENT, UNNAMED};
use alloc::vec::Vec;
use nacre_proto::{PROTOCOLS, dataspace, directory};
use nacre_proto::describe::Operation;
use nacre_proto::reference::{Ref, Type};

/// Proof that nothing which can be asked of a port is denied, nor of what it brings. This module
/// alone makes one.
#[derive(Debug)]
pub struct Proof(());

/// Objects that an operation is judged on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum On<'a> {
    /// The object of this name.
    Name(&'a [u8]),
    /// Any object at all.
    All,
    /// Sockets of the internet, where each address is an object of its own.
    Network,
}

/// Operations on directories that a server answers at a file as well, where the path is empty.
const AT_FILES: [u32; 9] = [
    directory::status_at::LABEL,
    directory::set_mode_at::LABEL,
    directory::set_owner_at::LABEL,
    directory::set_times_at::LABEL,
    directory::read_link::LABEL,
    directory::link::LABEL,
    directory::path::LABEL,
    directory::file_system_status::LABEL,
    directory::watch::LABEL,
];

/// Returns true if an object of this type may answer an operation of its protocols. Names of
/// dataspaces are looked for at pools alone.
fn answers(of: Type, label: u32) -> bool {
    label != dataspace::identify::LABEL || of == Type::Pool
}

struct Search<'a> {
    policy: &'a Policy,
    /// Types that are open, or being looked at: a type that leads back to itself adds nothing.
    seen: Vec<(Type, On<'a>)>,
}

impl<'a> Search<'a> {
    fn allows(&self, label: u32, on: On<'a>) -> bool {
        let allows_on = |label, on| match on {
            On::Name(name) => self.policy.decide(label, name).allowed,
            On::All | On::Network => self.policy.allows_everywhere(label),
        };
        let also = reach::needs_at_most(label).iter();
        let on_both = also.map(|need| (need.label.unwrap_or(label), need.subject.map_or(on, On::Name)));
        allows_on(label, on) && on_both.into_iter().all(|(label, on)| allows_on(label, on))
    }

    fn is_open(&mut self, of: Type, on: On<'a>, cannot: &dyn Fn(u32) -> bool) -> bool {
        if self.seen.contains(&(of, on)) {
            return true;
        }
        self.seen.push((of, on));
        let operations = PROTOCOLS.iter().filter(|protocol| of.protocols().contains(&protocol.number)).flat_map(|protocol| protocol.operations);
        let at_files: &[u32] = if matches!(of, Type::File | Type::Terminal) { &AT_FILES } else { &[] };
        of.members().iter().all(|member| self.is_open(*member, on, &|_| false))
            && at_files.iter().all(|label| self.allows(*label, on))
            && operations.filter(|operation| answers(of, operation.label) && !cannot(operation.label)).all(|operation| self.allows(operation.label, on) && self.brings_open(operation, on))
    }

    fn brings_open(&mut self, operation: &Operation, on: On<'a>) -> bool {
        let fixed = operation.references_out.iter().map(|(_, kind)| *kind);
        let brought = fixed.chain(operation.more_out.iter().map(|(_, kind, _)| *kind));
        brought.into_iter().all(|kind| match kind {
            Ref::Found(_) if self.policy.bounds_found => false,
            Ref::Own(of) | Ref::Found(of) => subjects(of, on).into_iter().all(|on| self.is_open(of, on, &|_| false)),
            _ => true,
        })
    }
}

/// Names that an object of this type may have which an operation on `on` brings.
fn subjects<'a>(of: Type, on: On<'a>) -> [On<'a>; 2] {
    let always = |on| [on; 2];
    match of {
        Type::Segment | Type::Hold => always(On::Name(SEGMENT)),
        Type::Pool => always(On::Name(MEMORY)),
        Type::Unnamed => always(On::Name(UNNAMED)),
        Type::Keyed | Type::End | Type::Queue | Type::Channels if on == On::Network => always(On::Network),
        // Whoever asks a parent may be given those of the internet.
        Type::Channels if on == On::All => always(On::Network),
        Type::Keyed | Type::End | Type::Queue | Type::Channels => [On::Name(CHANNELS), On::Name(CHANNELS_OUTSIDE)],
        Type::Watcher | Type::Owner | Type::Port | Type::Nic => always(on),
        _ => always(On::All),
    }
}

/// Proves that an object of this type and name may be handed out, if it may. `cannot` is true for
/// labels of operations that this object refuses whatever is asked. A directory leads to all paths,
/// and a process to all services, whatever their names are.
pub fn prove(policy: &Policy, of: Type, name: &[u8], cannot: impl Fn(u32) -> bool) -> Option<Proof> {
    let on = match of {
        Type::Directory | Type::Process => On::All,
        _ if name == NETWORK => On::Network,
        _ => On::Name(name),
    };
    Search { policy, seen: Vec::new() }.is_open(of, on, &cannot).then_some(Proof(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use nacre_proto::{file, terminal};

    fn opens(rules: &str, of: Type, name: &str) -> bool {
        let mut policy = Policy::default();
        policy.add_file(rules).unwrap();
        prove(&policy, of, name.as_bytes(), |_| false).is_some()
    }

    fn opens_nameless(rules: &str, of: Type, name: &str) -> bool {
        let mut policy = Policy::default();
        policy.add_file(rules).unwrap();
        prove(&policy, of, name.as_bytes(), |label| label == dataspace::identify::LABEL).is_some()
    }

    #[test]
    fn all_is_open_only_if_all_is_allowed() {
        for of in [Type::Process, Type::Channels, Type::Directory, Type::Pool, Type::Clock, Type::End, Type::Queue] {
            assert!(opens("allow *", of, "x") && !opens("allow *\ndeny file.write /etc/*\ndeny clock.read\ndeny segment.wait\ndeny parent.find", of, "x"), "{of:?}");
        }
        // What root's drivers ask is nobody else's to ask.
        for protocol in PROTOCOLS.iter().filter(|protocol| protocol.number != nacre_proto::driver::NUMBER) {
            assert!(!opens(&format!("allow *\ndeny {}.*", protocol.name), Type::Process, "parent"), "a process finds {}", protocol.name);
        }
        assert!(!opens("allow *\ndeny file.write /etc/*", Type::Process, "parent"), "a process finds files");
        assert!(!opens("allow *\ndeny file.write /etc/*", Type::End, "channels"), "a socket brings anything");
    }

    #[test]
    fn groups_open_what_is_theirs() {
        assert!(opens_nameless("allow memory", Type::Pool, "memory") && !opens("allow memory", Type::Pool, "memory"));
        assert!(opens("allow memory\nallow memory:named", Type::Pool, "memory") && opens("allow memory", Type::Segment, "segment"));
        assert!(opens("allow memory", Type::Unnamed, "unnamed") && opens("allow clock", Type::Clock, "clock"));
        assert!(opens("allow read\nallow write\nallow terminals\nallow memory", Type::Directory, "/"));
        for rules in ["allow console", "allow process", "allow channel", "allow console\nallow channel\nallow process\nallow memory"] {
            for of in [Type::Directory, Type::Process, Type::Channels, Type::End, Type::Queue, Type::Terminal] {
                for name in ["parent", "process:own", "stream:0", "/"] {
                    assert!(!opens(rules, of, name), "{rules} opens {of:?} {name}");
                }
            }
        }
    }

    #[test]
    fn a_service_is_open_only_with_what_is_found_there() {
        assert!(opens("allow *\ndeny file.write /etc/*", Type::Keyed, "channels"), "brings memory without a name");
        let service = "allow channel.*\nallow keyed.*\nallow mailbox.*\nallow file.*\nallow terminal.*\nallow segment.*\nallow directory.*\nallow dataspace.*\nallow memory.*";
        assert!(opens(service, Type::Channels, "channels"));
        for (of, rule) in [(Type::Channels, "deny file.write channels:outside"), (Type::End, "deny file.write channels:outside"), (Type::End, "deny file.read stream:1")] {
            let name = if rule.contains("stream") { "stream:1" } else { "channels" };
            assert!(!opens(&format!("{service}\n{rule}"), of, name), "{rule}");
        }
    }

    #[test]
    fn a_file_that_is_only_read_can_still_be_locked() {
        let mut policy = Policy::default();
        policy.add_file("allow read\nallow memory\nallow file.lock\nallow file.lock_owned").unwrap();
        let cannot = |label: u32| [file::write::LABEL, file::set_size::LABEL, file::allocate::LABEL].contains(&label) || label >> 16 == terminal::NUMBER;
        assert!(prove(&policy, Type::File, b"/x", cannot).is_none());
    }
}
