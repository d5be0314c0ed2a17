//! Tries what a newcomer tries who has never seen the tree, each as it would be typed on Linux.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;

/// The first run may build the system: the others wait for it instead of building beside it.
static BUILT: Once = Once::new();

/// A directory of its own for a test, empty.
fn place(name: &str) -> PathBuf {
    BUILT.call_once(|| drop(Command::new(env!("CARGO_BIN_EXE_nacre")).args(["run", "true"]).stdin(Stdio::null()).output()));
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

/// Runs `nacre run` in a directory; its status, output and messages.
fn run(place: &Path, words: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_nacre")).args(["run", "--timeout", "60"]).args(words).current_dir(place).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The command succeeds and prints this.
fn prints(place: &Path, words: &[&str], expected: &str) {
    let (status, output, errors) = run(place, words);
    assert_eq!((status, output.as_str()), (0, expected), "{words:?}: {errors}");
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_shell_makes_processes_unless_it_is_bare() {
    let place = place("shell");
    prints(&place, &["sh", "-c", "echo a | cat; (exit 3); echo $?"], "a\n3\n");
    prints(&place, &["trace", "-q", "sh", "-c", "echo b | cat"], "b\n");
    prints(&place, &["process", "sh", "-c", "echo c | cat; echo $$"], "c\n1\n");
    let (status, _, errors) = run(&place, &["--bare", "sh", "-c", "ls / | cat"]);
    assert!(status != 0 && errors.contains("needs a process manager"), "{errors}");
}

#[test]
fn output_and_errors_of_one_file_keep_their_order() {
    let place = place("order");
    let both = fs::File::create(place.join("both")).unwrap();
    let script = "for i in 1 2 3 4 5 6 7 8; do echo out $i; echo error $i >&2; done";
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacre"));
    command.args(["run", "--timeout", "60", "sh", "-c", script]).stdin(Stdio::null());
    assert!(command.stdout(both.try_clone().unwrap()).stderr(both).status().unwrap().success());
    let text = fs::read_to_string(place.join("both")).unwrap();
    let expected: Vec<String> = (1..=8).flat_map(|i| [format!("out {i}"), format!("error {i}")]).collect();
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with("nacre: ")).collect();
    assert_eq!(lines, expected);
}

#[test]
fn a_frozen_shell_goes_on_in_another_machine() {
    let place = place("frozen");
    let script = "echo one; echo kept > /tmp/kept; (sleep 4; echo two) | cat; cat /tmp/kept";
    let (status, before, errors) = run(&place, &["checkpoint", "-m", "48M", "--after", "1.5", "--end", "-o", "image", "process", "sh", "-c", script]);
    assert_eq!(status, 0, "{errors}");
    let (status, after, errors) = run(&place, &["--cpus", "2", "--memory", "256M", "checkpoint", "--thaw", "image"]);
    assert_eq!((status, before + &after), (0, "one\ntwo\nkept\n".to_string()), "{errors}");
    fs::write(place.join("half"), &fs::read(place.join("image")).unwrap()[..5000]).unwrap();
    let (status, output, errors) = run(&place, &["checkpoint", "--thaw", "half"]);
    assert_eq!((status, output.as_str()), (125, ""), "{errors}");
    assert!(errors.contains("cut off"), "{errors}");
}

/// Runs another subcommand; its status, output and messages.
fn task(place: &Path, words: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_nacre")).args(words).current_dir(place).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_machine_that_runs_is_listed_frozen_by_name_and_thawed() {
    let place = place("commands");
    let name = format!("newcomer-{}", std::process::id());
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacre"));
    let script = "echo one; read line; echo got $line; exit 5";
    command.args(["run", "--timeout", "300", "--name", &name, "checkpoint", "-m", "48M", "process", "trace", "-q", "sh", "-c", script]);
    let mut running = command.current_dir(&place).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 4];
    std::io::Read::read_exact(running.stdout.as_mut().unwrap(), &mut first).unwrap();
    assert_eq!(&first, b"one\n");
    let (status, listed, errors) = task(&place, &["ps", &name, "--json"]);
    assert_eq!(status, 0, "{errors}");
    for expected in ["\"path\":\"0\",\"kind\":\"monitor\",\"name\":\"checkpoint\"", "\"path\":\"0/0\",\"kind\":\"monitor\",\"name\":\"process\"", "\"name\":\"trace -q sh", "\"whole\":true"] {
        assert!(listed.contains(expected), "{expected}: {listed}");
    }
    assert!(task(&place, &["run", "--name", &name, "true"]).2.contains("is running"));
    let (status, _, errors) = task(&place, &["freeze", &name, "-o", "image"]);
    assert_eq!(status, 0, "{errors}");
    let (status, _, errors) = task(&place, &["freeze", &name, "-o", "second", "--end"]);
    assert_eq!(status, 0, "{errors}");
    assert_eq!(running.wait().unwrap().code(), Some(0));
    let (status, shown, errors) = task(&place, &["image-info", "second"]);
    assert!(status == 0 && shown.contains("command    process trace -q sh -c"), "{shown}{errors}");
    for image in ["image", "second"] {
        let mut thawed = Command::new(env!("CARGO_BIN_EXE_nacre"));
        thawed.args(["thaw", "--timeout", "60", "--cpus", "2", image]).current_dir(&place).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut thawed = thawed.spawn().unwrap();
        std::io::Write::write_all(&mut thawed.stdin.take().unwrap(), b"two\n").unwrap();
        let output = thawed.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stdout), (Some(5), b"got two\n".to_vec()));
    }
    let (status, _, errors) = task(&place, &["freeze", "nobody"]);
    assert!(status == 120 && errors.contains("no machine with the name nobody"), "{errors}");
}

