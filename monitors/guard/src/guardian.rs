//! What the guard does with the messages that pass through it: each is judged, with every reference that it would bring.

use crate::audit::{Audit, Entry};
use crate::case::{ACCESS, Asking, Case};
use crate::policy::{Decision, Policy};
use crate::subject::{Kind, Tag, tag};
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::Status;
use nacre_abi::object::TargetType;
use nacre_nest::host::Exception;
use nacre_nest::interpose::text::{self, Half};
use nacre_nest::interpose::{Letter, Passage, Returned, Seen, Watch, report_exception, report_killed};
use nacre_proto::describe::Operation;
use nacre_proto::flags::{FILE_KINDS, O_PATH, O_RDONLY, O_WRONLY, S_IFCHR, S_IFDIR};
use nacre_proto::{Errno, channel, clock, describe, directory, file, keyed, mailbox, memory, parent, process, segment, terminal};
use nacre_sys::ipc::Received;
use nacre_sys::lock::{Guard, Lock};

/// While a name is judged and used, no other name is: between the two nothing that the child does can change what it means.
static NAMES: Lock<()> = Lock::new(());

/// Most bytes of data in an audit's text of a message.
const DATA_LIMIT: usize = 64;

/// What the child's parent is called, and the port that each of its processes has in its place.
pub const PARENT: &[u8] = b"parent";
/// What pipes and sockets are called, and who makes them.
const CHANNELS: &[u8] = b"channels";
/// All that is served there.
const CHANNEL_PROTOCOLS: [u32; 5] = [channel::NUMBER, file::NUMBER, terminal::NUMBER, keyed::NUMBER, mailbox::NUMBER];

/// The guard.
pub struct Guardian {
    /// The policy.
    pub policy: Policy,
    /// Where decisions are written.
    pub audit: Option<Audit>,
    /// Of the program, in what is said of it.
    pub name: String,
}

/// What is remembered of a message until its answer comes.
pub struct Asked {
    label: u32,
    flags: u64,
    subject: Vec<u8>,
    /// It came from outside, for the child.
    outward: bool,
    _names: Option<Guard<'static, ()>>,
}

/// What became of a request.
struct Verdict {
    decision: Decision,
    /// The call that decided, if it is another.
    needs: Option<u32>,
}

fn is(kind: u64, wanted: TargetType) -> bool {
    kind == wanted as u64
}

/// How a reference crosses of which nothing is known: nothing may be asked there.
fn unknown(kind: u64) -> Passage<Tag> {
    match kind {
        _ if is(kind, TargetType::Null) => Passage::Direct,
        _ if is(kind, TargetType::Port) => Passage::Proxy(None),
        _ => Passage::Refused,
    }
}

fn call_name(label: u32) -> String {
    let mut name = String::new();
    text::name(label, &mut name);
    name
}

impl Guardian {
    /// All that a request comes to must be allowed; the first that is not decides.
    fn judge(&self, case: &Case, label: u32) -> Verdict {
        let mut verdict = Verdict { decision: Decision { allowed: false, rule: None }, needs: None };
        for (number, (needed, subject)) in case.needs.iter().enumerate() {
            let decision = self.policy.decide(*needed, subject);
            if number == 0 || !decision.allowed {
                verdict = Verdict { decision, needs: (*needed != label).then_some(*needed) };
            }
            if !decision.allowed {
                return verdict;
            }
        }
        if case.forbidden { Verdict { decision: Decision { allowed: false, rule: None }, needs: None } } else { verdict }
    }

    fn note(&self, message: &str, label: u32, subject: &[u8], verdict: &Verdict, direct: bool) {
        let Some(audit) = &self.audit else { return };
        let (call, needs) = (call_name(label), verdict.needs.map(call_name));
        let rule = verdict.decision.rule.map(|rule| self.policy.rule(rule));
        let allowed = verdict.decision.allowed;
        audit.note(&Entry { call: &call, subject, message, allowed, rule, needs: needs.as_deref(), direct });
    }

    /// The request as it came, if anybody wants to read it.
    fn message(&self, letter: &Letter<'_, Tag>) -> String {
        let mut text = String::new();
        if self.audit.is_some() {
            let half = Half { label: letter.label, words: letter.words, bytes: &letter.bytes(), references: letter.names() };
            text::request(letter.seen.number, &half, DATA_LIMIT, &mut text);
        }
        text
    }

