//! Interposer of `guard`: judges each message, with every reference that it would bring.

use crate::manifest::MANIFEST;
use crate::audit::{Audit, Entry};
use crate::access_request::{ACCESS, Asking, AccessRequest, leads_nowhere};
use crate::claims::{self, Claimant};
use crate::limits::{Bounded, Charge};
use crate::closure::{self, Proof};
use crate::denied::{self, Denied, call_name};
use crate::peer::{PATIENCE, Peer};
use crate::policy::{Decision, Policy};
use crate::processes::Processes;
use crate::reach::{self, Made};
use crate::names::Names;
use crate::network;
use crate::subject::{CHANNELS, CHANNELS_OUTSIDE, Kind, MEMORY, NETWORK, PARENT, SEGMENT, Subject, Tag, UNNAMED, tag};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::Status;
use nacre_control::record::{Figures, figures};
use nacre_nest::command::{complain, lossy};
use nacre_nest::clock::Clock;
use nacre_nest::host::Exception;
use nacre_nest::interpose::text::{self, MessageDirection};
use nacre_nest::interpose::{Arrival, InterposedRequest, ReferenceRule, InterposedReply, ProxyInfo, Interposer, report_exception, report_killed};
use nacre_proto::describe::Operation;
use nacre_proto::flags::{FILE_KINDS, O_PATH, O_RDONLY, O_WRONLY, S_IFCHR, S_IFDIR, S_IFIFO, S_IFREG, S_IFSOCK};
use nacre_proto::reference::{Ref, Type};
use nacre_proto::{Errno, describe, directory, file, keyed, parent, process, terminal};
use nacre_sys::Reference;
use nacre_sys::ipc::Received;
use nacre_sys::lock::{Guard, Lock};

/// While a name is judged and used, no other name is: between the two nothing that the child does
/// can change what it means.
static NAMES: Lock<()> = Lock::new(());

/// Maximum of bytes of data in an audit's text of a message.
const DATA_LIMIT: usize = 64;

/// Room for the words of a command, in bytes: more than a manager keeps.
const MAX_COMMAND: usize = 2048;

/// The guard.
pub struct Guardian {
    /// The policy.
    pub policy: Policy,
    /// Directory of the child's files, if those are bounded.
    pub charge: Option<Charge>,
    /// The child's port of the network, if that is bounded.
    pub network: Option<Bounded>,
    /// Destination of decisions.
    pub audit: Option<Audit>,
    /// Name of the program, in messages about it.
    pub name: String,
    /// The child's own keyed objects.
    pub made: Lock<Made>,
    /// The child's own processes.
    pub processes: Lock<Processes>,
    /// Addresses of the machine outside, if there is a network.
    pub own_addresses: Lock<Vec<nacre_proto::channel::Address>>,
    /// A word of the child's command is the monitor `machine`.
    pub runs_machine: bool,
    /// The call that was denied last.
    pub denied: Lock<Option<Denied>>,
    /// Names of the child's processes that became other programs, by the numbers of the ports of
    /// their parent.
    pub names: Lock<BTreeMap<u64, String>>,
    /// Names of machines that the child's resolver has told.
    pub machines: Lock<Names>,
    /// The clock by which they are forgotten.
    pub clock: Option<Clock>,
    /// Number of calls that were denied.
    pub refused: AtomicU64,
}

/// Maximum number of processes whose names are known.
const MAX_NAMES: usize = 1024;
/// Maximum length of a process's name.
const MAX_NAME: usize = 64;

/// Returns the name of a process of which its manager is told this: a name, or a name and the words
/// of the command, with zeros between them.
fn process_name(said: &[u8]) -> String {
    let mut words = said.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let name = words.next().unwrap_or_default();
    let path = words.next().unwrap_or(name);
    let base = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    lossy(&base[..base.len().min(MAX_NAME)])
}

