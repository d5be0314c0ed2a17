//! Finds programs as a shell does, by the directories in `PATH`, and makes children of them.

use crate::spawn::{self, Child, Ports, Program};
use crate::supply::Supplier;
use crate::{Refusal, Sizes};
use alloc::vec::Vec;
use nacre_rt::Arguments;
use nacre_sys::clock;

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

/// Key of sixteen random bytes in the auxiliary vector.
const AT_RANDOM: u64 = 25;

/// Sixteen bytes for child `number`, made of our own and of the time.
fn random(arguments: &Arguments, number: u64) -> [u8; 16] {
    let seed = arguments.auxiliary(AT_RANDOM).unwrap_or(0) ^ clock::ticks().rotate_left(32) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut state = seed | 1;
    let mut bytes = [0; 16];
    for byte in &mut bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 32) as u8;
    }
    bytes
}

/// Makes child `number` of the first file of the search path that there is; it has our own environment and current directory.
pub fn spawn<S: Supplier>(supplier: &mut S, command: &[&[u8]], number: u64, arguments: &Arguments, ports: Ports) -> Result<Child<S>, Refusal> {
    let environment: Vec<&[u8]> = arguments.environment().collect();
    let mut refusal = Refusal::NotFound;
    for path in candidates(command.first().unwrap_or(&&b""[..]), &environment) {
        let (path, directory) = (arguments.absolute(&path), arguments.directory());
        let program =
            Program { path: &path, arguments: command, environment: &environment, directory, random: random(arguments, number), sizes: Sizes::default() };
        match spawn::spawn(supplier, &program, ports) {
            Err(Refusal::NotFound) => {}
            Err(other) => refusal = other,
            child => return child,
        }
    }
    Err(refusal)
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
