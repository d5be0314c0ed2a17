//! Confinement: a child that is given only its parent port can reach nothing else. The child tries,
//! and tells its parent what came of it.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod child;
mod escape;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::{Handler, Ports, Program, Services, Sizes, attend, spawn};
use nacre_proto::{Errno, Given};
use nacre_rt::{Arguments, stream};
use nacre_sys::{OwnedPort, PortSet};

nacre_rt::entry!(confined);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Path of this program.
const PATH: &[u8] = b"/bin/confined";
/// Status of a program that did what the machine does not do.
const PROTECTED: u64 = 256 + 11;

/// Parent that gives nothing, and listens.
#[derive(Default)]
struct Nothing {
    lines: Vec<Vec<u8>>,
}

impl Handler for Nothing {
    fn find(&mut self, _: u64) -> Result<Given, Errno> {
        Err(Errno::ENOENT)
    }

    fn stream(&mut self, _: u64) -> Result<Given, Errno> {
        Err(Errno::ENOENT)
    }

    fn report(&mut self, _: u64, text: &[u8]) -> Result<(), Errno> {
        self.lines.push(text.to_vec());
        Ok(())
    }
}

/// Runs this program as a child that is given nothing: its status, and what it said.
fn run(services: &mut Services, what: &[u8], argument: &[u8]) -> Result<(u64, Vec<Vec<u8>>), String> {
    let said = |what: &'static str| move |why: &dyn core::fmt::Debug| format!("{what}: {why:?}");
    let port = OwnedPort::new(0, PortSet(0)).map_err(|status| said("no port")(&status))?;
    let reference = port.new_reference(REFERENCE_USE).map_err(|status| said("no reference")(&status))?;
    let ports = Ports { parent: reference.handle(), keeper: port.handle().as_keeper() };
    let arguments = [PATH, what, argument];
    let program = Program { path: PATH, arguments: &arguments, environment: &[], directory: b"", random: [7; 16], sizes: Sizes::default() };
    let child = spawn(services, &program, ports).map_err(|refusal| format!("{refusal}"))?;
    child.start().map_err(|refusal| format!("{refusal}"))?;
    let mut nothing = Nothing::default();
    let status = attend(port.handle(), &mut nothing).map_err(|status| said("cannot receive")(&status))?;
    Ok((status, nothing.lines))
}

/// Checks privileged instructions, and addresses where a program has nothing.
fn instructions(services: &mut Services) -> Result<(), String> {
    for what in nacre_raw::PRIVILEGED {
        match run(services, b"instruction", what.as_bytes())? {
            (PROTECTED, _) => {}
            (status, _) => return Err(format!("{what} ended with {status}")),
        }
    }
    for address in ["0", "4096", "549755813888", "140737488351232", "18446603336221196288", "18446744071562067968", "18446744073709547520"] {
        match run(services, b"touch", address.as_bytes())? {
            (PROTECTED, _) => {}
            (status, _) => return Err(format!("reading {address} ended with {status}")),
        }
    }
    Ok(())
}

fn parent() -> Result<i32, String> {
    let mut services = Services::find().map_err(|refusal| format!("{refusal}"))?;
    let (status, lines) = run(&mut services, b"child", b"")?;
    let mut text: Vec<u8> = lines.iter().flat_map(|line| [&line[..], b"\n"].concat()).collect();
    let protected = instructions(&mut services);
    let line = match &protected {
        Ok(()) => String::from("ok CNF0008 instructions and addresses that are not a program's end it\n"),
        Err(why) => format!("not ok CNF0008 instructions and addresses that are not a program's end it: {why}\n"),
    };
    text.extend_from_slice(line.as_bytes());
    text.extend_from_slice(format!("end {}\n", lines.len() + 1).as_bytes());
    // A reader counts output that cannot be written as missing.
    let _ = stream::write(stream::OUTPUT, &text);
    Ok(i32::from(status != 0 || protected.is_err() || lines.len() != child::TESTS.len()))
}

fn confined(arguments: &Arguments) -> i32 {
    match (arguments.get(1).unwrap_or_default(), arguments.get(2).unwrap_or_default()) {
        (b"child", _) => child::run(),
        (b"instruction", name) => nacre_raw::privileged(&String::from_utf8_lossy(name)),
        (b"touch", address) => nacre_raw::read(String::from_utf8_lossy(address).parse().unwrap_or(0)) as i32 & 0,
        (b"escape", path) => escape::run(path),
        _ => parent().unwrap_or_else(|why| {
            let _ = stream::write(stream::MESSAGES, format!("confined: {why}\n").as_bytes());
            125
        }),
    }
}
