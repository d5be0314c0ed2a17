//! A line of a file of events, as the monitor `trace` writes it (`monitors/trace/src/json.rs`).
//! Anything else is refused. Texts stay as JSON has them, without their quotes.

/// First number above those of processes and threads.
pub const NUMBERS: u64 = 1 << 22;
/// First time, in nanoseconds, that no clock of ours reaches.
const NEVER: u64 = 1 << 62;

/// A line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Name of a process.
    Process(ProcessName<'a>),
    /// Name of a track.
    Track(TrackName<'a>),
    /// A call.
    Event(Event<'a>),
}

/// Name of a process. The first line of a tracer is one, and tells more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessName<'a> {
    /// The name.
    pub name: &'a str,
    /// Number of the process.
    pub pid: u64,
    /// Number of the tracer in its file.
    pub tracer: u64,
    /// Facts about the tracer, in its first line.
    pub beginning: Option<Beginning>,
}

/// Facts about a tracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Number of its own process; 0: it has none.
    pub own: u64,
    /// Mark of the world that the number is of.
    pub world: u64,
    /// Formula of its clock: start, factor, what is added for the time since 1970. Start and factor
    /// are 0 if the length of a tick was measured.
    pub clock: [u64; 3],
}

/// Name of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackName<'a> {
    /// The name.
    pub name: &'a str,
    /// Number of the process.
    pub pid: u64,
    /// Number of the track.
    pub track: u64,
    /// Number of the tracer in its file.
    pub tracer: u64,
    /// Number of the thread; 0: the first one of the process, or one that tells none.
    pub thread: u64,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The operation.
    pub name: &'a str,
    /// Protocol of the operation.
    pub category: &'a str,
    /// Nanoseconds from the start of the machine to the call's.
    pub start: u64,
    /// Nanoseconds to its answer.
    pub duration: u64,
    /// Number of the process.
    pub pid: u64,
    /// Number of the track.
    pub track: u64,
    /// The message.
    pub message: &'a str,
    /// The answer.
    pub answer: &'a str,
}

impl Event<'_> {
    /// Returns the time of the answer.
    pub fn end(&self) -> u64 {
        self.start + self.duration
    }
}

/// Rest of a line.
struct Scanner<'a>(&'a str);

impl<'a> Scanner<'a> {
    /// Passes this text.
    fn pass(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn digits(&mut self, radix: u32) -> Option<u64> {
        let end = self.0.find(|letter: char| !letter.is_digit(radix)).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        u64::from_str_radix(digits, radix).ok()
    }

    /// Takes a number below a limit.
    fn number(&mut self, limit: u64) -> Option<u64> {
        self.digits(10).filter(|number| *number < limit)
    }

    /// Takes microseconds with three digits behind the point, as nanoseconds.
    fn time(&mut self) -> Option<u64> {
        let micros = self.digits(10)?;
        self.pass(".")?;
        let before = self.0.len();
        let nanos = self.digits(10)?;
        (before - self.0.len() == 3).then_some(())?;
        micros.checked_mul(1000)?.checked_add(nanos).filter(|time| *time < NEVER)
    }

    /// Takes a string, with its quotes.
    fn string(&mut self) -> Option<&'a str> {
        self.pass("\"")?;
        let (text, bytes) = (self.0, self.0.as_bytes());
        let mut at = 0;
        while *bytes.get(at)? != b'"' {
            at += match (bytes[at], bytes.get(at + 1)) {
                (b'\\', Some(b'"' | b'\\' | b'n')) => 2,
                (b'\\', Some(b'u')) if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) && &bytes[at + 2..at + 4] == b"00" => 6,
                (b'\\' | ..b' ', _) => return None,
                _ => 1,
            };
        }
        self.0 = &text[at + 1..];
        Some(&text[..at])
    }
}

/// Decodes a line without the comma behind it.
pub fn parse(text: &str) -> Option<Line<'_>> {
    let mut rest = Scanner(text);
    rest.pass("{\"name\":")?;
    let name = rest.string()?;
    let line = match name {
        "process_name" => Line::Process(process(&mut rest)?),
        "thread_name" => Line::Track(track(&mut rest)?),
        name => Line::Event(event(name, &mut rest)?),
    };
    rest.0.is_empty().then_some(line)
}

fn process<'a>(rest: &mut Scanner<'a>) -> Option<ProcessName<'a>> {
    rest.pass(",\"ph\":\"M\",\"pid\":")?;
    let pid = rest.number(NUMBERS)?;
    rest.pass(",\"args\":{\"name\":")?;
    let name = rest.string()?;
    rest.pass(",\"tracer\":")?;
    let tracer = rest.number(u64::MAX)?;
    let beginning = if rest.0 == "}}" { None } else { Some(beginning(rest)?) };
    rest.pass("}}")?;
    Some(ProcessName { name, pid, tracer, beginning })
}

