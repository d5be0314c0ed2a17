//! `nacre diff`: what a machine has changed in directories of this one, and keeps in its memory.

use std::time::Duration;

use nacre_proto::Errno;
use nacre_proto::flags::COMMAND_DIFFERENCE;

use super::arguments::DiffArguments;
use super::client::{Collected, ask};
use crate::failure::{Class, Failure, Outcome};

/// Time in which a machine says something, at least.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time for all that it says.
const LIMIT: Duration = Duration::from_secs(600);

/// Prints the changes, sorted by path.
pub fn diff(arguments: &DiffArguments) -> Outcome<i32> {
    let mut answer = Collected::new(Some(LIMIT));
    let (_, errno) = ask(&arguments.name, (COMMAND_DIFFERENCE, 0, b""), Some(PATIENCE), |bytes| answer.take(bytes))?;
    match errno {
        Some(Errno(0)) => {
            lines(&answer.bytes).iter().for_each(|line| println!("{line}"));
            Ok(0)
        }
        Some(Errno::ENODEV) => Err(Failure::new(Class::Usage, format!("the machine {} keeps no changes of a directory", arguments.name)).remedy("run it with --root-overlay DIR, or with -v DIR:PATH:overlay")),
        Some(errno) => Err(Failure::new(Class::Guest, format!("the machine does not tell its changes ({errno})"))),
        None => Err(Failure::new(Class::Guest, "the machine ended, or told too much, before all changes were told")),
    }
}

/// Lines for people. Control characters in a path are shown as `\x1b` is.
fn lines(told: &[u8]) -> Vec<String> {
    let mut records: Vec<&[u8]> = told.split(|byte| *byte == 0).filter(|record| record.len() > 2).collect();
    records.sort_by_key(|record| &record[2..]);
    let shown = |letter: char| match letter {
        letter if letter.is_control() => letter.escape_default().to_string(),
        letter => letter.to_string(),
    };
    records.iter().map(|record| String::from_utf8_lossy(record).chars().map(shown).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn lines_are_sorted_by_path_and_move_no_cursor() {
        assert_eq!(lines(b"D /b\0A /a\x1b[2J\n\0\0C\0"), ["A /a\\u{1b}[2J\\n", "D /b"]);
    }
}
