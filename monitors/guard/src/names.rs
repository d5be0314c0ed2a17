//! Names of machines, as the child's resolver has told them: which addresses belong to a name for
//! how long. Proposal 0060 says what is believed.

use crate::dns::{self, Question};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_proto::channel::InternetName;
use nacre_proto::flags::{MSG_CREDENTIALS, SOCK_DGRAM};

/// Numbers of questions, of addresses and of resolvers that are remembered, at most.
const MAX_ASKED: usize = 64;
const MAX_KNOWN: usize = 512;
const MAX_RESOLVERS: usize = 3;
/// Seconds for which an address is remembered: whoever asks connects a moment later, and nobody has
/// an address for ever.
const LEAST: u32 = 60;
const MOST: u32 = 86_400;
const SECOND: u64 = 1_000_000_000;
/// Port of resolvers.
const PORT: u16 = 53;

/// An address that belongs to a name.
#[derive(Debug)]
struct Known {
    address: [u8; 4],
    name: Vec<u8>,
    /// Time until which it does, in nanoseconds.
    until: u64,
}

/// Knowledge of names: who tells of them, questions that wait, and addresses that belong to them.
#[derive(Debug, Default)]
pub struct Names {
    resolvers: Vec<[u8; 4]>,
    /// Address of the machine, and the number of leading bits that all on its wire have alike.
    wire: Option<([u8; 4], u8)>,
    asked: VecDeque<Question>,
    known: Vec<Known>,
}

/// Reads an address of version 4.
fn address(text: &str) -> Option<[u8; 4]> {
    let parts: Vec<u8> = text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}

impl Names {
    /// Takes the machine's resolvers from the text of `resolv.conf`. Returns true if there is one.
    pub fn set_resolvers(&mut self, text: &str) -> bool {
        let servers = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver")).filter_map(|rest| address(rest.trim()));
        // The child may be who answers at an address of this machine.
        self.resolvers = servers.filter(|address| !is_local(*address)).take(MAX_RESOLVERS).collect();
        !self.resolvers.is_empty()
    }

    /// Says which address the machine has, and how many leading bits of it all on the wire have.
    pub fn set_wire(&mut self, wire: Option<([u8; 4], u8)>) {
        self.wire = wire;
    }

    /// Returns true if names can be learned.
    pub fn has_resolvers(&self) -> bool {
        !self.resolvers.is_empty()
    }

    /// Notes a datagram that the child sends, if it is a question.
    pub fn asks(&mut self, data: &[u8]) {
        let Some(question) = dns::question(data) else { return };
        if self.asked.len() >= MAX_ASKED {
            self.asked.pop_front();
        }
        self.asked.push_back(question);
    }

    /// Learns from a reply to `channel.receive` with these flags, if it is a whole answer of a
    /// resolver to a question that the child has asked.
    pub fn hears(&mut self, flags: u64, words: &[u64; 6], bytes: &[u8], now: u64) {
        let [count, name_size, total, ..] = *words;
        let signature = if flags & MSG_CREDENTIALS != 0 { 16 } else { 0 };
        // What is not the whole datagram could be a part that somebody else has chosen.
        let is_whole = count == total && name_size == InternetName::SIZE as u64 && words[5] == 0;
        let Some(named) = bytes.get(signature..).filter(|_| is_whole) else { return };
        let Some((name, data)) = named.split_at_checked(InternetName::SIZE) else { return };
        let from = InternetName::read(name).filter(|name| u64::from(name.kind) == SOCK_DGRAM && name.port == PORT);
        let from = from.and_then(|from| from.address.four());
        if from.is_none_or(|from| !self.resolvers.contains(&from) || self.wire.is_some_and(|(own, _)| own == from)) || data.len() as u64 != count {
            return;
        }
        let Some(answer) = dns::decode(data) else { return };
        let Some(place) = self.asked.iter().position(|asked| *asked == answer.question) else { return };
        self.asked.remove(place);
        for (address, seconds) in answer.all {
            if self.is_believed(address) {
                self.know(address, &answer.question.name, now.saturating_add(u64::from(seconds.clamp(LEAST, MOST)) * SECOND));
            }
        }
    }

    /// Returns true if a name may have an address. Addresses of this machine and of its wire are
    /// named by themselves alone: who owns a name could have it stand for them.
    fn is_believed(&self, address: [u8; 4]) -> bool {
        let is_of_wire = self.wire.is_some_and(|(own, prefix)| {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
            (u32::from_be_bytes(own) ^ u32::from_be_bytes(address)) & mask == 0
        });
        self.wire.is_some() && !is_of_wire && !is_local(address) && address[0] < 224 && address[..2] != [169, 254]
    }

    fn know(&mut self, address: [u8; 4], name: &[u8], until: u64) {
        if let Some(known) = self.known.iter_mut().find(|known| known.address == address && known.name == name) {
            known.until = known.until.max(until);
            return;
        }
        if self.known.len() >= MAX_KNOWN
            && let Some(place) = (0..self.known.len()).min_by_key(|place| self.known[*place].until)
        {
            self.known.swap_remove(place);
        }
        self.known.push(Known { address, name: name.to_vec(), until });
    }

