//! Relative: whatever its environment is made of, a program observes the same. `observe` writes
//! down what it does; without it, the program is a parent.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod observe;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::supply::ResourceSource;
use nacre_nest::{Handler, Ports, Program, Services, Sizes, attend, spawn};
use nacre_proto::clock::read;
use nacre_proto::flags::{SERVICE_CLOCK, SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::server::Output;
use nacre_proto::{Errno, Given, HandlerResult, Request, clock, memory, parent};
use nacre_rt::{Arguments, stream};
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference};

nacre_rt::entry!(relative);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Path of this program.
const PATH: &[u8] = b"/bin/relative";
/// Bytes that the child may have.
const LIMIT: u64 = 16 << 20;

/// A parent with a clock of its own, that counts its readings, and a pool of its own.
struct Steady {
    /// A reference to the port that this answers: the clock is asked there, too.
    own: OwnedReference,
    pool: OwnedReference,
    readings: u64,
}

impl clock::Server for Steady {
    fn read(&mut self, _: &mut Request<'_>, which: u64) -> HandlerResult<read::Output> {
        self.readings += 1;
        match which {
            0 | 1 => read::Output { seconds: 1_000 + self.readings, nanoseconds: 5 * self.readings }.now(),
            _ => Err(Errno::EINVAL),
        }
    }
}

impl Handler for Steady {
    fn find(&mut self, service: u64) -> Result<Given, Errno> {
        match service {
            SERVICE_CLOCK => Ok(Given::Lent(self.own.handle())),
            SERVICE_MEMORY | SERVICE_OBJECTS => Ok(Given::Lent(self.pool.handle())),
            other => parent::find(Reference::PARENT, other).map(|reply| reply.found.into()),
        }
    }

    fn other(&mut self, request: &mut Request<'_>) {
        clock::dispatch(self, request);
    }
}

/// Takes memory that stays, so that what comes after lies elsewhere.
fn take_junk(services: &mut Services, pieces: usize) -> Result<(), String> {
    for piece in 0..pieces {
        let size = 4096 * (1 + (piece as u64 * 37) % 100);
        core::mem::forget(services.segment(size).map_err(|refusal| format!("{refusal}"))?);
    }
    Ok(())
}

fn run(pieces: usize) -> Result<i32, String> {
    let mut services = Services::find().map_err(|refusal| format!("{refusal}"))?;
    take_junk(&mut services, pieces)?;
    let status = |status| format!("{status:?}");
    let port = OwnedPort::new(0, PortSet(0)).map_err(status)?;
    let own = port.new_reference(REFERENCE_USE).map_err(status)?;
    let pool = memory::pool_create(services.memory(), LIMIT).map_err(|errno| format!("no pool: {errno}"))?.pool;
    let ports = Ports { parent: own.handle(), keeper: port.handle().as_keeper() };
    let program = Program {
        path: PATH,
        arguments: &[PATH, b"observe", b"one argument"],
        environment: &[b"NAME=value"],
        directory: b"",
        random: [9; 16],
        sizes: Sizes::default(),
    };
    let child = spawn(&mut services, &program, ports).map_err(|refusal| format!("{refusal}"))?;
    child.start().map_err(|refusal| format!("{refusal}"))?;
    let mut steady = Steady { own, pool, readings: 0 };
    attend(port.handle(), &mut steady).map(|status| status as i32).map_err(status)
}

/// `relative [PIECES]`: the parent, with so many pieces of memory taken before; `relative observe`:
/// the child.
fn relative(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match words.first() {
        Some(&b"observe") => observe::run(arguments),
        pieces => {
            let pieces = pieces.and_then(|text| core::str::from_utf8(text).ok()?.parse().ok()).unwrap_or(0);
            run(pieces).unwrap_or_else(|why| {
                let _ = stream::write(stream::MESSAGES, format!("relative: {why}\n").as_bytes());
                125
            })
        }
    }
}
