//! A program destroyed the memory of its own tables. Its space and its threads ended, and whoever
//! waited for the program waited for ever.
//!
//! The argument is `PART,KEEPER`. The part is `tables` or `thread`. With the keeper `self` the
//! program first makes itself the keeper of its space, so that the end is no exception that its
//! parent would see. The program ends as one that was killed.

use crate::tools::{object_memory, why};
use crate::outcome::{Outcome, Verdict};
use alloc::string::String;
use nacre_abi::rights::REFERENCE_CONTROL;
use nacre_proto::{parent, segment};
use nacre_sys::{OwnedPort, PortSet, Reference, Space, Thread};

/// Pages of the memory that is destroyed.
const PAGES: u64 = 4;

/// Makes a port of the program the keeper of its space. The port stays.
fn keep_itself() -> Result<(), String> {
    let port = OwnedPort::new(0, PortSet::NONE).map_err(why("a port"))?;
    let control = port.new_reference(REFERENCE_CONTROL).map_err(why("control over it"))?;
    parent::keep(Reference::PARENT, control.handle()).map_err(why("keeping itself"))?;
    port.leak();
    Ok(())
}

/// Destroys memory that holds a part of the program's environment. Does not return if that ends the
/// program.
pub fn attack(argument: &[u8]) -> Outcome {
    let (part, keeper) = match argument.iter().position(|byte| *byte == b',') {
        Some(at) => (&argument[..at], &argument[at + 1..]),
        None => (argument, &b""[..]),
    };
    if keeper == b"self" {
        keep_itself()?;
    }
    let memory = object_memory(PAGES)?;
    match part {
        b"thread" => drop(Thread::create(memory.start(), Space::OWN).map_err(why("a thread"))?),
        _ => Space::OWN.donate(memory.start(), PAGES).map_err(why("donating"))?,
    }
    segment::destroy(memory.port()).map_err(why("destroying"))?;
    if part == b"thread" {
        // The other thread has ended, and whoever keeps the program ends the rest.
        let _ = Thread::sleep(crate::tools::PATIENCE);
    }
    Ok(Verdict::Refused)
}