#[test]
fn a_program_that_lies_to_commands_changes_nothing_else() {
    let place = place("lies");
    let name = format!("liar-{}", std::process::id());
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacre"));
    command.args(["run", "--timeout", "300", "--name", &name, "process", "sh", "-c", "witness lying-seat=serve & echo one; read line; kill $!; exit 5"]);
    let mut running = command.current_dir(&place).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 4];
    std::io::Read::read_exact(running.stdout.as_mut().unwrap(), &mut first).unwrap();
    // Whether the program attends by now or not, the rest of the list is there, and no cursor
    // moves.
    for _ in 0..3 {
        let (status, listed, errors) = task(&place, &["ps", &name]);
        assert!(status == 0 && listed.contains("1 sh -c witness") && !listed.contains('\x1b'), "{listed}{errors}");
    }
    assert!(task(&place, &["freeze", &name, "-o", "image"]).0 != 0 && !place.join("image").exists());
    assert!(task(&place, &["fork", &name]).0 != 0 && task(&place, &["kill", &name, "--signal", "0"]).0 != 0);
    std::io::Write::write_all(&mut running.stdin.take().unwrap(), b"two\n").unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(5));
}

#[test]
fn files_of_the_current_directory_are_found() {
    let place = place("here");
    fs::write(place.join("data.txt"), "one\ntwo\n").unwrap();
    prints(&place, &["--file", "data.txt", "wc", "-l", "data.txt"], "2 data.txt\n");
    prints(&place, &["--file", "data.txt:/other", "wc", "-l", "/other"], "2 /other\n");
    prints(&place, &["pwd"], "/\n");
}

#[test]
fn scripts_run_with_their_interpreters() {
    let place = place("scripts");
    script(&place.join("shell"), "#!/bin/sh -e\necho \"$0\" \"$@\"\n");
    script(&place.join("perl"), "#!/usr/bin/env perl\nuse POSIX; use List::Util 'sum'; print sum(1, 2), floor(3.5), \"\\n\";\n");
    let shell = place.join("shell").display().to_string();
    prints(&place, &["./shell", "a", "b"], &format!("{shell} a b\n"));
    prints(&place, &["--bare", "trace", "-q", "./shell"], &format!("{shell}\n"));
    prints(&place, &["./perl"], "33\n");
    script(&place.join("circle"), &format!("#!{}\n", place.join("circle").display()));
    let (status, _, errors) = run(&place, &["./circle"]);
    assert!(status == 126 && errors.contains("scripts in a circle"), "{status}: {errors}");
}

