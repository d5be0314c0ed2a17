//! Guests with a network card: what they fetch from this machine, and what this machine fetches
//! from them, with monitors between.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::system::{LIMIT, describe, limits};
use super::tally::TestCounts;
use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::network::{Kind, NetworkArguments};
use crate::run::{machine, with_network};
use crate::scratch::{Folder, Scratch};
use crate::session::capture::{Captured, capture};
use crate::session::terminal::Facts;

/// Pause between attempts to reach a guest.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes of what is fetched.
const SIZE: usize = 700_000;

/// Monitors between the network and the program that fetches.
const STACKS: [(&str, u32); 9] = [
    ("process", 1),
    ("process", 2),
    ("process process", 1),
    ("trace -q process trace -q", 1),
    ("guard --allow * process", 1),
    ("pager -m 8M process", 1),
    ("share-cpu process", 2),
    ("network process process", 1),
    ("checkpoint network process", 1),
];

/// Monitors between the network and programs that ask machines for echoes, with the case's name.
const PINGS: [(&str, &str); 2] = [
    ("process process", "machines answer echoes"),
    ("guard --allow console --allow memory --allow clock --allow report --allow read --allow write --allow connect~icmp~10.0.2.2 --allow connect~icmp~127.0.0.1 --allow listen~raw~icmp process", "machines answer echoes as far as a guard's rules let them be asked"),
];

/// Stacks that ask routers for an address of version 6.
const STACKS_6: [&str; 2] = ["network --version-6 process", "network --version-6 guard --allow console --allow memory --allow clock --allow report --allow read --allow write --allow connect~tcp~[fec0::2]:* process"];

/// Addresses of this machine: as it is known here, and as guests know it.
const HERE: (IpAddr, &str) = (IpAddr::V4(Ipv4Addr::LOCALHOST), "10.0.2.2");
const HERE_6: (IpAddr, &str) = (IpAddr::V6(Ipv6Addr::LOCALHOST), "[fec0::2]");

/// Runs all cases.
pub fn run(products: &Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    for (stack, cpus) in STACKS {
        let name = format!("a network card: a guest fetches a file [under {stack}, cpus {cpus}]");
        if name.contains(filter) {
            tally.note(&name, fetches(products, stack, cpus, HERE)?.as_deref());
        }
    }
    for stack in STACKS_6 {
        let name = format!("a network card: a guest fetches a file by version 6 [under {stack}]");
        if name.contains(filter) {
            tally.note(&name, fetches(products, stack, 1, HERE_6)?.as_deref());
        }
    }
    for cpus in [1, 2] {
        let name = format!("a network card: a guest's port is reached [cpus {cpus}]");
        if name.contains(filter) {
            tally.note(&name, serves(products, cpus)?.as_deref());
        }
    }
    let name = "a network card: a guard's rules name addresses and ports";
    if name.contains(filter) {
        tally.note(name, is_guarded(products)?.as_deref());
    }
    let name = "a network card: a guard's rules name machines by their names";
    if name.contains(filter) {
        tally.note(name, is_guarded_by_names(products)?.as_deref());
    }
    for (stack, name) in PINGS {
        let name = format!("a network card: {name}");
        if name.contains(filter) {
            tally.note(&name, pings(products, stack)?.as_deref());
        }
    }
    let name = "a network card: a guard's limits bound connections and bytes";
    if name.contains(filter) {
        tally.note(name, is_limited(products)?.as_deref());
    }
    let name = "a network card: two machines on one wire";
    if name.contains(filter) {
        tally.note(name, are_joined(products)?.as_deref());
    }
    let name = "a network card: without one nobody is reached";
    if name.contains(filter) {
        tally.note(name, is_alone(products)?.as_deref());
    }
    Ok(tally)
}

/// Returns so many bytes, for a guest to fetch.
pub fn bytes(size: usize) -> Vec<u8> {
    (0..size as u32).map(|number| (number % 251) as u8 ^ (number >> 12) as u8).collect()
}

/// Runs a shell's script below these monitors.
fn guest(products: &Products, stack: &str, script: &str, (cpus, network): (u32, &NetworkArguments)) -> Outcome<Captured> {
    let network = network.open()?;
    // A word of a rule has its space written as a tilde.
    let command = stack.split(' ').map(|word| word.replace('~', " ")).chain(["sh", "-c", script].map(String::from)).map(Into::into).collect();
    let guest = GuestArguments { bare: true, command, network: network.clone(), ..GuestArguments::default() };
    let image = Scratch::write("boot-image", &Guest::compose(products, &guest, &Facts::PIPE)?.image)?;
    let machine = machine(products, &image, with_network(MachineArguments { cpus, ..MachineArguments::default() }, network));
    capture(&machine, limits(), b"")
}

