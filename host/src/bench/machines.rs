//! `nacre bench --machines`: the same program as the only process of Debian's kernel, on the bare
//! QEMU and in `machine`, and what an exit of a guest costs.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::Path;

use super::page::{PAGE, ratio, table};
use super::table::{Figures, Row, Table, cell};
use super::linux;
use crate::boot::files::Files;
use crate::boot::guest::Guest;
use crate::boot::initramfs::archive;
use crate::boot::kernel::{Kind, kernel};
use crate::builds::{Products, Program};
use crate::cli::GuestArguments;
use crate::failure::{Class, Context, Outcome};
use crate::scratch::Scratch;
use crate::session::terminal::Facts;
use crate::tree::Tree;

/// Memory of Linux, alone and as a guest.
pub const MEMORY: u64 = 256 << 20;
/// Memory of the machine below the guest.
pub const OUTER: u64 = 1 << 30;
/// Row of an exit of a guest, and the instructions that it aims at.
pub const EXIT: (&str, u64) = ("guest_exit", 1_200);
/// Row of the start of Linux's first program, and the factor that it is to take at most in a guest.
const BOOT: (&str, f64) = ("machine_to_program", 1.15);
/// Factor that any other operation is to take at most in a guest.
const MORE: f64 = 1.05;
/// Title of the section of the page.
const TITLE: &str = "## Guest machines\n";

/// Figures of a guest beside those of the same system alone.
pub struct Machines {
    /// Linux in a guest, and alone.
    pub table: Table,
    /// Instructions of an exit.
    pub exit: Option<u64>,
}

/// Returns the files of Linux, alone and as a guest: the program is its first.
pub fn files(program: &Program) -> Outcome<Files> {
    let mut files = Files::default();
    let bytes = fs::read(&program.path).context(Class::Build, || format!("cannot read {}", program.path.display()))?;
    files.add_file(Path::new("/init"), 0o755, bytes);
    Ok(files)
}

/// Composes the system below Linux as a guest, which has the same words and files as alone.
pub fn compose(tree: &Tree, products: &Products, files: &Files) -> Outcome<Guest> {
    let initrd = Scratch::write("initramfs", &archive(files))?;
    let files = vec![format!("{}:/kernel", kernel(tree, Kind::Cloud)?.display()), format!("{}:/initrd", initrd.path().display())];
    let memory = (MEMORY >> 20).to_string() + "M";
    let words = ["machine", "--memory", &memory, "--kernel", "/kernel", "--initrd", "/initrd", "--append", linux::COMMAND_LINE];
    let guest = GuestArguments { bare: true, files, command: words.map(OsString::from).to_vec(), ..GuestArguments::default() };
    Guest::compose(products, &guest, &Facts::PIPE)
}

impl Machines {
    /// Joins the figures of Linux in a guest, of Linux alone, and of the exit.
    pub fn join(guest: &Figures, alone: &Figures, exit: &Figures) -> Machines {
        Machines { table: Table::join(guest, alone), exit: exit.find(EXIT.0).map(|figure| figure.instructions) }
    }

    /// Writes the section of the page, in place of the one that is there.
    pub fn write(&self, tree: &Tree) -> Outcome<()> {
        let page = tree.path(PAGE);
        let old = fs::read_to_string(&page).context(Class::File, || format!("cannot read {PAGE}"))?;
        fs::write(&page, replaced(&old, &self.section())).context(Class::File, || format!("cannot write {PAGE}"))
    }

    /// Returns the section, with its title.
    pub fn section(&self) -> String {
        let lead = "`./nacre bench --machines --write` renews this section alone. The same program is the only\nprocess of Debian's kernel, alone in QEMU and in `machine` with nested paging. The first row counts\nfrom the reset of either machine.\n";
        let row = |row: &Row| {
            let [guest, alone] = [&row.nacre, &row.linux].map(|figure| figure.as_ref().map(|figure| figure.instructions));
            let aim = aim(&row.name);
            let missed = if row.ratio().is_some_and(|ratio| ratio > aim) { ", **not reached**" } else { "" };
            vec![format!("`{}`", row.name), cell(guest), cell(alone), ratio(row.ratio()), format!("{aim}{missed}")]
        };
        let table = table(&["operation", "in a guest", "alone", "ratio", "aim"], self.table.rows.iter().map(row));
        let exit = self.exit.map_or(String::new(), |exit| format!("\nA guest that executes CPUID: {} instructions out of it and into it again, with an aim of {}.\n", cell(Some(exit)), cell(Some(EXIT.1))));
        format!("{TITLE}\n{lead}\n{table}{exit}")
    }
}

fn aim(name: &str) -> f64 {
    if name == BOOT.0 { BOOT.1 } else { MORE }
}

/// The page with this section: in place of the old one, or behind all.
fn replaced(page: &str, section: &str) -> String {
    let Some((before, rest)) = page.split_once(TITLE) else { return format!("{page}\n{section}") };
    let behind = rest.find("\n## ").map_or("", |at| &rest[at..]);
    format!("{before}{section}{behind}")
}

impl fmt::Display for Machines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{:<36} {:>12} {:>12} {:>8}", "operation", "in a guest", "alone", "ratio")?;
        for row in &self.table.rows {
            let [guest, alone] = [&row.nacre, &row.linux].map(|figure| cell(figure.as_ref().map(|figure| figure.instructions)));
            writeln!(formatter, "{:<36} {guest:>12} {alone:>12} {:>8}", row.name, ratio(row.ratio()))?;
        }
        write!(formatter, "\n{}: {}", EXIT.0, cell(self.exit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines() -> Machines {
        let table = Table::join(&Figures::parse("measure machine_to_program 120 0\nmeasure null_call 105 1\nmeasure thread_switch 200 1\n"), &Figures::parse("measure machine_to_program 100 0\nmeasure null_call 100 1\nmeasure thread_switch 100 1\n"));
        Machines { table, exit: Some(1234) }
    }

    #[test]
    fn a_missed_aim_is_named() {
        let section = machines().section();
        assert!(section.contains("| `machine_to_program` | 120 | 100 | 1.200 | 1.15, **not reached** |"));
        assert!(section.contains("| `null_call` | 105 | 100 | 1.050 | 1.05 |") && section.contains("| 2.000 | 1.05, **not reached** |"));
        assert!(section.contains("CPUID: 1,234 instructions"));
    }

    #[test]
    fn a_section_takes_the_place_of_the_old_one() {
        let (first, section) = ("# Page\n\nwords\n", machines().section());
        let page = replaced(first, &section);
        assert_eq!(page, format!("{first}\n{section}"));
        assert_eq!(replaced(&page, &section), page);
        let between = format!("{page}\n## Last\n\nmore\n");
        assert_eq!(replaced(&between, &section), between);
    }
}
