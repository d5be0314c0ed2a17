//! Tries `exec`: processes that a person starts in machines that run.

use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Once;
use std::thread;

/// The first run may build the system: the others wait for it instead of building beside it.
static BUILT: Once = Once::new();

fn nacre() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nacre"))
}

/// A machine that runs, with a name. It ends with the test.
struct Machine {
    name: String,
    running: Child,
}

impl Machine {
    /// Starts a shell below these monitors, and waits until it runs.
    fn start(name: &str, monitors: &[&str], script: &str) -> Machine {
        BUILT.call_once(|| drop(nacre().args(["run", "true"]).stdin(Stdio::null()).output()));
        let name = format!("{name}-{}", std::process::id());
        let script = format!("echo up; {script}");
        let mut command = nacre();
        command.args(["run", "--timeout", "600", "--name", &name]).args(monitors).args(["sh", "-c", &script]);
        let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 3];
        running.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        assert_eq!(&first, b"up\n");
        Machine { name, running }
    }

    fn command(&self, words: &[&str]) -> Child {
        let mut command = nacre();
        command.args(["exec", &self.name]).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs a process with this input.
    fn exec(&self, words: &[&str], input: &[u8]) -> Output {
        let mut running = self.command(words);
        let (mut to, input) = (running.stdin.take().unwrap(), input.to_vec());
        // Whoever reads no more has ended.
        let writer = thread::spawn(move || drop(to.write_all(&input)));
        let output = running.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    /// The process ends with this status and these outputs.
    fn prints(&self, words: &[&str], (status, output, errors): (i32, &str, &str)) {
        let found = self.exec(words, b"");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!((found.status.code(), &*text(&found.stdout), &*text(&found.stderr)), (Some(status), output, errors), "{words:?}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

#[test]
fn a_process_has_the_streams_and_the_status_of_the_command() {
    let machine = Machine::start("exec", &["process"], "read line");
    machine.prints(&["sh", "-c", "echo one | cat; echo two >&2; exit 7"], (7, "one\n", "two\n"));
    machine.prints(&["sh", "-c", "kill -9 $$"], (137, "", ""));
    machine.prints(&["sh", "-c", "echo $PPID; wait; ls /proc/1/stat"], (0, "0\n/proc/1/stat\n", ""));
    let input: Vec<u8> = (0..200_000u32).flat_map(|number| (number * number).to_le_bytes()).take(150_000).collect();
    let output = machine.exec(&["cat"], &input);
    assert!(output.status.success() && output.stdout == input, "{} bytes came back", output.stdout.len());
    let output = machine.exec(&["head", "-c", "1048576", "/dev/zero"], b"never read");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 1 << 20));
    let missing = machine.exec(&["nonesuch"], b"");
    assert!(missing.status.code() == Some(127) && String::from_utf8_lossy(&missing.stderr).contains("cannot run nonesuch"));
    assert_eq!(machine.exec(&["/etc"], b"").status.code(), Some(126));
    let listed = nacre().args(["ps", &machine.name]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&listed.stdout).lines().count(), 4, "what has ended is not there any more");
}

#[test]
fn several_run_at_a_time_and_end_with_their_commands() {
    let machine = Machine::start("execs", &["process"], "read line");
    let mut waiting = machine.command(&["sh", "-c", "echo begun; read line; echo got $line; cat"]);
    let mut begun = [0; 6];
    waiting.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    machine.prints(&["echo", "beside"], (0, "beside\n", ""));
    waiting.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert_eq!((&begun[..], output.status.code(), &*output.stdout), (&b"begun\n"[..], Some(0), &b"got one\ntwo\n"[..]));
    let mut left = machine.command(&["sh", "-c", "echo begun; exec sleep 1000"]);
    left.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    left.kill().unwrap();
    left.wait().unwrap();
    // The end is on its way before anything that is said after it.
    while machine.exec(&["sh", "-c", "ps | grep -q '[s]leep 1000'"], b"").status.success() {}
    let interrupted = machine.command(&["sh", "-c", "trap 'echo caught; exit 3' INT; echo begun; while :; do sleep 0.01; done"]);
    let (id, mut out) = (interrupted.id(), interrupted);
    out.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    assert!(Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap().success());
    let output = out.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(3), &b"caught\n"[..]));
}

#[test]
fn a_process_is_started_below_other_monitors() {
    for monitors in [
        &["checkpoint", "-m", "64M", "process"][..],
        &["trace", "-q", "process"],
        &["guard", "--allow", "*", "process"],
        &["process", "process"],
    ] {
        let machine = Machine::start(&format!("exec-{}", monitors[0]), monitors, "read line");
        machine.prints(&["sh", "-c", "echo one | cat; exit 5"], (5, "one\n", ""));
        let output = machine.exec(&["sort"], b"b\na\n");
        assert_eq!(output.stdout, b"a\nb\n", "{monitors:?}");
    }
}

#[test]
fn the_last_output_is_shown_and_followed() {
    let machine = Machine::start("logs", &["process"], "read line; echo got $line");
    let mut following = nacre().args(["logs", "--follow", &machine.name]).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 3];
    following.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"up\n");
    let shown = nacre().args(["logs", &machine.name]).output().unwrap();
    assert_eq!((shown.status.code(), &*shown.stdout), (Some(0), &b"up\n"[..]));
    machine.running.stdin.as_ref().unwrap().write_all(b"one\n").unwrap();
    let mut rest = String::new();
    following.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
    assert_eq!((&*rest, following.wait().unwrap().code()), ("got one\n", Some(0)));
}

#[test]
fn what_cannot_be_is_said_in_a_sentence() {
    let output = nacre().args(["exec", "nobody", "ls"]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(120) && errors.contains("no machine with the name nobody"), "{errors}");
    let machine = Machine::start("exec-bare", &["--bare"], "read line");
    let output = machine.exec(&["ls"], b"");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(120) && errors.contains("nothing in the machine"), "{errors}");
}

#[test]
fn a_process_has_a_terminal_if_it_is_asked_for() {
    let machine = Machine::start("exec-tty", &["process"], "read line");
    let command = format!("{} exec --tty {} sh -c 'tty; stty size; read line; echo got $line'", env!("CARGO_BIN_EXE_nacre"), machine.name);
    let mut running = Command::new("script").args(["-qec", &command, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    running.stdin.take().unwrap().write_all(b"word\n").unwrap();
    let output = running.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("/dev/pts/0") && text.contains("24 80") && text.contains("got word"), "{text}");
}
