//! Writes files of JSON.

use std::fmt::Write;
use std::path::Path;

use crate::failure::{Class, Context, Outcome};

/// A text between quotes, as JSON has it.
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => write!(quoted, "\\u{:04x}", u32::from(letter)).unwrap_or(()),
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

/// Writes `text` to the file that an option names, if it does.
pub fn write(path: Option<&Path>, text: &str) -> Outcome<()> {
    path.map_or(Ok(()), |path| std::fs::write(path, text).context(Class::File, || format!("cannot write {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_controls_are_escaped() {
        assert_eq!(quote("a \"b\" \\ \n\u{e9}"), r#""a \"b\" \\ \u000aé""#);
    }
}