#[test]
fn programs_that_are_named_bring_their_libraries_and_hide_applets() {
    let place = place("programs");
    let (status, output, errors) = run(&place, &["--file", "/usr/bin/ls", "ls", "--version"]);
    assert!(status == 0 && output.contains("GNU coreutils"), "{errors}");
    let (status, output, errors) = run(&place, &["--file", "/usr/bin/ls:/opt/list", "sh", "-c", "/opt/list --version"]);
    assert!(status == 0 && output.contains("GNU coreutils"), "{errors}");
    let (_, output, errors) = run(&place, &["/bin/ls", "--version"]);
    assert!(output.contains("GNU coreutils"), "{errors}");
}

#[test]
fn a_program_brings_what_its_packages_bring() {
    let place = place("packages");
    fs::write(place.join("x.c"), "#include <stdio.h>\n#include <errno.h>\nint main(void) { return puts(\"compiled\") < 0 ? errno : 0; }\n").unwrap();
    prints(&place, &["--file", "x.c", "gcc", "-Wall", "x.c", "-o", "/tmp/x"], "");
    let (status, output, errors) = run(&place, &["git", "-c", "init.defaultBranch=main", "init", "/tmp/tree"]);
    assert!(status == 0 && output.starts_with("Initialized empty Git repository"), "{errors}");
    prints(&place, &["--file", "x.c", "--file", "/usr/bin/gcc", "sh", "-c", "gcc x.c -o /tmp/x && /tmp/x"], "compiled\n");
    prints(&place, &["perl", "-MData::Dumper", "-e", "$Data::Dumper::Terse = 1; print Dumper(7)"], "7\n");
}

#[test]
fn a_program_that_is_not_in_the_guest_comes_with_advice() {
    let place = place("missing");
    let (status, _, errors) = run(&place, &["sh", "-c", "git --version"]);
    assert!(status == 127 && errors.contains("git: not found") && errors.contains("--file /usr/bin/PROGRAM"), "{errors}");
    let (status, output, errors) = run(&place, &["--file", "/usr/bin/git", "sh", "-c", "git --version"]);
    assert!(status == 0 && output.starts_with("git version") && !errors.contains("--file"), "{errors}");
    fs::write(place.join("notes"), "one\n").unwrap();
    let (status, _, errors) = run(&place, &["cat", "notes"]);
    assert!(status == 1 && errors.contains("notes is a file of this machine that the guest does not have; give it along with --file notes"), "{errors}");
    let (status, _, errors) = run(&place, &["--file", "notes", "grep", "two", "notes"]);
    assert!(status == 1 && !errors.contains("--file"), "{errors}");
    let (status, _, errors) = run(&place, &["nonesuch-xyzzy"]);
    assert!(status == 127 && errors.contains("there is no program called nonesuch-xyzzy"), "{errors}");
}

#[test]
fn a_fresh_guest_has_the_folders_of_a_fresh_system() {
    let place = place("folders");
    prints(&place, &["sh", "-c", "for folder in /run/lock /var/tmp /var/run /dev/shm /mnt /opt /srv /home /proc /sys; do test -d $folder || echo $folder; done; echo x >/run/x; cat /var/run/x"], "x\n");
}

#[test]
fn a_link_that_is_named_stays_a_link() {
    let place = place("link");
    fs::write(place.join("data"), "bytes\n").unwrap();
    std::os::unix::fs::symlink("data", place.join("link")).unwrap();
    prints(&place, &["--file", "link", "sh", "-c", "readlink link; cat link data"], "data\nbytes\nbytes\n");
}

#[test]
fn what_monitors_write_comes_back_to_the_path_that_was_named() {
    let place = place("outputs");
    fs::create_dir(place.join("out")).unwrap();
    let audit = place.join("out/audit.json").display().to_string();
    prints(&place, &["trace", "-o", "out/t.json", "sh", "-c", "ls / | grep -c tmp"], "1\n");
    let trace = fs::read_to_string(place.join("out/t.json")).unwrap();
    assert!(trace.contains("\"pid\":3") && trace.trim_end().ends_with(']'), "one number for all processes: {trace}");
    fs::write(place.join("rules"), "allow *\n").unwrap();
    prints(&place, &["guard", "--policy", "rules", "--audit", &audit, "echo", "x"], "x\n");
    assert!(fs::read_to_string(audit).unwrap().contains("\"call\""));
}

