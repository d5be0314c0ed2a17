//! `doc/performance.md`: the only page of the tree that quotes measured figures.

use std::fs;
use std::time::Duration;

use super::aims;
use super::calls::Calls;
use super::machines::Machines;
use super::parallel::Scaling;
use super::table::{Row, Table, cell, grouped};
use crate::failure::{Class, Context, Outcome};
use crate::tree::Tree;

/// Path of the page in the tree.
pub const PAGE: &str = "doc/performance.md";

/// Milliseconds aimed at for `./nacre run true`.
const WALL_AIM: u64 = 1_500;
/// Round trips of two processors for each one of a single processor, aimed at.
const SCALING_AIM: f64 = 1.8;

/// Figures of one run of `./nacre bench`, and the systems that they come from.
pub struct Page<'a> {
    /// First line of QEMU's `--version`.
    pub qemu: String,
    /// Release of the Linux kernel.
    pub linux: String,
    /// Operations of the kernel.
    pub table: &'a Table,
    /// System calls of Linux programs.
    pub calls: &'a Calls,
    /// Duration of `./nacre run true`.
    pub wall: Duration,
    /// Round trips on two processors.
    pub scaling: &'a Scaling,
    /// Guests.
    pub machines: &'a Machines,
}

impl Page<'_> {
    /// Writes the page into the tree.
    pub fn write(&self, tree: &Tree) -> Outcome<()> {
        // The sections that other commands write stay.
        let before = fs::read_to_string(tree.path(PAGE)).unwrap_or_default();
        let kept = [FREEZING, MOVING, CHAINS, PROGRAMS, OUTSIDE].map(|title| section_of(&before, title).trim_end());
        let text = kept.iter().filter(|kept| !kept.is_empty()).fold(self.text(), |text, kept| format!("{text}\n{kept}\n"));
        fs::write(tree.path(PAGE), text).context(Class::File, || format!("cannot write {PAGE}"))
    }

    fn text(&self) -> String {
        let about = include_str!("page.md").replace("{qemu}", &self.qemu).replace("{linux}", &self.linux);
        let sections = [
            ("Operations of the kernel", "[bench/README.md](../bench/README.md) says what each row measures.", self.operations()),
            ("Layers", "Differences between rows above, for each layer.", self.layers()),
            ("System calls of Linux programs", "[bench/calls/README.md](../bench/calls/README.md) says how they are measured.", self.system_calls()),
            ("Time on the wall", "These two depend on the host and on what else it does.", self.time()),
        ];
        let text = sections.iter().fold(about, |text, (title, lead, table)| format!("{text}\n## {title}\n\n{lead}\n\n{table}"));
        format!("{text}\n{}", self.machines.section())
    }

    fn operations(&self) -> String {
        let row = |row: &Row| {
            let [nacre, linux] = [&row.nacre, &row.linux].map(|figure| figure.as_ref().map(|figure| figure.instructions));
            let entries = cell(row.nacre.as_ref().map(|figure| figure.entries));
            vec![format!("`{}`", row.name), cell(nacre), cell(linux), ratio(row.ratio()), entries, aimed(nacre, aims::aim(&row.name))]
        };
        table(&["operation", "Nacre", "Linux", "ratio", "entries", "aim"], self.table.rows.iter().map(row))
    }

    fn layers(&self) -> String {
        let row = |(name, instructions, aim): (&str, u64, u64)| vec![name.to_string(), grouped(instructions), aimed(Some(instructions), Some(aim))];
        table(&["step", "instructions", "aim"], aims::steps(self.table).into_iter().map(row))
    }

    fn system_calls(&self) -> String {
        let row = |row: &super::calls::Row| {
            let more = row.more().map_or("-".to_string(), |more| format!("{:+.1} %", more * 100.0));
            vec![row.operation.to_string(), cell(row.nacre), cell(row.linux), ratio(row.ratio()), more, aimed(row.nacre, row.aim)]
        };
        table(&["operation", "Nacre", "Linux", "ratio", "one more `process`", "aim"], self.calls.rows.iter().map(row))
    }

    fn time(&self) -> String {
        let wall = self.wall.as_millis() as u64;
        let scaling = format!("{:.2} times those on one (medians {:.2})", self.scaling.best, self.scaling.median);
        let reached = if self.scaling.best < SCALING_AIM { ", **not reached**" } else { "" };
        let rows = [
            ["`./nacre run true`, all built, milliseconds".to_string(), grouped(wall), aimed(Some(wall), Some(WALL_AIM))],
            ["independent round trips on two processors, best trials".to_string(), scaling, format!("{SCALING_AIM}{reached}")],
        ];
        table(&["figure", "measured", "aim"], rows.into_iter().map(Vec::from))
    }
}

