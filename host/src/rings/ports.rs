//! Ports to the guest: what one side writes the other reads, in order and whole, also where one is
//! slower or goes away.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use super::system::{describe, image, limits};
use super::tally::TestCounts;
use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::Outcome;
use crate::run::machine;
use crate::scratch::{Folder, Scratch};
use crate::session::Limits;
use crate::session::capture::capture_ports;
use crate::session::ports::{RECORDS, User};
use crate::session::terminal::Facts;

/// Bytes of a mebibyte.
const MEBIBYTE: usize = 1 << 20;
/// Bytes that are written or read at a time.
const PIECE: usize = 64 << 10;

/// A test: its name, processors, words of the guest's command, and the users of its ports.
struct Case {
    name: &'static str,
    cpus: u32,
    words: Vec<&'static str>,
    ports: Vec<(&'static str, Part)>,
    /// Standard output of the program.
    output: &'static str,
}

/// Parts that this side of a port plays.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Writes so many bytes and reads them again, with a pause after each piece that is read.
    Echo(usize, Duration),
    /// Writes so many bytes, and says that this is all.
    Feed(usize),
    /// Reads so many bytes, and closes the port.
    Leave(usize),
}

/// Bytes that look like chance, and are the same each time.
struct Pattern(u64);

impl Pattern {
    fn fill(&mut self, piece: &mut [u8]) {
        for word in piece.chunks_mut(8) {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            word.copy_from_slice(&(self.0 ^ self.0 >> 32).to_le_bytes()[..word.len()]);
        }
    }
}

fn write_pattern(stream: &mut UnixStream, size: usize) -> Result<(), String> {
    let (mut pattern, mut piece) = (Pattern(1), vec![0; PIECE]);
    for _ in 0..size / PIECE {
        pattern.fill(&mut piece);
        stream.write_all(&piece).map_err(|error| format!("cannot write: {error}"))?;
    }
    Ok(())
}

fn read_pattern(stream: &mut UnixStream, size: usize, pause: Duration) -> Result<(), String> {
    let (mut pattern, mut piece, mut expected) = (Pattern(1), vec![0; PIECE], vec![0; PIECE]);
    for number in 0..size / PIECE {
        stream.read_exact(&mut piece).map_err(|error| format!("cannot read piece {number}: {error}"))?;
        pattern.fill(&mut expected);
        if piece != expected {
            return Err(format!("piece {number} differs"));
        }
        thread::sleep(pause);
    }
    Ok(())
}

impl Part {
    fn play(self, mut stream: UnixStream) -> Result<(), String> {
        match self {
            Part::Echo(size, pause) => {
                let mut writer = stream.try_clone().map_err(|error| error.to_string())?;
                let writing = thread::spawn(move || write_pattern(&mut writer, size));
                read_pattern(&mut stream, size, pause)?;
                writing.join().map_err(|_| "the writer has panicked".to_string())??;
                end(&stream)
            }
            Part::Feed(size) => {
                // A guest that does not read all of it, or has ended, is no fault.
                if write_pattern(&mut stream, size).and_then(|()| end(&stream)).is_ok() {
                    // QEMU closes its side when the guest was told.
                    let _ = stream.read(&mut [0]);
                }
                Ok(())
            }
            Part::Leave(size) => read_pattern(&mut stream, size, NO_PAUSE),
        }
    }
}

fn end(stream: &UnixStream) -> Result<(), String> {
    stream.shutdown(Shutdown::Write).map_err(|error| format!("cannot end the input: {error}"))
}

fn user(part: Part, results: Sender<Result<(), String>>) -> User {
    Box::new(move |stream| {
        let other = stream.try_clone();
        let result = part.play(stream);
        // After a fault nobody waits for the rest.
        let _ = result.is_err().then(|| other.map(|other| other.shutdown(Shutdown::Both)));
        drop(results.send(result));
    })
}

/// Pause of a host that is as fast as it can be.
const NO_PAUSE: Duration = Duration::ZERO;

fn case(name: &'static str, cpus: u32, words: &[&'static str], ports: &[(&'static str, Part)], output: &'static str) -> Case {
    Case { name, cpus, words: words.to_vec(), ports: ports.to_vec(), output }
}

/// Cases in which all bytes come back.
fn echoes() -> Vec<Case> {
    let echo = |name, cpus, monitors: &[&'static str], size, pause| {
        let words = [monitors, &["sh", "-c", "cat </dev/host/a >/dev/host/a"]].concat();
        case(name, cpus, &words, &[("a", Part::Echo(size, pause))], "")
    };
    let many = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| (name, Part::Echo(MEBIBYTE, NO_PAUSE)));
    let all = "for name in a b c d e f g h; do cat </dev/host/$name >/dev/host/$name & done; wait";
    vec![
        echo("64 MiB come back through a port", 1, &["process"], 64 * MEBIBYTE, NO_PAUSE),
        echo("16 MiB come back through a port on two processors", 2, &["process"], 16 * MEBIBYTE, NO_PAUSE),
        echo("8 MiB come back through a port on four processors", 4, &["process"], 8 * MEBIBYTE, NO_PAUSE),
        echo("2 MiB come back through a port to a host that is slow", 2, &["process"], 2 * MEBIBYTE, Duration::from_millis(10)),
        echo("4 MiB come back through a port below a tracer", 1, &["process", "trace", "-q"], 4 * MEBIBYTE, NO_PAUSE),
        case("a mebibyte comes back through each of eight ports", 2, &["process", "sh", "-c", all], &many, ""),
    ]
}

