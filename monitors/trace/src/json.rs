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

/// A tracer, as the first line of its events describes it.
pub struct Tracer<'a> {
    /// Number of the tracer in its file; 0: it began the file.
    pub number: u64,
    /// The program that it runs, and the number of that process.
    pub program: &'a str,
    pub pid: u64,
    /// Number of the tracer's own process, and mark of the world that this number is of. 0: none.
    pub own: u64,
    pub world: u64,
    /// Formula of the clock: start, factor, and what is added to it for the time since 1970. Start
    /// and factor are 0 if the length of a tick was measured.
    pub clock: [u64; 3],
}

/// Appends the first line of a tracer, which names the process of its program. If it began the
/// file, that is the start of the array.
pub fn open(tracer: &Tracer<'_>, into: &mut String) {
    into.push_str(if tracer.number == 0 { "[\n" } else { ",\n" });
    process_name(tracer.program, tracer.pid, tracer.number, into);
    let [start, factor, since_1970] = tracer.clock;
    write!(into, ",\"own\":{},\"world\":\"{:x}\",\"clock\":\"{start:x}.{factor:x}.{since_1970:x}\"}}}}", tracer.own, tracer.world).unwrap_or(());
}

/// Appends the name of a process, as this tracer has heard it.
pub fn process(name: &str, pid: u64, tracer: u64, into: &mut String) {
    into.push_str(",\n");
    process_name(name, pid, tracer, into);
    into.push_str("}}");
}

fn process_name(name: &str, pid: u64, tracer: u64, into: &mut String) {
    write!(into, "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{pid},\"args\":{{\"name\":").unwrap_or(());
    string(name, into);
    write!(into, ",\"tracer\":{tracer}").unwrap_or(());
}

/// Appends the name of a track, and the tracer and the thread that it is of.
pub fn track(name: &str, (pid, track): (u64, u64), (tracer, thread): (u64, u64), into: &mut String) {
    write!(into, ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{track},\"args\":{{\"name\":").unwrap_or(());
    string(name, into);
    write!(into, ",\"tracer\":{tracer},\"thread\":{thread}}}}}").unwrap_or(());
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
        let tracer = Tracer { number: 0, program: "cat \"x\"", pid: 4, own: 3, world: 0xabc, clock: [16, 255, 1] };
        open(&tracer, &mut text);
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
        track("messages", (7, 2), (0, 9), &mut text);
        event(&read, &mut text);
        process("child", 8, 77, &mut text);
        open(&Tracer { number: 5, program: "b", ..tracer }, &mut text);
        close(&mut text);
        let expected = concat!(
            "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":4,\"args\":{\"name\":\"cat \\\"x\\\"\",\"tracer\":0,\"own\":3,\"world\":\"abc\",\"clock\":\"10.ff.1\"}},\n",
            "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":7,\"tid\":2,\"args\":{\"name\":\"messages\",\"tracer\":0,\"thread\":9}},\n",
            "{\"name\":\"file.read\",\"cat\":\"file\",\"ph\":\"X\",\"ts\":1234.567,\"dur\":0.089,\"pid\":7,\"tid\":2,",
            "\"args\":{\"message\":\"file.read(#5)\",\"answer\":\"12 \\\"a\\\\n\\u0001\\\"\"}},\n",
            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":8,\"args\":{\"name\":\"child\",\"tracer\":77}},\n",
            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":4,\"args\":{\"name\":\"b\",\"tracer\":5,\"own\":3,\"world\":\"abc\",\"clock\":\"10.ff.1\"}}\n]\n",
        );
        assert_eq!(text, expected);
    }
}
