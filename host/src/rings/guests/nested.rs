//! This system as a guest of itself: its kernel in a machine, with a boot image of its own.

use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments, Seed};
use crate::failure::Outcome;
use crate::rings::system::{describe, limits};
use crate::rings::tally::TestCounts;
use crate::run::machine;
use crate::scratch::Scratch;
use crate::session::capture::capture;
use crate::session::terminal::Facts;

const NAME: &str = "the system runs a command in a machine in itself";
/// Processes, pipes and files of the inner system.
const COMMAND: &str = "seq 1 300 | sort -n | tail -1 >/tmp/f; cat /tmp/f; echo the answer is $((6 * 7)); echo told >&2; exit 7";

/// Runs the case, if its name contains the filter.
pub fn run(products: &Products, filter: &str, tally: &mut TestCounts) -> Outcome<()> {
    if NAME.contains(filter) {
        tally.note(NAME, fault(products)?.as_deref());
    }
    Ok(())
}

/// Returns the fault, if there was one.
fn fault(products: &Products) -> Outcome<Option<String>> {
    let inner = GuestArguments { command: ["process", "sh", "-c", COMMAND].map(Into::into).to_vec(), seed: Seed::Processor, ..GuestArguments::default() };
    let inner = Scratch::write("inner-image", &Guest::compose(products, &inner, &Facts::PIPE)?.image)?;
    let files = vec![format!("{}:/kernel", products.kernel.display()), format!("{}:/image", inner.path().display())];
    let command = ["machine", "--memory", "192M", "--kernel", "/kernel", "--initrd", "/image"].map(Into::into).to_vec();
    let guest = Guest::compose(products, &GuestArguments { files, command, ..GuestArguments::default() }, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let arguments = MachineArguments { takes_turns: true, memory: 1 << 30, ..MachineArguments::default() };
    let captured = capture(&machine(products, &image, arguments), limits(), b"")?;
    let (text, errors) = (String::from_utf8_lossy(&captured.output).into_owned(), String::from_utf8_lossy(&captured.errors).into_owned());
    let passed = text == "300\nthe answer is 42\n" && errors.contains("told") && matches!(captured.status, Ok(7));
    Ok((!passed).then(|| describe(&captured)))
}
