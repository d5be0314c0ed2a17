//! The network that a guest's card is joined to: `--net user` and `-p`.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};

use clap::{Args, ValueEnum};

use crate::failure::{Class, Failure, Outcome};

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
        match (self.net, self.published.is_empty()) {
            (Some(Kind::None), false) => Err(Failure::new(Class::Usage, "-p needs a network, and --net none says that there is none".to_string()).remedy("leave one of them out")),
            (Some(Kind::None), true) | (None, true) => Ok(None),
            _ => {
                self.published.iter().try_for_each(Published::check)?;
                Ok(Some(Network { published: self.published.clone() }))
            }
        }
    }
}

/// A network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    published: Vec<Published>,
}

impl Network {
    /// The word of the kernel's command line by which root knows of the card.
    pub const WORD: &str = "network=1";

    /// QEMU's words for network and card.
    pub fn words(&self) -> Vec<OsString> {
        let published: String = self.published.iter().map(Published::words).collect();
        let user = format!("user,id=network{published}");
        ["-netdev".into(), user.into(), "-device".into(), "virtio-net-pci,netdev=network,disable-legacy=on,romfile=".into()].to_vec()
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
        let arguments = |net, ports: &[&str]| NetworkArguments { net, published: ports.iter().map(|text| parse(text).unwrap()).collect() };
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
}