/// Heading of the section that `./nacre bench --freeze --write` writes alone.
pub const FREEZING: &str = "Freezing and copying";
/// Heading of the section that `./nacre bench --moves --write` writes alone.
pub const MOVING: &str = "Moving, and starting warmed";
/// Heading of the section that `./nacre bench --outside --write` writes alone.
pub const OUTSIDE: &str = "The outside world";
/// Heading of the section that `./nacre bench --memory programs --write` writes alone.
pub const PROGRAMS: &str = "Programs on less memory";
/// Heading of the section that `./nacre bench --memory chain --write` writes alone.
pub const CHAINS: &str = "Chain of forks";

/// Puts a table into the page, in place of the one of that section before.
pub fn put_kept(tree: &Tree, title: &str, table: &str) -> Outcome<()> {
    let cannot = || format!("cannot write {PAGE}");
    let page = fs::read_to_string(tree.path(PAGE)).context(Class::File, cannot)?;
    fs::write(tree.path(PAGE), replaced(&page, title, &format!("## {title}\n\n{table}"))).context(Class::File, cannot)
}

/// The section of a page that is kept; empty if there is none.
fn section_of<'a>(page: &'a str, title: &str) -> &'a str {
    let Some(start) = page.find(&format!("## {title}\n")) else { return "" };
    let end = page[start + 3..].find("\n## ").map_or(page.len(), |next| start + 3 + next + 1);
    &page[start..end]
}

fn replaced(page: &str, title: &str, section: &str) -> String {
    match section_of(page, title) {
        "" => format!("{}\n\n{section}", page.trim_end()),
        old => {
            let rest = if page.ends_with(old) { "" } else { "\n" };
            page.replace(old, &format!("{section}{rest}"))
        }
    }
}

/// Formats a ratio as a cell.
pub fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_string(), |ratio| format!("{ratio:.3}"))
}

/// Formats an aim, and says if the figure misses it.
fn aimed(figure: Option<u64>, aim: Option<u64>) -> String {
    match (figure, aim) {
        (Some(figure), Some(aim)) if figure > aim => format!("{}, **not reached**", grouped(aim)),
        _ => cell(aim),
    }
}

/// Formats a table in Markdown. All columns but the first are aligned to the right.
pub fn table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let heads: Vec<String> = heads.iter().map(|head| head.to_string()).collect();
    let rule: Vec<String> = (0..heads.len()).map(|column| if column == 0 { "---" } else { "---:" }.to_string()).collect();
    rows.fold(line(&heads) + &line(&rule), |text, row| text + &line(&row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::table::Figures;

    fn page(text: &str) -> String {
        let (nacre, linux) = (Figures::parse(text), Figures::parse("measure null_call 329 1\n"));
        let table = Table::join(&nacre, &linux);
        let calls = Calls { rows: Vec::new() };
        let scaling = Scaling { best: 1.5, median: 1.25 };
        let (qemu, linux) = ("QEMU 1".to_string(), "6.0".to_string());
        let machines = Machines::default();
        Page { qemu, linux, table: &table, calls: &calls, wall: Duration::from_millis(2000), scaling: &scaling, machines: &machines }.text()
    }

    #[test]
    fn a_missed_aim_is_named() {
        let text = page("measure null_call 8 1\nmeasure thread_donate 799 2\n");
        assert!(text.contains("| `null_call` | 8 | 329 | 0.024 | 1 | 80 |"));
        assert!(text.contains("| `thread_donate` | 799 | - | - | 2 | 400, **not reached** |"));
        assert!(text.contains("| 2,000 | 1,500, **not reached** |") && text.contains("(medians 1.25) | 1.8, **not reached** |"));
        assert!(text.contains("`QEMU 1`") && text.contains("`6.0`"));
    }

    #[test]
    fn the_page_has_each_row_that_has_an_aim() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let page = fs::read_to_string(root.join(PAGE)).unwrap();
        for name in aims::names().map(|name| format!("| `{name}` |")).chain(super::super::calls::names().map(|name| format!("| {name} |"))) {
            assert!(page.contains(&name), "{PAGE} has no row {name}: `./nacre bench --write` renews it");
        }
    }

    #[test]
    fn the_section_takes_the_place_of_the_one_before() {
        let section = "## Freezing and copying\n\nnew\n";
        for (page, expected) in [
            ("# P\n\n## A\n\na\n", "# P\n\n## A\n\na\n\n## Freezing and copying\n\nnew\n"),
            ("# P\n\n## Freezing and copying\n\nold\n", "# P\n\n## Freezing and copying\n\nnew\n"),
            ("# P\n\n## Freezing and copying\n\nold\n\n## B\n\nb\n", "# P\n\n## Freezing and copying\n\nnew\n\n## B\n\nb\n"),
        ] {
            assert_eq!(replaced(page, FREEZING, section), expected);
            assert_eq!(replaced(&replaced(page, FREEZING, section), FREEZING, section), expected);
        }
    }
}
