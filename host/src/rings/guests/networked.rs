//! A guest with a network card: what it fetches from this machine, and what a guard keeps from it.

use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};

use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Outcome};
use crate::network::{Kind, NetworkArguments};
use crate::rings::networks::{SUM, answer, sum};
use crate::rings::system::{describe, limits};
use crate::rings::tally::TestCounts;
use crate::run::{machine, with_network};
use crate::scratch::Scratch;
use crate::session::capture::capture;
use crate::session::terminal::Facts;

const NAME: &str = "a guest's connections are those of the environment, and a guard judges them";
/// Bytes that the guest fetches.
const SIZE: usize = 300_000;

/// Runs the case, if its name contains the filter.
pub fn run(products: &Products, filter: &str, tally: &mut TestCounts) -> Outcome<()> {
    if NAME.contains(filter) {
        tally.note(NAME, fault(products)?.as_deref());
    }
    Ok(())
}

/// Address that the server of names tells for each name.
const TOLD: [u8; 4] = [192, 0, 2, 7];

/// Answers questions for names until one comes from this machine itself, of no bytes.
fn name_all(socket: &UdpSocket) -> std::io::Result<()> {
    let mut question = [0; 512];
    loop {
        let (size, from) = socket.recv_from(&mut question)?;
        let Some((id, rest)) = question[..size].split_first_chunk::<2>().filter(|_| size > 16) else { return Ok(()) };
        // The kind of the question stands before its last two bytes: 1 asks for an address.
        let count = u8::from(question[size - 3] == 1);
        let head = [id[0], id[1], 0x81, 0x80, 0, 1, 0, count, 0, 0, 0, 0];
        let answer = [&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4][..], &TOLD].concat();
        socket.send_to(&[&head[..], &rest[10..], &answer[..answer.len() * usize::from(count)]].concat(), from)?;
    }
}

/// Returns the fault, if there was one.
fn fault(products: &Products) -> Outcome<Option<String>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context(Class::Internal, || "cannot open a port".to_string())?;
    let port = listener.local_addr().context(Class::Internal, || "a port has no number".to_string())?.port();
    let names = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context(Class::Internal, || "cannot open a port".to_string())?;
    let names_port = names.local_addr().context(Class::Internal, || "a port has no number".to_string())?.port();
    let script = format!(
        "udhcpc -n -q -i eth0 -s /bin/true 2>&1 | grep -o 'lease of 10.0.2.15 obtained'; ping -c 1 -s 5000 10.0.2.2 | grep -o '1 packets received'
        wget -q -O /tmp/got http://10.0.2.2:{port}/ && wc -c </tmp/got && {SUM}; nslookup -port={names_port} a.name 10.0.2.2 | grep -o 192.0.2.7; wget -O - http://10.0.2.3:{port}/ 2>&1 | grep -o refused"
    );
    let [rule, other] = [format!("connect tcp 10.0.2.2:{port}"), format!("connect udp 10.0.2.2:{names_port}")];
    let guard = ["guard", "--allow", "memory", "--allow", "console", "--allow", "clock", "--allow", "read", "--allow", &rule, "--allow", &other];
    let words = [&guard[..], &["machine", "--net", "sh", "-c", &script]].concat();
    let network = NetworkArguments { net: Some(Kind::User), ..NetworkArguments::default() }.open()?;
    let guest = GuestArguments { command: words.into_iter().map(Into::into).collect(), network: network.clone(), ..GuestArguments::default() };
    let image = Scratch::write("boot-image", &Guest::compose(products, &guest, &Facts::PIPE)?.image)?;
    let machine = machine(products, &image, with_network(MachineArguments { takes_turns: true, ..MachineArguments::default() }, network));
    let captured = std::thread::scope(|scope| {
        scope.spawn(|| listener.accept().and_then(|(mut stream, _)| answer(&mut stream, SIZE)));
        scope.spawn(|| name_all(&names));
        let captured = capture(&machine, limits(), b"");
        // Those who wait for a guest are let go.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        let _ = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.send_to(&[], (Ipv4Addr::LOCALHOST, names_port)));
        captured
    })?;
    let sum = sum(SIZE);
    let expected = format!("lease of 10.0.2.15 obtained\n1 packets received\n{SIZE}\n{sum}\n192.0.2.7\nrefused\n");
    let is_right = String::from_utf8_lossy(&captured.output).replace('\r', "") == expected && matches!(captured.status, Ok(0));
    Ok((!is_right).then(|| describe(&captured)))
}
