//! Tests what `nacre run` refuses: each time with the documented status, a sentence, and nothing on
//! standard output.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

/// The first run may build the system: the others wait for it instead of building beside it.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn run(words: &[&str]) -> Output {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    Command::new(env!("CARGO_BIN_EXE_nacre")).arg("run").args(words).output().unwrap()
}

/// The command ends with `status` and says each of `parts`.
fn refused(words: &[&str], status: i32, parts: &[&str]) {
    let output = run(words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
    assert!(output.stdout.is_empty(), "{words:?}: {:?}", String::from_utf8_lossy(&output.stdout));
    for part in parts {
        assert!(said.contains(part), "{words:?} should say {part:?}, but says: {said}");
    }
    assert!(!said.contains("panicked"), "{words:?}: {said}");
}

/// An executable file with these bytes.
fn program(name: &str, bytes: &[u8]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn busybox() -> Vec<u8> {
    fs::read("/bin/busybox").unwrap()
}

#[test]
fn a_program_that_is_not_there() {
    refused(&["nonesuch"], 127, &["nacre: there is no program called nonesuch"]);
    refused(&["trace", "nonesuch"], 127, &["there is no program called nonesuch"]);
    refused(&["/nonexistent/program"], 127, &["there is no program /nonexistent/program"]);
}

#[test]
fn a_file_that_is_not_there() {
    refused(&["--file", "/nonexistent/file", "true"], 119, &["there is no file /nonexistent/file"]);
    refused(&["--file", "/nonexistent/file:/elsewhere", "true"], 119, &["there is no file /nonexistent/file"]);
}

#[test]
fn a_directory_that_has_no_place() {
    refused(&["-v", "/nonexistent:/data", "true"], 119, &["cannot use /nonexistent"]);
    refused(&["-v", "/etc/passwd:/data", "true"], 119, &["/etc/passwd is no directory", "--file /etc/passwd:/data"]);
    refused(&["-v", "/tmp:/", "true"], 120, &["it is the guest's root", "--root"]);
    refused(&["-v", "/tmp:/proc/x", "true"], 120, &["the guest fills /proc itself"]);
    refused(&["-v", "/tmp:/data", "-v", "/etc:/data:ro", "true"], 120, &["two directories at /data"]);
    refused(&["-v", "/tmp:data", "true"], 120, &["data is no absolute path"]);
}

#[test]
fn a_file_that_is_no_program() {
    let text = program("text", b"neither ELF nor a script\n");
    refused(&[&text], 126, &[&text, "it is not an ELF file"]);
    refused(&["trace", &text], 126, &["it is not an ELF file"]);
    refused(&[&program("empty", b"")], 126, &["it is not an ELF file"]);
    fs::set_permissions(&text, fs::Permissions::from_mode(0o644)).unwrap();
    refused(&[&text], 126, &["is not executable", "chmod +x"]);
    refused(&[env!("CARGO_TARGET_TMPDIR")], 126, &["is not a file"]);
}

#[test]
fn a_script_without_its_interpreter() {
    let script = program("script", b"#!/nonexistent/python -u\nprint(1)\n");
    refused(&[&script], 126, &[&format!("{script}: bad interpreter: there is no program /nonexistent/python")]);
    refused(&["trace", &script], 126, &["bad interpreter"]);
}

#[test]
fn a_program_that_is_cut_off() {
    let bytes = busybox();
    for size in [4, 63, 100, bytes.len() / 2] {
        refused(&[&program("cut-off", &bytes[..size])], 126, &["it is truncated or damaged"]);
    }
}

#[test]
fn a_program_for_another_machine() {
    const CLASS: usize = 4;
    const MACHINE: usize = 18;
    for (at, value) in [(CLASS, 1), (MACHINE, 183), (MACHINE, 3)] {
        let mut bytes = busybox();
        bytes[at] = value;
        refused(&[&program("foreign", &bytes)], 126, &["it is not a program for 64-bit x86"]);
    }
}

#[test]
fn a_program_that_asks_for_a_loader() {
    const LOADER: &[u8] = b"/lib64/ld-linux-x86-64.so.2";
    let mut bytes = fs::read("/bin/ls").unwrap();
    let at = bytes.windows(LOADER.len()).position(|part| part == LOADER).unwrap();
    bytes[at + LOADER.len() - 1] = b'9';
    let dynamic = program("dynamic", &bytes);
    refused(&[&dynamic], 126, &[&dynamic, "dynamic linker /lib64/ld-linux-x86-64.so.9", "not on this machine", "gcc -static"]);
    refused(&["trace", "-s", "9", &dynamic], 126, &["dynamic linker"]);
}

#[test]
fn a_command_line_that_is_wrong() {
    refused(&["--memory", "8M", "true"], 120, &["the machine needs at least 64M beside its files"]);
    refused(&["--memory", "much", "true"], 120, &["a size looks like 512M or 2G"]);
    refused(&["--cpus", "0", "true"], 120, &["--cpus"]);
    refused(&["--timeout", "-1", "true"], 120, &["--timeout"]);
    refused(&["--nonesuch", "true"], 120, &["there is no option --nonesuch"]);
    refused(&["--rot", "/", "true"], 120, &["there is no option --rot; did you mean --root?"]);
    refused(&["--env", "=x", "true"], 120, &["sets nothing"]);
    refused(&["guard", "--alow", "console", "ls"], 125, &["guard has no option --alow; did you mean --allow?"]);
    refused(&[], 120, &["PROGRAM"]);
}

#[test]
fn files_that_do_not_fit_the_machine() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("large");
    fs::File::create(&path).unwrap().set_len(80 << 20).unwrap();
    refused(&["--memory", "100M", "--file", &path.display().to_string(), "true"], 120, &["too much for a machine of 100 MiB", "--memory 256M"]);
}

#[test]
fn a_reader_that_goes_away_ends_the_command_without_a_word() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_nacre")).args(["completions", "bash"]).stdout(writer).output().unwrap();
    assert_eq!(output.stderr, b"");
    assert_eq!(output.status.code(), Some(141));
}