fn beginning(rest: &mut Scanner<'_>) -> Option<Beginning> {
    rest.pass(",\"own\":")?;
    let own = rest.number(NUMBERS)?;
    rest.pass(",\"world\":\"")?;
    let world = rest.digits(16)?;
    rest.pass("\",\"clock\":\"")?;
    let start = rest.digits(16)?;
    rest.pass(".")?;
    let factor = rest.digits(16)?;
    rest.pass(".")?;
    let clock = [start, factor, rest.digits(16)?];
    rest.pass("\"")?;
    Some(Beginning { own, world, clock })
}

fn track<'a>(rest: &mut Scanner<'a>) -> Option<TrackName<'a>> {
    rest.pass(",\"ph\":\"M\",\"pid\":")?;
    let pid = rest.number(NUMBERS)?;
    rest.pass(",\"tid\":")?;
    let track = rest.number(1 << 32)?;
    rest.pass(",\"args\":{\"name\":")?;
    let name = rest.string()?;
    rest.pass(",\"tracer\":")?;
    let tracer = rest.number(u64::MAX)?;
    rest.pass(",\"thread\":")?;
    let thread = rest.number(NUMBERS)?;
    rest.pass("}}")?;
    Some(TrackName { name, pid, track, tracer, thread })
}

fn event<'a>(name: &'a str, rest: &mut Scanner<'a>) -> Option<Event<'a>> {
    rest.pass(",\"cat\":")?;
    let category = rest.string()?;
    rest.pass(",\"ph\":\"X\",\"ts\":")?;
    let start = rest.time()?;
    rest.pass(",\"dur\":")?;
    let duration = rest.time()?;
    rest.pass(",\"pid\":")?;
    let pid = rest.number(NUMBERS)?;
    rest.pass(",\"tid\":")?;
    let track = rest.number(1 << 32)?;
    rest.pass(",\"args\":{\"message\":")?;
    let message = rest.string()?;
    rest.pass(",\"answer\":")?;
    let answer = rest.string()?;
    rest.pass("}}")?;
    Some(Event { name, category, start, duration, pid, track, message, answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGINNING: &str = r#"{"name":"process_name","ph":"M","pid":4,"args":{"name":"cat \"x\"","tracer":0,"own":3,"world":"abc","clock":"10.ff.1"}}"#;
    const TRACK: &str = r#"{"name":"thread_name","ph":"M","pid":7,"tid":4194311,"args":{"name":"thread 9 (2)","tracer":5,"thread":9}}"#;
    const EVENT: &str = r#"{"name":"file.read","cat":"file","ph":"X","ts":1234.567,"dur":0.089,"pid":7,"tid":2,"args":{"message":"file.read(#5)","answer":"12 \"a\\n\u0001\""}}"#;

    #[test]
    fn lines_of_the_tracer_are_understood() {
        let beginning = Some(Beginning { own: 3, world: 0xabc, clock: [16, 255, 1] });
        assert_eq!(parse(BEGINNING), Some(Line::Process(ProcessName { name: r#"cat \"x\""#, pid: 4, tracer: 0, beginning })));
        assert_eq!(parse(TRACK), Some(Line::Track(TrackName { name: "thread 9 (2)", pid: 7, track: 4_194_311, tracer: 5, thread: 9 })));
        let Some(Line::Event(event)) = parse(EVENT) else { panic!("no event") };
        assert_eq!((event.start, event.duration, event.end(), event.pid, event.track, event.answer), (1_234_567, 89, 1_234_656, 7, 2, r#"12 \"a\\n\u0001\""#));
    }

    #[test]
    fn nothing_else_is() {
        for line in [BEGINNING, TRACK, EVENT] {
            assert!((0..line.len()).all(|end| parse(&line[..end]).is_none()), "{line}");
            assert_eq!(parse(&format!("{line} ")), None);
            assert_eq!(parse(&line.replace("\"pid\":", "\"pid\":4194304")), None);
        }
        for (old, new) in [("1234.567", "1234.56"), ("1234.567", "1234.5670"), ("1234.567", "99999999999999999999.000"), ("\\u0001", "\\ud800"), ("\\u0001", "\\t"), ("\\u0001", "\t"), ("\"tid\":2", "\"tid\":-2"), ("\"X\"", "\"B\"")] {
            assert_eq!(parse(&EVENT.replace(old, new)), None, "{new}");
        }
    }
}