#[test]
fn a_guard_says_what_it_denied() {
    let place = place("guard");
    let (status, _, errors) = run(&place, &["guard", "ls"]);
    assert!(status == 127 && errors.contains("no rule allows anything, so ls can do nothing"), "{status}: {errors}");
    let (_, _, errors) = run(&place, &["guard", "--allow", "console", "--allow", "memory", "cat", "/etc/passwd"]);
    assert!(errors.contains("was denied; --allow"), "{errors}");
    let (status, _, errors) = run(&place, &["guard", "--allow", "consol", "ls"]);
    assert!(status == 125 && errors.contains("did you mean console?"), "{errors}");
}

#[test]
fn what_cannot_come_along_is_named() {
    let place = place("left-out");
    fs::create_dir(place.join("folder")).unwrap();
    assert!(Command::new("mkfifo").arg(place.join("folder/fifo")).status().unwrap().success());
    let (status, _, errors) = run(&place, &["--file", "folder", "ls", "folder"]);
    assert!(status == 0 && errors.contains("left out ") && errors.contains("/folder/fifo: FIFOs"), "{errors}");
}

#[test]
fn a_terminal_has_a_name() {
    let place = place("terminal");
    let command = format!("{} run --timeout 60 sh -c 'tty; stty size'", env!("CARGO_BIN_EXE_nacre"));
    let output = Command::new("script").args(["-qec", &command, "/dev/null"]).current_dir(&place).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("/dev/console") && text.contains("24 80"), "{text}");
}

#[test]
fn an_output_that_cannot_be_written_is_told() {
    let place = place("full");
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for words in [&["run", "echo", "hi"][..], &["ps"], &["completions", "bash"], &["--help"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_nacre")).args(words).current_dir(&place).stdin(Stdio::null()).stdout(full()).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(119), "{words:?}: {errors}");
        assert!(errors.contains("cannot write the output: No space left on device") && !errors.contains("panicked"), "{words:?}: {errors}");
    }
}

#[test]
fn errors_that_nobody_reads_are_no_panic() {
    let (read, write) = std::io::pipe().unwrap();
    drop(read);
    let status = Command::new(env!("CARGO_BIN_EXE_nacre")).args(["run", "nonesuch"]).stdin(Stdio::null()).stderr(write).status().unwrap();
    assert_eq!(status.code(), Some(141));
}

#[test]
fn an_empty_input_is_that_of_dev_null() {
    let place = place("null");
    prints(&place, &["python3", "-c", "import os; print(os.lseek(0, 0, os.SEEK_CUR), os.fstat(0).st_rdev == os.stat('/dev/null').st_rdev, os.read(0, 9))"], "0 True b''\n");
}

#[test]
fn files_of_options_are_relative_to_the_current_directory() {
    let place = std::env::temp_dir().join(format!("nacre-options-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("rules"), "allow *\n").unwrap();
    for below in [&["--root-overlay", "/"][..], &[]] {
        prints(&place, &[below, &["guard", "--policy", "rules", "--audit", "audit", "echo", "ok"]].concat(), "ok\n");
        assert!(fs::metadata(place.join("audit")).unwrap().len() > 0, "{below:?}");
        fs::remove_file(place.join("audit")).unwrap();
    }
    fs::remove_dir_all(&place).unwrap();
}

#[test]
fn a_guard_names_the_program_and_the_rule() {
    let place = place("guarded");
    let (_, _, errors) = run(&place, &["guard", "--allow", "*", "--deny", "write /tmp/**", "sh", "-c", "/bin/mkdir /tmp/x; true"]);
    assert!(errors.contains("mkdir ended with status 1") && errors.contains("the rule `deny write /tmp/**` forbids it") && !errors.contains("--allow"), "{errors}");
    let (status, _, errors) = run(&place, &["guard", "--allow", "*", "--deny", "read etc", "true"]);
    assert!(status == 125 && errors.contains("not an absolute path"), "{errors}");
}

#[test]
fn a_disk_without_a_volume_is_told_with_a_remedy() {
    let place = place("empty-disk");
    fs::File::create(place.join("disk")).unwrap().set_len(8 << 20).unwrap();
    let (status, _, errors) = run(&place, &["--disk", "disk", "true"]);
    assert!(status != 0 && errors.contains("disk cannot be used: ") && errors.contains("mkfs.ext4"), "{errors}");
}
