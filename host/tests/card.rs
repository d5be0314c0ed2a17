//! Ends the driver of the network card again and again: connections and ports stay, and what went
//! lost in between is sent again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

/// Times that the driver ends.
const ENDS: u32 = 5;
/// Bytes that are sent between two of them, at least.
const BETWEEN: usize = 600_000;
/// Bytes that are on their way at most.
const AHEAD: usize = 100_000;
/// Time for a connection, or for an answer.
const LIMIT: Duration = Duration::from_secs(60);

/// The first run may build the system: the other test waits for it.
static BUILT: Once = Once::new();

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacre"));
    command.args(words).stdin(Stdio::null());
    command
}

/// A machine that sends back whatever comes to its port 7, until somebody makes `/tmp/end`.
struct Machine {
    name: String,
    port: u16,
    running: Child,
}

impl Machine {
    fn start(name: &str) -> Machine {
        BUILT.call_once(|| assert!(command(&["run", "true"]).status().unwrap().success()));
        let name = format!("{name}-{}", std::process::id());
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let published = format!("{port}:7");
        let script = "echo up; nc -ll -p 7 -e cat & until [ -e /tmp/end ]; do sleep 0.2; done; kill $!";
        let options = ["run", "--timeout", "600", "--name", &name, "-p", &published, "process", "sh", "-c", script];
        let mut running = command(&options).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(running.stdout.as_mut().unwrap()).lines();
        assert_eq!(lines.next().expect("the machine runs").unwrap(), "up");
        Machine { name, port, running }
    }

    /// A connection to the machine, which has sent a byte and back.
    fn connect(&self) -> TcpStream {
        let until = Instant::now() + LIMIT;
        loop {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            // QEMU takes the connection before the guest does.
            if stream.write_all(&[7]).is_ok() && stream.read_exact(&mut [0]).is_ok() {
                return stream;
            }
            assert!(Instant::now() < until, "nobody listens");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn end_driver(&self, number: &str) -> Output {
        command(&["kill", &self.name, "--driver", number]).output().unwrap()
    }

    /// Ends the machine. Returns what it told.
    fn end(mut self) -> String {
        assert!(command(&["exec", &self.name, "touch", "/tmp/end"]).status().unwrap().success());
        let mut told = String::new();
        self.running.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        assert!(self.running.wait().unwrap().success(), "{told}");
        told
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

fn byte(at: usize) -> u8 {
    (at % 251) as u8 ^ (at >> 12) as u8
}

/// Sends bytes and takes them back until `received` says that it is enough. Fails if one is lost or
/// changed.
fn echo(stream: &mut TcpStream, mut is_enough: impl FnMut(usize) -> bool) {
    let (mut sent, mut back, mut buffer) = (0, 0, vec![0; 1 << 16]);
    let mut has_ended = false;
    while !has_ended || back < sent {
        has_ended |= is_enough(back);
        if !has_ended && sent - back < AHEAD {
            let bytes: Vec<u8> = (sent..sent + 8192).map(byte).collect();
            stream.write_all(&bytes).unwrap();
            sent += bytes.len();
            continue;
        }
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the connection has ended behind {back} bytes");
        assert!(buffer[..count].iter().enumerate().all(|(at, found)| *found == byte(back + at)), "bytes behind {back} are others");
        back += count;
    }
}

#[test]
fn bytes_come_whole_while_the_driver_ends() {
    let machine = Machine::start("card");
    let mut stream = machine.connect();
    let (mut ends, mut last) = (0, 0);
    echo(&mut stream, |back| {
        if ends < ENDS && back >= last + BETWEEN {
            // At some moment of its work.
            std::thread::sleep(Duration::from_millis(u64::from(ends * 7 % 11)));
            assert!(machine.end_driver("0").status.success());
            (ends, last) = (ends + 1, back);
        }
        ends == ENDS && back >= last + BETWEEN
    });
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0; 9]).unwrap(), 0, "no byte comes twice");
    let refused = machine.end_driver("1");
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.contains("has no driver 1") && refused.contains("there are 0 the network card"), "{refused}");
    let told = machine.end();
    assert_eq!(told.matches("the network card: its driver was ended; another one starts").count(), ENDS as usize, "{told}");
}

#[test]
fn a_port_is_reached_though_the_driver_ended_while_nothing_came() {
    let machine = Machine::start("idle");
    let mut old = machine.connect();
    for _ in 0..ENDS {
        // Nobody sends: that the driver is another one is told by its end alone.
        std::thread::sleep(Duration::from_millis(500));
        assert!(machine.end_driver("0").status.success());
        std::thread::sleep(Duration::from_millis(500));
        let mut stream = machine.connect();
        echo(&mut stream, |back| back >= 20_000);
    }
    echo(&mut old, |back| back >= 20_000);
    let told = machine.end();
    assert_eq!(told.matches("another one starts").count(), ENDS as usize, "{told}");
}
