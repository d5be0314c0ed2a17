//! Patterns of rules. `?` is one character but `/`, `*` any number of them, `**` anything at all;
//! `/**` at the end is what stands before it and all that is below. A pattern is followed through
//! the text in all ways at once: the time is the product of their lengths, whatever the child
//! thinks of.

use alloc::vec;
use alloc::vec::Vec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    One,
    Some,
    Anything,
    /// The empty text, or a slash and any text.
    Below,
}

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<Token>);

/// Part of the names below a directory that a pattern matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Absence of a name.
    Nothing,
    /// Something, perhaps not all.
    Part,
    /// All.
    All,
}

impl Pattern {
    /// Reads a pattern.
    pub fn new(text: &[u8]) -> Pattern {
        let (mut rest, below) = text.strip_suffix(b"/**").map_or((text, false), |base| (base, true));
        let mut tokens = Vec::new();
        while let Some((first, more)) = rest.split_first() {
            let (token, after) = match (first, more) {
                (b'*', [b'*', more @ ..]) => (Token::Anything, more),
                (b'*', more) => (Token::Some, more),
                (b'?', more) => (Token::One, more),
                (byte, more) => (Token::Byte(*byte), more),
            };
            tokens.push(token);
            rest = after;
        }
        tokens.extend(below.then_some(Token::Below));
        Pattern(tokens)
    }

    /// Returns the tokens that could follow `text`. One more than there are is the end, two more is
    /// all below it.
    fn follow<'a>(&self, text: impl Iterator<Item = &'a u8>) -> Vec<bool> {
        let count = self.0.len();
        let mut now = vec![false; count + 2];
        now[0] = true;
        self.skip(&mut now);
        for byte in text {
            let mut next = vec![false; count + 2];
            for (index, token) in self.0.iter().enumerate().filter(|(index, _)| now[*index]) {
                match token {
                    Token::Byte(wanted) => next[index + 1] |= wanted == byte,
                    Token::One => next[index + 1] |= *byte != b'/',
                    Token::Some => next[index] |= *byte != b'/',
                    Token::Anything => next[index] = true,
                    Token::Below => next[count + 1] |= *byte == b'/',
                }
            }
            next[count + 1] |= now[count + 1];
            self.skip(&mut next);
            now = next;
        }
        now
    }

    /// Also marks the states behind tokens that match the empty text.
    fn skip(&self, states: &mut [bool]) {
        for (index, token) in self.0.iter().enumerate() {
            let optional = matches!(token, Token::Some | Token::Anything | Token::Below);
            states[index + 1] |= optional && states[index];
        }
    }

    /// Returns true if the pattern matches all of `text`.
    pub fn matches(&self, text: &[u8]) -> bool {
        self.follow(text.iter())[self.0.len()..].contains(&true)
    }

    /// Returns the part of the names below `directory` that the pattern matches.
    pub fn extent_below(&self, directory: &[u8]) -> Extent {
        let states = self.follow(directory.iter().chain(b"/"));
        let count = self.0.len();
        let endless = states[count + 1] || self.0.last() == Some(&Token::Anything) && states[count - 1];
        match states[..count].contains(&true) {
            _ if endless => Extent::All,
            true => Extent::Part,
            false => Extent::Nothing,
        }
    }

    /// Returns true if an absolute path could match.
    pub fn is_about_paths(&self) -> bool {
        !matches!(self.0.first(), Some(Token::Byte(byte)) if *byte != b'/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern.as_bytes()).matches(text.as_bytes())
    }

    #[test]
    fn stars_stop_at_slashes_and_double_stars_do_not() {
        assert!(matches("/etc/*", "/etc/passwd") && !matches("/etc/*", "/etc/ssl/key") && !matches("/etc/*", "/etc"));
        assert!(matches("/**/key", "/etc/ssl/key") && !matches("/**/key", "/key2"));
        assert!(matches("/a?c", "/abc") && !matches("/a?c", "/a/c") && !matches("/a?c", "/ac"));
        assert!(matches("**", "") && matches("**", "/x/y") && matches("*.txt", "a.txt") && !matches("*.txt", "/a.txt"));
        assert!(matches("", "") && !matches("", "x"));
    }

    #[test]
    fn what_ends_below_includes_its_top() {
        assert!(matches("/etc/**", "/etc") && matches("/etc/**", "/etc/") && matches("/etc/**", "/etc/a/b"));
        assert!(!matches("/etc/**", "/etcetera") && !matches("/etc/**", "/et"));
        assert!(matches("/**", "/") && matches("/**", "/x"));
        assert!(matches("/home/*/tmp/**", "/home/me/tmp/x") && !matches("/home/*/tmp/**", "/home/me/you/tmp/x"));
    }

    #[test]
    fn extents_are_never_told_too_small() {
        let extent = |pattern: &str, directory: &str| Pattern::new(pattern.as_bytes()).extent_below(directory.as_bytes());
        assert_eq!(extent("/etc/**", "/etc"), Extent::All);
        assert_eq!(extent("/etc/**", "/etc/ssl"), Extent::All);
        assert_eq!(extent("/etc/**", "/tmp"), Extent::Nothing);
        assert_eq!(extent("/a/b/**", "/a"), Extent::Part);
        assert_eq!(extent("/a/*", "/a"), Extent::Part);
        assert_eq!(extent("/a/*", "/a/b"), Extent::Nothing);
        assert_eq!(extent("/**/key", "/anything"), Extent::Part);
        assert_eq!(extent("**", "/x"), Extent::All);
        assert_eq!(extent("/etc", "/etc"), Extent::Nothing);
    }

    #[test]
    fn a_wild_pattern_takes_no_longer_than_its_size() {
        let pattern = "*a*a*a*a*a*a*a*a*a*a*a*a*b";
        assert!(!matches(pattern, &"a".repeat(4000)));
    }

    #[test]
    fn some_patterns_are_not_about_paths() {
        assert!(!Pattern::new(b"stream:*").is_about_paths());
        assert!(Pattern::new(b"/x").is_about_paths() && Pattern::new(b"**").is_about_paths());
    }
}
