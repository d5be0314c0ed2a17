//! Figures as the measuring program prints them, and both systems' figures side by side.

use std::fmt;

/// One figure: a line `measure NAME INSTRUCTIONS ENTRIES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The operation.
    pub name: String,
    /// Guest instructions an operation.
    pub instructions: u64,
    /// Kernel entries an operation.
    pub entries: u64,
}

/// Figures of one system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    figures: Vec<Figure>,
    unmeasured: Vec<String>,
}

impl Figures {
    /// Reads a system's output; other lines are left out, but for those that start with
    /// `unmeasured`.
    pub fn parse(text: &str) -> Figures {
        let mut figures = Figures::default();
        for line in text.lines().map(str::trim) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let ["measure", name, instructions, entries] = words[..] {
                if let (Ok(instructions), Ok(entries)) = (instructions.parse(), entries.parse()) {
                    figures.figures.push(Figure { name: name.to_string(), instructions, entries });
                }
            } else if let ["unmeasured", ..] = words[..] {
                figures.unmeasured.push(line.to_string());
            }
        }
        figures
    }

    /// Figures of several runs as one.
    pub fn joined(runs: Vec<Figures>) -> Figures {
        runs.into_iter().fold(Figures::default(), |mut all, run| {
            all.figures.extend(run.figures);
            all.unmeasured.extend(run.unmeasured);
            all
        })
    }

    /// Returns true if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.figures.is_empty()
    }

    /// Lines about what could not be measured.
    pub fn unmeasured(&self) -> impl Iterator<Item = &str> {
        self.unmeasured.iter().map(String::as_str)
    }

    /// Names of the operations, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.figures.iter().map(|figure| figure.name.as_str())
    }

    /// The figure of an operation.
    pub fn find(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

/// One operation on both systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The operation.
    pub name: String,
    /// Figure on Nacre.
    pub nacre: Option<Figure>,
    /// Figure on Linux.
    pub linux: Option<Figure>,
}

impl Row {
    /// Nacre's instructions for each of Linux's.
    pub fn ratio(&self) -> Option<f64> {
        let (nacre, linux) = (self.nacre.as_ref()?, self.linux.as_ref()?);
        (linux.instructions > 0).then(|| nacre.instructions as f64 / linux.instructions as f64)
    }
}

/// All operations, Nacre's order first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Rows of the table.
    pub rows: Vec<Row>,
}

impl Table {
    /// Puts figures with the same name side by side.
    pub fn join(nacre: &Figures, linux: &Figures) -> Table {
        let only_linux = linux.figures.iter().filter(|figure| nacre.find(&figure.name).is_none());
        let names = nacre.figures.iter().chain(only_linux).map(|figure| figure.name.clone());
        let row = |name: String| Row { nacre: nacre.find(&name).cloned(), linux: linux.find(&name).cloned(), name };
        Table { rows: names.map(row).collect() }
    }

    /// The table for programs.
    pub fn json(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(json_row).collect();
        format!("[\n{}\n]\n", rows.join(",\n"))
    }
}

/// Names are words without quotes or backslashes, as the reader splits lines at blanks and the
/// program is ours; others are dropped.
fn json_row(row: &Row) -> String {
    let name: String = row.name.chars().filter(|letter| !letter.is_control() && !matches!(letter, '"' | '\\')).collect();
    let figure = |figure: &Option<Figure>| match figure {
        Some(figure) => format!("{{\"instructions\": {}, \"entries\": {}}}", figure.instructions, figure.entries),
        None => "null".to_string(),
    };
    format!("  {{\"operation\": \"{name}\", \"nacre\": {}, \"linux\": {}}}", figure(&row.nacre), figure(&row.linux))
}

/// Formats a number as a cell of a table, or `-` if there is none.
pub fn cell(number: Option<u64>) -> String {
    number.map_or("-".to_string(), grouped)
}

/// Formats a number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{:<36} {:>12} {:>12} {:>8} {:>9}", "operation", "Nacre", "Linux", "ratio", "entries*")?;
        for row in &self.rows {
            let [nacre, linux] = [&row.nacre, &row.linux].map(|figure| cell(figure.as_ref().map(|figure| figure.instructions)));
            let ratio = row.ratio().map_or("-".to_string(), |ratio| format!("{ratio:.3}"));
            let entries = cell(row.nacre.as_ref().map(|figure| figure.entries));
            writeln!(formatter, "{:<36} {nacre:>12} {linux:>12} {ratio:>8} {entries:>9}", row.name)?;
        }
        writeln!(formatter, "\n* kernel entries of an operation on Nacre, on all sides together, by its design")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let nacre = Figures::parse("noise\nmeasure null-call 60 1\r\nmeasure broken x 1\nmeasure only-nacre 5 0\nunmeasured fault 22\n");
        let linux = Figures::parse("measure null-call 338 1\nmeasure only-linux 1000000 2\n");
        assert_eq!(nacre.unmeasured().collect::<Vec<_>>(), ["unmeasured fault 22"]);
        Table::join(&nacre, &linux)
    }

    #[test]
    fn figures_meet_by_name() {
        let table = table();
        let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["null-call", "only-nacre", "only-linux"]);
        assert!((table.rows[0].ratio().unwrap() - 0.1775).abs() < 0.001);
        assert_eq!(table.rows[1].ratio(), None);
    }

    #[test]
    fn the_table_is_for_people_and_for_programs() {
        let table = table();
        assert!(table.to_string().contains("1,000,000"));
        assert!(table.json().contains("{\"operation\": \"only-nacre\", \"nacre\": {\"instructions\": 5, \"entries\": 0}, \"linux\": null}"));
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
