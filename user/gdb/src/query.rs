//! Questions: what the stub can do, which threads there are, and objects that are read in parts.

use crate::description;
use crate::packet::MAX_PACKET;
use crate::session::{Reply, Session};
use crate::signals;
use crate::target::{Caught, Events, Target};
use crate::text::{self, put_hex, put_number, put_thread, split};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Abilities of the stub, beside the size of packets.
const FEATURES: &str = ";QStartNoAckMode+;multiprocess+;swbreak+;vContSupported+;qXfer:features:read+;qXfer:auxv:read+;qXfer:exec-file:read+;qXfer:threads:read+;QCatchSyscalls+;QPassSignals+;QProgramSignals+;qXfer:siginfo:read+;fork-events+;exec-events+";
/// Abilities beside these where programs go back.
const BACKWARDS: &str = ";ReverseStep+;ReverseContinue+";
/// Threads in one packet of the list.
const IN_PACKET: usize = 64;
/// Maximum number of system calls that are caught by their numbers.
const MAX_CALLS: usize = 1024;

impl Session {
    pub(crate) fn question(&mut self, rest: &[u8], target: &mut impl Target) -> Reply {
        let (name, text) = split(rest, b':');
        match name {
            b"Supported" => {
                let has = |feature: &[u8]| text.split(|byte| *byte == b';').any(|one| one == feature);
                target.follow(Events { forks: has(b"fork-events+"), execs: has(b"exec-events+") });
                let backwards = if target.can_go_back() { BACKWARDS } else { "" };
                Reply::Body(format!("PacketSize={MAX_PACKET:x}{FEATURES}{backwards}").into_bytes())
            }
            b"C" => Reply::text(self.thread(target).map(|thread| {
                let mut text = b"QC".to_vec();
                put_thread(thread, &mut text);
                text
            })),
            // The program was there before gdb, and goes on without it.
            b"Attached" => Reply::Body(b"1".to_vec()),
            b"fThreadInfo" => {
                self.listed = target.threads();
                self.list()
            }
            b"sThreadInfo" => self.list(),
            b"Symbol" => Reply::ok(),
            b"Xfer" => self.object(text, target),
            _ => match name.strip_prefix(b"ThreadExtraInfo,") {
                Some(named) => thread_name(named, target),
                None => Reply::unknown(),
            },
        }
    }

    /// Sets what the processes stop at.
    pub(crate) fn order(&mut self, text: &[u8], target: &mut impl Target) -> Reply {
        let (name, list) = split(text, b':');
        let signals = signals::set(list);
        match (name, signals) {
            (b"CatchSyscalls", _) => self.catch_calls(list, target),
            (b"PassSignals", Some(signals)) => {
                target.pass_signals(signals);
                Reply::ok()
            }
            (b"ProgramSignals", Some(signals)) => {
                target.program_signals(signals);
                Reply::ok()
            }
            (b"PassSignals" | b"ProgramSignals", None) => Reply::error(),
            _ => Reply::unknown(),
        }
    }

    /// Sets the system calls at which the process stops: `1`, with numbers if not all are meant, or
    /// `0`.
    pub(crate) fn catch_calls(&mut self, text: &[u8], target: &mut impl Target) -> Reply {
        let Some(process) = self.process(target) else { return Reply::error() };
        let (is_on, numbers) = split(text, b';');
        let calls = match is_on {
            b"0" => Some(Caught::Nothing),
            b"1" if numbers.is_empty() => Some(Caught::All),
            b"1" => numbers.split(|byte| *byte == b';').take(MAX_CALLS).map(text::number).collect::<Option<_>>().map(Caught::These),
            _ => None,
        };
        let is_known = calls.is_some();
        calls.into_iter().for_each(|calls| target.catch_calls(process, calls));
        Reply::of(is_known)
    }

    /// Lists the next threads.
    fn list(&mut self) -> Reply {
        let count = self.listed.len().min(IN_PACKET);
        let mut text = if count == 0 { b"l".to_vec() } else { b"m".to_vec() };
        for (number, thread) in self.listed.drain(..count).enumerate() {
            if number != 0 {
                text.push(b',');
            }
            put_thread(thread, &mut text);
        }
        Reply::Body(text)
    }

    /// Reads a part of an object: `OBJECT:read:ANNEX:OFFSET,SIZE`.
    fn object(&mut self, text: &[u8], target: &mut impl Target) -> Reply {
        let (object, rest) = split(text, b':');
        let (operation, rest) = split(rest, b':');
        let (annex, range) = split(rest, b':');
        let (Some((offset, size)), b"read") = (text::pair(range, b','), operation) else { return Reply::error() };
        let whole = match object {
            b"features" if annex == b"target.xml" => description::target().into_bytes(),
            b"threads" => threads(target).into_bytes(),
            b"auxv" | b"exec-file" => {
                let process = if annex.is_empty() { self.process(target) } else { text::number(annex).and_then(|number| u32::try_from(number).ok()) };
                let known = process.filter(|process| target.threads().iter().any(|thread| thread.process == *process));
                let Some(process) = known else { return Reply::error() };
                if object == b"auxv" { target.auxiliary_vector(process) } else { target.program(process) }
            }
            b"siginfo" => match self.thread(target).and_then(|thread| target.signal_info(thread)) {
                Some(info) => info,
                None => return Reply::error(),
            },
            b"features" => return Reply::error(),
            _ => return Reply::unknown(),
        };
        Reply::Body(part(&whole, offset, size))
    }
}

/// A part of an object, behind a letter that says whether it is the last.
fn part(whole: &[u8], offset: u64, size: u64) -> Vec<u8> {
    let start = usize::try_from(offset).map_or(whole.len(), |start| start.min(whole.len()));
    // Escapes make some bytes two.
    let count = size.min(MAX_PACKET as u64 / 2) as usize;
    let end = whole.len().min(start + count);
    let mut text = Vec::from([if end == whole.len() { b'l' } else { b'm' }]);
    text.extend(&whole[start..end]);
    text
}

fn thread_name(named: &[u8], target: &mut impl Target) -> Reply {
    let named = text::threads(named);
    let thread = named.and_then(|named| target.threads().into_iter().find(|thread| named.has(*thread)));
    Reply::text(thread.map(|thread| {
        let mut text = Vec::new();
        put_hex(&target.name(thread), &mut text);
        text
    }))
}

/// The list of threads in XML.
fn threads(target: &mut impl Target) -> String {
    let mut text = String::from("<?xml version=\"1.0\"?>\n<threads>\n");
    for thread in target.threads() {
        let mut id = Vec::new();
        put_thread(thread, &mut id);
        let plain = |byte: &u8| (byte.is_ascii_graphic() || *byte == b' ') && !b"<>&\"'".contains(byte);
        let name: String = target.name(thread).iter().filter(|byte| plain(byte)).map(|byte| *byte as char).collect();
        text.push_str(&format!("<thread id=\"{}\" name=\"{name}\"/>\n", String::from_utf8_lossy(&id)));
    }
    text.push_str("</threads>\n");
    text
}

/// Appends a result of an operation on a file.
pub(crate) fn put_result(result: u64, into: &mut Vec<u8>) {
    into.push(b'F');
    put_number(result, into);
}
