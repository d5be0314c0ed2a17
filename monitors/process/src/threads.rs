//! What threads wait for, in words. The lines come from the library of a process, which may say
//! what it likes.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::waiting;
use nacre_proto::describe;

/// Maximum of threads of a process that are told of.
const MAX_THREADS: usize = 16;
/// Maximum of letters of a name.
const MAX_NAME: usize = 24;

/// Reads lines of a number, a word of [`waiting`] and a system call: what each thread waits for.
/// What is no such line is left out.
pub fn read(lines: &[u8]) -> Vec<(u64, String)> {
    let lines = core::str::from_utf8(lines).unwrap_or_default();
    lines.lines().filter_map(read_line).take(MAX_THREADS).collect()
}

fn read_line(line: &str) -> Option<(u64, String)> {
    let mut fields = line.split(' ');
    let (number, word, call) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?, fields.next()?);
    let is_name = call.len() <= MAX_NAME && call.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    (is_name && fields.next().is_none()).then(|| (number, described(word, call)))
}

/// Describes what a thread waits for that made this system call last.
pub fn described(word: u64, call: &str) -> String {
    let of_call = |other: &str| String::from(if call.is_empty() { other } else { call });
    match waiting::kind(word) {
        waiting::RUNS => String::from("running"),
        waiting::STOPPED => String::from("stopped"),
        waiting::FAULTS => String::from("a page"),
        waiting::SENDS | waiting::AWAITS_REPLY => match operation(waiting::label(word)) {
            Some(operation) if call.is_empty() => operation,
            Some(operation) => format!("{call}: {operation}"),
            None => of_call("an answer"),
        },
        waiting::LOCK => of_call("a lock"),
        waiting::RECEIVES => of_call("a message"),
        waiting::SLEEPS => of_call("time"),
        waiting::DONATES => String::from("another thread"),
        _ => String::from("?"),
    }
}

/// The operation that a message asks for.
fn operation(label: u32) -> Option<String> {
    let protocol = nacre_proto::PROTOCOLS.iter().find(|protocol| protocol.number == label >> 16)?;
    Some(format!("{}.{}", protocol.name, describe::describe(label)?.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::process::wait;

    #[test]
    fn a_library_tells_what_it_likes() {
        let message = waiting::AWAITS_REPLY | u64::from(wait::LABEL) << waiting::LABEL_SHIFT;
        let lines = format!("7 {message} wait4\n8 5 futex\n9 0 read\n10 5 \n11 6 a;b\n12 5\n-1 2 x\n13 1 a b\n14 18446744073709551615 poll\n");
        let expected = [(7, "wait4: process.wait"), (8, "futex"), (9, "running"), (10, "a lock"), (14, "?")];
        assert_eq!(read(lines.as_bytes()), expected.map(|(number, text)| (number, String::from(text))));
        assert_eq!(read(&[0xff, b'\n']), []);
        assert_eq!(read("1 5 futex\n".repeat(100).as_bytes()).len(), MAX_THREADS);
    }

    #[test]
    fn who_does_not_answer_is_told_by_the_kernel_alone() {
        let words = [waiting::RUNS, waiting::SENDS, waiting::LOCK, waiting::RECEIVES, waiting::SLEEPS, waiting::FAULTS];
        assert_eq!(words.map(|word| described(word, "")), ["running", "an answer", "a lock", "a message", "time", "a page"]);
        assert_eq!(described(waiting::SENDS | u64::from(wait::LABEL) << waiting::LABEL_SHIFT, ""), "process.wait");
    }
}