/// Part of a request that is kept until its answer comes.
pub struct Asked {
    pub(crate) label: u32,
    /// The first words of the request.
    pub(crate) words: [u64; 2],
    pub(crate) subject: Vec<u8>,
    /// First object that came with the request.
    given: Tag,
    /// Set if the request came from outside, for the child.
    outward: bool,
    /// Set if the request went to a server that may be anybody.
    is_strange: bool,
    _names: Option<Guard<'static, ()>>,
}

/// Decision about a request.
struct Verdict {
    decision: Decision,
    /// The call that decided, if it is another.
    needs: Option<u32>,
}

/// Tag of a port of which nothing is known: no request may be sent to it.
pub(crate) const UNKNOWN: ReferenceRule<Tag, Proof> = ReferenceRule::Proxy(None);

impl Guardian {
    /// All that a request comes to must be allowed; the first that is not decides.
    fn judge(&self, case: &AccessRequest, label: u32) -> Verdict {
        let mut verdict = Verdict { decision: Decision { allowed: false, rule: None }, needs: None };
        for (number, (needed, subject)) in case.needs.iter().enumerate() {
            let decision = self.decide(*needed, subject);
            if number == 0 || !decision.allowed {
                verdict = Verdict { decision, needs: (*needed != label).then_some(*needed) };
            }
            if !decision.allowed {
                return verdict;
            }
        }
        if case.forbidden { Verdict { decision: Decision { allowed: false, rule: None }, needs: None } } else { verdict }
    }

    /// Remembers a call that is denied, for [`Guardian::explain`].
    fn deny(&self, label: u32, subject: &[u8], rule: Option<usize>) -> Errno {
        self.refused.fetch_add(1, Ordering::Relaxed);
        if !denied::is_optional(label, subject, self.runs_machine) {
            *self.denied.lock() = Some(Denied { label, subject: subject.to_vec(), rule });
        }
        Errno::EACCES
    }

    /// Notes the name of the process whose parent has the port of this number.
    fn name_process(&self, number: u64, said: &[u8]) {
        let mut names = self.names.lock();
        if names.len() < MAX_NAMES || names.contains_key(&number) {
            names.insert(number, process_name(said));
        }
    }

    /// Says, when the process whose parent has the port of this number ends without success, what
    /// was denied last. A denied program often has no stream on which to say so itself.
    fn explain(&self, number: u64, status: u64) {
        let name = self.names.lock().remove(&number);
        // Nobody is killed by a signal because somebody denied a call.
        if status == 0 || status >= 256 {
            return;
        }
        if let Some(denied) = self.denied.lock().take() {
            complain("guard", &denied.sentence(name.as_ref().unwrap_or(&self.name), status, &self.policy));
        }
    }

    fn note(&self, message: &str, label: u32, subject: &[u8], verdict: &Verdict, direct: bool) {
        let Some(audit) = &self.audit else { return };
        let (call, needs) = (call_name(label), verdict.needs.map(call_name));
        let rule = verdict.decision.rule.map(|rule| self.policy.rule(rule));
        let allowed = verdict.decision.allowed;
        audit.note(&Entry { call: &call, subject, message, allowed, rule, needs: needs.as_deref(), direct });
    }

    /// The request as it came, if anybody wants to read it.
    fn message(&self, letter: &InterposedRequest<'_, Tag>) -> String {
        let mut text = String::new();
        if self.audit.is_some() {
            let half = MessageDirection { label: letter.label, words: letter.words, bytes: &letter.bytes(), references: letter.names() };
            text::request(letter.seen.number, &half, DATA_LIMIT, &mut text);
        }
        text
    }

