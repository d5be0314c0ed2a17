//! Counts lines, functions and unsafe blocks in one Rust file.

use super::mask::{Masked, mask};

/// A function and how long it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name of the function.
    pub name: String,
    /// The line of its `fn`, from 1.
    pub line: usize,
    /// Lines from `fn` to the closing brace.
    pub lines: usize,
}

/// An unsafe block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsafeBlock {
    /// Line of the block, from 1.
    pub line: usize,
    /// Set if a comment with `SAFETY:` stands before it.
    pub has_safety: bool,
}

/// Counts of a file or crate.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Lines with code outside of tests.
    pub code_lines: usize,
    /// Lines with code in tests.
    pub test_lines: usize,
    /// Functions outside of tests.
    pub functions: Vec<Function>,
    /// Unsafe blocks, in tests too.
    pub unsafe_blocks: Vec<UnsafeBlock>,
    /// Set if there are `unsafe fn`, `unsafe impl`, or unsafe attributes.
    pub has_unsafe_items: bool,
    /// Set if the file forbids unsafe code for its crate.
    pub forbids_unsafe: bool,
}

impl Counts {
    /// Adds the counts of another file.
    pub fn add(&mut self, other: &Counts) {
        self.code_lines += other.code_lines;
        self.test_lines += other.test_lines;
        self.functions.extend_from_slice(&other.functions);
        self.unsafe_blocks.extend_from_slice(&other.unsafe_blocks);
        self.has_unsafe_items |= other.has_unsafe_items;
        self.forbids_unsafe |= other.forbids_unsafe;
    }
}

/// Counts `source`; all of it is tests if `is_test`.
pub fn count(source: &str, is_test: bool) -> Counts {
    let masked = mask(source);
    let code = &masked.code;
    let tests = if is_test { vec![(0, code.len())] } else { test_parts(code) };
    let in_tests = |at: usize| tests.iter().any(|(start, end)| (*start..*end).contains(&at));
    let mut counts = Counts { forbids_unsafe: code.contains("#![forbid(unsafe_code)]"), ..Counts::default() };
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        if !line.trim().is_empty() {
            let lines = if in_tests(at) { &mut counts.test_lines } else { &mut counts.code_lines };
            *lines += 1;
        }
        at += line.len();
    }
    counts.functions = functions(code).into_iter().filter(|(start, _)| !in_tests(*start)).map(|(_, function)| function).collect();
    (counts.unsafe_blocks, counts.has_unsafe_items) = unsafe_code(&masked);
    counts
}

/// Positions of `word` where it is a whole word.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = at.checked_sub(1).and_then(|before| code.as_bytes().get(before));
        !is_word(before) && !is_word(code.as_bytes().get(at + word.len()))
    })
}

/// Returns the end of the item that starts behind `from`, behind its braces or its semicolon, and
/// true if it has braces.
fn item_end(code: &str, from: usize) -> (usize, bool) {
    let mut braces = 0;
    let mut others = 0;
    for (offset, byte) in code.as_bytes()[from..].iter().enumerate() {
        match byte {
            b'(' | b'[' => others += 1,
            b')' | b']' => others -= 1,
            b'{' => braces += 1,
            b'}' if braces > 1 => braces -= 1,
            b'}' => return (from + offset + 1, true),
            b';' if braces == 0 && others == 0 => return (from + offset + 1, false),
            _ => {}
        }
    }
    (code.len(), braces > 0)
}

fn test_parts(code: &str) -> Vec<(usize, usize)> {
    const MARK: &str = "#[cfg(test)]";
    code.match_indices(MARK).map(|(at, _)| (at, item_end(code, at + MARK.len()).0)).collect()
}

fn line_of(code: &str, at: usize) -> usize {
    code.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn functions(code: &str) -> Vec<(usize, Function)> {
    let named = words(code, "fn").filter_map(|at| {
        let rest = code[at + 2..].trim_start();
        let name: String = rest.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
        let (end, has_body) = item_end(code, at);
        let line = line_of(code, at);
        let function = Function { name, line, lines: line_of(code, end) - line + 1 };
        (has_body && !function.name.is_empty()).then_some((at, function))
    });
    named.collect()
}

/// The unsafe blocks, and whether there are other unsafe things.
fn unsafe_code(masked: &Masked) -> (Vec<UnsafeBlock>, bool) {
    let code: Vec<&str> = masked.code.lines().collect();
    let comments: Vec<&str> = masked.comments.lines().collect();
    let mut blocks = Vec::new();
    let mut items = false;
    for at in words(&masked.code, "unsafe") {
        if masked.code[at + "unsafe".len()..].trim_start().starts_with('{') {
            let line = line_of(&masked.code, at);
            blocks.push(UnsafeBlock { line, has_safety: has_safety(&code, &comments, line - 1) });
        } else {
            items = true;
        }
    }
    (blocks, items)
}

/// Looks for `SAFETY:` on the block's line and on the lines above it that belong to the same
/// statement.
fn has_safety(code: &[&str], comments: &[&str], line: usize) -> bool {
    let says = |line: usize| comments.get(line).is_some_and(|comment| comment.contains("SAFETY:"));
    if says(line) {
        return true;
    }
    for above in (0..line).rev() {
        if says(above) {
            return true;
        }
        let (text, is_comment) = (code[above].trim(), !comments[above].trim().is_empty());
        let ends_statement = text.ends_with([';', '{', '}', ',']) || (text.is_empty() && !is_comment);
        if ends_statement {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
//! Header.

/// Documentation.
fn one(a: [u8; 4]) -> u32 {
    // SAFETY: because.
    let x =
        unsafe { f() };
    unsafe { g() }
}

trait T {
    fn declared(&self);
}

#[cfg(test)]
mod tests {
    fn in_test() {
        { }
    }
}
";

    #[test]
    fn lines_and_functions() {
        let counts = count(SOURCE, false);
        assert_eq!((counts.code_lines, counts.test_lines), (8, 6));
        assert_eq!(counts.functions, [Function { name: "one".to_string(), line: 4, lines: 6 }]);
    }

    #[test]
    fn unsafe_blocks_need_a_reason() {
        let counts = count(SOURCE, false);
        let safety: Vec<bool> = counts.unsafe_blocks.iter().map(|block| block.has_safety).collect();
        assert_eq!(safety, [true, false]);
        assert!(!counts.has_unsafe_items);
        assert!(count("unsafe fn f();", false).has_unsafe_items);
    }

    #[test]
    fn a_test_file_has_no_code() {
        assert_eq!(count("fn a() {}\n", true).code_lines, 0);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(words("fn fnord _fn fn", "fn").collect::<Vec<_>>(), [0, 13]);
    }
}
