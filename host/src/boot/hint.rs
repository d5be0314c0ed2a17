//! Advice for a program that this machine does not have: the Debian package that would bring it.

use std::path::Path;
use std::process::Command;

use super::command::output;

/// Debian's program that knows which package has a command, where it is installed.
const KNOWS_COMMANDS: &str = "/usr/lib/command-not-found";

/// Sentence that says how to get the program `name`.
pub fn remedy(name: &str) -> String {
    match package(name) {
        Some(package) => format!("install it on this machine with `apt install {package}`"),
        None => "name a monitor, a busybox applet, a program in your PATH, or a path with a slash".to_string(),
    }
}

/// Package with the command `name`, as far as this machine knows: most programs are in a package of
/// their name.
fn package(name: &str) -> Option<String> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte)) && name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !is_plain {
        return None;
    }
    if Path::new(KNOWS_COMMANDS).exists() {
        let said = output(Command::new("sh").args(["-c", "exec \"$0\" --no-failure-msg -- \"$1\" 2>&1", KNOWS_COMMANDS, name]));
        if let Some(package) = named_package(&said) {
            return Some(package);
        }
    }
    let names = output(Command::new("apt-cache").args(["pkgnames", name]));
    names.lines().find(|line| *line == name).map(str::to_string)
}

/// The package of the first line that says `apt install PACKAGE`.
fn named_package(said: &str) -> Option<String> {
    let (_, rest) = said.split_once("apt install ")?;
    rest.split_whitespace().next().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_read_from_what_is_said() {
        let said = "Command 'convert' not found, but can be installed with:\n\nsudo apt install imagemagick   # version 8\nsudo apt install graphicsmagick\n";
        assert_eq!(named_package(said).as_deref(), Some("imagemagick"));
        assert_eq!(named_package("nothing"), None);
    }

    #[test]
    fn names_that_no_package_has_get_general_advice() {
        for name in ["no such", "--help", "$(id)", "", "nonesuch-xyzzy"] {
            assert!(remedy(name).contains("a path with a slash"), "{name}");
        }
    }
}
