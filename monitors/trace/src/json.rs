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
    /// Number of the track. Events of one track never overlap.
    pub track: u64,
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
    into.push_str("[\n");
    process_name(program, pid, into);
}

/// Appends the name of a process behind other events.
pub fn process(name: &str, pid: u64, into: &mut String) {
    into.push_str(",\n");
    process_name(name, pid, into);
}

fn process_name(name: &str, pid: u64, into: &mut String) {
    write!(into, "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{pid},\"args\":{{\"name\":").unwrap_or(());
    string(name, into);
    into.push_str("}}");
}

/// Appends the name of a track.
pub fn track(name: &str, pid: u64, track: u64, into: &mut String) {
    write!(into, ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{track},\"args\":{{\"name\":").unwrap_or(());
    string(name, into);
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
    write!(into, ",\"pid\":{},\"tid\":{},\"args\":{{\"message\":", event.pid, event.track).unwrap_or(());
    string(event.message, into);
    into.push_str(",\"answer\":");
    string(event.answer, into);
    into.push_str("}}");
}

/// End of the array.
pub const END: &str = "\n]\n";

/// Appends the end of the array.
pub fn close(into: &mut String) {
    into.push_str(END);
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
            track: 2,
            message: "file.read(#5)",
            answer: "12 \"a\\n\u{1}\"",
        };
        track("messages", 7, 2, &mut text);
        event(&read, &mut text);
        process("child", 8, &mut text);
        close(&mut text);
        let expected = concat!(
            "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":4,\"args\":{\"name\":\"cat \\\"x\\\"\"}},\n",
            "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":7,\"tid\":2,\"args\":{\"name\":\"messages\"}},\n",
            "{\"name\":\"file.read\",\"cat\":\"file\",\"ph\":\"X\",\"ts\":1234.567,\"dur\":0.089,\"pid\":7,\"tid\":2,",
            "\"args\":{\"message\":\"file.read(#5)\",\"answer\":\"12 \\\"a\\\\n\\u0001\\\"\"}},\n",
            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":8,\"args\":{\"name\":\"child\"}}\n]\n",
        );
        assert_eq!(text, expected);
    }
}
