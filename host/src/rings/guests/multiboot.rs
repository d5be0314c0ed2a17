//! Multiboot kernels: one of `tests/guests`, as a file of each kind that loaders know. It prints
//! what it is told, with pages of its own or without, and turns its machine off.

use std::path::Path;

use super::compiler::{compile, widen};
use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::Outcome;
use crate::rings::system::{describe, limits};
use crate::rings::tally::TestCounts;
use crate::run::machine;
use crate::scratch::{Folder, Scratch};
use crate::session::capture::capture;
use crate::session::terminal::Facts;

/// Names of the cases, and the translator of addresses of each.
const CASES: [(&str, &str); 3] = [
    ("a multiboot kernel runs with and without pages of its own", "nested"),
    ("a multiboot kernel runs on shadow paging", "shadow"),
    ("a multiboot kernel's paging is switched while it runs", "turns"),
];

/// A file of the kernel, the words that the compiler needs for it, and how the kernel translates
/// addresses.
struct File {
    name: &'static str,
    words: &'static [&'static str],
    /// The file is made one of 64 bits.
    is_wide: bool,
    paging: &'static str,
}

const fn file(name: &'static str, words: &'static [&'static str], is_wide: bool, paging: &'static str) -> File {
    File { name, words, is_wide, paging }
}

const FLAT: &str = "-Wl,--oformat=binary";
const FILES: &[File] = &[
    file("one", &["-DMULTIBOOT=1", "-DFLAGS=3"], false, "none"),
    file("one-flat", &["-DMULTIBOOT=1", "-DFLAGS=3", "-DFLAT", FLAT], false, "two"),
    file("one-wide", &["-DMULTIBOOT=1", "-DFLAGS=0"], true, "pae"),
    file("two", &["-DMULTIBOOT=2", "-DFLAGS=3"], false, "two"),
    file("two-flat", &["-DMULTIBOOT=2", "-DFLAGS=3", "-DFLAT", FLAT], false, "pae"),
    file("two-wide", &["-DMULTIBOOT=2", "-DFLAGS=3"], true, "none"),
];
/// Files that require a screen.
const REFUSED: &[File] = &[file("one-screen", &["-DMULTIBOOT=1", "-DFLAGS=4"], false, ""), file("two-screen", &["-DMULTIBOOT=2", "-DFLAGS=4"], false, "")];
/// A guest that waits for three interrupts halts three times, or less often if two come at once:
/// what it is given it takes before its next instruction, which here turns interrupts off.
const HALTS: &str = "halts=$(machine --stats --memory 16M --kernel /one --initrd /module --append paging=none 2>&1 >/dev/null | sed -n 's/.*exit 0x78: //p'); test $halts -le 3; echo halts: $?\n";
const REFUSAL: &str = "the kernel's multiboot header requires a screen, which the machine lacks";

/// Runs the cases whose names contain the filter.
pub fn run(products: &Products, filter: &str, tally: &mut TestCounts) -> Outcome<()> {
    for (name, translator) in CASES.iter().filter(|(name, _)| name.contains(filter)) {
        tally.note(name, fault(products, translator)?.as_deref());
    }
    Ok(())
}

/// Compiles a file into a folder.
fn make(products: &Products, folder: &Path, file: &File) -> Outcome<()> {
    let words = [&["-m32", "-Wl,--no-warn-rwx-segments", "-T", "multiboot.ld", "multiboot.S", "multiboot.c", "nowhere.c"], file.words].concat();
    let kernel = folder.join(file.name);
    if !file.is_wide {
        return compile(&products.tree, &kernel, &words);
    }
    let narrow = folder.join("narrow");
    compile(&products.tree, &narrow, &words)?;
    widen(&narrow, &kernel)
}

/// Lines that a kernel prints, in the order in which its protocol tells them.
fn expected(file: &File) -> String {
    const MEMORY: &str = "memory: 27f 3c00\n";
    const RANGES: &str = "range: 0 9fc00 1\nrange: 9fc00 60400 2\nrange: 100000 f00000 1\n";
    const MODULE: &str = "module: /module\nsize, sum: 1388 76688\nmodule: /other and words\nsize, sum: 3 126\n";
    let told = if file.name.starts_with("one") { format!("{MEMORY}{RANGES}{MODULE}") } else { format!("tables of ACPI\n{MODULE}{MEMORY}{RANGES}") };
    let pages = match file.paging {
        "two" => "pages by two levels\n",
        "pae" => "pages by three levels\n",
        _ => "",
    };
    format!("loader: Nacre machine\n{told}line: paging={} and words\nvectors and exchanges\n{pages}interrupts of a timer\n{}: 0\n", file.paging, file.name)
}

/// Returns the fault, if there was one.
fn fault(products: &Products, translator: &str) -> Outcome<Option<String>> {
    let folder = Folder::new("multiboot")?;
    let module = Scratch::write("module", &[b'a'; 5000])?;
    let other = Scratch::write("module", b"bbb")?;
    let mut files = vec![format!("{}:/module", module.path().display()), format!("{}:/other", other.path().display())];
    for file in FILES.iter().chain(REFUSED) {
        make(products, folder.path(), file)?;
        files.push(format!("{}:/{}", folder.path().join(file.name).display(), file.name));
    }
    let line = |file: &File| {
        let words = format!("--initrd /module --initrd /other --initrd-words 'and words' --append 'paging={} and words'", file.paging);
        format!("machine --memory 16M --paging {translator} --kernel /{0} {words}; echo {0}: $?\n", file.name)
    };
    let refused = |file: &File| format!("machine --memory 16M --kernel /{} 2>&1; echo $?\n", file.name);
    let script: String = FILES.iter().map(line).chain(REFUSED.iter().map(refused)).chain([HALTS.to_string()]).collect();
    let command = ["process", "sh", "-c", &script].map(Into::into).to_vec();
    let guest = Guest::compose(products, &GuestArguments { files, command, ..GuestArguments::default() }, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let captured = capture(&machine(products, &image, MachineArguments { takes_turns: true, ..MachineArguments::default() }), limits(), b"")?;
    let wanted: String = FILES.iter().map(expected).chain(REFUSED.iter().map(|file| format!("machine: cannot load /{}: {REFUSAL}\n125\n", file.name))).chain(["halts: 0\n".to_string()]).collect();
    let passed = String::from_utf8_lossy(&captured.output) == wanted && matches!(captured.status, Ok(0));
    Ok((!passed).then(|| describe(&captured)))
}
