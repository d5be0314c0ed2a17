//! Debian's kernel for processors of 32 bits in a guest, with a program of `tests/guests` and none
//! of Debian's.

use std::path::Path;

use super::compiler::compile;
use crate::boot::files::Files;
use crate::boot::guest::Guest;
use crate::boot::initramfs;
use crate::boot::kernel::{self, Kind};
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Outcome};
use crate::rings::system::{describe, limits};
use crate::rings::tally::TestCounts;
use crate::run::machine;
use crate::scratch::{Folder, Scratch};
use crate::session::capture::capture;
use crate::session::terminal::Facts;

const NAME: &str = "a guest runs a kernel for 32 bits";
/// Lines of the program, and the status that it gives the machine.
const LINES: [&str; 2] = ["machine i686", "children end"];
const STATUS: i32 = 7;

/// Runs the case, if its name contains the filter.
pub fn run(products: &Products, filter: &str, tally: &mut TestCounts) -> Outcome<()> {
    if !NAME.contains(filter) {
        return Ok(());
    }
    match kernel::kernel(&products.tree, Kind::Word) {
        Err(failure) => println!("skipped: {NAME}, because {failure}"),
        Ok(kernel) => tally.note(NAME, fault(products, &kernel)?.as_deref()),
    }
    Ok(())
}

/// Returns the fault, if there was one.
fn fault(products: &Products, kernel: &Path) -> Outcome<Option<String>> {
    let folder = Folder::new("word")?;
    let program = folder.path().join("init");
    compile(&products.tree, &program, &["-m32", "word.c"])?;
    let mut files = Files::default();
    let content = std::fs::read(&program).context(Class::File, || format!("cannot read {}", program.display()))?;
    files.add_file(Path::new("/init"), 0o755, content);
    let initrd = Scratch::write("initrd", &initramfs::archive(&files))?;
    let files = vec![format!("{}:/vmlinuz", kernel.display()), format!("{}:/initrd", initrd.path().display())];
    let command = ["machine", "--kernel", "/vmlinuz", "--initrd", "/initrd"].map(Into::into).to_vec();
    let guest = Guest::compose(products, &GuestArguments { files, command, ..GuestArguments::default() }, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let captured = capture(&machine(products, &image, MachineArguments { takes_turns: true, ..MachineArguments::default() }), limits(), b"")?;
    let text = String::from_utf8_lossy(&captured.output);
    let holds = |line: &&str| text.lines().any(|found| found.trim() == *line);
    let passed = LINES.iter().all(holds) && matches!(captured.status, Ok(STATUS));
    Ok((!passed).then(|| describe(&captured)))
}
