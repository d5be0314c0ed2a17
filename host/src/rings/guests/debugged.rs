//! Debian's gdb debugs Debian's kernel in a guest, from its first instruction on.

use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Failure, Outcome};
use crate::rings::debugger;
use crate::rings::system::limits;
use crate::rings::tally::TestCounts;
use crate::run::machine;
use crate::scratch::{Folder, Scratch};
use crate::session::capture::capture;
use crate::session::debug_line::DebugLine;
use crate::session::terminal::Facts;

const NAME: &str = "gdb debugs a guest's kernel";
/// Commands for gdb. What is to come of them stands beside it.
const SCRIPT: &str = "tests/debugged/kernel.gdb";

/// Runs the case, if its name contains the filter.
pub fn run(products: &Products, filter: &str, tally: &mut TestCounts) -> Outcome<()> {
    if NAME.contains(filter) {
        tally.note(NAME, fault(products)?.as_deref());
    }
    Ok(())
}

/// Returns the fault, if there was one.
fn fault(products: &Products) -> Outcome<Option<String>> {
    let script = products.tree.path(SCRIPT);
    let command = ["machine", "--gdb", "--cpus", "2", "--append", "nokaslr", "sh", "-c", "echo $((6 * 7)); exit 7"].map(Into::into).to_vec();
    let guest = Guest::compose(products, &GuestArguments { command, ..GuestArguments::default() }, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let (line, place) = (DebugLine::open(0)?, Folder::new("debugged")?);
    let (port, socket) = (line.number(), line.socket());
    let _folder = line.carry();
    let arguments = MachineArguments { takes_turns: true, debug_line: Some(socket), ..MachineArguments::default() };
    let machine = machine(products, &image, arguments);
    let (captured, said) = std::thread::scope(|scope| {
        let gdb = scope.spawn(|| debugger::gdb(&script, None, port, place.path()));
        (capture(&machine, limits(), b""), gdb.join())
    });
    let said = said.map_err(|_| Failure::new(Class::Internal, "the thread of gdb has panicked"))??;
    debugger::judge(&script.with_extension("expected"), &captured?, &said)
}
