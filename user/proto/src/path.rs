//! Paths on whose way no symbolic link is followed. Whoever has found out what a path means, and
//! then asks for it, gets that or an error: a link that somebody put there meanwhile leads nowhere.

/// First byte of such a path. No other path has a zero in it.
pub const NO_LINKS: u8 = 0;

/// Splits a path as it came with a message: the path itself, and true if no link may be followed.
pub fn without_mark(path: &[u8]) -> (&[u8], bool) {
    match path {
        [NO_LINKS, rest @ ..] => (rest, true),
        _ => (path, false),
    }
}
