//! The subcommand `trace`: messages of a machine that runs.

use std::fs::File;
use std::io::{self, Write};

use nacre_proto::Errno;
use nacre_proto::flags::COMMAND_TRACE;

use super::arguments::TraceArguments;
use super::client::ask;
use super::fork::target;
use crate::failure::{Class, Context, Failure, Outcome};

/// Shows messages of a machine, until the machine ends.
pub fn trace(arguments: &TraceArguments) -> Outcome<i32> {
    let mut output: Box<dyn Write> = match &arguments.output {
        Some(path) => Box::new(File::create(path).context(Class::File, || format!("cannot write {}", path.display()))?),
        None => Box::new(io::stdout()),
    };
    let target = target(&arguments.name);
    let text: Vec<u8> = arguments.expressions.iter().flat_map(|expression| [expression.as_bytes(), b"\0"].concat()).collect();
    let take = |bytes: &[u8]| output.write_all(&cleaned(bytes)).and_then(|()| output.flush());
    let (_, errno) = ask(target.machine, (COMMAND_TRACE, target.flags, &text), None, take)?;
    match errno {
        Some(Errno(0)) | None => Ok(0),
        Some(errno) => Err(refusal(&arguments.name, errno)),
    }
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