/// One machine listens, and another one on the same wire speaks; then the other way round.
fn are_joined(products: &Products) -> Outcome<Option<String>> {
    let folder = Folder::new("wire")?;
    let network = NetworkArguments { net_socket: Some(folder.path().join("wire")), ..NetworkArguments::default() };
    let first = "nc -l -p 7000 >/tmp/got; cat /tmp/got; until echo back | nc 10.0.3.2 7001; do sleep 0.2; done";
    let second = "until echo there | nc 10.0.3.1 7000; do sleep 0.2; done; nc -l -p 7001 >/tmp/got; cat /tmp/got";
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| guest(products, "process", first, (1, &network)));
        // The end of the wire that the first one takes is there as soon as its machine is.
        let since = Instant::now();
        while !folder.path().join("wire.1").exists() && since.elapsed() < LIMIT {
            std::thread::sleep(PAUSE);
        }
        let other = guest(products, "process", second, (1, &network));
        (one.join(), other)
    });
    let one = one.map_err(|_| Failure::new(Class::Internal, "a machine's thread has panicked"))??;
    let other = other?;
    let is_right = one.output == b"there\n" && other.output == b"back\n" && matches!((&one.status, &other.status), (Ok(0), Ok(0)));
    Ok((!is_right).then(|| format!("one: {}; the other: {}", describe(&one), describe(&other))))
}

/// Sum of what a guest has fetched to `/tmp/got`, as its shell makes it.
pub const SUM: &str = "od -An -v -tu1 /tmp/got | awk '{ for (i = 1; i <= NF; i++) sum = (sum * 31 + $i) % 1000003 } END { print sum }'";

/// Returns the sum that [`SUM`] prints of so many bytes.
pub fn sum(size: usize) -> u64 {
    bytes(size).iter().fold(0, |sum, byte| (sum * 31 + u64::from(*byte)) % 1_000_003)
}

/// Answers one request of HTTP with so many bytes.
pub fn answer(stream: &mut TcpStream, size: usize) -> std::io::Result<()> {
    let mut asked = Vec::new();
    let mut part = [0; 1024];
    while !asked.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut part)?;
        if count == 0 {
            break;
        }
        asked.extend(&part[..count]);
    }
    stream.write_all(format!("HTTP/1.0 200 OK\r\nContent-Length: {size}\r\n\r\n").as_bytes())?;
    stream.write_all(&bytes(size))
}

fn fetches(products: &Products, stack: &str, cpus: u32, (here, known): (IpAddr, &str)) -> Outcome<Option<String>> {
    let listener = TcpListener::bind((here, 0)).context(Class::Internal, || "cannot open a port".to_string())?;
    let port = listener.local_addr().context(Class::Internal, || "a port has no number".to_string())?.port();
    let script = format!("wget -q -O /tmp/got http://{known}:{port}/file && wc -c </tmp/got && {SUM}");
    let network = NetworkArguments { net: Some(Kind::User), ..NetworkArguments::default() };
    let captured = std::thread::scope(|scope| {
        scope.spawn(|| listener.accept().and_then(|(mut stream, _)| answer(&mut stream, SIZE)));
        let captured = guest(products, stack, &script, (cpus, &network));
        // Whoever still waits for a guest that never came is let go.
        let _ = TcpStream::connect((here, port));
        captured
    })?;
    let sum = sum(SIZE);
    let is_right = captured.output == format!("{SIZE}\n{sum}\n").as_bytes() && matches!(captured.status, Ok(0));
    Ok((!is_right).then(|| describe(&captured)))
}

/// Asks this machine, the guest itself and the resolver for echoes. A guard lets nobody ask the
/// resolver.
fn pings(products: &Products, stack: &str) -> Outcome<Option<String>> {
    let ask = |address: &str| format!("ping -c 2 -i 0.1 -W 5 {address} 2>&1 | sed -n 's/.*: seq=\\([0-9]*\\) .*/\\1/p; s/.*Permission denied.*/denied/p'; ");
    let script = ["10.0.2.2", "127.0.0.1", "10.0.2.3"].map(ask).concat();
    let network = NetworkArguments { net: Some(Kind::User), ..NetworkArguments::default() };
    let captured = guest(products, stack, &script, (1, &network))?;
    let expected: &[u8] = if stack.starts_with("guard") { b"0\n1\n0\n1\ndenied\n" } else { b"0\n1\n0\n1\n0\n1\n" };
    let is_right = captured.output == expected && matches!(captured.status, Ok(0));
    Ok((!is_right).then(|| describe(&captured)))
}