    /// The subject of a request that reaches beyond its object; `None`: it does not.
    fn reached(&self, object: &Subject, label: u32, words: &[u64; 6], has_bytes: bool) -> Option<&'static [u8]> {
        if label >> 16 != process::NUMBER {
            return self.made.lock().subject(object, label, words, has_bytes);
        }
        let processes = *self.processes.lock();
        Some(processes.subject(label, words, &|pid| processes.parent(pid)))
    }

    /// Returns the permission that a request needs. The request then names what was judged.
    fn case(&self, letter: &mut InterposedRequest<'_, Tag>) -> Result<AccessRequest, Errno> {
        let processes = *self.processes.lock();
        processes.correct(letter.label, &mut letter.words)?;
        let subject = letter.seen.tag.as_deref().ok_or(Errno::EACCES)?;
        let operation: &'static Operation = describe(letter.label).ok_or(Errno::EACCES)?;
        let bytes = letter.bytes();
        network::restrict_sharing(&self.policy, letter.label, &mut letter.words, &bytes);
        let reached = match network::subject(subject, letter.label, &letter.words, &bytes) {
            Some(reached) => Some(reached),
            None => self.reached(subject, letter.label, &letter.words, !bytes.is_empty()).map(<[u8]>::to_vec),
        };
        let own = self.own_addresses.lock().clone();
        let alias = network::alias(subject, letter.label, &letter.words, &bytes, &own);
        let given = letter.references().first().copied().zip(letter.tags().first().and_then(Option::as_ref));
        let mut words = letter.words;
        let mut asking = Asking { operation, words: &mut words, bytes, subject, reached, alias, original: letter.original, given };
        let case = asking.case(&self.policy)?;
        let bytes = asking.bytes;
        letter.words = words;
        if letter.set_bytes(&bytes) { Ok(case) } else { Err(Errno::ENAMETOOLONG) }
    }

    /// A request of the child's: it may go on, or this is its answer.
    fn ask(&self, letter: &mut InterposedRequest<'_, Tag>) -> Result<Asked, Errno> {
        // An object that is no directory may be served by anybody, and its server may never answer.
        let is_directory = letter.seen.tag.as_deref().is_some_and(|subject| subject.kind == Kind::Directory);
        let is_name = is_directory && letter.label >> 16 == directory::NUMBER && self.policy.depends_on_paths();
        let names = is_name.then(|| NAMES.lock());
        let is_strange = letter.seen.tag.as_deref().is_some_and(|subject| subject.is_strange);
        if names.is_some() && is_strange {
            letter.patience = PATIENCE;
        }
        let (message, words) = (self.message(letter), [letter.words[0], letter.words[1]]);
        let case = match self.case(letter) {
            Ok(case) => case,
            Err(errno) if leads_nowhere(errno) => return Err(errno),
            Err(errno) => {
                let verdict = Verdict { decision: Decision { allowed: false, rule: None }, needs: None };
                let subject = letter.seen.tag.as_deref().map_or(&b""[..], |subject| &subject.name);
                self.note(&message, letter.label, subject, &verdict, false);
                self.refused.fetch_add(1, Ordering::Relaxed);
                return Err(errno);
            }
        };
        let given = letter.tags().first().cloned().flatten().flatten();
        let mut verdict = self.judge(&case, letter.label);
        // Without an end there would be no way to be rid of a child.
        let is_parent = letter.seen.tag.as_deref().is_some_and(|subject| subject.kind == Kind::Parent);
        let is_end = is_parent && letter.label == parent::exit::LABEL;
        verdict.decision.allowed |= is_end;
        self.note(&message, letter.label, &case.subject, &verdict, false);
        let asked = Asked { label: letter.label, words, subject: case.subject, given, outward: false, is_strange, _names: names };
        if is_end {
            self.explain(letter.seen.number, words[0]);
        }
        if is_parent && matches!(letter.label, process::name_set::LABEL | process::renew::LABEL) {
            self.name_process(letter.seen.number, &letter.bytes());
        }
        if verdict.decision.allowed {
            self.note_question(letter);
        }
        if verdict.decision.allowed { Ok(asked) } else { Err(self.deny(verdict.needs.unwrap_or(asked.label), &asked.subject, verdict.decision.rule)) }
    }

    /// Hands out a port of this type as it is, if all that can be asked there is allowed; else one
    /// that is guarded.
    pub(crate) fn pass(&self, asked: &Asked, (of, name, kind): (Type, &[u8], Kind), cannot: impl Fn(u32) -> bool) -> ReferenceRule<Tag, Proof> {
        let Some(proof) = closure::prove(&self.policy, of, name, cannot) else {
            // A manager makes the parents of new processes itself.
            let is_of_asked = of == Type::Process || [parent::NUMBER, directory::NUMBER].contains(&(asked.label >> 16));
            let is_strange = asked.is_strange || !is_of_asked;
            return ReferenceRule::Proxy(Some(Arc::new(Subject { name: name.to_vec(), kind, is_strange })));
        };
        if self.audit.is_some() {
            let verdict = Verdict { decision: self.policy.decide(asked.label, &asked.subject), needs: None };
            self.note("", asked.label, &asked.subject, &verdict, true);
        }
        ReferenceRule::Open(proof)
    }

    /// A port of this type, of which all operations can be asked.
    fn pass_all(&self, asked: &Asked, of: Type, name: &[u8]) -> ReferenceRule<Tag, Proof> {
        self.pass(asked, (of, name, Kind::Plain), |_| false)
    }

    fn service(&self, asked: &Asked, reference: Reference) -> ReferenceRule<Tag, Proof> {
        match &asked.subject[..] {
            b"files" if self.charge.as_ref().is_some_and(|charge| charge.give(reference).is_err()) => UNKNOWN,
            b"files" => self.pass(asked, (Type::Directory, b"/", Kind::Directory), |_| false),
            b"memory" | b"objects" => self.pool(asked, reference),
            b"clock" => self.pass_all(asked, Type::Clock, b"clock"),
            b"channels" => self.pass(asked, (Type::Channels, CHANNELS, Kind::Service), |_| false),
            b"network" if self.network.as_ref().is_some_and(|network| network.give(reference).is_err()) => UNKNOWN,
            b"network" => {
                self.know_network(reference);
                self.pass(asked, (Type::Channels, NETWORK, Kind::Service), |_| false)
            }
            b"control" => self.pass_all(asked, Type::Control, b"control"),
            b"nic" => self.pass_all(asked, Type::Nic, b"nic"),
            b"process" => self.pass(asked, (Type::Process, PARENT, Kind::Parent), |_| false),
            _ => UNKNOWN,
        }
    }

    /// A file that was opened. What it was not opened for cannot be asked there, whatever is
    /// allowed.
    fn opened(&self, asked: &Asked, mode: u64) -> ReferenceRule<Tag, Proof> {
        let kind = mode & FILE_KINDS[0].mask;
        if kind == S_IFDIR {
            return self.pass(asked, (Type::Directory, &asked.subject, Kind::Directory), |_| false);
        }
        let (access, is_place) = (asked.words[0] & ACCESS, asked.words[0] & O_PATH != 0);
        let cannot = |label| match label {
            file::read::LABEL | file::map::LABEL | file::share::LABEL | file::execute::LABEL | file::hand_out::LABEL => is_place || access == O_WRONLY,
            file::write::LABEL | file::set_size::LABEL | file::allocate::LABEL => is_place || access == O_RDONLY,
            label => label >> 16 == terminal::NUMBER && kind != S_IFCHR,
        };
        self.pass(asked, (Type::Terminal, &asked.subject, Kind::Plain), cannot)
    }

    /// An open file that is charged to another account. It is what it was before.
    fn charged(&self, asked: &Asked) -> ReferenceRule<Tag, Proof> {
        match asked.given.as_deref() {
            Some(given) if given.kind == Kind::Directory => self.pass(asked, (Type::Directory, &given.name, Kind::Directory), |_| false),
            Some(given) => self.pass_all(asked, Type::Terminal, &given.name),
            None => UNKNOWN,
        }
    }

    /// An object that somebody left at its giver. It is what its own status says, whatever its
    /// operation usually brings.
    fn found(&self, asked: &Asked, of: Type, reference: Reference) -> ReferenceRule<Tag, Proof> {
        let is_stream = asked.label == parent::stream::LABEL;
        let is_charged = match self.charge.as_ref().map(|charge| charge.take(reference)) {
            None => None,
            Some(Ok(is_charged)) => Some(is_charged),
            Some(Err(_)) => return UNKNOWN,
        };
        let mut server = Peer::new(reference, asked.is_strange || !is_stream);
        let Ok(kind) = server.kind() else { return UNKNOWN };
        match kind {
            // Nobody counts what is done there.
            S_IFDIR | S_IFREG if is_charged == Some(false) => UNKNOWN,
            S_IFCHR if is_stream && is_charged == Some(true) => self.pass_all(asked, Type::Terminal, &asked.subject),
            S_IFDIR => match server.path() {
                Ok(path) => self.pass(asked, (Type::Directory, &path, Kind::Directory), |_| false),
                Err(_) => UNKNOWN,
            },
            // A queue of messages says that it is a file, and a pseudo-terminal is a device and an
            // end.
            S_IFREG if is_stream => self.pass_all(asked, Type::Queue, &asked.subject),
            S_IFCHR | S_IFIFO | S_IFSOCK if is_stream => self.pass_all(asked, Type::End, &asked.subject),
            S_IFREG if of == Type::Unnamed || is_charged == Some(true) => self.pass_all(asked, Type::Unnamed, UNNAMED),
            // It is no proxy, so it is of others.
            S_IFIFO | S_IFSOCK => self.pass_all(asked, Type::End, CHANNELS_OUTSIDE),
            _ => UNKNOWN,
        }
    }

    /// An object that the asked server made.
    fn made(&self, asked: &Asked, of: Type, reply: &Received) -> ReferenceRule<Tag, Proof> {
        match of {
            Type::Opened if asked.label == directory::charge::LABEL => self.charged(asked),
            Type::Opened => self.opened(asked, reply.words[0]),
            Type::Directory => self.pass(asked, (of, &asked.subject, Kind::Directory), |_| false),
            Type::Segment | Type::Hold => self.pass_all(asked, of, SEGMENT),
            Type::Pool => self.pass_all(asked, of, MEMORY),
            Type::Unnamed => self.pass_all(asked, of, UNNAMED),
            Type::Channels if asked.subject == NETWORK => self.pass(asked, (of, NETWORK, Kind::Account), |_| false),
            Type::End if asked.subject == NETWORK => self.pass_all(asked, of, NETWORK),
            Type::Keyed | Type::End | Type::Queue => self.pass_all(asked, of, reach::brought(&asked.subject)),
            Type::Process => self.pass(asked, (of, PARENT, Kind::Parent), |_| false),
            Type::Nic => self.pass_all(asked, of, &asked.subject),
            // Their originals go to their servers alone, which look at them.
            Type::Watcher | Type::Owner => ReferenceRule::Proxy(tag(&asked.subject, Kind::Plain)),
            Type::Port => ReferenceRule::Proxy(tag(b"terminal", Kind::Notified)),
            _ => UNKNOWN,
        }
    }
}

