//! The network that a guest's card is joined to: `--net user`, `-p` and `--net-socket`.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use crate::failure::{Class, Failure, Outcome};

/// Bytes of a socket's path, at most (unix(7)).
const MAX_SOCKET: usize = 100;

/// Options of the network.
#[derive(Args, Clone, Debug, Default)]
pub struct NetworkArguments {
    /// Join the guest to a network of QEMU's, which passes its connections on as this machine's:
    /// the guest is 10.0.2.15, this machine 10.0.2.2, and who tells addresses by names 10.0.2.3
    /// (default: none, or user with -p)
    #[arg(long, value_name = "NETWORK", value_enum)]
    pub net: Option<Kind>,
    /// Pass connections to a port of this machine on to one of the guest's (ADDRESS: 127.0.0.1;
    /// behind /udp, datagrams)
    #[arg(short = 'p', long = "publish", value_name = "[ADDRESS:]PORT:GUESTPORT[/udp]", value_parser = parse)]
    pub published: Vec<Published>,
    /// Join the guest to another one of this machine's that is started with the same SOCKET, and to
    /// nobody else: the first one is 10.0.3.1, the other 10.0.3.2
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["net", "published"])]
    pub net_socket: Option<PathBuf>,
}

/// Kind of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Absence of a network
    None,
    /// QEMU's, which needs no rights of this machine's
    User,
}

/// A port of this machine's that leads to one of the guest's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    is_udp: bool,
    address: Ipv4Addr,
    port: u16,
    guest: u16,
}

/// Reads a published port.
pub fn parse(text: &str) -> Result<Published, String> {
    let wrong = || "a port is published as 8080:80, 0.0.0.0:8080:80, or 5353:53/udp".to_string();
    let (ports, is_udp) = match text.split_once('/') {
        None | Some((_, "tcp")) => (text.split('/').next().unwrap_or_default(), false),
        Some((ports, "udp")) => (ports, true),
        Some(_) => return Err(wrong()),
    };
    let parts: Vec<&str> = ports.split(':').collect();
    let (address, port, guest) = match parts[..] {
        [port, guest] => ("127.0.0.1", port, guest),
        [address, port, guest] => (address, port, guest),
        _ => return Err(wrong()),
    };
    let number = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(wrong);
    Ok(Published { is_udp, address: address.parse().map_err(|_| wrong())?, port: number(port)?, guest: number(guest)? })
}

impl Published {
    /// Checks that nobody else has the port.
    fn check(&self) -> Outcome<()> {
        let at = (IpAddr::V4(self.address), self.port);
        let taken = if self.is_udp { UdpSocket::bind(at).err() } else { TcpListener::bind(at).err() };
        match taken {
            None => Ok(()),
            Some(error) => Err(Failure::new(Class::Usage, format!("cannot publish port {} of {}: {error}", self.port, self.address)).remedy("name another port with -p")),
        }
    }

    fn words(&self) -> String {
        let protocol = if self.is_udp { "udp" } else { "tcp" };
        format!(",hostfwd={protocol}:{}:{}-:{}", self.address, self.port, self.guest)
    }
}

impl NetworkArguments {
    /// The network, if the guest is to have one.
    pub fn open(&self) -> Outcome<Option<Network>> {
        if let Some(socket) = &self.net_socket {
            return Network::beside(socket).map(Some);
        }
        match (self.net, self.published.is_empty()) {
            (Some(Kind::None), false) => Err(Failure::new(Class::Usage, "-p needs a network, and --net none says that there is none".to_string()).remedy("leave one of them out")),
            (Some(Kind::None), true) | (None, true) => Ok(None),
            _ => {
                self.published.iter().try_for_each(Published::check)?;
                Ok(Some(Network::User(self.published.clone())))
            }
        }
    }
}

/// A network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// QEMU's, with the ports that lead into it.
    User(Vec<Published>),
    /// A wire between two machines: the path of its sockets, which end this machine has (1, 2), and
    /// what keeps others from taking that, too.
    Wire(PathBuf, u8, Lock),
}

