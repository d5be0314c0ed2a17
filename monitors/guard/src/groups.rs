//! Groups of calls that a rule can name, for common needs of programs. The manual has the same
//! table.

/// A call or all of a protocol, and what it is restricted to.
pub struct Member {
    /// `protocol.call` or `protocol.*`.
    pub call: &'static str,
    /// Objects that the member covers.
    pub on: On,
}

/// Scope of a member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// All, or those that the rule's own pattern names.
    Any,
    /// Objects that this pattern names. A rule that denies leaves the member out, because it only
    /// leads to the others.
    Way(&'static str),
    /// Objects that this pattern names.
    Only(&'static str),
    /// Objects that the rule's own pattern names; without one, those that this pattern names.
    Else(&'static str),
}

/// A group.
pub struct Group {
    /// Name of the group.
    pub name: &'static str,
    /// Set if a rule may restrict the group with a pattern.
    pub has_paths: bool,
    /// Calls of the group.
    pub members: &'static [Member],
}

const fn any(call: &'static str) -> Member {
    Member { call, on: On::Any }
}

const fn stream(call: &'static str) -> Member {
    Member { call, on: On::Only("stream:*") }
}

const FILES: Member = Member { call: "parent.find", on: On::Way("files") };

/// Every group.
pub const GROUPS: &[Group] = &[
    Group {
        name: "console",
        has_paths: false,
        members: &[
            any("parent.stream"),
            stream("file.read"),
            stream("file.write"),
            stream("file.status"),
            stream("file.poll"),
            stream("file.watch"),
            stream("file.seek"),
            stream("file.flags"),
            stream("file.sync"),
            stream("file.set_size"),
            stream("file.allocate"),
            stream("file.map"),
            stream("file.share"),
            stream("terminal.get_attributes"),
            stream("terminal.set_attributes"),
            stream("terminal.window"),
            stream("terminal.set_window"),
            stream("terminal.waiting"),
            stream("terminal.flush"),
            stream("directory.status_at"),
        ],
    },
    // A key that is typed here goes to the next reader, perhaps the shell that started the guard.
    Group { name: "console-control", has_paths: false, members: &[stream("terminal.*")] },
    Group { name: "terminals", has_paths: true, members: &[any("terminal.*")] },
    Group {
        name: "memory",
        has_paths: false,
        members: &[Member { call: "parent.find", on: On::Only("memory") }, Member { call: "parent.find", on: On::Only("objects") }, any("memory.*"), any("segment.*"), any("dataspace.attach"), any("dataspace.detach"), any("dataspace.interrogate"), any("dataspace.share"), any("dataspace.copy"), any("dataspace.transfer"), any("dataspace.create"), any("dataspace.delete"), any("directory.memory"), any("directory.counter"), Member { call: "file.*", on: On::Only("unnamed") }],
    },
    // Names of lasting memory are the same for all.
    Group { name: "memory:named", has_paths: false, members: &[Member { call: "parent.find", on: On::Only("memory") }, Member { call: "parent.find", on: On::Only("objects") }, any("dataspace.identify"), any("dataspace.create")] },
    Group { name: "control", has_paths: false, members: &[Member { call: "parent.find", on: On::Only("control") }, any("control.*")] },
    Group { name: "clock", has_paths: false, members: &[Member { call: "parent.find", on: On::Only("clock") }, any("clock.*")] },
    Group {
        name: "process",
        has_paths: false,
        members: &[
            Member { call: "process.*", on: On::Only("process:own") },
            any("parent.keep"),
            any("parent.processors"),
            Member { call: "parent.find", on: On::Only("process") },
        ],
    },
    Group { name: "process:outside", has_paths: false, members: &[Member { call: "process.*", on: On::Only("process:*") }] },
    Group {
        name: "channel",
        has_paths: false,
        members: &[
            Member { call: "parent.find", on: On::Only("channels") },
            Member { call: "channel.*", on: On::Only("channels") },
            Member { call: "file.*", on: On::Only("channels") },
            Member { call: "terminal.*", on: On::Only("channels") },
            Member { call: "keyed.*", on: On::Only("channels") },
            // A stream that is one is read and written so, as far as that is allowed.
            stream("channel.send"),
            stream("channel.receive"),
            stream("channel.shutdown"),
            stream("channel.name"),
            stream("channel.capacity"),
            stream("channel.facts"),
            stream("channel.error"),
            stream("channel.credentials"),
            stream("channel.look"),
            stream("channel.expect"),
            stream("channel.share"),
            stream("channel.changed"),
            stream("channel.enroll"),
            stream("channel.terminal_facts"),
        ],
    },
    Group {
        name: "channel:outside",
        has_paths: false,
        members: &[
            Member { call: "parent.find", on: On::Only("channels") },
            Member { call: "channel.*", on: On::Only("channels*") },
            Member { call: "file.*", on: On::Only("channels*") },
            Member { call: "terminal.*", on: On::Only("channels*") },
            Member { call: "keyed.*", on: On::Only("channels*") },
            Member { call: "mailbox.*", on: On::Only("channels*") },
        ],
    },
    Group {
        name: "connect",
        has_paths: true,
        members: &[
            Member { call: "parent.find", on: On::Way("network") },
            Member { call: "channel.*", on: On::Way("network") },
            Member { call: "file.*", on: On::Way("network") },
            // Ports that are reached from within, and those of who asks by datagrams.
            Member { call: "channel.bind", on: On::Way("tcp 127.**") },
            Member { call: "channel.bind", on: On::Way("udp 127.**") },
            Member { call: "channel.bind", on: On::Way("udp :?????") },
            Member { call: "channel.bind", on: On::Way("icmp **") },
            Member { call: "channel.connect", on: On::Else("tcp **") },
            Member { call: "channel.connect", on: On::Else("udp **") },
            Member { call: "channel.send", on: On::Else("udp **") },
            Member { call: "channel.connect", on: On::Else("icmp **") },
            Member { call: "channel.send", on: On::Else("icmp **") },
        ],
    },
    Group {
        name: "listen",
        has_paths: true,
        members: &[
            Member { call: "parent.find", on: On::Way("network") },
            Member { call: "channel.*", on: On::Way("network") },
            Member { call: "file.*", on: On::Way("network") },
            Member { call: "channel.bind", on: On::Else("tcp **") },
            Member { call: "channel.bind", on: On::Else("udp **") },
            Member { call: "channel.bind", on: On::Else("raw icmp") },
            // On an address: having its port with others, where all of them allow it.
            Member { call: "channel.listen", on: On::Else("tcp **") },
            Member { call: "channel.listen", on: On::Else("udp **") },
        ],
    },
    Group {
        name: "report",
        has_paths: false,
        members: &[Member { call: "parent.report", on: On::Only("message") }, Member { call: "parent.report", on: On::Only("foreign_call") }],
    },
    Group {
        name: "read",
        has_paths: true,
        members: &[
            FILES,
            any("directory.open"),
            any("directory.share"),
            any("directory.limit"),
            any("directory.charge"),
            any("directory.status_at"),
            any("directory.read_link"),
            any("directory.find"),
            any("directory.root"),
            any("directory.list"),
            any("directory.path"),
            any("directory.watcher"),
            any("directory.watch"),
            any("file.unwatch"),
            any("directory.file_system_status"),
            any("file.read"),
            any("file.map"),
            any("file.execute"),
            any("file.status"),
            any("file.poll"),
            any("file.watch"),
            any("file.seek"),
            any("file.flags"),
            any("file.share"),
            any("file.seals"),
            any("file.lock"),
            any("file.lock_owned"),
            any("file.lock_owner"),
            any("file.attribute"),
            any("file.attributes"),
            any("terminal.get_attributes"),
            any("terminal.window"),
            any("terminal.waiting"),
        ],
    },
    Group {
        name: "write",
        has_paths: true,
        members: &[
            FILES,
            Member { call: "directory.open", on: On::Way("") },
            any("directory.make_directory"),
            any("directory.remove"),
            any("directory.rename"),
            any("directory.link"),
            any("directory.symbolic_link"),
            any("directory.set_mode_at"),
            any("directory.set_owner_at"),
            any("directory.set_times_at"),
            any("directory.make_node"),
            any("directory.memory"),
            any("directory.counter"),
            any("file.write"),
            any("file.set_size"),
            any("file.allocate"),
            any("file.hand_out"),
            any("file.set_mode"),
            any("file.set_owner"),
            any("file.set_times"),
            any("file.set_attribute"),
            any("file.remove_attribute"),
            any("file.sync"),
            any("terminal.set_attributes"),
            any("terminal.set_window"),
            any("terminal.flush"),
        ],
    },
];

/// The group of this name.
pub fn find(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::PROTOCOLS;

    #[test]
    fn every_member_is_a_call() {
        for member in GROUPS.iter().flat_map(|group| group.members) {
            let (protocol, call) = member.call.split_once('.').unwrap();
            let protocol = PROTOCOLS.iter().find(|one| one.name == protocol).unwrap();
            assert!(call == "*" || protocol.operations.iter().any(|one| one.name == call), "{}", member.call);
        }
    }

    #[test]
    fn reading_and_writing_are_all_of_files() {
        let members = |name| find(name).unwrap().members.iter().map(|member| member.call);
        let both: alloc::vec::Vec<&str> = members("read").chain(members("write")).collect();
        for protocol in [&nacre_proto::file::PROTOCOL, &nacre_proto::directory::PROTOCOL] {
            for operation in protocol.operations {
                let name = alloc::format!("{}.{}", operation.protocol, operation.name);
                assert!(both.contains(&name.as_str()), "{name} is in no group");
            }
        }
    }
}
