//! The compiler of the kernels of `tests/guests`.

use std::path::Path;
use std::process::Command;

use crate::failure::{Class, Context, Failure, Outcome};
use crate::tree::Tree;

/// Folder of the kernels' sources.
const FOLDER: &str = "tests/guests";
/// Options for a kernel, which uses no registers of the FPU.
const COMPILER: &[&str] = &[
    "-std=gnu11", "-O2", "-Wall", "-Werror", "-ffreestanding", "-fno-pic", "-no-pie", "-static", "-nostdlib", "-mgeneral-regs-only",
    "-fno-stack-protector", "-fcf-protection=none", "-fno-asynchronous-unwind-tables", "-fno-strict-aliasing", "-Wl,--build-id=none",
];

/// Compiles a kernel from sources of the folder, with more options.
pub fn compile(tree: &Tree, kernel: &Path, words: &[&str]) -> Outcome<()> {
    run(Command::new("gcc").current_dir(tree.path(FOLDER)).args(COMPILER).args(words).arg("-o").arg(kernel))
}

/// Makes a 64-bit ELF file of a 32-bit one.
pub fn widen(from: &Path, to: &Path) -> Outcome<()> {
    run(Command::new("objcopy").args(["-O", "elf64-x86-64"]).arg(from).arg(to))
}

fn run(command: &mut Command) -> Outcome<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().context(Class::Machine, || format!("cannot start {name}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Failure::new(Class::Build, format!("{name} refuses a guest: {}", String::from_utf8_lossy(&output.stderr)))),
    }
}
