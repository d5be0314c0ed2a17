//! Addresses of the internet as subjects of rules: `tcp 10.0.2.2:80`, `udp :53`, `icmp 10.0.2.2`;
//! `tcp [fec0::2]:80`; any address is written as none.

use crate::policy::Policy;
use crate::reach::names_terminal;
use crate::subject::{Kind, NETWORK, NETWORK_OUTSIDE, Subject};
use alloc::format;
use alloc::vec::Vec;
use core::net::Ipv6Addr;
use nacre_proto::channel::{Address, InternetName, MESSAGES, bind, connect, fifo, listen, send, sockets};
use nacre_proto::flags::{BIND_REUSE_ADDRESS, BIND_REUSE_PORT, SOCK_STREAM};

/// Subject of a socket that hears all messages of ICMP.
pub const RAW: &[u8] = b"raw icmp";
/// Subject of a name that is no address.
pub const STRANGE: &[u8] = b"address";

fn shown(name: InternetName) -> Vec<u8> {
    let InternetName { kind, address, port, .. } = name;
    let protocol = if u64::from(kind) == SOCK_STREAM { "tcp" } else { "udp" };
    match address {
        InternetName::ANY if name.is_icmp() => "icmp :".into(),
        Address::Four([a, b, c, d]) if name.is_icmp() => format!("icmp {a}.{b}.{c}.{d}"),
        InternetName::ANY => format!("{protocol} :{port}"),
        Address::Four([a, b, c, d]) => format!("{protocol} {a}.{b}.{c}.{d}:{port}"),
        Address::Six(address) => format!("{protocol} [{}]:{port}", Ipv6Addr::from(address)),
    }
    .into_bytes()
}

/// The subject of a name that a socket is to have.
fn bound(name: &[u8]) -> Vec<u8> {
    if InternetName::read(name).is_some_and(|name| name.kind == MESSAGES) { RAW.to_vec() } else { address(name) }
}

fn address(name: &[u8]) -> Vec<u8> {
    InternetName::read(name).map_or(STRANGE.to_vec(), shown)
}

/// Returns true for requests to the service that find what others made there and that is no socket.
pub fn reaches_others(object: &Subject, label: u32) -> bool {
    label == fifo::LABEL || names_terminal(object, label)
}

/// The name that a request connects or sends to; `None`: it names none.
fn receiver<'a>(label: u32, words: &[u64; 6], bytes: &'a [u8]) -> Option<&'a [u8]> {
    match label {
        connect::LABEL if !bytes.is_empty() => Some(bytes),
        send::LABEL if words[1] != 0 => Some(part(words[1], bytes).map_or(&[], |(name, _)| name)),
        _ => None,
    }
}

fn part(size: u64, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(usize::try_from(size).ok()?)
}

/// The subject of a request to the service `network` or to what the child has there; `None`: it
/// goes to another object.
pub fn subject(object: &Subject, label: u32, words: &[u64; 6], bytes: &[u8]) -> Option<Vec<u8>> {
    if object.name != NETWORK {
        return None;
    }
    if reaches_others(object, label) {
        return Some(STRANGE.to_vec());
    }
    // At a port that the child made itself, the service lists sockets of the child's alone.
    if label == sockets::LABEL && object.kind != Kind::Account {
        return Some(NETWORK_OUTSIDE.to_vec());
    }
    Some(match receiver(label, words, bytes) {
        Some(name) => address(name),
        // The name stands behind the key; the server refuses one that does not agree with it.
        None if label == bind::LABEL => part(words[0], bytes).map_or(STRANGE.to_vec(), |(_, name)| bound(name)),
        None => NETWORK.to_vec(),
    })
}

/// Keeps a socket from having its port together with those of others, unless a rule names the port
/// for it. Ports that come with other rules would else bring what others are sent.
pub fn restrict_sharing(policy: &Policy, label: u32, words: &mut [u64; 6], bytes: &[u8]) {
    let shares = BIND_REUSE_ADDRESS | BIND_REUSE_PORT;
    if label != bind::LABEL || words[1] & shares == 0 {
        return;
    }
    let subject = part(words[0], bytes).map_or(STRANGE.to_vec(), |(_, name)| bound(name));
    if !policy.decide(listen::LABEL, &subject).allowed {
        words[1] &= !shares;
    }
}

