//! Names of terminals.

/// A name of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// The session's own.
    Own,
    /// A new one's master.
    Master,
    /// The slave with this number.
    Slave(u64),
}

/// Returns the terminal that a path names.
pub fn name(path: &[u8]) -> Option<Name> {
    match path {
        b"/dev/tty" => return Some(Name::Own),
        b"/dev/ptmx" | b"/dev/pts/ptmx" => return Some(Name::Master),
        _ => {}
    }
    let digits = path.strip_prefix(b"/dev/pts/").filter(|digits| digits.len() < 8 && (digits.len() == 1 || digits.first() != Some(&b'0')))?;
    digits.iter().all(u8::is_ascii_digit).then(|| core::str::from_utf8(digits).ok()?.parse().ok().map(Name::Slave)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::channel::{self, terminal_device, terminal_number};

    #[test]
    fn terminals_have_names() {
        assert_eq!(name(b"/dev/pts/0"), Some(Name::Slave(0)));
        assert_eq!(name(b"/dev/pts/17"), Some(Name::Slave(17)));
        assert_eq!((name(b"/dev/pts/"), name(b"/dev/pts/01"), name(b"/dev/pts/x"), name(b"/dev/pts/+1")), (None, None, None, None));
        assert_eq!((name(b"/dev/ptmx"), name(b"/dev/tty"), name(b"/dev/tty1")), (Some(Name::Master), Some(Name::Own), None));
    }

    #[test]
    fn devices_have_numbers() {
        for number in [0, 1, 255, 256, 70_000] {
            assert_eq!(terminal_number(terminal_device(number)), Some(number));
        }
        assert_eq!(terminal_number(channel::CONSOLE), None);
    }
}
