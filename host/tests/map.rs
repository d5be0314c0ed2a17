//! `doc/map.md`: each file, folder, crate and name in backticks exists in the tree.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Adds the paths below `folder`, relative to `root`, of files and folders.
fn paths(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "build" || name == "target" {
            continue;
        }
        found.push(format!("/{}", path.strip_prefix(root).unwrap().display()));
        if path.is_dir() {
            paths(root, &path, found);
        }
    }
}

/// Splits `a/{b,c}` into `a/b` and `a/c`.
fn expanded(token: &str) -> Vec<String> {
    match (token.split_once('{'), token.split_once('}')) {
        (Some((before, _)), Some((_, after))) => {
            let inside = &token[before.len() + 1..token.len() - after.len() - 1];
            inside.split(',').map(|part| format!("{before}{part}{after}")).collect()
        }
        _ => vec![token.to_string()],
    }
}

/// Returns the paths of the tree that end with `name`, whole parts compared.
fn ending<'a>(name: &str, tree: &'a [String]) -> Vec<&'a String> {
    let end = format!("/{}", name.trim_end_matches('/'));
    tree.iter().filter(|path| path.ends_with(&end)).collect()
}

fn is_name(token: &str) -> bool {
    token.chars().all(|letter| letter.is_ascii_alphanumeric() || "_:.".contains(letter))
}

fn has_word(text: &str, word: &str) -> bool {
    let inside = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    text.match_indices(word).any(|(at, _)| !inside(text[..at].chars().next_back()) && !inside(text[at + word.len()..].chars().next()))
}

/// Returns true if `name` is a function of `text`, or another definition: a label, type, constant
/// or field.
fn is_defined(text: &str, name: &str) -> bool {
    let keywords = ["fn ", "struct ", "enum ", "trait ", "const ", "static ", "type ", "macro_rules! "];
    keywords.iter().any(|keyword| has_word(text, &format!("{keyword}{name}"))) || has_word(text, &format!("{name}:"))
}

/// One walk of the page: its files so far, and what was not found.
struct Walk<'a> {
    tree: &'a [String],
    text: String,
    missed: Vec<String>,
}

impl Walk<'_> {
    /// Looks up a line's tokens. A name behind a file (`FILE`, `NAME`) is defined in that file, or
    /// is a constant that the file uses. Any other name occurs in a file of the walk.
    fn line(&mut self, line: &str) {
        let parts: Vec<&str> = line.split('`').collect();
        let mut file: Option<String> = None;
        for (index, token) in parts.iter().enumerate().filter(|(index, _)| index % 2 == 1) {
            let follows = matches!(parts[index - 1].trim_end_matches(&[' ', '(', ')', '[', ']'][..]), ",");
            match (self.files(token), &file) {
                (Some(text), _) => file = Some(text),
                (None, Some(text)) if follows && is_name(token) && ending(token, self.tree).is_empty() => {
                    let name = token.rsplit(['.', ':']).next().unwrap();
                    // An operation of a protocol is declared as `NUMBER NAME(...)`.
                    let is_operation = token.contains('.') && text.contains(&format!(" {name}("));
                    let is_constant = !name.contains(|letter: char| letter.is_ascii_lowercase());
                    if !is_defined(text, name) && !is_operation && !(is_constant && has_word(text, name)) {
                        self.missed.push(format!("`{token}`: not defined where the map says: {line}"));
                    }
                }
                _ => self.word(token, line),
            }
        }
    }

    /// Adds the files that `token` names to the walk, and returns their text; `None` if it names no
    /// path.
    fn files(&mut self, token: &str) -> Option<String> {
        if token.contains(' ') || !(token.contains('/') || token.ends_with(".rs")) {
            return None;
        }
        let mut text = String::new();
        for name in expanded(token) {
            let found = ending(&name, self.tree);
            if found.is_empty() {
                self.missed.push(format!("`{name}`: there is no such file or folder"));
            }
            let files = found.iter().map(|path| root().join(path.trim_start_matches('/'))).filter(|path| path.is_file());
            files.for_each(|path| text += &fs::read_to_string(path).unwrap());
        }
        self.text += &text;
        Some(text)
    }

    fn word(&mut self, token: &str, line: &str) {
        let first = token.split(' ').next().unwrap().trim_end_matches('/');
        let is_program = !ending(first, self.tree).is_empty();
        let parts = token.split(['.', ':', ' ']).filter(|part| !part.is_empty());
        if !is_program && !(is_name(token) && parts.clone().all(|part| has_word(&self.text, part))) {
            self.missed.push(format!("`{token}`: in no file of this walk: {line}"));
        }
    }
}

/// Returns what the page names and the tree does not have.
fn missing(page: &str, tree: &[String]) -> Vec<String> {
    page.split("\n## ").flat_map(|section| {
        let mut walk = Walk { tree, text: String::new(), missed: Vec::new() };
        // A first pass collects the files of the section, so that a title may name what its steps
        // define.
        section.lines().for_each(|line| walk.line(line));
        walk.missed.clear();
        section.lines().for_each(|line| walk.line(line));
        walk.missed
    }).collect()
}

fn tree() -> Vec<String> {
    let mut found = Vec::new();
    paths(&root(), &root(), &mut found);
    found
}

#[test]
fn the_map_names_what_is_there() {
    let page = fs::read_to_string(root().join("doc/map.md")).unwrap();
    let missed = missing(&page, &tree());
    assert!(missed.is_empty(), "doc/map.md:\n{}", missed.join("\n"));
}

#[test]
fn what_is_not_there_is_missed() {
    let tree = tree();
    for line in ["`host/src/nothing.rs`", "`host/tests/map.rs`, `no_such_function`", "`host/tests/{map,nothing}.rs`", "`nowhere/`"] {
        assert_eq!(missing(line, &tree).len(), 1, "{line}");
    }
    assert_eq!(missing("1. `host/tests/map.rs`, `is_defined`, and `host/`: `Walk`", &tree), Vec::<String>::new());
}
