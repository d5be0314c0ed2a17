//! Paths, method calls and definitions inside a macro's tokens, which `syn` does not parse.

use proc_macro2::{TokenStream, TokenTree};

/// A path as the source writes it, one string a segment.
pub type Segments = Vec<String>;

/// Paths that [`paths`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// Every path: the arguments of an invocation.
    Everything,
    /// Paths that begin with `crate` or `$crate`: the rules of a macro.
    CratePaths,
}

/// Returns each path with its line, and true if `!` follows it.
pub fn paths(tokens: &TokenStream, scan: Scan) -> Vec<(Segments, usize, bool)> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < trees.len() {
        match &trees[at] {
            TokenTree::Group(group) => {
                found.extend(paths(&group.stream(), scan));
                at += 1;
            }
            TokenTree::Ident(first) => {
                let line = first.span().start().line;
                let before = at.checked_sub(1).and_then(|before| punctuation(&trees, before));
                let range_before = at >= 2 && punctuation(&trees, at - 2) == Some('.');
                let mut path = vec![first.to_string()];
                at += 1;
                while let Some(next) = next_segment(&trees, at) {
                    path.push(next);
                    at += 3;
                }
                let is_variable = before == Some('$') && path[0] != "crate";
                let is_field = before == Some('.') && !range_before;
                let is_wanted = scan == Scan::Everything || path[0] == "crate";
                if is_wanted && !is_variable && !is_field && before != Some('\'') {
                    found.push((path, line, punctuation(&trees, at) == Some('!')));
                }
            }
            _ => at += 1,
        }
    }
    found
}

/// Returns the name of each method that is called, with its line.
pub fn method_calls(tokens: &TokenStream) -> Vec<(String, usize)> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut found = Vec::new();
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) => found.extend(method_calls(&group.stream())),
            TokenTree::Ident(name) if matches!(trees.get(at + 1), Some(TokenTree::Group(_))) => {
                if at.checked_sub(1).and_then(|before| punctuation(&trees, before)) == Some('.') {
                    found.push((name.to_string(), name.span().start().line));
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns names behind `struct`, `fn` and the like, on the outermost level.
pub fn definitions(tokens: &TokenStream) -> Vec<String> {
    const KEYWORDS: [&str; 8] = ["struct", "enum", "fn", "const", "static", "type", "trait", "union"];
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut found = Vec::new();
    for pair in trees.windows(2) {
        if let [TokenTree::Ident(keyword), TokenTree::Ident(name)] = pair
            && KEYWORDS.iter().any(|known| keyword == known)
        {
            found.push(name.to_string());
        }
    }
    found
}

fn punctuation(trees: &[TokenTree], at: usize) -> Option<char> {
    match trees.get(at) {
        Some(TokenTree::Punct(mark)) => Some(mark.as_char()),
        _ => None,
    }
}

/// Returns the segment behind `::` at `at`.
fn next_segment(trees: &[TokenTree], at: usize) -> Option<String> {
    match (punctuation(trees, at), punctuation(trees, at + 1), trees.get(at + 2)) {
        (Some(':'), Some(':'), Some(TokenTree::Ident(name))) => Some(name.to_string()),
        _ => None,
    }
}
