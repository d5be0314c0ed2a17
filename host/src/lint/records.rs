//! Numbers of faults that the tree still has, in a file: a number may only fall.
//!
//! A line of the file is `NAME COLUMN NUMBER COLUMN NUMBER ...`. A number that is not there is 0.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::failure::{Class, Context, Outcome};
use crate::tree::Tree;

/// A file of numbers.
#[derive(Clone, Debug)]
pub struct Records {
    /// Path of the file, from the root of the tree.
    name: &'static str,
    path: PathBuf,
    header: String,
    rows: BTreeMap<String, Vec<(String, usize)>>,
    found: BTreeMap<String, Vec<(String, usize)>>,
}

impl Records {
    /// Reads the file `name`.
    pub fn read(tree: &Tree, name: &'static str) -> Outcome<Records> {
        let path = tree.path(name);
        let text = fs::read_to_string(&path).context(Class::File, || format!("cannot read {name}"))?;
        let header = text.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        Ok(Records { name, path, header, rows: rows(&text), found: BTreeMap::new() })
    }

    /// Notes the numbers of `row` as they are now.
    pub fn note(&mut self, row: &str, numbers: &[(&str, usize)]) {
        let numbers = numbers.iter().filter(|(_, number)| *number > 0);
        self.found.insert(row.to_string(), numbers.map(|(column, number)| (column.to_string(), *number)).collect());
    }

    /// Compares all numbers: returns those that have grown. Prints those that have fallen, or
    /// writes them to the file if `UPDATE` is set.
    pub fn compare(&self) -> Outcome<Vec<String>> {
        let mut fallen = Vec::new();
        for (row, column, recorded) in each(&self.rows) {
            let now = number(&self.found, row, column);
            if now < recorded {
                fallen.push(format!("{}: {row}: {column} has fallen from {recorded} to {now}", self.name));
            }
        }
        let grown = self.grown();
        if std::env::var_os("UPDATE").is_some() && grown.is_empty() && !fallen.is_empty() {
            fs::write(&self.path, format!("{}{}", self.header, render(&self.found))).context(Class::File, || format!("cannot write {}", self.name))?;
        } else {
            fallen.iter().for_each(|line| println!("{line}: lower it (UPDATE=1 ./nacre lint)"));
        }
        Ok(grown)
    }

    /// Returns row and column of each number that has grown.
    pub fn grown_numbers(&self) -> Vec<(String, String)> {
        let larger = each(&self.found).filter(|(row, column, now)| *now > number(&self.rows, row, column));
        larger.map(|(row, column, _)| (row.to_string(), column.to_string())).collect()
    }

    fn grown(&self) -> Vec<String> {
        let numbers = self.grown_numbers();
        let lines = numbers.iter().map(|(row, column)| {
            let [now, recorded] = [&self.found, &self.rows].map(|rows| number(rows, row, column));
            format!("{row}: {column}: {now} are more than the {recorded} of {}", self.name)
        });
        lines.collect()
    }
}

fn rows(text: &str) -> BTreeMap<String, Vec<(String, usize)>> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let parsed = lines.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let pairs = words[1..].chunks(2).filter_map(|pair| Some((pair.first()?.to_string(), pair.get(1)?.parse().ok()?)));
        (words[0].to_string(), pairs.collect())
    });
    parsed.collect()
}

fn render(rows: &BTreeMap<String, Vec<(String, usize)>>) -> String {
    let lines = rows.iter().filter(|(_, numbers)| !numbers.is_empty()).map(|(row, numbers)| {
        let pairs: String = numbers.iter().map(|(column, number)| format!("  {column} {number}")).collect();
        format!("{row}{pairs}\n")
    });
    lines.collect()
}

fn each(rows: &BTreeMap<String, Vec<(String, usize)>>) -> impl Iterator<Item = (&str, &str, usize)> {
    rows.iter().flat_map(|(row, numbers)| numbers.iter().map(|(column, number)| (row.as_str(), column.as_str(), *number)))
}

fn number(rows: &BTreeMap<String, Vec<(String, usize)>>, row: &str, column: &str) -> usize {
    let numbers = rows.get(row).map_or(&[][..], Vec::as_slice);
    numbers.iter().find(|(name, _)| name == column).map_or(0, |(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_not_grow() {
        let text = "# header\nabi  a 3  b 1\nhost  a 2\n";
        let mut records = Records { name: "x", path: PathBuf::new(), header: String::new(), rows: rows(text), found: BTreeMap::new() };
        assert_eq!(render(&records.rows), "abi  a 3  b 1\nhost  a 2\n");
        records.note("abi", &[("a", 3), ("b", 0)]);
        assert!(records.grown().is_empty());
        records.note("host", &[("a", 3)]);
        records.note("new", &[("a", 0), ("b", 1)]);
        assert_eq!(records.grown(), ["host: a: 3 are more than the 2 of x", "new: b: 1 are more than the 0 of x"]);
    }
}
