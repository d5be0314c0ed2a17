//! Finds programs as a shell does: by the directories in `PATH`.

use alloc::vec::Vec;

/// Searched when the environment has no `PATH`.
const USUAL: &[u8] = b"/bin:/usr/bin:/sbin:/usr/sbin";

/// The value of `name` in an environment.
pub fn variable<'a>(environment: &[&'a [u8]], name: &[u8]) -> Option<&'a [u8]> {
    environment.iter().find_map(|entry| entry.strip_prefix(name)?.strip_prefix(b"="))
}

/// The paths to try for the program `name`, in order. A name with a slash is its own path.
pub fn candidates(name: &[u8], environment: &[&[u8]]) -> Vec<Vec<u8>> {
    if name.is_empty() || name.contains(&b'/') {
        return Vec::from([name.to_vec()]);
    }
    let directories = variable(environment, b"PATH").unwrap_or(USUAL);
    let join = |directory: &[u8]| {
        let directory = if directory.is_empty() { b"." } else { directory };
        [directory, b"/", name].concat()
    };
    directories.split(|byte| *byte == b':').map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_for_in_the_path() {
        let environment: [&[u8]; 2] = [b"PATHOLOGY=x", b"PATH=/a::/b"];
        assert_eq!(candidates(b"ls", &environment), [&b"/a/ls"[..], b"./ls", b"/b/ls"]);
        assert_eq!(candidates(b"ls", &[])[..2], [&b"/bin/ls"[..], b"/usr/bin/ls"]);
    }

    #[test]
    fn a_path_is_itself() {
        assert_eq!(candidates(b"./ls", &[]), [b"./ls"]);
        assert_eq!(candidates(b"", &[]), [b""]);
    }
}