fn serves(products: &Products, cpus: u32) -> Outcome<Option<String>> {
    let port = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context(Class::Internal, || "cannot open a port".to_string())?;
        listener.local_addr().context(Class::Internal, || "a port has no number".to_string())?.port()
    };
    let published = crate::network::parse(&format!("{port}:80")).map_err(|text| crate::failure::Failure::new(Class::Internal, text))?;
    let network = NetworkArguments { net: None, published: vec![published], ..NetworkArguments::default() };
    let is_over = AtomicBool::new(false);
    let (captured, got) = std::thread::scope(|scope| {
        let client = scope.spawn(|| reach(port, &is_over));
        let captured = guest(products, "process", "read line <<E\nx\nE\necho question >/tmp/expected; echo answer | nc -l -p 80 >/tmp/got; cmp /tmp/got /tmp/expected && echo same", (cpus, &network));
        is_over.store(true, Ordering::Relaxed);
        captured.map(|captured| (captured, client.join().unwrap_or_default()))
    })?;
    let is_right = captured.output == b"same\n" && matches!(captured.status, Ok(0)) && got == "answer\n";
    Ok((!is_right).then(|| format!("{}; this machine got {got:?}", describe(&captured))))
}

/// Asks at the port until somebody answers, or it is over.
fn reach(port: u16, is_over: &AtomicBool) -> String {
    let since = Instant::now();
    while since.elapsed() < LIMIT && !is_over.load(Ordering::Relaxed) {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
            stream.write_all(b"question\n")?;
            stream.shutdown(std::net::Shutdown::Write)?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text)
        };
        match ask() {
            Ok(text) if !text.is_empty() => return text,
            _ => std::thread::sleep(PAUSE),
        }
    }
    String::new()
}

/// Monitors that let a shell reach this machine and nobody else, and be reached at one port.
const GUARDED: &str = "guard --allow console --allow memory --allow clock --allow report --allow read --allow write --allow connect~tcp~10.0.2.2:* --allow connect~tcp~127.0.0.1:* --allow listen~tcp~:8080 process";

fn is_guarded(products: &Products) -> Outcome<Option<String>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context(Class::Internal, || "cannot open a port".to_string())?;
    let port = listener.local_addr().context(Class::Internal, || "a port has no number".to_string())?.port();
    let script = format!(
        "wget -q -O - http://10.0.2.2:{port}/file | wc -c; wget -q -O - http://10.0.2.3:80/ 2>&1 | sed 's/.*: //'; nc -l -p 80 2>&1 | sed 's/.*: //'; nc -l -p 8080 >/tmp/got & sleep 1; echo text | nc 127.0.0.1 8080; wait; cat /tmp/got"
    );
    let network = NetworkArguments { net: Some(Kind::User), ..NetworkArguments::default() };
    let captured = std::thread::scope(|scope| {
        scope.spawn(|| listener.accept().and_then(|(mut stream, _)| answer(&mut stream, SIZE)));
        let captured = guest(products, GUARDED, &script, (1, &network));
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        captured
    })?;
    let is_right = captured.output == format!("{SIZE}\nPermission denied\nPermission denied\ntext\n").as_bytes();
    Ok((!is_right).then(|| describe(&captured)))
}

/// Answers all who connect, until it is over.
fn answer_all(listener: &TcpListener, is_over: &AtomicBool) {
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            // Whoever asks nothing is let go in the end.
            let limit = |stream: &TcpStream| stream.set_read_timeout(Some(LIMIT));
            if let Some(mut stream) = stream.ok().filter(|stream| limit(stream).is_ok()) {
                scope.spawn(move || answer(&mut stream, SIZE));
            }
        }
    });
}

/// A program that fetches too much, sends too much or connects too often gets an error, and one
/// beside it does not.
fn is_limited(products: &Products) -> Outcome<Option<String>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context(Class::Internal, || "cannot open a port".to_string())?;
    let port = listener.local_addr().context(Class::Internal, || "a port has no number".to_string())?.port();
    let guard = |limit: &str, script: &str| format!("guard --limit {limit} --allow '*' process sh -c '{script}'; ");
    let fetch = format!("wget -O /tmp/got http://10.0.2.2:{port}/file 2>&1 | grep -c -E \"quota|buffer space|prematurely\"");
    let bounded = guard("bytes-in=100000", &format!("{fetch}; test $(wc -c </tmp/got) -le 100000 && echo bounded; {fetch}"));
    let mute = guard("bytes-out=10", &fetch);
    let alone = guard("connections=1", &format!("sleep 5 | nc 10.0.2.2 {port} >/dev/null & sleep 2; {fetch}; wait; {fetch}"));
    let asking = guard("connections=1", &format!("nc 10.0.2.77 80 >/dev/null 2>&1 & sleep 1; {fetch}; kill $!"));
    // Without a manager inside, what forks finds services by the one outside.
    let outer = [&mute, &alone].map(|script| script.replace("process sh", "sh")).concat();
    let script = [bounded, mute, alone, asking, outer, format!("{fetch}; wc -c </tmp/got")].concat();
    let network = NetworkArguments { net: Some(Kind::User), ..NetworkArguments::default() };
    let is_over = AtomicBool::new(false);
    let captured = std::thread::scope(|scope| {
        scope.spawn(|| answer_all(&listener, &is_over));
        let captured = guest(products, "process", &script, (1, &network));
        is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        captured
    })?;
    let is_right = captured.output == format!("1\nbounded\n1\n1\n1\n0\n1\n1\n1\n0\n0\n{SIZE}\n").as_bytes();
    Ok((!is_right).then(|| describe(&captured)))
}

