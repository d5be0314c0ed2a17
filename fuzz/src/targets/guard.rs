//! Input of the guard: rules of a policy's author, and paths of the program that it watches.

use crate::bytes::Bytes;
use nacre_guard::paths::{End, Links, plain, resolve};
use nacre_guard::pattern::{Extent, Pattern};
use nacre_guard::policy::Policy;
use nacre_proto::{Errno, PROTOCOLS};

/// Names that make paths meet.
const NAMES: [&[u8]; 8] = [b"/", b"a", b"/..", b"/.", b"/b", b"*", b"**", b"?"];

fn path(bytes: &mut Bytes<'_>) -> Vec<u8> {
    let count = bytes.below(12);
    (0..count).flat_map(|_| if bytes.below(8) == 0 { bytes.some() } else { bytes.of(&NAMES) }).copied().collect()
}

/// A policy of lines, some of them like rules.
fn text(bytes: &mut Bytes<'_>) -> String {
    let mut text = String::new();
    for _ in 0..bytes.below(8) {
        let operations = PROTOCOLS[bytes.below(PROTOCOLS.len())].operations;
        let operation = &operations[bytes.below(operations.len())];
        let what = match bytes.below(6) {
            0 => String::from_utf8_lossy(bytes.some()).into_owned(),
            1 => String::from("*"),
            2 => format!("{}.*", operation.protocol),
            3 => String::from(bytes.of(&["read", "write", "console", "memory"])),
            _ => format!("{}.{}", operation.protocol, operation.name),
        };
        let pattern = if bytes.below(2) == 0 { String::new() } else { String::from_utf8_lossy(&path(bytes)).into_owned() };
        text += &format!("{} {what} {pattern}\n", bytes.of(&["allow", "deny", "allow", "let"]));
    }
    text
}

pub fn policy(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut policy = Policy::default();
    let _ = policy.add_file(&text(&mut bytes));
    let (one, other) = (path(&mut bytes), path(&mut bytes));
    for operation in PROTOCOLS.iter().flat_map(|protocol| protocol.operations) {
        let decision = policy.decide(operation.label, &one);
        assert!(!decision.allowed || decision.rule.is_some_and(|rule| policy.rule(rule).starts_with("allow")), "allowed by no rule");
        assert!(!policy.allows_everywhere(operation.label) || decision.allowed, "an operation that is allowed everywhere is denied");
        // Names that a policy treats alike may stand for each other.
        let is_path = [4, 5, 6].contains(&(operation.label >> 16));
        let same = !is_path || policy.decide(operation.label, &other).allowed == decision.allowed;
        assert!(same || !policy.treats_alike(&one, &other, false), "{one:?} and {other:?} are not alike");
    }
    pattern(&mut bytes);
}

/// Checks that a statement about all names below a directory holds for each name.
fn pattern(bytes: &mut Bytes<'_>) {
    let pattern = Pattern::new(&path(bytes));
    // The root is the only directory whose path ends with a slash; patterns are asked about it
    // without.
    let (directory, name) = (path(bytes), path(bytes));
    let directory = plain(&directory);
    let below = [directory, b"/n", &name].concat();
    match pattern.extent_below(directory) {
        Extent::Nothing => assert!(!pattern.matches(&below), "{pattern:?} matches {below:?}"),
        Extent::All => assert!(pattern.matches(&below), "{pattern:?} does not match {below:?}"),
        Extent::Part => {}
    }
}

/// A tree in which every name may be a link, always to the same.
struct Tree(Vec<(Vec<u8>, Vec<u8>)>);

impl Links for Tree {
    fn read(&mut self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        self.0.iter().find(|(link, _)| link == path).map(|(_, target)| target.clone()).ok_or(Errno::EINVAL)
    }
}

pub fn resolved(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut tree = Tree((0..bytes.below(6)).map(|_| ([&b"/"[..], bytes.of(&[&b"a"[..], b"b", b"a/b"])].concat(), path(&mut bytes))).collect());
    // Where a directory is has no link in it: its server says so.
    let (start, path, end) = (b"/c", path(&mut bytes), [End::Followed, End::Kept, End::Name][bytes.below(3) as usize]);
    let Ok(resolved) = resolve(start, &path, end, &mut tree) else { return };
    // Only the end may be a directory's name for itself, which the server is to see; policies are
    // asked about the path without it.
    let clean = resolved.starts_with(b"/") && !plain(&resolved)[1..].split(|byte| *byte == b'/').any(|name| name == b".." || name == b".");
    assert!(clean && !resolved.windows(2).any(|two| two == b"//"), "{path:?} became {resolved:?}");
    // The server does what was judged, because it finds no link to follow.
    if end == End::Followed {
        assert_eq!(resolve(b"/", &resolved, end, &mut tree), Ok(resolved.clone()), "{path:?} means more than one path");
    }
}