    /// Returns the subjects by which a rule can name what `subject` is, an address and a port, with
    /// the names that the address has now.
    pub fn subjects(&mut self, subject: &[u8], now: u64) -> Vec<Vec<u8>> {
        self.known.retain(|known| known.until > now);
        let parts = core::str::from_utf8(subject).ok().and_then(|text| text.split_once(' '));
        let Some((protocol, (host, port))) = parts.and_then(|(protocol, rest)| Some((protocol, rest.rsplit_once(':')?))) else { return Vec::new() };
        let Some(address) = address(host) else { return Vec::new() };
        let names = self.known.iter().filter(|known| known.address == address);
        names.map(|known| format!("{protocol} {}:{port}", String::from_utf8_lossy(&known.name)).into_bytes()).collect()
    }
}

/// Returns true for an address that is the machine itself.
fn is_local(address: [u8; 4]) -> bool {
    matches!(address[0], 0 | 127)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::tests::{answer, ask};
    use nacre_proto::channel::INTERNET;

    const RESOLVER: [u8; 4] = [10, 0, 2, 3];
    const SUBJECT: &[u8] = b"tcp 192.0.2.7:443";

    fn names() -> Names {
        let mut names = Names::default();
        assert!(names.set_resolvers("# text\nnameserver 127.0.0.1\nnameserver 10.0.2.3\nsearch x\n"));
        names.set_wire(Some(([10, 0, 2, 15], 24)));
        names
    }

    fn a(last: [u8; 4]) -> Vec<u8> {
        answer(7, "deb.example", &[("deb.example", 1, 300, last.to_vec())])
    }

    /// A reply with a datagram from this address and port, of `total` bytes.
    fn hear(names: &mut Names, (address, port): ([u8; 4], u16), data: &[u8], total: usize) {
        let from = InternetName { version: INTERNET, kind: 2, address: address.into(), port }.bytes();
        names.hears(0, &[data.len() as u64, 8, total as u64, 0, 0, 0], &[&from[..], data].concat(), 0);
    }

    fn learns(from: ([u8; 4], u16), data: &[u8], asked: &[u8], total: usize) -> usize {
        let mut names = names();
        names.asks(asked);
        hear(&mut names, from, data, total);
        names.subjects(SUBJECT, 1).len()
    }

    #[test]
    fn an_answer_of_the_resolver_is_believed_for_its_time() {
        let mut names = names();
        names.asks(&ask(7, "deb.example"));
        hear(&mut names, (RESOLVER, 53), &a([192, 0, 2, 7]), a([0; 4]).len());
        assert_eq!(names.subjects(SUBJECT, 299 * SECOND), [b"tcp deb.example:443".to_vec()]);
        assert!(names.subjects(b"tcp 192.0.2.8:443", 0).is_empty() && names.subjects(b"address", 0).is_empty() && names.subjects(b"tcp :443", 0).is_empty());
        assert!(names.subjects(SUBJECT, 300 * SECOND).is_empty());
    }

    #[test]
    fn nobody_else_is_believed() {
        let (data, asked) = (a([192, 0, 2, 7]), ask(7, "deb.example"));
        assert_eq!(learns((RESOLVER, 53), &data, &asked, data.len()), 1);
        for from in [([10, 0, 2, 4], 53), (RESOLVER, 54), ([127, 0, 0, 1], 53), ([10, 0, 2, 15], 53), ([0; 4], 53)] {
            assert_eq!(learns(from, &data, &asked, data.len()), 0, "{from:?}");
        }
        assert_eq!(learns((RESOLVER, 53), &data, &asked, data.len() + 1), 0, "a part of a datagram");
        assert_eq!(learns((RESOLVER, 53), &data, &ask(8, "deb.example"), data.len()), 0, "the number of another question");
        assert_eq!(learns((RESOLVER, 53), &data, &ask(7, "evil.example"), data.len()), 0, "another question");
        let mut names = names();
        names.asks(&asked);
        names.hears(0, &[data.len() as u64, 0, data.len() as u64, 0, 0, 0], &data, 0);
        names.hears(0, &[u64::MAX; 6], &data, 0);
        names.hears(MSG_CREDENTIALS, &[0, 8, 0, 0, 0, 0], &[], 0);
        assert!(names.subjects(SUBJECT, 1).is_empty());
    }

    #[test]
    fn a_name_leads_neither_to_the_machine_nor_to_its_wire() {
        for address in [[127, 0, 0, 1], [0; 4], [10, 0, 2, 2], [10, 0, 2, 15], [169, 254, 169, 254], [224, 0, 0, 1], [255; 4]] {
            let mut names = names();
            names.asks(&ask(7, "deb.example"));
            hear(&mut names, (RESOLVER, 53), &a(address), a([0; 4]).len());
            assert!(names.known.is_empty(), "{address:?}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut names = names();
        for number in 0..2000u16 {
            let text = format!("n{number}.example");
            names.asks(&ask(number, &text));
            let data = answer(number, &text, &[(&text, 1, 300 + u32::from(number), [192, 0, 2, 7].to_vec())]);
            hear(&mut names, (RESOLVER, 53), &data, data.len());
            names.asks(&ask(number, "unanswered.example"));
        }
        assert_eq!((names.known.len(), names.asked.len()), (MAX_KNOWN, MAX_ASKED));
        assert!(names.subjects(SUBJECT, 1).contains(&b"tcp n1999.example:443".to_vec()));
    }
}
