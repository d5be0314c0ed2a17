//! Tries an environment at a terminal: the key that freezes it, the images that stay, and what the
//! terminal is to it when it goes on elsewhere.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `nacre` at a terminal of its own.
struct Session {
    child: Child,
    terminal: File,
    shown: String,
}

impl Session {
    fn start(folder: &Path, words: &[&str]) -> Session {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&main).unwrap();
        unlockpt(&main).unwrap();
        let name = ptsname(&main, Vec::new()).unwrap();
        let end = || OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_nacre")).args(words).current_dir(folder).stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        Session { child, terminal: File::from(main), shown: String::new() }
    }

    fn keys(&mut self, keys: &[u8]) {
        self.terminal.write_all(keys).unwrap();
    }

    /// Reads until this has appeared behind what was waited for before.
    fn wait_for(&mut self, text: &str) {
        let mut part = [0; 4096];
        while !self.shown.contains(text) {
            // The terminal's other end is closed.
            let count = self.terminal.read(&mut part).unwrap_or(0);
            assert!(count > 0, "{text:?} did not come: {:?}", self.shown);
            self.shown += &String::from_utf8_lossy(&part[..count]);
        }
        let end = self.shown.find(text).unwrap() + text.len();
        self.shown.drain(..end);
    }

    fn status(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const SCRIPT: &str = "trap 'echo hung up' HUP; trap 'echo interrupted; exit 5' INT; stty -echo; echo up; read x; echo got $x; stty -a | grep -q -e '-echo ' && echo quiet; read y";

#[test]
fn a_key_freezes_what_runs_at_a_terminal_and_it_goes_on_at_another() {
    let folder = Folder(std::env::temp_dir().join(format!("nacre-keyed-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let mut session = Session::start(&folder.0, &["run", "--timeout", "900", "checkpoint", "--key", "--keep", "2", "-o", "image", "--stats", "process", "sh", "-c", SCRIPT]);
    session.wait_for("up");
    for _ in 0..2 {
        session.keys(b"\x1c");
        session.wait_for("checkpoint: frozen: ");
    }
    session.keys(b"one\r");
    session.wait_for("got one");
    session.wait_for("quiet");
    session.keys(b"\x03");
    session.wait_for("interrupted");
    assert_eq!(session.status(), Some(5));
    for image in ["image", "image.1"] {
        let mut session = Session::start(&folder.0, &["thaw", image]);
        session.keys(b"two\r");
        session.wait_for("got two");
        session.wait_for("quiet");
        session.keys(b"\x03");
        session.wait_for("interrupted");
        assert_eq!((session.shown.contains("hung up"), session.status()), (false, Some(5)), "{image}");
    }
}