/// The address of the machine for itself, by which a request reaches what it also reaches by the
/// address that it names. `own` are the machine's addresses outside.
pub fn alias(object: &Subject, label: u32, words: &[u64; 6], bytes: &[u8], own: &[Address]) -> Option<Vec<u8>> {
    let name = receiver(label, words, bytes).filter(|_| object.name == NETWORK)?;
    let name = InternetName::read(name).filter(|name| name.is_of_machine() || own.contains(&name.address))?;
    Some(shown(InternetName { address: InternetName::LOOPBACK, ..name }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::channel::{ECHO, INTERNET, INTERNET_6, socket, terminal_facts};
    use nacre_proto::flags::BIND_ALONE;
    use nacre_proto::client::words;
    use nacre_proto::file;

    /// Address of the machine outside.
    const OWN: [u8; 4] = [10, 0, 2, 15];
    const OWN_6: [u8; 16] = [0xfe, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15];

    fn name(kind: u8, address: impl Into<Address>, port: u16) -> Vec<u8> {
        let address = address.into();
        let version = if address.four().is_some() { INTERNET } else { INTERNET_6 };
        InternetName { version, kind, address, port }.bytes()
    }

    fn network(kind: Kind) -> Subject {
        Subject { name: NETWORK.to_vec(), kind, is_strange: false }
    }

    fn subject(label: u32, words: &[u64; 6], bytes: &[u8]) -> Option<Vec<u8>> {
        super::subject(&network(Kind::Plain), label, words, bytes)
    }

    fn allows(rules: &[&str], label: u32, some: [u64; 2], bytes: &[u8]) -> bool {
        let mut policy = Policy::default();
        for rule in rules {
            let (way, rule) = rule.split_once(' ').unwrap();
            policy.add(way == "allow", rule).unwrap();
        }
        let subject = subject(label, &words(some), bytes).into_iter();
        let alias = alias(&network(Kind::Plain), label, &words(some), bytes, &[OWN.into(), OWN_6.into()]);
        subject.chain(alias).all(|subject| policy.decide(label, &subject).allowed)
    }

    #[test]
    fn addresses_are_subjects() {
        let host = name(1, [10, 0, 2, 2], 80);
        assert_eq!(subject(connect::LABEL, &[0; 6], &host).as_deref(), Some(&b"tcp 10.0.2.2:80"[..]));
        assert_eq!(subject(connect::LABEL, &[0; 6], b"/path").as_deref(), Some(STRANGE));
        assert_eq!(subject(bind::LABEL, &words([8]), &[&host[..], &name(2, [0; 4], 53)].concat()).as_deref(), Some(&b"udp :53"[..]));
        assert_eq!(subject(bind::LABEL, &words([99]), &host).as_deref(), Some(STRANGE));
        assert_eq!(subject(send::LABEL, &words([0, 8]), &[&host[..], b"data"].concat()).as_deref(), Some(&b"tcp 10.0.2.2:80"[..]));
        assert_eq!(subject(send::LABEL, &[0; 6], b"data").as_deref(), Some(NETWORK));
        let channels = Subject { name: b"channels".to_vec(), kind: Kind::Service, is_strange: false };
        assert_eq!(super::subject(&channels, connect::LABEL, &[0; 6], &host), None);
        assert_eq!(super::subject(&network(Kind::Service), terminal_facts::LABEL, &[0; 6], &[]).as_deref(), Some(STRANGE));
        assert_eq!(subject(terminal_facts::LABEL, &[0; 6], &[]).as_deref(), Some(NETWORK), "a socket is no terminal");
    }

    #[test]
    fn sockets_of_others_are_not_listed() {
        let mut policy = Policy::default();
        ["connect", "listen"].iter().for_each(|rule| policy.add(true, rule).unwrap());
        let allows = |kind| policy.decide(sockets::LABEL, &super::subject(&network(kind), sockets::LABEL, &[0; 6], &[]).unwrap()).allowed;
        assert!(allows(Kind::Account) && !allows(Kind::Service) && !allows(Kind::Plain));
    }

    #[test]
    fn rules_name_addresses_and_ports() {
        let (host, other) = (name(1, [10, 0, 2, 2], 80), name(1, [10, 0, 2, 3], 80));
        let rules = ["allow connect tcp 10.0.2.2:80"];
        assert!(allows(&rules, connect::LABEL, [0; 2], &host) && !allows(&rules, connect::LABEL, [0; 2], &other));
        assert!(allows(&rules, socket::LABEL, [0; 2], &[]) && allows(&rules, file::read::LABEL, [0; 2], &[]));
        let own = |kind, address: Address, port| [name(kind, InternetName::LOOPBACK, port), name(kind, address, port)].concat();
        assert!([1, 2].iter().all(|kind| allows(&rules, bind::LABEL, [8, 0], &own(*kind, InternetName::LOOPBACK, 40_000))));
        assert!(!allows(&rules, bind::LABEL, [8, 0], &own(1, InternetName::ANY, 8080)), "a port that others reach");
        assert!(allows(&rules, bind::LABEL, [8, 0], &own(2, InternetName::ANY, 40_000)) && !allows(&rules, bind::LABEL, [8, 0], &own(2, InternetName::ANY, 53)));
        let rules = ["allow listen tcp :8080"];
        assert!(allows(&rules, bind::LABEL, [8, 0], &own(1, InternetName::ANY, 8080)) && !allows(&rules, bind::LABEL, [8, 0], &own(1, InternetName::ANY, 80)));
        assert!(allows(&rules, listen::LABEL, [0; 2], &[]) && !allows(&rules, connect::LABEL, [0; 2], &host));
        let rules = ["allow connect", "deny connect tcp 10.0.2.2:*"];
        assert!(!allows(&rules, connect::LABEL, [0; 2], &host) && allows(&rules, connect::LABEL, [0; 2], &other));
    }

    #[test]
    fn a_port_is_shared_by_a_rule_that_names_it_alone() {
        let shares = |rules: &[&str], kind, address: Address, port| {
            let mut policy = Policy::default();
            rules.iter().for_each(|rule| {
                let (way, rule) = rule.split_once(' ').unwrap();
                policy.add(way == "allow", rule).unwrap();
            });
            let all = BIND_REUSE_ADDRESS | BIND_REUSE_PORT | BIND_ALONE;
            let mut words = words([8, all]);
            restrict_sharing(&policy, bind::LABEL, &mut words, &[name(kind, InternetName::LOOPBACK, port), name(kind, address, port)].concat());
            assert!([all, BIND_ALONE].contains(&words[1]));
            words[1] == all
        };
        // Ports that `connect` brings, and those of sockets that are no service `network`.
        for rules in [&["allow connect"][..], &["allow channel"], &["allow channel:outside", "allow connect"], &["allow channel.bind"], &["allow listen", "deny listen udp :40000", "deny listen tcp 127.0.0.1:*"]] {
            assert!(!shares(rules, 2, InternetName::ANY, 40_000) && !shares(rules, 1, InternetName::LOOPBACK, 40_000), "{rules:?}");
        }
        let rules = ["allow connect", "allow listen tcp :8080", "allow listen udp :6000"];
        assert!(shares(&rules, 1, InternetName::ANY, 8080) && shares(&rules, 2, InternetName::ANY, 6000));
        assert!(!shares(&rules, 1, InternetName::ANY, 8081) && !shares(&rules, 2, InternetName::ANY, 8080) && !shares(&rules, 1, InternetName::LOOPBACK, 8080));
        assert!(["allow listen", "allow *"].iter().all(|rule| shares(&[rule], 2, InternetName::ANY, 40_000)));
        let mut strange = words([99, BIND_REUSE_PORT]);
        restrict_sharing(&Policy::default(), bind::LABEL, &mut strange, &[]);
        assert_eq!(strange[1], 0, "no name");
    }

    #[test]
    fn addresses_of_version_6_stand_in_brackets() {
        let address = |last| -> [u8; 16] { [0xfe, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last] };
        let (host, other) = (name(1, address(2), 80), name(1, address(3), 80));
        assert_eq!(subject(connect::LABEL, &[0; 6], &host).as_deref(), Some(&b"tcp [fec0::2]:80"[..]));
        let rules = ["allow connect tcp [fec0::2]:80"];
        assert!(allows(&rules, connect::LABEL, [0; 2], &host) && !allows(&rules, connect::LABEL, [0; 2], &other));
        // An address has one name.
        for strange in [[0; 16], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 2, 2]] {
            assert_eq!(subject(connect::LABEL, &[0; 6], &name(1, strange, 80)).as_deref(), Some(STRANGE));
        }
        let wrong = [&[INTERNET, 1][..], &address(2), &[0, 80]].concat();
        assert_eq!(subject(connect::LABEL, &[0; 6], &wrong).as_deref(), Some(STRANGE), "it is of version 4");
    }

    #[test]
    fn echoes_have_no_port() {
        let (host, other) = (name(ECHO, [10, 0, 2, 2], 64), name(ECHO, [10, 0, 2, 3], 64));
        let own = |kind| [name(kind, InternetName::LOOPBACK, 7), name(kind, InternetName::ANY, 7)].concat();
        let rules = ["allow connect icmp 10.0.2.2"];
        assert!(allows(&rules, send::LABEL, [0, 8], &host) && allows(&rules, connect::LABEL, [0; 2], &host) && !allows(&rules, send::LABEL, [0, 8], &other));
        assert!(allows(&rules, bind::LABEL, [8, 0], &own(ECHO)) && !allows(&rules, bind::LABEL, [8, 0], &own(MESSAGES)), "who hears all hears others, too");
        let rules = ["allow listen raw icmp", "allow connect icmp *"];
        assert!(allows(&rules, bind::LABEL, [8, 0], &own(MESSAGES)) && allows(&rules, send::LABEL, [0, 8], &name(MESSAGES, [10, 0, 2, 2], 64)));
        assert!(allows(&["allow connect"], send::LABEL, [0, 8], &host) && !allows(&["allow connect tcp *:*"], send::LABEL, [0, 8], &host));
        assert!(!allows(&["allow connect", "deny connect icmp 127.0.0.1"], send::LABEL, [0, 8], &name(ECHO, OWN, 64)));
    }

    #[test]
    fn the_machine_has_several_addresses_and_is_one() {
        let rules = ["allow connect", "deny connect tcp 127.0.0.1:*", "deny connect udp 127.0.0.1:53"];
        for address in [InternetName::LOOPBACK, InternetName::ANY, Address::Four([127, 8, 8, 8]), OWN.into(), OWN_6.into()] {
            assert!(!allows(&rules, connect::LABEL, [0; 2], &name(1, address, 80)), "{address:?}");
            let sends = |port| {
                let to = name(2, address, port);
                allows(&rules, send::LABEL, [0, to.len() as u64], &to)
            };
            assert!(!sends(53) && sends(54), "{address:?}");
        }
        assert!(allows(&rules, connect::LABEL, [0; 2], &name(1, [10, 0, 2, 2], 80)), "the host is another machine");
        let rules = ["allow connect tcp 10.0.2.15:*"];
        assert!(!allows(&rules, connect::LABEL, [0; 2], &name(1, OWN, 80)), "127.0.0.1 is not allowed");
    }

    #[test]
    fn rules_for_the_network_are_for_no_other_sockets() {
        let mut policy = Policy::default();
        policy.add(true, "connect").unwrap();
        policy.add(true, "listen").unwrap();
        for name in [&b"channels"[..], b"channels:outside"] {
            assert!(![connect::LABEL, bind::LABEL, send::LABEL, socket::LABEL].iter().any(|label| policy.decide(*label, name).allowed));
        }
    }
}