/// A lock on a file, for as long as somebody has it.
#[derive(Clone, Debug)]
pub struct Lock(#[allow(dead_code)] Arc<File>);

impl PartialEq for Lock {
    fn eq(&self, other: &Lock) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Lock {}

/// The socket of one end of a wire.
fn end(wire: &Path, number: u8) -> PathBuf {
    let mut path = wire.as_os_str().to_os_string();
    path.push(format!(".{number}"));
    path.into()
}

/// Takes an end of a wire, unless a machine has it.
fn take(wire: &Path, number: u8) -> std::io::Result<Option<Lock>> {
    let mut path = end(wire, number).into_os_string();
    path.push(".lock");
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Lock(Arc::new(file)))),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Network {
    /// The word of the kernel's command line by which root knows of the card.
    pub const WORD: &str = "network=1";

    /// The free end of a wire.
    fn beside(wire: &Path) -> Outcome<Network> {
        let failure = |why: String, remedy: &str| Failure::new(Class::Usage, format!("cannot join {}: {why}", wire.display())).remedy(remedy);
        let longest = end(wire, 1);
        if longest.to_str().is_none_or(|text| text.len() > MAX_SOCKET || text.contains(',')) {
            return Err(failure("its name is too long, or has a comma".to_string(), "name a socket in a folder with a short path"));
        }
        if !wire.parent().is_some_and(|folder| folder.as_os_str().is_empty() || folder.is_dir()) {
            return Err(failure("its folder is not there".to_string(), "make the folder"));
        }
        for number in [1, 2] {
            let Some(lock) = take(wire, number).map_err(|error| failure(error.to_string(), "name a socket in a folder that you may write"))? else { continue };
            // QEMU removes what is there.
            let socket = end(wire, number);
            if fs::symlink_metadata(&socket).is_ok_and(|there| !there.file_type().is_socket()) {
                return Err(failure(format!("{} is there and is no socket", socket.display()), "name another socket"));
            }
            return Ok(Network::Wire(wire.to_path_buf(), number, lock));
        }
        Err(failure("two machines are joined by it already".to_string(), "name another socket"))
    }

    /// Options of the monitor `network` that `run` puts around the command.
    pub fn options(&self) -> Vec<OsString> {
        match self {
            Network::User(_) => ["--version-6".into()].to_vec(),
            Network::Wire(_, number, _) => ["--address".into(), format!("10.0.3.{number}/24").into(), "--gateway".into(), "none".into()].to_vec(),
        }
    }

    /// Returns true if somebody there tells addresses by names.
    pub fn has_names(&self) -> bool {
        matches!(self, Network::User(_))
    }

    /// QEMU's words for network and card.
    pub fn words(&self) -> Vec<OsString> {
        let (network, card) = match self {
            Network::User(published) => (format!("user,id=network{}", published.iter().map(Published::words).collect::<String>()), String::new()),
            Network::Wire(wire, number, _) => {
                let (own, other) = (end(wire, *number), end(wire, 3 - number));
                let ends = format!("local.type=unix,local.path={},remote.type=unix,remote.path={}", own.display(), other.display());
                (format!("dgram,id=network,{ends}"), format!(",mac=52:54:00:00:03:{number:02x}"))
            }
        };
        let device = format!("virtio-net-pci,netdev=network,disable-legacy=on,romfile={card}");
        ["-netdev".into(), network.into(), "-device".into(), device.into()].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_with_their_address_and_protocol() {
        let of = |text| parse(text).map(|published| published.words());
        assert_eq!(of("8080:80").as_deref(), Ok(",hostfwd=tcp:127.0.0.1:8080-:80"));
        assert_eq!(of("0.0.0.0:8080:80/tcp").as_deref(), Ok(",hostfwd=tcp:0.0.0.0:8080-:80"));
        assert_eq!(of("5353:53/udp").as_deref(), Ok(",hostfwd=udp:127.0.0.1:5353-:53"));
        for wrong in ["", "80", "a:80", "80:0", "65536:80", "80:80:80:80", "x:80:80", "80:80/sctp", "80,x=1:80"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn published_ports_imply_a_network() {
        let arguments = |net, ports: &[&str]| NetworkArguments { net, published: ports.iter().map(|text| parse(text).unwrap()).collect(), net_socket: None };
        assert_eq!(arguments(None, &[]).open().unwrap(), None);
        assert!(arguments(Some(Kind::User), &[]).open().unwrap().is_some());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let text = format!("{port}:80");
        assert_eq!(arguments(None, &[&text]).open().unwrap_err().class, Class::Usage);
        drop(listener);
        assert!(arguments(None, &[&text]).open().unwrap().is_some());
        assert!(arguments(Some(Kind::None), &[&text]).open().is_err());
    }

    #[test]
    fn a_wire_has_two_ends() {
        let folder = crate::scratch::Folder::new("wire").unwrap();
        let wire = folder.path().join("w");
        let join = || NetworkArguments { net_socket: Some(wire.clone()), ..NetworkArguments::default() }.open();
        let number = |network: &Option<Network>| match network {
            Some(Network::Wire(_, number, _)) => *number,
            _ => 0,
        };
        let (first, second) = (join().unwrap(), join().unwrap());
        assert_eq!((number(&first), number(&second)), (1, 2));
        let network = second.as_ref().unwrap();
        assert!(network.options().contains(&"10.0.3.2/24".into()) && network.words()[3].to_string_lossy().ends_with("mac=52:54:00:00:03:02"));
        assert_eq!(join().unwrap_err().class, Class::Usage);
        // What a machine that has ended leaves is free, unless it is somebody's file.
        drop(first);
        assert_eq!(number(&join().unwrap()), 1);
        fs::write(end(&wire, 1), "mine").unwrap();
        assert!(join().is_err() && fs::read(end(&wire, 1)).unwrap() == b"mine");
        let wrong = |path: PathBuf| NetworkArguments { net_socket: Some(path), ..NetworkArguments::default() }.open();
        assert!(wrong(folder.path().join("none/w")).is_err() && wrong(folder.path().join("x".repeat(120))).is_err());
    }
}
