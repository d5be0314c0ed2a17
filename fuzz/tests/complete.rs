//! Tests that every protocol, and every decoder of the tree, has a target.

use nacre_fuzz::TARGETS;
use nacre_fuzz::targets::SERVED;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Names of functions that decode; a new one must be in the README's table, or among those that
/// nobody's enemy feeds.
const NAMES: [&str; 5] = ["from_bytes", "from_words", "from_facts", "decode", "parse"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn readme() -> String {
    fs::read_to_string(root().join("fuzz/README.md")).expect("README.md")
}

/// The table: functions, file, targets.
fn rows(readme: &str) -> Vec<[Vec<String>; 3]> {
    let words = |cell: &str| cell.split([',', '`', ' ']).filter(|word| !word.is_empty()).map(str::to_string).collect();
    let lines = readme.lines().filter(|line| line.starts_with("| `"));
    lines.map(|line| [1, 2, 3].map(|cell| words(line.split('|').nth(cell).expect("three cells")))).collect()
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").filter_map(Result::ok) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && !["tests", "target", "build"].iter().any(|skipped| name == *skipped) {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !name.to_string_lossy().ends_with("tests.rs") {
            found.push(path);
        }
    }
}

fn has_function(text: &str, name: &str) -> bool {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    [format!("fn {name}("), format!("fn {name}<")].iter().any(|start| code.contains(start))
}

#[test]
fn each_row_names_what_there_is() {
    let rows = rows(&readme());
    let mut named = BTreeSet::new();
    for [functions, files, targets] in &rows {
        let text = fs::read_to_string(root().join(&files[0])).unwrap_or_else(|_| panic!("the README names {}", files[0]));
        assert!(functions.iter().all(|name| has_function(&text, name)), "{functions:?} in {}", files[0]);
        named.extend(targets.iter().cloned());
    }
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_string()).collect();
    assert_eq!(named, targets, "targets of the README, and of src/targets.rs");
}

#[test]
fn each_protocol_is_served() {
    let numbers: Vec<u32> = nacre_proto::PROTOCOLS.iter().map(|protocol| protocol.number).collect();
    assert_eq!(numbers, SERVED, "add the new protocol to src/targets/protocols.rs");
}

#[test]
fn each_decoder_has_a_row() {
    let readme = readme();
    let rows = rows(&readme);
    let mut files = Vec::new();
    ["abi", "user", "drivers", "machines", "servers", "monitors", "host", "kernel"].iter().for_each(|folder| rust_files(&root().join(folder), &mut files));
    for file in files {
        let text = fs::read_to_string(&file).expect("a file");
        let shown = file.strip_prefix(root()).expect("in the tree").display().to_string();
        let is_own = readme.lines().skip_while(|line| !line.starts_with("Read by nobody's enemy")).any(|line| line.contains(&excepted(&shown)));
        for name in NAMES.into_iter().filter(|name| has_function(&text, name) && !is_own) {
            let has_row = rows.iter().any(|[functions, files, _]| files[0] == shown && functions.iter().any(|listed| listed == name));
            assert!(has_row, "{name} of {shown} decodes and has no target: add one, and a row of fuzz/README.md");
        }
    }
}

/// Returns the name of a file among the exceptions. Those of monitors are all alike.
fn excepted(shown: &str) -> String {
    let parts: Vec<&str> = shown.split('/').collect();
    if parts[0] == "monitors" { format!("`{}`", [&["monitors", "*"], &parts[2..]].concat().join("/")) } else { format!("`{shown}`") }
}