/// Answers questions for names at a port until it is over: each name has this address.
fn resolve(socket: &UdpSocket, address: [u8; 4], is_over: &AtomicBool) {
    let mut question = [0; 512];
    while !is_over.load(Ordering::Relaxed) {
        let Ok((size, from)) = socket.recv_from(&mut question) else { continue };
        // A name ends with a zero, and its type and class follow.
        let Some(end) = question[12..size].iter().position(|byte| *byte == 0).map(|zero| 12 + zero + 5).filter(|end| *end <= size) else { continue };
        let has_address = question[end - 3] == 1;
        let mut answer = [&question[..2], &[0x81, 0x80, 0, 1, 0, u8::from(has_address), 0, 0, 0, 0], &question[12..end]].concat();
        if has_address {
            answer.extend([&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4][..], &address].concat());
        }
        let _ = socket.send_to(&answer, from);
    }
}

/// The address by which this machine would reach others, which leads to itself.
fn own_address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Nothing is sent to an address that is for examples alone.
    socket.connect((Ipv4Addr::new(198, 51, 100, 1), 9)).ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(own) if !own.ip().is_loopback() => Some(*own.ip()),
        _ => None,
    }
}

/// A machine is reached by a name that a rule allows, once its address was asked for, and not by
/// one that no rule allows.
fn is_guarded_by_names(products: &Products) -> Outcome<Option<String>> {
    let Some(own) = own_address() else { return Ok(Some("this machine has no address but the loopback's".to_string())) };
    let socket = match UdpSocket::bind((Ipv4Addr::LOCALHOST, 53)) {
        Ok(socket) => socket,
        Err(error) => return Ok(Some(format!("port 53 of 127.0.0.1 cannot be had: {error}"))),
    };
    socket.set_read_timeout(Some(PAUSE)).context(Class::Internal, || "a port cannot be given a time".to_string())?;
    let listener = TcpListener::bind((IpAddr::V4(own), 0)).context(Class::Internal, || "cannot open a port".to_string())?;
    let port = listener.local_addr().context(Class::Internal, || "a port has no number".to_string())?.port();
    let fetch = |host: &str| format!("wget -q -O - http://{host}:{port}/file 2>&1 | wc -c");
    let (before, other, named) = (fetch(&own.to_string()), fetch("evil.test"), fetch("good.example"));
    let script = format!(
        "echo nameserver 10.0.2.2 >/etc/resolv.conf; {} \"{}; {}; {}\"",
        "guard --allow console --allow memory --allow clock --allow report --allow read --allow write --allow 'connect udp 10.0.2.2:53' --allow 'connect *.example:*' process sh -c",
        before, other, named
    );
    let network = NetworkArguments { net: Some(Kind::User), ..NetworkArguments::default() };
    let is_over = AtomicBool::new(false);
    let captured = std::thread::scope(|scope| {
        scope.spawn(|| resolve(&socket, own.octets(), &is_over));
        scope.spawn(|| listener.accept().and_then(|(mut stream, _)| answer(&mut stream, SIZE)));
        let captured = guest(products, "process", &script, (1, &network));
        is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect((own, port));
        captured
    })?;
    let denied = format!("wget: can't connect to remote host ({own}): Permission denied\n").len();
    let is_right = captured.output == format!("{denied}\n{denied}\n{SIZE}\n").as_bytes();
    Ok((!is_right).then(|| describe(&captured)))
}

fn is_alone(products: &Products) -> Outcome<Option<String>> {
    let script = "wget -q -O - http://10.0.2.2:80/ 2>&1 | sed 's/.*: //'; network true; echo $?";
    let captured = guest(products, "process", script, (1, &NetworkArguments::default()))?;
    let is_right = captured.output == b"Network is unreachable\n125\n";
    Ok((!is_right).then(|| describe(&captured)))
}
