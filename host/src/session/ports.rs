//! Ports of a machine: channels of bytes with names, faster than its serial lines.
//!
//! QEMU connects to a socket of this process for each. The guest's programs see a port as
//! `/dev/host/NAME`; names that start with `nacre.` are root's own.

use std::ffi::OsString;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use crate::failure::{Class, Context, Failure, Outcome};
use crate::scratch::Folder;

/// Name of the port that carries files out of the guest.
pub const RECORDS: &str = "nacre.records";
/// Name of the port that carries the program's output out of the guest.
pub const OUTPUT: &str = "nacre.output";
/// Largest number of ports of a machine, as the guest's driver has it.
pub const MAX_PORTS: usize = 16;

/// A user of a port, in a thread of its own from the moment when QEMU has connected. Who wants to
/// say that the input is over shuts the stream down for writing.
pub type User = Box<dyn FnOnce(UnixStream) + Send>;

/// Sockets of the ports of one machine.
#[derive(Debug, Default)]
pub struct Ports {
    folder: Option<Folder>,
    waiting: Vec<(String, UnixListener)>,
    paths: Vec<PathBuf>,
}

impl Ports {
    /// Makes a socket for each name.
    pub fn listen(names: &[String]) -> Outcome<Ports> {
        if names.len() > MAX_PORTS {
            return Err(Failure::new(Class::Internal, format!("a machine has {MAX_PORTS} ports at most")));
        }
        let mut ports = Ports::default();
        if names.is_empty() {
            return Ok(ports);
        }
        let folder = Folder::new("ports")?;
        for (number, name) in names.iter().enumerate() {
            let path = folder.path().join(number.to_string());
            let listener = UnixListener::bind(&path).context(Class::Internal, || format!("cannot make the socket {}", path.display()))?;
            ports.waiting.push((name.clone(), listener));
            ports.paths.push(path);
        }
        ports.folder = Some(folder);
        Ok(ports)
    }

    /// QEMU's words for the device and its ports.
    pub fn words(&self) -> Vec<OsString> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        // The device counts a port 0, which nobody uses.
        let device = format!("virtio-serial-pci,id=ports,disable-legacy=on,max_ports={}", self.waiting.len() + 1);
        let mut words = vec!["-device".into(), device.into()];
        for (number, ((name, _), path)) in self.waiting.iter().zip(&self.paths).enumerate() {
            // QEMU has a comma twice where it is part of a name.
            let path = path.to_string_lossy().replace(',', ",,");
            let nr = number + 1;
            let pair = [format!("socket,id=port{nr},path={path}"), format!("virtserialport,bus=ports.0,nr={nr},chardev=port{nr},name={name}")];
            words.extend(["-chardev", "-device"].iter().zip(pair).flat_map(|(option, value)| [OsString::from(option), value.into()]));
        }
        words
    }

    /// Returns the port of this name; only once.
    pub fn take(&mut self, name: &str) -> Option<Port> {
        let place = self.waiting.iter().position(|(waiting, _)| waiting == name)?;
        Some(Port { listener: self.waiting.remove(place).1 })
    }
}

/// Word of the kernel's command line by which root looks for so many ports.
pub fn word(count: usize) -> Option<String> {
    (count > 0).then(|| format!("ports={count}"))
}

impl Drop for Ports {
    /// Wakes whoever still waits for a QEMU that never connected.
    fn drop(&mut self) {
        self.paths.iter().for_each(|path| drop(UnixStream::connect(path)));
    }
}

/// A port that QEMU may not have connected to yet.
#[derive(Debug)]
pub struct Port {
    listener: UnixListener,
}

impl Port {
    /// Waits until QEMU has connected. If it ends before, the stream is at its end.
    pub fn accept(self) -> std::io::Result<UnixStream> {
        self.listener.accept().map(|(stream, _)| stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_machine_without_ports_has_no_device() {
        let ports = Ports::listen(&[]).unwrap();
        assert_eq!((ports.words(), word(0)), (vec![], None));
    }

    #[test]
    fn each_port_has_a_socket_and_a_number() {
        let mut ports = Ports::listen(&["a".to_string(), "b".to_string()]).unwrap();
        let words = ports.words();
        assert_eq!(words.len(), 10);
        assert!(words[1].to_string_lossy().ends_with("max_ports=3"));
        assert!(words[9].to_string_lossy().ends_with("nr=2,chardev=port2,name=b"));
        assert!(ports.take("b").is_some() && ports.take("b").is_none() && ports.take("c").is_none());
        assert!(Ports::listen(&vec!["x".to_string(); MAX_PORTS + 1]).is_err());
    }

    #[test]
    fn nobody_waits_for_a_machine_that_is_gone() {
        let mut ports = Ports::listen(&["a".to_string()]).unwrap();
        let port = ports.take("a").unwrap();
        let waiter = std::thread::spawn(move || port.accept().unwrap().read(&mut [0]).unwrap());
        drop(ports);
        assert_eq!(waiter.join().unwrap(), 0);
    }
}
