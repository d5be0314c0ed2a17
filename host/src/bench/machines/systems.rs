//! The systems that the measuring program runs on: Linux alone, in a guest with each way of paging,
//! and in a guest of Linux's own.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Instant;

use super::super::boots::{LIMIT, boot, figures};
use super::super::linux;
use super::column::Column;
use super::{EXIT, Machines, kvm};
use crate::boot::files::Files;
use crate::boot::guest::Guest;
use crate::boot::initramfs::archive;
use crate::boot::kernel::{Kind, kernel};
use crate::builds::{Products, Program};
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Outcome};
use crate::run::machine;
use crate::scratch::Scratch;
use crate::session::Limits;
use crate::session::capture::{Captured, capture};
use crate::session::terminal::Facts;
use crate::tree::Tree;

/// Memory of Linux, alone and as a guest.
pub const MEMORY: u64 = 256 << 20;
/// Memory of the machine below a guest.
pub const OUTER: u64 = 1 << 30;

/// Runs the program on all systems. Where KVM cannot run, its columns are empty.
pub fn measure(tree: &Tree, products: &Products, program: &Program) -> Outcome<Machines> {
    let exit = figures(&boot(products, &["measure", EXIT.0], steady(MEMORY))?)?;
    let files = files(program)?;
    let (alone, nested) = (timed("Linux alone", || linux::boot(tree, &files, steady(MEMORY), LIMIT))?, guest(tree, products, &files, "nested")?);
    let shadow = guest(tree, products, &files, "shadow")?;
    let kvm = [true, false].map(|nested| match timed("Linux in KVM", || kvm::boot(tree, &files, nested)) {
        Ok(column) => column,
        Err(failure) => {
            eprintln!("nacre: no figures of KVM: {failure}");
            Column::default()
        }
    });
    let [kvm_nested, kvm_shadow] = kvm;
    Ok(Machines { alone, nested, shadow, kvm_nested, kvm_shadow, exit: exit.find(EXIT.0).map(|figure| figure.instructions) })
}

/// Time advances with instructions.
pub fn steady(memory: u64) -> MachineArguments {
    MachineArguments { icount: true, memory, ..MachineArguments::default() }
}

/// Runs a system. Returns what it measured, and how long it took by the wall.
fn timed(name: &str, run: impl FnOnce() -> Outcome<Captured>) -> Outcome<Column> {
    eprintln!("nacre: measuring: {name}");
    let begun = Instant::now();
    let captured = run()?;
    let wall = begun.elapsed();
    Ok(Column { figures: figures(&captured)?, exits: Column::exits(&String::from_utf8_lossy(&captured.errors)), wall })
}

/// Returns the files of Linux, alone and as a guest: the program is its first.
fn files(program: &Program) -> Outcome<Files> {
    let mut files = Files::default();
    let bytes = fs::read(&program.path).context(Class::Build, || format!("cannot read {}", program.path.display()))?;
    files.add_file(Path::new("/init"), 0o755, bytes);
    Ok(files)
}

/// Runs Linux as a guest of `machine`, with the words and files that it has alone.
fn guest(tree: &Tree, products: &Products, files: &Files, paging: &str) -> Outcome<Column> {
    let initrd = Scratch::write("initramfs", &archive(files))?;
    let files = vec![format!("{}:/kernel", kernel(tree, Kind::Cloud)?.display()), format!("{}:/initrd", initrd.path().display())];
    let memory = (MEMORY >> 20).to_string() + "M";
    let words = ["machine", "--memory", &memory, "--paging", paging, "--stats", "--kernel", "/kernel", "--initrd", "/initrd", "--append", linux::COMMAND_LINE];
    let guest = GuestArguments { bare: true, files, command: words.map(OsString::from).to_vec(), ..GuestArguments::default() };
    let guest = Guest::compose(products, &guest, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let limits = Limits { timeout: Some(LIMIT), ..Limits::default() };
    timed(&format!("Linux in a guest, {paging} paging"), || capture(&machine(products, &image, steady(OUTER)), limits, b""))
}
