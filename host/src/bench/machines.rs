//! `nacre bench --machines`: the same program as the only process of Debian's kernel, on the bare
//! QEMU, in `machine` with nested and with shadow paging, and in Linux's own KVM; the rows of paper
//! 003 beside ours; and what an exit of a guest costs.

mod column;
mod kvm;
mod systems;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;

use super::page::{PAGE, ratio, table};
use super::table::cell;
use crate::failure::{Class, Context, Outcome};
use crate::tree::Tree;
use column::Column;
pub use systems::measure;

/// Row of an exit of a guest, and the instructions that it aims at.
pub const EXIT: (&str, u64) = ("guest_exit", 1_200);
/// Row of the start of Linux's first program, and the factor that it is to take at most in a guest.
const BOOT: (&str, f64) = ("machine_to_program", 1.15);
/// Factor that any other operation is to take at most in a guest with nested paging.
const MORE: f64 = 1.05;
/// Title of the section of the page.
const TITLE: &str = "## Guest machines\n";

/// A row of the paper's table: its name there, the nearest of our operations, by what factor shadow
/// paging took longer in Karma than nested paging, and the factor that we aim at.
type PaperRow = (&'static str, &'static str, f64, Option<f64>);

/// Rows of paper 003, chapter 10.
const PAPER: [PaperRow; 6] = [
    ("lat_pipe", "round_trip_pipe", 514.0, Some(10.0)),
    ("lat_unix", "round_trip_reference", 565.3, None),
    ("lat_sem", "round_trip_words", 484.3, None),
    ("lat_proc (fork+exit)", "fork_exit_wait", 88.1, Some(8.0)),
    ("lat_proc (fork+/bin/sh -c)", "program_start_finish", 90.4, None),
    ("lat_pagefault", "mapping_create_touch_destroy", 10.7, Some(4.0)),
];

/// Figures of guests beside those of the same system alone.
#[derive(Default)]
pub struct Machines {
    /// Linux without a machine around it.
    pub alone: Column,
    /// Linux as a guest, nested paging.
    pub nested: Column,
    /// Linux as a guest, shadow paging.
    pub shadow: Column,
    /// Linux as a guest of Linux's KVM, nested paging.
    pub kvm_nested: Column,
    /// Linux as a guest of Linux's KVM, shadow paging.
    pub kvm_shadow: Column,
    /// Instructions of an exit.
    pub exit: Option<u64>,
}

impl Machines {
    fn columns(&self) -> [&Column; 5] {
        [&self.alone, &self.nested, &self.shadow, &self.kvm_nested, &self.kvm_shadow]
    }

    /// Names of the operations, in the order in which Linux alone measured them.
    fn names(&self) -> Vec<String> {
        self.alone.figures.names().map(str::to_string).collect()
    }

    /// Writes the section of the page, in place of the one that is there.
    pub fn write(&self, tree: &Tree) -> Outcome<()> {
        let page = tree.path(PAGE);
        let old = fs::read_to_string(&page).context(Class::File, || format!("cannot read {PAGE}"))?;
        fs::write(&page, replaced(&old, &self.section())).context(Class::File, || format!("cannot write {PAGE}"))
    }

    /// Returns the section, with its title.
    pub fn section(&self) -> String {
        let lead = "`./nacre bench --machines karma --write` renews this section alone. The same program is the only\nprocess of Debian's kernel: alone in QEMU, in `machine` with each way of paging, and in Debian's\nQEMU with Linux's KVM, in the same emulated machine. The first row counts from the reset of the\nmachine; the clock of a guest of KVM begins elsewhere, so its first row says nothing.\n";
        let parts = [self.operations(), self.paper(), self.kinds(), self.wall()];
        format!("{TITLE}\n{lead}\n{}{}", parts.join("\n"), self.exit_line())
    }

