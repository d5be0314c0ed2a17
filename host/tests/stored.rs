//! Tries images in a store: frozen by a command, thawed, warmed, and refused.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn nacre(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacre"));
    command.args(words).stdin(Stdio::null());
    command
}

fn output(words: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = nacre(words).output().unwrap();
    (status.code().unwrap_or(-1), String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned())
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("nacre-stored-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a shell below `checkpoint` in a machine with a store, and freezes it there when it has said
/// `up`: what the freeze printed. The shell then waits for input, which is open until it is frozen,
/// and at its end when it goes on.
fn freeze(name: &str, store: &str, script: &str) -> (i32, String, String) {
    let words = ["run", "--timeout", "900", "--name", name, "--store", store, "checkpoint", "-m", "32M", "process", "sh", "-c", script];
    let mut child = nacre(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    let frozen = output(&["freeze", name, "--store", "--end"]);
    if frozen.0 != 0 {
        let _ = child.kill();
    }
    child.wait().unwrap();
    frozen
}

/// Takes a name that no other test run has.
fn named(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

#[test]
fn an_environment_is_frozen_into_a_store_and_goes_on_from_there() {
    let (folder, name) = (Folder::new("goes-on"), named("stored"));
    let store = folder.file("store");
    let script = "x=$(head -c 20000 /dev/urandom | od -An -x); h=$(echo \"$x\" | md5sum); echo up; read line; [ \"$(echo \"$x\" | md5sum)\" = \"$h\" ] && echo same | cat; exit 7";
    let (status, said, errors) = freeze(&name, &format!("{store}:128M"), script);
    assert_eq!((status, said.as_str()), (0, &*format!("{name}: frozen into its store\n")), "{errors}");
    let (status, said, _) = output(&["image-info", &store]);
    assert!(status == 0 && said.contains("command    process sh -c"), "{said}");
    // Twice: nothing writes to the image.
    for _ in 0..2 {
        let (status, said, errors) = output(&["thaw", &store]);
        assert_eq!((status, said.as_str()), (7, "same\n"), "{errors}");
    }
}

#[test]
fn commands_start_from_a_store_with_a_warmed_program() {
    let (folder, name) = (Folder::new("warm"), named("warmed"));
    let store = folder.file("store");
    let frozen = freeze(&name, &format!("{store}:128M"), "y=kept; echo up; read line; eval \"$line\"");
    assert_eq!(frozen.0, 0, "{}", frozen.2);
    let (status, said, errors) = output(&["run", "--warm", &store, "echo one $y; y=lost", "echo two $y; exit 3"]);
    assert_eq!((status, said.as_str()), (3, "one kept\ntwo kept\n"), "{errors}");
}

#[test]
fn a_thawed_environment_is_frozen_again_when_its_copies_have_ended() {
    let (folder, name) = (Folder::new("copies"), named("copied"));
    let store = folder.file("store");
    let script = "x=$(head -c 20000 /dev/urandom | od -An -x); h=$(echo \"$x\" | md5sum); echo up; read line; sleep 1000; [ \"$(echo \"$x\" | md5sum)\" = \"$h\" ] && echo same | cat";
    let frozen = freeze(&name, &format!("{store}:128M"), script);
    assert_eq!(frozen.0, 0, "{}", frozen.2);
    let mut child = nacre(&["thaw", "--name", &name, &store]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while output(&["fork", &name]).0 != 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let freezes = || output(&["freeze", &name, "--store"]).0 == 0;
    // The copy shows the image of which it was made, and so does the original.
    let before = [freezes(), freezes()];
    let ended = output(&["kill", &format!("{name}.1"), "--now"]).0;
    let after = [freezes(), freezes(), freezes()];
    assert_eq!(output(&["kill", &name, "--now"]).0, 0);
    child.wait().unwrap();
    assert_eq!((before, ended, after), ([true, false], 0, [true; 3]));
}

#[test]
fn what_cannot_be_is_said_in_a_sentence() {
    let (folder, name) = (Folder::new("refused"), named("refused"));
    let store = folder.file("store");
    let (status, _, errors) = freeze(&name, &format!("{store}:8M"), "echo up; read line");
    assert!(status != 0 && errors.contains("could not be frozen"), "{errors}");
    let mut other = std::fs::File::create(&store).unwrap();
    other.write_all(b"notes of somebody").unwrap();
    other.set_len(128 << 20).unwrap();
    let (_, _, errors) = output(&["run", "--store", &store, "checkpoint", "-m", "32M", "--after", "1", "-o", "/dev/store", "process", "sleep", "2"]);
    assert!(errors.contains("/dev/store: there is something else in the store: take a new file"), "{errors}");
    assert!(std::fs::read(&store).unwrap().starts_with(b"notes of somebody\0"));
    let mut image = std::fs::File::create(folder.file("image")).unwrap();
    image.write_all(b"nacrestr").unwrap();
    let (status, _, errors) = output(&["run", "--store", &store, "--warm", &folder.file("image"), "echo"]);
    assert!(status != 0 && errors.contains("a machine has one store, and the image lies in one"), "{errors}");
    let (status, _, errors) = output(&["run", "--store", &folder.file("new:8M"), "checkpoint", "--thaw", "/dev/store"]);
    assert!(status != 0 && errors.contains("cannot thaw /dev/store: it is no image of an environment"), "{errors}");
}
