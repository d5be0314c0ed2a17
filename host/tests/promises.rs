//! `doc/security.md`: each promise names tests, and each of them exists.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Adds the text of each Rust file below `folder`.
fn sources(folder: &Path, text: &mut String) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with("build") && !path.ends_with(".git") {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// Attacks that a scenario runs.
fn attacks() -> Vec<String> {
    let scenarios = fs::read_dir(root().join("tests/stacks")).unwrap().map(|entry| entry.unwrap().path());
    let texts = scenarios.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("witness")).map(|path| fs::read_to_string(path).unwrap());
    let lines: Vec<String> = texts.flat_map(|text| text.lines().map(str::to_string).collect::<Vec<_>>()).collect();
    // A program may start the witness.
    let attacks = lines.iter().filter_map(|line| line.strip_prefix("run ")?.split_once("witness "));
    let names = attacks.flat_map(|(_, names)| names.split(' '));
    names.map(|name| name.split('=').next().unwrap().to_string()).collect()
}

fn exists(name: &str, sources: &str, attacks: &[String]) -> bool {
    if let Some(attack) = name.strip_prefix("witness ") {
        return attacks.iter().any(|known| known == attack);
    }
    if name.contains('/') {
        return root().join(name).is_file();
    }
    let is_id = name.len() == 7 && name[..3].chars().all(|letter| letter.is_ascii_uppercase());
    if is_id { sources.contains(&format!("\"{name}\"")) || sources.contains(&format!("ok {name} ")) } else { sources.contains(&format!("fn {name}()")) }
}

#[test]
fn every_promise_has_a_test() {
    let page = fs::read_to_string(root().join("doc/security.md")).unwrap();
    let (mut text, attacks) = (String::new(), attacks());
    sources(&root(), &mut text);
    let rows: Vec<Vec<&str>> = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")).map(|line| line.split('|').map(str::trim).collect()).collect();
    assert!(rows.len() > 20);
    for row in &rows[1..] {
        let names: Vec<&str> = row[3].split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{}: a promise without a test", row[2]);
        for name in names {
            assert!(exists(name, &text, &attacks), "{}: there is no test {name}", row[2]);
        }
    }
}

#[test]
fn a_test_that_is_not_there_is_missed() {
    let known = ["keeper".to_string()];
    for name in ["witness nothing", "XYZ0001", "tests/nothing.rs", "a_function_that_is_nowhere"] {
        assert!(!exists(name, "fn another() {}", &known), "{name}");
    }
    assert!(exists("witness keeper", "", &known) && exists("another", "fn another() {}", &known));
}