    fn operations(&self) -> String {
        let row = |name: &String| {
            let aim = aim(name);
            let factor = self.nested.ratio(&self.alone, name);
            let missed = if factor.is_some_and(|factor| factor > aim) { ", **not reached**" } else { "" };
            let cells = self.columns().map(|column| cell(column.find(name)));
            [vec![format!("`{name}`")], cells.to_vec(), vec![ratio(factor), format!("{aim}{missed}")]].concat()
        };
        table(&["operation", "alone", "nested", "shadow", "KVM, nested", "KVM, shadow", "nested : alone", "aim"], self.names().iter().map(row))
    }

    /// Shadow paging for nested paging: the paper's table, KVM's and ours.
    fn paper(&self) -> String {
        let row = |&(title, name, karma, aim): &PaperRow| {
            let (ours, kvm) = (self.shadow.ratio(&self.nested, name), self.kvm_shadow.ratio(&self.kvm_nested, name));
            let missed = if ours.zip(aim).is_some_and(|(ours, aim)| ours > aim) { ", **not reached**" } else { "" };
            vec![title.to_string(), format!("`{name}`"), format!("{karma}"), ratio(kvm), ratio(ours), aim.map_or("-".to_string(), |aim| format!("{aim}{missed}"))]
        };
        let lead = "Shadow paging divided by nested paging, in the paper's table, in KVM and here:\n";
        format!("{lead}\n{}", table(&["lmbench's", "our operation", "Karma", "KVM", "Nacre", "aim"], PAPER.iter().map(row)))
    }

    /// Table of the exits of the whole run.
    fn kinds(&self) -> String {
        let [nested, shadow] = [self.nested.kinds(), self.shadow.kinds()];
        let names: BTreeSet<&str> = nested.keys().chain(shadow.keys()).copied().collect();
        let row = |name: &&str| vec![name.to_string(), cell(nested.get(name).copied()), cell(shadow.get(name).copied())];
        let lead = "How often the guest was left in the whole run, from its first instruction to its last:\n";
        format!("{lead}\n{}", table(&["exit", "nested", "shadow"], names.iter().map(row)))
    }

    fn wall(&self) -> String {
        let seconds = self.columns().map(|column| if column.wall.is_zero() { "-".to_string() } else { format!("{:.1} s", column.wall.as_secs_f64()) });
        let lead = "Whole runs by the wall, each with the start of whatever is below the guest:\n";
        format!("{lead}\n{}", table(&["", "alone", "nested", "shadow", "KVM, nested", "KVM, shadow"], [[vec![String::from("run")], seconds.to_vec()].concat()].into_iter()))
    }

    fn exit_line(&self) -> String {
        self.exit.map_or(String::new(), |exit| format!("\nA guest that executes CPUID: {} instructions out of it and into it again, with an aim of {}.\n", cell(Some(exit)), cell(Some(EXIT.1))))
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
        write!(formatter, "{}", self.section())
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Figures;
    use super::*;

    fn column(text: &str) -> Column {
        Column { figures: Figures::parse(text), ..Column::default() }
    }

    fn machines() -> Machines {
        Machines {
            alone: column("measure machine_to_program 100 0\nmeasure null_call 100 1\nmeasure thread_switch 100 1\nmeasure fork_exit_wait 100 1\n"),
            nested: column("measure machine_to_program 120 0\nmeasure null_call 105 1\nmeasure thread_switch 200 1\nmeasure fork_exit_wait 100 1\n"),
            shadow: column("measure null_call 105 1\nmeasure fork_exit_wait 900 1\n"),
            exit: Some(1234),
            ..Machines::default()
        }
    }

    #[test]
    fn a_missed_aim_is_named() {
        let section = machines().section();
        assert!(section.contains("| `machine_to_program` | 100 | 120 | - | - | - | 1.200 | 1.15, **not reached** |"));
        assert!(section.contains("| `null_call` | 100 | 105 | 105 | - | - | 1.050 | 1.05 |") && section.contains("| 2.000 | 1.05, **not reached** |"));
        assert!(section.contains("| `fork_exit_wait` | 88.1 | - | 9.000 | 8, **not reached** |"));
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
