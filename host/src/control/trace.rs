//! The subcommand `trace`: messages of a machine that runs.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use nacre_proto::Errno;
use nacre_proto::flags::COMMAND_TRACE;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::arguments::TraceArguments;
use super::client::ask;
use super::counts::Counts;
use super::fork::target;
use crate::failure::{Class, Context, Failure, Outcome};

/// Shows messages of a machine, until the machine ends.
pub fn trace(arguments: &TraceArguments) -> Outcome<i32> {
    if arguments.output.as_ref().is_some_and(|path| path.extension().is_some_and(|end| end == "json")) {
        let failure = Failure::new(Class::Usage, "what `nacre trace` writes are lines, and no events in JSON".to_string());
        return Err(failure.remedy("name the file otherwise, or let the tracer run around the program: nacre run trace -o FILE.json PROGRAM"));
    }
    let mut output: Box<dyn Write + Send> = match &arguments.output {
        Some(path) => Box::new(File::create(path).context(Class::File, || format!("cannot write {}", path.display()))?),
        None => Box::new(io::stdout()),
    };
    if arguments.counts {
        return count(arguments, output);
    }
    let errno = look(arguments, |bytes| output.write_all(&cleaned(bytes)).and_then(|()| output.flush()))?;
    end(arguments, errno)
}

/// Looks at the machine. `take` gets what its tracer shows.
fn look(arguments: &TraceArguments, take: impl FnMut(&[u8]) -> io::Result<()>) -> Outcome<Option<Errno>> {
    let target = target(&arguments.name);
    let values = arguments.expressions.iter().map(String::as_str).chain(arguments.counts.then_some("-c"));
    let text: Vec<u8> = values.flat_map(|value| [value.as_bytes(), b"\0"].concat()).collect();
    ask(target.machine, (COMMAND_TRACE, target.flags, &text), None, take).map(|(_, errno)| errno)
}

fn end(arguments: &TraceArguments, errno: Option<Errno>) -> Outcome<i32> {
    match errno {
        Some(Errno(0)) | None => Ok(0),
        Some(errno) => Err(refusal(&arguments.name, errno)),
    }
}

/// Adds counts up until a signal or the machine's end, and writes them as a table.
fn count(arguments: &TraceArguments, mut output: Box<dyn Write + Send>) -> Outcome<i32> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).context(Class::Internal, || "cannot listen for signals".to_string())?;
    let (sender, ended) = channel();
    let by_signal = sender.clone();
    std::thread::spawn(move || signals.forever().next().map(|_| by_signal.send(None)));
    let counts = Arc::new(Mutex::new(Counts::default()));
    let (adding, asked) = (counts.clone(), TraceArguments { output: None, name: arguments.name.clone(), expressions: arguments.expressions.clone(), counts: true });
    std::thread::spawn(move || {
        let take = |bytes: &[u8]| {
            adding.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
            Ok(())
        };
        sender.send(Some(look(&asked, take)))
    });
    let status = match ended.recv() {
        Ok(Some(answer)) => end(arguments, answer?)?,
        _ => 0,
    };
    let table = counts.lock().unwrap_or_else(PoisonError::into_inner).table();
    output.write_all(table.as_bytes()).and_then(|()| output.flush()).context(Class::File, || "cannot write the table".to_string())?;
    Ok(status)
}

fn refusal(name: &str, errno: Errno) -> Failure {
    match errno {
        Errno::ENOSYS => Failure::new(Class::Usage, format!("neither `trace` nor `process` runs in the machine {name}")).remedy("start it with one: nacre run --name NAME trace -q PROGRAM"),
        Errno::EBUSY => Failure::new(Class::Usage, format!("somebody traces the machine {name} already")),
        Errno::EINVAL => Failure::new(Class::Usage, "a name in -e is of nothing").remedy("doc/manual/monitors.md says what it takes"),
        errno => Failure::new(Class::Internal, format!("cannot trace the machine {name}: {errno}")),
    }
}

/// Returns bytes without what would move a terminal's cursor: the guest is not trusted.
fn cleaned(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| if byte.is_ascii_control() && *byte != b'\n' { b'?' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_move_no_cursor() {
        assert_eq!(cleaned(b"a\x1b[2J\tb\n"), b"a?[2J?b\n");
    }

    #[test]
    fn each_refusal_has_its_sentence() {
        let texts = [Errno::ENOSYS, Errno::EBUSY, Errno::EINVAL, Errno::EIO].map(|errno| refusal("web", errno).to_string());
        assert!(texts[0].contains("neither `trace` nor `process` runs in the machine web"));
        assert!((1..4).all(|number| texts[number] != texts[number - 1]));
    }
}