    /// What a request asks for. What the request says is then what was judged.
    fn case(&self, letter: &mut Letter<'_, Tag>) -> Result<Case, Errno> {
        let subject = letter.seen.tag.as_deref().ok_or(Errno::EACCES)?;
        let operation: &'static Operation = describe(letter.label).ok_or(Errno::EACCES)?;
        if letter.names().len() != operation.references_in.len() {
            return Err(Errno::EACCES);
        }
        let bytes = letter.bytes();
        let given = letter.references().first().copied().zip(letter.tags().first().and_then(Option::as_ref));
        let mut words = letter.words;
        let mut asking = Asking { operation, words: &mut words, bytes, subject, original: letter.original, given };
        let case = asking.case(&self.policy)?;
        let bytes = asking.bytes;
        letter.words = words;
        if letter.set_bytes(&bytes) { Ok(case) } else { Err(Errno::ENAMETOOLONG) }
    }

    /// A request of the child's: it may go on, or this is its answer.
    fn ask(&self, letter: &mut Letter<'_, Tag>) -> Result<Asked, Errno> {
        // What is no directory may be served by anybody, who may never answer.
        let is_directory = letter.seen.tag.as_deref().is_some_and(|subject| subject.kind == Kind::Directory);
        let is_name = is_directory && letter.label >> 16 == directory::NUMBER && self.policy.depends_on_paths();
        let names = is_name.then(|| NAMES.lock());
        let (message, flags) = (self.message(letter), letter.words[0]);
        let case = match self.case(letter) {
            Ok(case) => case,
            Err(errno) => {
                let verdict = Verdict { decision: Decision { allowed: false, rule: None }, needs: None };
                let subject = letter.seen.tag.as_deref().map_or(&b""[..], |subject| &subject.name);
                self.note(&message, letter.label, subject, &verdict, false);
                return Err(errno);
            }
        };
        let mut verdict = self.judge(&case, letter.label);
        // Without an end there would be no way to be rid of a child.
        let is_parent = letter.seen.tag.as_deref().is_some_and(|subject| subject.kind == Kind::Parent);
        verdict.decision.allowed |= is_parent && letter.label == parent::exit::LABEL;
        self.note(&message, letter.label, &case.subject, &verdict, false);
        let asked = Asked { label: letter.label, flags, subject: case.subject, outward: false, _names: names };
        if verdict.decision.allowed { Ok(asked) } else { Err(Errno::EACCES) }
    }

    /// A reference past us, if all that can be asked there is allowed; else one that is guarded.
    fn pass(&self, asked: &Asked, is_open: bool, name: &[u8], kind: Kind) -> Passage<Tag> {
        if !is_open {
            return Passage::Proxy(tag(name, kind));
        }
        if self.audit.is_some() {
            let verdict = Verdict { decision: self.policy.decide(asked.label, &asked.subject), needs: None };
            self.note("", asked.label, &asked.subject, &verdict, true);
        }
        Passage::Direct
    }

    fn service(&self, asked: &Asked) -> Passage<Tag> {
        let allows = |protocol, name| self.policy.allows_all(&[protocol], name, |_| false);
        let name = &asked.subject[..];
        match name {
            b"files" => self.pass(asked, self.policy.opens_files(), b"/", Kind::Directory),
            b"memory" => self.pass(asked, allows(memory::NUMBER, name) && allows(segment::NUMBER, b"segment"), name, Kind::Plain),
            b"clock" => self.pass(asked, allows(clock::NUMBER, name), name, Kind::Plain),
            b"channels" => self.channel(asked),
            _ => self.pass(asked, self.policy.opens_all(), name, Kind::Plain),
        }
    }

    /// The service of pipes and sockets, or what it made: files that no path names. It goes past us only if nothing that is served there is denied.
    fn channel(&self, asked: &Asked) -> Passage<Tag> {
        let is_open = self.policy.allows_all(&CHANNEL_PROTOCOLS, CHANNELS, |_| false);
        self.pass(asked, is_open, CHANNELS, Kind::Plain)
    }

    /// What the manager of processes answers with.
    fn managed(&self, asked: &Asked, is_port: bool, is_region: bool, kind: u64) -> Passage<Tag> {
        match asked.label {
            process::create::LABEL if is_port => self.pass(asked, self.policy.opens_all(), PARENT, Kind::Parent),
            process::prepare::LABEL if is_region => Passage::Direct,
            _ => unknown(kind),
        }
    }

