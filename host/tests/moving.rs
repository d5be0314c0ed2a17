//! Tries `move` and `receive`: environments that go on in another machine, or where they were.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::Once;

/// The first run may build the system: the others wait for it instead of building beside it.
static BUILT: Once = Once::new();

fn nacre() -> Command {
    BUILT.call_once(|| drop(Command::new(env!("CARGO_BIN_EXE_nacre")).args(["run", "true"]).stdin(Stdio::null()).output()));
    Command::new(env!("CARGO_BIN_EXE_nacre"))
}

/// Monitors that most programs run below.
const BELOW: &[&str] = &["checkpoint", "-m", "48M", "process"];
/// Counts from 1 on.
const COUNT: &str = "echo up; i=0; while [ ! -e /tmp/go ]; do i=$((i + 1)); [ $((i % 100)) -ne 0 ] || echo $((i / 100)); done; echo end; exit 7";

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("nacre-moving-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn socket(&self) -> String {
        self.0.join("socket").to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A command that runs beside the test, and ends with it.
struct Running(Child);

impl Running {
    /// Starts a shell below `checkpoint`, and waits until it has said `up`.
    fn start(name: &str, script: &str) -> Running {
        Running::start_words(name, &[BELOW, &["sh", "-c", &format!("echo up; {script}")]].concat())
    }

    /// Starts a program by these words, and waits until it has said `up`.
    fn start_words(name: &str, words: &[&str]) -> Running {
        let mut command = nacre();
        command.args(["run", "--timeout", "900", "--name", name]).args(words);
        let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        assert_eq!(line(running.stdout.as_mut().unwrap()), "up");
        Running(running)
    }

    /// Starts a receiver, and waits until it listens: where, and what it says from then on.
    fn receive(folder: &Folder, address: &str, name: &str) -> (Running, String, BufReader<ChildStderr>) {
        let mut command = nacre();
        command.args(["receive", "--timeout", "900", "--name", name, address]).current_dir(&folder.0);
        let mut running = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(running.stderr.take().unwrap());
        loop {
            let mut text = String::new();
            assert!(said.read_line(&mut text).unwrap() > 0, "it does not listen");
            if let Some(at) = text.trim().strip_prefix("nacre: waits for an environment at ") {
                return (Running(running), at.to_string(), said);
            }
        }
    }

    /// Ends its input, and reads the rest of its output.
    fn rest(mut self) -> (Option<i32>, String) {
        drop(self.0.stdin.take());
        let mut rest = String::new();
        self.0.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
        (self.0.wait().unwrap().code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads a line, and no byte behind it.
fn line(from: &mut impl Read) -> String {
    let bytes = from.bytes().map(Result::unwrap).take_while(|byte| *byte != b'\n').collect();
    String::from_utf8(bytes).unwrap()
}

fn named(name: &str) -> String {
    format!("moved-{name}-{}", std::process::id())
}

fn move_to(name: &str, address: &str) -> Output {
    nacre().args(["move", name, "--to", address]).output().unwrap()
}

/// Bytes of each round, as a move with `--json` tells them.
fn rounds(told: &str) -> Vec<u64> {
    let list = told.split("\"rounds\":[").nth(1).and_then(|rest| rest.split(']').next());
    list.unwrap_or_else(|| panic!("{told}")).split(',').map(|size| size.parse().unwrap()).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Moves an environment, which says `up`, the numbers from 1 on until there is a file `/tmp/go`,
/// and then `end`. The bytes of each round.
fn numbers_go_on(name: &str, words: &[&str], address: Option<&str>) -> Vec<u64> {
    let (folder, name) = (Folder::new(name), named(name));
    let source = Running::start_words(&name, words);
    let socket = folder.socket();
    let (target, at, mut said) = Running::receive(&folder, address.unwrap_or(&socket), &format!("{name}-there"));
    let moved = nacre().args(["move", "--json", &name, "--to", &at]).output().unwrap();
    assert!(moved.status.success(), "{}", text(&moved.stderr));
    let told = text(&moved.stdout);
    let sizes = rounds(&told);
    let total: u64 = sizes.iter().sum();
    assert!(told.starts_with(&format!("{{\"name\":\"{name}\",\"to\":\"{at}\",\"bytes\":{total},")) && told.contains(",\"paused_ms\":"), "{told}");
    let (status, before) = source.rest();
    assert_eq!(status, Some(0), "{before}");
    let output = nacre().args(["exec", &format!("{name}-there"), "touch", "/tmp/go"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (status, after) = target.rest();
    // Each line was written once, by one of the two.
    let (mut complaints, all) = (String::new(), before + &after);
    said.read_to_string(&mut complaints).unwrap();
    let numbers = all.strip_suffix("end\n").unwrap_or_else(|| panic!("it did not come to its end: {all}{complaints}"));
    let expected: String = (1..=numbers.lines().count()).map(|number| format!("{number}\n")).collect();
    assert_eq!((status, numbers), (Some(7), &*expected));
    assert!(!std::path::Path::new(&socket).exists());
    sizes
}

#[test]
fn a_busy_loop_goes_on() {
    let sizes = numbers_go_on("loop", &[BELOW, &["sh", "-c", COUNT]].concat(), None);
    let [first, .., last] = sizes[..] else { panic!("it came in one round: {sizes:?}") };
    assert!(last < first / 4, "most of it came before it stood still: {sizes:?}");
}

#[test]
fn one_below_two_checkpointers_goes_on() {
    numbers_go_on("deep", &["checkpoint", "-m", "96M", "checkpoint", "-m", "24M", "process", "sh", "-c", COUNT], None);
}

#[test]
fn a_server_keeps_its_open_connection() {
    let script = "
import os, socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind('/tmp/server')
server.listen(1)
if os.fork() == 0:
    peer, _ = server.accept()
    seen = 0
    while data := peer.recv(100):
        seen += 1
        peer.sendall(b'%s %d' % (data, seen))
    os._exit(0)
client = socket.socket(socket.AF_UNIX)
client.connect('/tmp/server')
print('up', flush=True)
number = 0
while not os.path.exists('/tmp/go'):
    number += 1
    client.sendall(b'%d' % number)
    assert client.recv(100) == b'%d %d' % (number, number)
    print(number, flush=True)
    time.sleep(0.05)
print('end', flush=True)
os._exit(7)
";
    numbers_go_on("server", &[BELOW, &["python3", "-c", script]].concat(), None);
}

/// Each turn writes all of the memory, and checks what the turn before wrote: a page that is of
/// another moment than the rest is found.
#[test]
fn one_that_writes_all_its_memory_again_and_again_goes_on() {
    let script = "
import os
memory, number = bytearray(6 << 20), 0
print('up', flush=True)
while not os.path.exists('/tmp/go'):
    assert memory.count(number % 251) == len(memory)
    number += 1
    memory[:] = bytes([number % 251]) * len(memory)
    print(number, flush=True)
print('end', flush=True)
os._exit(7)
";
    // It needs 44 MiB where it begins.
    let sizes = numbers_go_on("writer", &["checkpoint", "-m", "72M", "process", "python3", "-c", script], None);
    assert!((2..=6).contains(&sizes.len()), "there is an end of rounds: {sizes:?}");
}

#[test]
fn all_is_sent_while_it_stands_still_if_that_is_asked_for() {
    let (folder, name) = (Folder::new("still"), named("still"));
    let source = Running::start(&name, "read line; echo $line; exit 7");
    let (target, at, _said) = Running::receive(&folder, &folder.socket(), &format!("{name}-there"));
    let moved = nacre().args(["move", &name, "--to", &at, "--rounds", "0"]).output().unwrap();
    let told = text(&moved.stdout);
    assert!(told.starts_with(&format!("{name}: moved to {at}, ")) && told.contains(" KiB in 1 rounds, paused for ") && told.ends_with(" ms\n"), "{told}");
    assert_eq!((source.rest(), target.rest()), ((Some(0), String::new()), (Some(7), "\n".to_string())));
}

#[test]
fn a_pipeline_goes_on_over_tcp() {
    let script = "echo up; i=0; while [ ! -e /tmp/go ]; do i=$((i + 1)); echo $i; sleep 0.1; done | cat | (cat; echo end); exit 7";
    numbers_go_on("pipe", &[BELOW, &["sh", "-c", script]].concat(), Some(":0"));
}

#[test]
fn what_is_no_environment_is_refused_and_the_next_one_taken() {
    let (folder, name) = (Folder::new("refused"), named("refused"));
    let (target, at, mut said) = Running::receive(&folder, &folder.socket(), &format!("{name}-there"));
    for (bytes, answer, reason) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "refused the other side says what makes no sense in a move\n", "makes no sense"),
        (b"nacre-move 2\npart 5\nabc", "nacre-move 2\nrefused the connection has broken\n", "has broken"),
        (b"nacre-move 2\npart 5\nhelloend\n", "nacre-move 2\nrefused ", "refused: "),
    ] {
        let mut stream = UnixStream::connect(&at).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).unwrap();
        assert!(heard.starts_with(answer), "{heard}");
        let mut told = String::new();
        said.read_line(&mut told).unwrap();
        assert!(told.starts_with("nacre: what has come was refused: ") && told.contains(reason), "{told}");
    }
    let source = Running::start(&name, "read line; echo $line; exit 7");
    let moved = move_to(&name, &at);
    assert!(moved.status.success(), "{}", text(&moved.stderr));
    assert_eq!((source.rest(), target.rest()), ((Some(0), String::new()), (Some(7), "\n".to_string())));
}

#[test]
fn it_goes_on_where_it_was_if_the_receiver_does_not_take_it() {
    let (folder, name) = (Folder::new("stays"), named("stays"));
    let mut source = Running::start(&name, "while read line; do echo got $line; done; echo end; exit 7");
    let nobody = move_to(&name, &folder.socket());
    assert!(nobody.status.code() == Some(119) && text(&nobody.stderr).contains("cannot connect"), "{}", text(&nobody.stderr));
    let stranger = std::os::unix::net::UnixListener::bind(folder.0.join("stranger")).unwrap();
    // It takes half of the image at most, and goes: first with a sentence, then without one.
    for last in [&b"refused no room\n"[..], b""] {
        let mut moving = nacre();
        moving.args(["move", &name, "--to"]).arg(folder.0.join("stranger")).stdout(Stdio::null()).stderr(Stdio::piped());
        let moving = moving.spawn().unwrap();
        let (mut stream, _) = stranger.accept().unwrap();
        stream.write_all(b"nacre-move 2\n").unwrap();
        stream.read_exact(&mut [0; 20_000]).unwrap();
        stream.write_all(last).unwrap();
        drop(stream);
        let output = moving.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(123) && said.contains(&format!("{name} was not moved, and goes on here: ")), "{said}");
        let (to, from) = (source.0.stdin.as_mut().unwrap(), source.0.stdout.as_mut().unwrap());
        to.write_all(b"one\n").unwrap();
        assert_eq!(line(from), "got one");
    }
    assert_eq!(source.rest(), (Some(7), "end\n".to_string()));
}

#[test]
fn the_image_is_kept_if_the_sender_does_not_say_that_it_has_ended() {
    let (folder, name) = (Folder::new("kept"), named("kept"));
    let source = Running::start(&name, "read line; echo got $line; exit 7");
    let image = folder.0.join("image");
    let frozen = nacre().args(["freeze", "-q", "--end", &name, "-o"]).arg(&image).output().unwrap();
    assert!(frozen.status.success(), "{}", text(&frozen.stderr));
    assert_eq!(source.rest(), (Some(0), String::new()));
    let (mut target, at, mut said) = Running::receive(&folder, ":0", &format!("{name}-there"));
    let mut stream = TcpStream::connect(&at).unwrap();
    stream.write_all(b"nacre-move 2\n").unwrap();
    for part in std::fs::read(&image).unwrap().chunks(10_000) {
        stream.write_all(format!("part {}\n", part.len()).as_bytes()).unwrap();
        stream.write_all(part).unwrap();
    }
    stream.write_all(b"end\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap).filter(|line| line != "wait");
    assert_eq!((lines.next().as_deref(), lines.next().as_deref()), (Some("nacre-move 2"), Some("ready")));
    drop(lines);
    let mut told = String::new();
    said.read_to_string(&mut told).unwrap();
    assert!(target.0.wait().unwrap().code() == Some(123) && told.contains("the sender did not say that its environment has ended"), "{told}");
    let kept = told.split("`nacre thaw ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
    let mut thawed = nacre();
    thawed.args(["thaw", kept]).current_dir(&folder.0).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut thawed = Running(thawed.spawn().unwrap());
    thawed.0.stdin.as_mut().unwrap().write_all(b"it\n").unwrap();
    assert_eq!(thawed.rest(), (Some(7), "got it\n".to_string()));
}