/// Cases in which one side ends first.
fn ends() -> Vec<Case> {
    let counts = "wc -c </dev/host/a; wc -c </dev/host/a; ls /dev/host; mknod /tmp/a c 247 0 || echo no";
    let breaks = "cat </dev/host/a >/dev/host/b 2>/dev/null; echo $?; echo x 2>/dev/null >/dev/host/b || echo gone";
    let parts = "head -c 100000 </dev/host/a | wc -c; sleep 1; cat /dev/host/a >/dev/null; echo rest";
    let guarded = "cat </dev/host/a | wc -c; cat </dev/host/b 2>/dev/null || echo refused";
    vec![
        case("the end of the host's bytes at a port is the end of the input", 2, &["process", "sh", "-c", counts], &[("a", Part::Feed(4 * MEBIBYTE))], "4194304\n0\na\nno\n"),
        case("a program alone reads a port", 1, &["wc", "-c", "/dev/host/a"], &[("a", Part::Feed(MEBIBYTE))], "1048576 /dev/host/a\n"),
        case("a port that the host closes takes nothing any more", 2, &["process", "sh", "-c", breaks], &[("a", Part::Feed(8 * MEBIBYTE)), ("b", Part::Leave(MEBIBYTE))], "1\ngone\n"),
        case("a port goes on when it is opened again", 1, &["process", "sh", "-c", parts], &[("a", Part::Feed(MEBIBYTE))], "100000\nrest\n"),
        case("a guard judges ports by their paths", 1, &["process", "guard", "--allow", "*", "--deny", "file.read /dev/host/b", "sh", "-c", guarded], &[("a", Part::Feed(MEBIBYTE)), ("b", Part::Feed(MEBIBYTE))], "1048576\nrefused\n"),
    ]
}

/// Runs each case in a machine of its own.
pub fn run(products: &Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    for case in echoes().into_iter().chain(ends()).filter(|case| case.name.contains(filter)) {
        tally.note(case.name, fault(products, &case)?.as_deref());
    }
    for (name, is_fast) in [("files are brought out over a port", true), ("files are brought out over a serial line", false)] {
        if name.contains(filter) {
            tally.note(name, outputs(products, is_fast)?.as_deref());
        }
    }
    Ok(tally)
}

/// Size of a file that is brought out over a port, and over a serial line.
const SIZES: [usize; 2] = [24 * MEBIBYTE + 5, 100_000];

/// Returns the fault, if there was one: three files are brought out under other names, one of them
/// empty, and one that is not there is named in a line.
fn outputs(products: &Products, is_fast: bool) -> Outcome<Option<String>> {
    let size = SIZES[usize::from(!is_fast)];
    let script = format!("cd /tmp; yes nacre | head -c {size} >large; : >empty; echo two >small; mkdir folder");
    let folder = Folder::new("outputs")?;
    let paths = ["/tmp/large", "/tmp/empty", "/tmp/small", "/tmp/absent", "/tmp/folder"].map(PathBuf::from);
    let places: BTreeMap<_, _> = paths.iter().enumerate().map(|(number, path)| (path.clone(), folder.path().join(number.to_string()))).collect();
    let command = ["process", "sh", "-c", &script].map(Into::into).to_vec();
    let guest = GuestArguments { bare: true, command, outputs: paths.to_vec(), ..GuestArguments::default() };
    let image = Scratch::write("boot-image", &Guest::compose(products, &guest, &Facts::PIPE)?.image)?;
    let ports = if is_fast { vec![RECORDS.to_string()] } else { Vec::new() };
    let arguments = MachineArguments { cpus: 2, ports, ..MachineArguments::default() };
    let captured = capture_ports(&machine(products, &image, arguments), Limits { outputs: places, ..limits() }, Vec::new())?;
    let read = |number: usize| std::fs::read(folder.path().join(number.to_string())).ok();
    let large: Vec<u8> = b"nacre\n".iter().copied().cycle().take(size).collect();
    let is_right = read(0) == Some(large) && read(1) == Some(Vec::new()) && read(2).as_deref() == Some(b"two\n");
    let messages = String::from_utf8_lossy(&captured.messages);
    let said = ["/tmp/absent", "/tmp/folder"].iter().all(|path| messages.contains(&format!("root: cannot bring out {path}: ")));
    let passed = is_right && said && read(3).or(read(4)).is_none() && matches!(captured.status, Ok(0));
    Ok((!passed).then(|| describe(&captured)))
}

/// Returns the fault, if there was one.
fn fault(products: &Products, case: &Case) -> Outcome<Option<String>> {
    let image = image(products, &case.words)?;
    let names = case.ports.iter().map(|(name, _)| name.to_string()).collect();
    let arguments = MachineArguments { cpus: case.cpus, ports: names, ..MachineArguments::default() };
    let (sender, results) = channel();
    let users = case.ports.iter().map(|(name, part)| (name.to_string(), user(*part, sender.clone()))).collect();
    drop(sender);
    let captured = capture_ports(&machine(products, &image, arguments), limits(), users)?;
    // Each user ends when its machine has.
    let told: Vec<_> = results.iter().collect();
    let wrong = told.iter().find_map(|result| result.as_ref().err());
    let is_right = matches!(captured.status, Ok(0)) && String::from_utf8_lossy(&captured.output) == case.output;
    let told_all = told.len() == case.ports.len();
    let fault = wrong.cloned().or((!told_all).then(|| "a port had no user".to_string())).unwrap_or_default();
    Ok((!is_right || !fault.is_empty()).then(|| format!("{fault}\n{}", describe(&captured))))
}