impl Interposer for Guardian {
    type Tag = Tag;
    type Asked = Asked;
    type Proof = Proof;
    const ATTENUATES: bool = true;

    fn monitor(&self) -> &'static str {
        MANIFEST.name
    }

    fn figures(&self) -> Figures {
        figures([("refused", self.refused.load(Ordering::Relaxed))])
    }

    #[inline]
    fn lets_words_pass(&self) -> bool {
        self.audit.is_none()
    }

    fn words(&self, seen: &ProxyInfo<Tag>, label: u32, words: &[u64; 6]) -> Result<(), Errno> {
        let subject = match &seen.tag {
            _ if seen.outward => return Ok(()),
            Some(subject) => subject,
            None => return Err(Errno::EACCES),
        };
        let is_parent = subject.kind == Kind::Parent;
        let is_network = subject.name == NETWORK;
        let reached = if is_network { None } else { self.reached(subject, label, words, false) };
        let is_strange = is_network && network::reaches_others(subject, label);
        let name = if is_strange { network::STRANGE } else { reached.unwrap_or(&subject.name) };
        if label == parent::exit::LABEL && is_parent {
            self.explain(seen.number, words[0]);
            return Ok(());
        }
        let also = reach::needs(subject, label, words, false).iter().map(|need| (need.label.unwrap_or(label), need.subject.unwrap_or(&subject.name)));
        match core::iter::once((label, name)).chain(also).find(|(label, name)| !self.policy.decide(*label, name).allowed) {
            None => Ok(()),
            Some((label, name)) => Err(self.deny(label, name, self.policy.decide(label, name).rule)),
        }
    }

    fn reads_answer(label: u32) -> bool {
        [keyed::get::LABEL, keyed::get_memory::LABEL, keyed::remove::LABEL].contains(&label) || claims::is_claim(label)
    }

    fn is_process(&self, port: Reference, pid: u64) {
        let mut processes = Processes { first: Some((port, pid)), ..Processes::default() };
        if !self.policy.reaches_other_processes() {
            // Where the manager tells no user, all are the superuser.
            let users = process::look(port, pid, &mut [0; MAX_COMMAND][..]).map_or([0; 2], |reply| [reply.user, reply.effective]);
            processes.claimant = Some(Claimant { pid, users });
            // A manager that knows no domains lets the guard judge by who descends from whom.
            processes.has_domain = process::domain(port).is_ok();
        }
        *self.processes.lock() = processes;
    }

    fn sent(&self, _: &ProxyInfo<Tag>, _: Arrival) -> ReferenceRule<Tag, Proof> {
        UNKNOWN
    }

    fn request(&self, letter: &mut InterposedRequest<'_, Tag>) -> Result<Asked, Errno> {
        if letter.seen.outward {
            return Ok(Asked { label: letter.label, words: [0; 2], subject: Vec::new(), given: None, outward: true, is_strange: true, _names: None });
        }
        self.ask(letter)
    }

    fn returned(&self, asked: &mut Asked, reply: &Received, arrival: Arrival) -> ReferenceRule<Tag, Proof> {
        match arrival.declared {
            _ if asked.outward => UNKNOWN,
            Some(Ref::Found(Type::Service)) => self.service(asked, arrival.reference),
            Some(Ref::Found(of)) => self.found(asked, of, arrival.reference),
            Some(Ref::Own(of)) => self.made(asked, of, reply),
            _ => ReferenceRule::Refused,
        }
    }

    fn answered(&self, _: usize, asked: Asked, returned: &Result<InterposedReply<'_>, Status>) {
        if let Ok(returned) = returned {
            if !asked.outward && returned.label == 0 {
                self.made.lock().note(asked.label, asked.words, &returned.words);
                self.learn(&asked, returned);
            }
        }
    }

    /// Lets notifications to the child pass, and those of a terminal's keys to the manager.
    fn notified(&self, _: usize, seen: &ProxyInfo<Tag>, _: Reference, _: u64) -> bool {
        seen.outward || seen.tag.as_deref().is_some_and(|subject| subject.kind == Kind::Notified)
    }

    fn exception(&self, _: usize, exception: &Exception) -> u64 {
        report_exception(&self.name, exception);
        exception.exit_status()
    }

    fn killed(&self, _: usize) -> u64 {
        report_killed(&self.name)
    }

    fn ended(&self) {
        if let Some(audit) = &self.audit {
            audit.finish();
        }
    }
}
