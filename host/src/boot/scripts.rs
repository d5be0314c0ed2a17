//! Scripts: the interpreter that the first line names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::failure::{Class, Failure, Outcome};

/// Returns the interpreter's path, of a first line without its `#!`.
fn interpreter(line: &[u8]) -> Option<&Path> {
    let first = line.split(|byte| *byte == b'\n').next()?;
    let word = first.trim_ascii_start().split(u8::is_ascii_whitespace).next()?;
    Some(Path::new(OsStr::from_bytes(word))).filter(|path| path.is_absolute())
}

/// Refuses a script whose interpreter is nowhere. `is_there` looks for a path.
pub fn check(script: &Path, line: &[u8], is_there: impl Fn(&Path) -> bool) -> Outcome<()> {
    let Some(path) = interpreter(line).filter(|path| !is_there(path)) else { return Ok(()) };
    let failure = Failure::new(Class::NotRunnable, format!("{}: bad interpreter: there is no program {}", script.display(), path.display()));
    Err(failure.remedy("install it on this machine, or correct the script's first line"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_the_interpreter() {
        assert_eq!(interpreter(b" /bin/sh -e\nx"), Some(Path::new("/bin/sh")));
        assert_eq!(interpreter(b"/usr/bin/env\tpython3"), Some(Path::new("/usr/bin/env")));
        assert_eq!((interpreter(b""), interpreter(b"sh\n")), (None, None));
        let script = Path::new("/x");
        assert!(check(script, b"/bin/sh\n", |path| path == Path::new("/bin/sh")).is_ok());
        assert_eq!(check(script, b"/bin/no\n", |_| false).unwrap_err().class, Class::NotRunnable);
    }
}
