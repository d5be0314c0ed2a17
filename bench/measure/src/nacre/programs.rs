//! Programs from start to finish, and a service's call through monitors that are programs.

use alloc::format;
use alloc::vec::Vec;

use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::{Handler, Ports, Program, Services, Sizes, attend, spawn};
use nacre_proto::{Errno, flags, memory, parent};
use nacre_sys::{OwnedPort, PortSet, Reference};

use super::fixture::Fixture;
use crate::figure::{sample, sample_results, say, tell};

/// Numbers of layers of `trace`.
const TRACED: [usize; 6] = [0, 1, 2, 4, 8, 16];

/// A parent that leaves everything to its own.
struct Plain;

impl Handler for Plain {}

/// Runs a program to its end, in an environment made of this one's: its exit status.
fn run(services: &mut Services, environment: &[&[u8]], arguments: &[&[u8]]) -> Result<u64, Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let reference = port.new_reference(REFERENCE_USE)?;
    let ports = Ports { parent: reference.handle(), keeper: port.handle().as_keeper() };
    let program = Program { path: arguments[0], arguments, environment, directory: b"", random: [7; 16], sizes: Sizes::default() };
    let child = spawn(services, &program, ports).map_err(|refusal| {
        say(format_args!("refused: {refusal}"));
        Errno::ENOENT
    })?;
    child.start().map_err(|_| Errno::EIO)?;
    let status = attend(port.handle(), &mut Plain)?;
    child.destroy();
    Ok(status)
}

fn time(ground: &Fixture, arguments: &[&[u8]]) -> Result<u64, Errno> {
    let mut services = Services::find().map_err(|_| Errno::ENOENT)?;
    let environment: Vec<&[u8]> = ground.environment().collect();
    match run(&mut services, &environment, arguments)? {
        0 => sample_results(3, || run(&mut services, &environment, arguments)),
        _ => Err(Errno::ENOEXEC),
    }
}

/// Starts this program, which ends at once.
pub fn this_one(ground: &Fixture) -> Result<u64, Errno> {
    time(ground, &[ground.path, b"true"])
}

/// Busybox's `true`.
pub fn busybox_true(ground: &Fixture) -> Result<u64, Errno> {
    time(ground, &[b"/bin/busybox", b"true"])
}

/// Runs this program under more and more layers of `trace`; each run tells its figure itself.
pub fn under_trace(ground: &Fixture) {
    for layers in TRACED {
        if let Err(errno) = run_traced(ground, layers) {
            say(format_args!("unmeasured traced_{layers} {errno}"));
        }
    }
}

fn run_traced(ground: &Fixture, layers: usize) -> Result<(), Errno> {
    let mut services = Services::find().map_err(|_| Errno::ENOENT)?;
    let environment: Vec<&[u8]> = ground.environment().collect();
    let number = format!("{layers}");
    let mut arguments: Vec<&[u8]> = Vec::new();
    for _ in 0..layers {
        arguments.extend([&b"/bin/trace"[..], b"-q"]);
    }
    arguments.extend([ground.path, b"through", number.as_bytes()]);
    match run(&mut services, &environment, &arguments)? {
        0 => Ok(()),
        _ => Err(Errno::EIO),
    }
}

/// Runs the innermost program: it calls the memory pool, a service of the parent's.
pub fn through(layers: &[u8]) -> Result<(), Errno> {
    let pool = parent::find(Reference::PARENT, flags::SERVICE_MEMORY)?.found;
    memory::status(pool.handle())?;
    let figure = sample(200, || {
        let _ = memory::status(pool.handle());
    });
    let count: u64 = core::str::from_utf8(layers).ok().and_then(|text| text.parse().ok()).unwrap_or_default();
    tell(&format!("traced_{count}"), figure, 2 + 2 * count);
    Ok(())
}