    /// A file that was opened. What it was not opened for cannot be asked there, whatever is allowed.
    fn opened(&self, asked: &Asked, mode: u64) -> Passage<Tag> {
        let kind = mode & FILE_KINDS[0].mask;
        if kind == S_IFDIR {
            return self.pass(asked, self.policy.opens_files(), &asked.subject, Kind::Directory);
        }
        let (access, is_place) = (asked.flags & ACCESS, asked.flags & O_PATH != 0);
        let cannot = |label| match label {
            file::read::LABEL | file::map::LABEL | file::share::LABEL => is_place || access == O_WRONLY,
            file::write::LABEL | file::set_size::LABEL | file::allocate::LABEL => is_place || access == O_RDONLY,
            label => label >> 16 == terminal::NUMBER && kind != S_IFCHR,
        };
        let is_open = self.policy.allows_all(&[file::NUMBER, terminal::NUMBER], &asked.subject, cannot);
        self.pass(asked, is_open, &asked.subject, Kind::Plain)
    }
}

impl Watch for Guardian {
    type Tag = Tag;
    type Asked = Asked;

    #[inline]
    fn lets_words_pass(&self) -> bool {
        self.audit.is_none()
    }

    fn words(&self, seen: &Seen<Tag>, label: u32) -> Result<(), Errno> {
        let subject = match &seen.tag {
            _ if seen.outward => return Ok(()),
            Some(subject) => subject,
            None => return Err(Errno::EACCES),
        };
        let is_end = label == parent::exit::LABEL && subject.kind == Kind::Parent;
        if is_end || self.policy.decide(label, &subject.name).allowed { Ok(()) } else { Err(Errno::EACCES) }
    }

    fn sent(&self, seen: &Seen<Tag>, kind: u64) -> Passage<Tag> {
        let is_given = is(kind, TargetType::Space) || is(kind, TargetType::Thread);
        // What the child gives to who stands above it gives it nothing.
        if is_given && !seen.outward { Passage::Direct } else { unknown(kind) }
    }

    fn request(&self, letter: &mut Letter<'_, Tag>) -> Result<Asked, Errno> {
        if letter.seen.outward {
            return Ok(Asked { label: letter.label, flags: 0, subject: Vec::new(), outward: true, _names: None });
        }
        self.ask(letter)
    }

    fn returned(&self, asked: &mut Asked, reply: &Received, number: usize, kind: u64) -> Passage<Tag> {
        let (is_port, is_region) = (is(kind, TargetType::Port), is(kind, TargetType::Region));
        if asked.outward || reply.label() != 0 {
            return unknown(kind);
        }
        match asked.label {
            // Memory has no calls: whoever may have it has it.
            memory::segment_create::LABEL if number == 1 && is_region => Passage::Direct,
            file::map::LABEL if is_region => Passage::Direct,
            file::share::LABEL if number == 0 && is_region => Passage::Direct,
            label if label >> 16 == process::NUMBER => self.managed(asked, is_port, is_region, kind),
            _ if !is_port => unknown(kind),
            label if [channel::NUMBER, keyed::NUMBER, mailbox::NUMBER].contains(&(label >> 16)) => self.channel(asked),
            parent::find::LABEL => self.service(asked),
            parent::stream::LABEL => {
                let is_open = self.policy.allows_all(&[file::NUMBER, terminal::NUMBER], &asked.subject, |_| false);
                self.pass(asked, is_open, &asked.subject, Kind::Plain)
            }
            directory::open::LABEL => self.opened(asked, reply.words[0]),
            memory::segment_create::LABEL => {
                let is_open = self.policy.allows_all(&[segment::NUMBER], b"segment", |_| false);
                self.pass(asked, is_open, b"segment", Kind::Plain)
            }
            // What keeps memory of a file can be waited at, and no more.
            file::share::LABEL => self.pass(asked, self.policy.allows_all(&[segment::NUMBER], b"segment", |_| false), b"segment", Kind::Plain),
            // An owner of locks takes no calls.
            file::lock_owner::LABEL => Passage::Proxy(tag(&asked.subject, Kind::Plain)),
            // A file of nobody else's, which leads nowhere.
            directory::memory::LABEL | directory::counter::LABEL => Passage::Direct,
            directory::watcher::LABEL => Passage::Proxy(tag(&asked.subject, Kind::Plain)),
            memory::pool_create::LABEL => self.pass(asked, false, b"memory", Kind::Plain),
            _ => unknown(kind),
        }
    }

    fn answered(&self, _: usize, _: Asked, _: &Result<Returned<'_>, Status>) {}

    /// No protocol has notifications: those of the child go nowhere.
    fn notified(&self, _: usize, seen: &Seen<Tag>, _: u64) -> bool {
        seen.outward
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
