//! Reads the runs that a system printed: the output of a program stands between `begin NAME FILE`
//! and `end NAME FILE HOW`.

use std::collections::BTreeMap;

use super::sources::Kind;

/// Result of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramResult {
    /// End of the program: `exited 3`, `killed 9`, `hangs`, `refused: ...`.
    pub how: String,
    /// Output of the program.
    pub said: String,
}

/// The runs of one system, by program and kind.
#[derive(Debug, Default)]
pub struct Results(BTreeMap<(String, String), ProgramResult>);

impl Results {
    /// Reads a system's output; carriage returns are the serial line's. A program that has begun
    /// and did not come to its end is left out.
    pub fn parse(output: &[u8]) -> Results {
        let text = String::from_utf8_lossy(output).replace('\r', "");
        let mut results = Results::default();
        let mut rest = text.as_str();
        while let Some((key, said, how, behind)) = next(rest) {
            results.0.insert(key, ProgramResult { how, said });
            rest = behind;
        }
        results
    }

    /// Returns the number of programs that came to their end.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the result of a program.
    pub fn find(&self, name: &str, kind: Kind) -> Option<&ProgramResult> {
        self.0.get(&(name.to_string(), kind.name().to_string()))
    }
}

type Found<'a> = ((String, String), String, String, &'a str);

/// The next run of the text, and what is behind it.
fn next(text: &str) -> Option<Found<'_>> {
    let mut rest = text;
    loop {
        let at = if rest.starts_with("begin ") { 0 } else { rest.find("\nbegin ")? + 1 };
        let (head, body) = rest[at..].split_once('\n')?;
        let words = head.strip_prefix("begin ").unwrap_or_default();
        let mark = format!("\nend {words} ");
        if let Some(end) = body.find(&mark) {
            let (said, behind) = (body[..end].to_string(), &body[end + mark.len()..]);
            let (how, behind) = behind.split_once('\n').unwrap_or((behind, ""));
            let (name, file) = words.split_once(' ')?;
            let kind = file.rsplit('/').next().unwrap_or_default();
            return Some(((name.to_string(), kind.to_string()), said, how.to_string(), behind));
        }
        rest = body;
    }
}

/// Returns the difference between two runs, if there is one.
pub fn difference(linux: &ProgramResult, nacre: &ProgramResult) -> Option<String> {
    if linux == nacre {
        return None;
    }
    let mut lines = linux.said.lines().zip(nacre.said.lines()).enumerate().filter(|(_, (one, other))| one != other);
    let line = match lines.next() {
        Some((number, (one, other))) => format!("line {}: Linux: {one}\nNacre: {other}", number + 1),
        None => {
            let same = linux.said.lines().count().min(nacre.said.lines().count());
            let line = |ended: &ProgramResult| ended.said.lines().nth(same).unwrap_or("nothing more").to_string();
            format!("line {}: Linux: {}\nNacre: {}", same + 1, line(linux), line(nacre))
        }
    };
    let end = if linux.how == nacre.how { String::new() } else { format!("\nLinux: {}, Nacre: {}", linux.how, nacre.how) };
    Some(format!("{line}{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"noise\r\nbegin a /tests/glibc\r\none\r\n\r\nend a /tests/glibc exited 0\r\nbegin b /tests/musl\nhalf\nbegin c /tests/glibc\n\nend c /tests/glibc hangs\n";

    #[test]
    fn runs_are_found_with_what_they_said() {
        let results = Results::parse(TEXT);
        assert_eq!(results.find("a", Kind::Glibc), Some(&ProgramResult { how: "exited 0".into(), said: "one\n".into() }));
        assert_eq!(results.find("b", Kind::Musl), None);
        assert_eq!(results.find("c", Kind::Glibc), Some(&ProgramResult { how: "hangs".into(), said: String::new() }));
        assert_eq!(results.len(), 2);
    }

    #[test]
    fn the_first_difference_is_told() {
        let ended = |how: &str, said: &str| ProgramResult { how: how.into(), said: said.into() };
        assert_eq!(difference(&ended("exited 0", "a\n"), &ended("exited 0", "a\n")), None);
        assert_eq!(difference(&ended("exited 0", "a\nb\n"), &ended("exited 0", "a\nc\n")).unwrap(), "line 2: Linux: b\nNacre: c");
        let shorter = difference(&ended("exited 0", "a\nb\n"), &ended("killed 11", "a\n")).unwrap();
        assert_eq!(shorter, "line 2: Linux: b\nNacre: nothing more\nLinux: exited 0, Nacre: killed 11");
    }
}
