//! Every `nacre run` of README.md, of the manual and of the help texts, run as it is written.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Input of a shell that an example starts.
const TYPED: &str = "ls /bin | wc -l\nexit 0\n";
/// Texts of which an example must show none, whatever its status is.
const FAULTS: [&str; 4] = ["No such file", "can't fork", "not found", "panicked"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The commands of a text: lines that start with `nacre run` or `./nacre run`, without what
/// explains them.
fn commands(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| line.strip_prefix("./").unwrap_or(line).starts_with("nacre run "));
    // A line whose words are all capitals is a pattern and no command.
    lines.filter(|line| !line.contains("PROGRAM")).map(|line| line.split("  ").next().unwrap_or(line).trim().to_string()).collect()
}

/// Commands within a text, between backquotes.
fn quoted(text: &str) -> Vec<String> {
    let whole = text.split('`').skip(1).step_by(2).filter(|part| part.starts_with("./nacre run "));
    let is_pattern = |word: &str| word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase());
    whole.filter(|part| !part.contains("...") && !part.split_whitespace().any(|word| is_pattern(word.trim_matches(['[', ']'])))).map(str::to_string).collect()
}

fn help(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_nacre")).args(words).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// A directory with what the examples name: `nacre`, a program, a text, and a folder.
fn place() -> PathBuf {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("examples");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(place.join("src")).unwrap();
    fs::write(place.join("data.txt"), "one two\n").unwrap();
    fs::write(place.join("src/main.c"), "int main(void) { return 0; }\n").unwrap();
    fs::write(place.join("nacre"), format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_nacre"))).unwrap();
    fs::set_permissions(place.join("nacre"), fs::Permissions::from_mode(0o755)).unwrap();
    let compiled = Command::new("gcc").args(["-o", "a.out", "src/main.c"]).current_dir(&place).status().unwrap();
    assert!(compiled.success());
    place
}

fn run(place: &Path, command: &str) -> Output {
    let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap());
    let mut child = Command::new("sh");
    child.args(["-c", command]).current_dir(place).env("PATH", path).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    // A program that reads no input closes it early.
    let _ = child.stdin.take().unwrap().write_all(TYPED.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn every_example_runs_as_it_is_written() {
    let mut all = [commands(&help(&["--help"])), commands(&help(&["run", "--help"]))].concat();
    let mut pages: Vec<PathBuf> = fs::read_dir(root().join("doc/manual")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    for path in pages.into_iter().chain([root().join("README.md")]) {
        let text = fs::read_to_string(&path).unwrap();
        all.extend([commands(&text), quoted(&text)].concat());
    }
    // In the order of the page: one may need what another one has made.
    let mut seen = BTreeSet::new();
    all.retain(|command| seen.insert(command.clone()));
    assert!(all.len() > 15, "{all:?}");
    let place = place();
    for command in all {
        let output = run(&place, &command);
        let expected = if command.contains("--timeout") { 124 } else { 0 };
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert_eq!(output.status.code(), Some(expected), "{command}: {said}");
        // A trace shows errors that programs expect.
        for fault in FAULTS {
            assert!(!said.lines().any(|line| line.contains(fault) && !line.contains(" = E")), "{command}: {said}");
        }
    }
}

#[test]
fn a_pattern_is_no_command() {
    let text = "x `./nacre run MONITOR [OPTIONS] PROGRAM` y `./nacre run true` z\n    ./nacre run sh  # a shell\n";
    assert_eq!(quoted(text), ["./nacre run true"]);
    assert_eq!(commands(text), ["./nacre run sh"]);
}
