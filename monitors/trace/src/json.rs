//! Writes the trace-event format that Perfetto and chrome://tracing open: an array of events, one a
//! line. Both accept an array that was not closed, so what has been written is of use however the
//! run ends.

use alloc::string::String;
use core::fmt::Write;
use nacre_nest::interpose::quote::json_string as string;

/// One message and its answer.
pub struct Event<'a> {
    /// The operation.
    pub name: &'a str,
    /// Name of the protocol.
    pub category: &'a str,
    /// Arrival of the message, in nanoseconds since the start.
    pub start: u64,
    /// Time to the answer, in nanoseconds.
    pub duration: u64,
    /// Number of the process that the message's port belongs to.
    pub pid: u64,
    /// Worker that carried the message. Events of one worker never overlap.
    pub worker: usize,
    /// The message as text.
    pub message: &'a str,
    /// The answer as text.
    pub answer: &'a str,
}

/// Nanoseconds as the format's microseconds.
fn microseconds(nanoseconds: u64, into: &mut String) {
    write!(into, "{}.{:03}", nanoseconds / 1000, nanoseconds % 1000).unwrap_or(());
}

/// Appends the start of the array; `program` becomes the name of process `pid`.
pub fn open(program: &str, pid: u64, into: &mut String) {
    write!(into, "[\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{pid},\"args\":{{\"name\":").unwrap_or(());
    string(program, into);
    into.push_str("}}");
}

/// Appends an event.
pub fn event(event: &Event<'_>, into: &mut String) {
    into.push_str(",\n{\"name\":");
    string(event.name, into);
    into.push_str(",\"cat\":");
    string(event.category, into);
    into.push_str(",\"ph\":\"X\",\"ts\":");
    microseconds(event.start, into);
    into.push_str(",\"dur\":");
    microseconds(event.duration, into);
    write!(into, ",\"pid\":{},\"tid\":{},\"args\":{{\"message\":", event.pid, event.worker).unwrap_or(());
    string(event.message, into);
    into.push_str(",\"answer\":");
    string(event.answer, into);
    into.push_str("}}");
}

/// Appends the end of the array.
pub fn close(into: &mut String) {
    into.push_str("\n]\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_these_lines() {
        let mut text = String::new();
        open("cat \"x\"", 4, &mut text);
        let read = Event {
            name: "file.read",
            category: "file",
            start: 1_234_567,
            duration: 89,
            pid: 7,
            worker: 2,
            message: "file.read(#5)",
            answer: "12 \"a\\n\u{1}\"",
        };
        event(&read, &mut text);
        close(&mut text);
        let expected = concat!(
            "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":4,\"args\":{\"name\":\"cat \\\"x\\\"\"}},\n",
            "{\"name\":\"file.read\",\"cat\":\"file\",\"ph\":\"X\",\"ts\":1234.567,\"dur\":0.089,\"pid\":7,\"tid\":2,",
            "\"args\":{\"message\":\"file.read(#5)\",\"answer\":\"12 \\\"a\\\\n\\u0001\\\"\"}}\n]\n",
        );
        assert_eq!(text, expected);
    }
}
