//! Finds programs as a shell does, by the directories in `PATH`, and makes children of them.

use crate::spawn::{self, Child, Ports, Program};
use crate::supply::ResourceSource;
use crate::{SpawnError, Sizes};
use alloc::string::String;
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
pub fn random(arguments: &Arguments, number: u64) -> [u8; 16] {
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

/// Scripts whose interpreters are scripts, at most.
const MAX_SCRIPTS: usize = 5;

/// The words that run a script at `path`: its interpreter, the one argument that its first line may
/// have, the script, and its own arguments. `None` if it names no interpreter.
fn interpreted(line: &str, path: &[u8], command: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
    let line = line.trim();
    let (interpreter, argument) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let given = [interpreter, argument.trim()].into_iter().filter(|word| !word.is_empty()).map(|word| word.as_bytes().to_vec());
    let own = command.iter().skip(1).map(|word| word.to_vec());
    (!interpreter.is_empty()).then(|| given.chain([path.to_vec()]).chain(own).collect())
}

/// Makes child `number` of `command`, as [`find`] does; of a script, a child that runs its
/// interpreter.
pub fn spawn<S: ResourceSource>(supplier: &mut S, command: &[&[u8]], number: u64, arguments: &Arguments, ports: Ports) -> Result<Child<S>, SpawnError> {
    spawn_with(supplier, command, random(arguments, number), arguments, ports)
}

/// Makes a child as `spawn` does, which finds these random bytes.
pub fn spawn_with<S: ResourceSource>(supplier: &mut S, command: &[&[u8]], random: [u8; 16], arguments: &Arguments, ports: Ports) -> Result<Child<S>, SpawnError> {
    let mut words: Vec<Vec<u8>> = command.iter().map(|word| word.to_vec()).collect();
    for _ in 0..MAX_SCRIPTS {
        let slices: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        let (path, line) = match find(supplier, &slices, random, arguments, ports) {
            Err((path, SpawnError::Script(line))) => (path, line),
            result => return result.map_err(|(_, refusal)| refusal),
        };
        words = interpreted(&line, &path, &slices).ok_or(SpawnError::Script(line))?;
    }
    Err(SpawnError::Script(String::new()))
}

/// Makes a child of the first file of the search path that there is; it has our own environment and
/// current directory.
fn find<S: ResourceSource>(supplier: &mut S, command: &[&[u8]], random: [u8; 16], arguments: &Arguments, ports: Ports) -> Result<Child<S>, (Vec<u8>, SpawnError)> {
    let environment: Vec<&[u8]> = arguments.environment().collect();
    let mut refused = (Vec::new(), SpawnError::NotFound);
    for path in candidates(command.first().unwrap_or(&&b""[..]), &environment) {
        let (path, directory) = (arguments.absolute(&path), arguments.directory());
        let program = Program { path: &path, arguments: command, environment: &environment, directory, random, sizes: Sizes::default() };
        match spawn::spawn(supplier, &program, ports) {
            Err(SpawnError::NotFound) => {}
            Err(script @ SpawnError::Script(_)) => return Err((path, script)),
            Err(other) => refused = (path, other),
            Ok(child) => return Ok(child),
        }
    }
    Err(refused)
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
    fn a_script_is_run_by_its_interpreter() {
        let words = |line| interpreted(line, b"/s", &[b"s", b"-x"]).map(|words| words.join(&b'|'));
        assert_eq!(words("/bin/sh").as_deref(), Some(&b"/bin/sh|/s|-x"[..]));
        assert_eq!(words(" /bin/sh\t -e  -u ").as_deref(), Some(&b"/bin/sh|-e  -u|/s|-x"[..]));
        assert_eq!(words("  "), None);
    }

    #[test]
    fn a_path_is_itself() {
        assert_eq!(candidates(b"./ls", &[]), [b"./ls"]);
        assert_eq!(candidates(b"", &[]), [b""]);
    }
}
