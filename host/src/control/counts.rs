//! Counts of `nacre trace NAME -c`: rows that the guest's tracer sends, added up, and their table.

use std::collections::BTreeMap;

use nacre_proto::describe;

/// Maximum number of operations that are told apart, of which protocols have fewer. The guest is
/// not trusted.
const MAX_OPERATIONS: usize = 4096;
/// Label of what the tracer, or this table, does not tell apart.
const OTHERS: u32 = u32::MAX;
/// Maximum size of a row.
const MAX_ROW: usize = 128;

/// Costs of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    calls: u64,
    errors: u64,
    ticks: u64,
}

impl Row {
    fn add(&mut self, other: Row) {
        self.calls = self.calls.saturating_add(other.calls);
        self.errors = self.errors.saturating_add(other.errors);
        self.ticks = self.ticks.saturating_add(other.ticks);
    }

    fn line(self, name: &str) -> String {
        let mean = self.ticks.checked_div(self.calls).unwrap_or(0);
        format!("{:>12}{mean:>12}{:>12}{:>12}  {name}\n", self.ticks, self.calls, self.errors)
    }
}

/// Costs by operation.
#[derive(Debug, Default)]
pub struct Counts {
    rows: BTreeMap<u32, Row>,
    /// Beginning of a row whose rest has not come.
    begun: Vec<u8>,
}

/// Reads a row: label in base 16, calls, errors and ticks.
fn row(text: &[u8]) -> Option<(u32, Row)> {
    let mut words = std::str::from_utf8(text).ok()?.split(' ');
    let label = u32::from_str_radix(words.next()?, 16).ok()?;
    let mut number = || words.next()?.parse().ok();
    let row = Row { calls: number()?, errors: number()?, ticks: number()? };
    words.next().is_none().then_some((label, row))
}

impl Counts {
    /// Adds rows, which may be cut anywhere. What is no row is left out.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte != b'\n' {
                // Of a longer line than any row the rest tells enough to refuse it.
                if self.begun.len() < MAX_ROW {
                    self.begun.push(*byte);
                }
                continue;
            }
            if let Some((label, row)) = row(&self.begun) {
                let is_known = self.rows.contains_key(&label) || self.rows.len() < MAX_OPERATIONS;
                self.rows.entry(if is_known { label } else { OTHERS }).or_default().add(row);
            }
            self.begun.clear();
        }
    }

    /// Returns the table, the dearest operation first.
    pub fn table(&self) -> String {
        let name = |label: u32| match describe(label) {
            Some(operation) => format!("{}.{}", operation.protocol, operation.name),
            None if label == OTHERS => "(others)".to_string(),
            None => format!("{label:#x}"),
        };
        let mut rows: Vec<(u32, Row)> = self.rows.iter().map(|(label, row)| (*label, *row)).collect();
        rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.ticks));
        let mut total = Row::default();
        let mut text = String::from("       ticks        mean       calls      errors  operation\n");
        for (label, row) in rows {
            text += &row.line(&name(label));
            total.add(row);
        }
        text + &total.line("total")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_up() {
        let mut counts = Counts::default();
        for part in ["40001 2 0 10", "0\n40001 1 1 300\nffffffff 1 0 1\n", "ffff0001 1 0 9", "99\n", "1 2 3"] {
            counts.add(part.as_bytes());
        }
        let expected = "       ticks        mean       calls      errors  operation
         999         999           1           0  0xffff0001
         400         133           3           1  file.read
           1           1           1           0  (others)
        1400         280           5           1  total
";
        assert_eq!(counts.table().replace(&format!("  {}\n", name_of(0x40001)), "  file.read\n"), expected);
    }

    fn name_of(label: u32) -> String {
        describe(label).map_or(format!("{label:#x}"), |operation| format!("{}.{}", operation.protocol, operation.name))
    }

    #[test]
    fn what_is_no_row_counts_nothing() {
        let mut counts = Counts::default();
        counts.add(b"\n1\n1 2 3\n1 2 3 4 5\n-1 1 1 1\n1 1 1 x\n100000000 1 1 1\n\xff 1 1 1\n1  1 1 1\n");
        counts.add(&[b'1'; 1 << 20]);
        assert!(counts.rows.is_empty() && counts.begun.len() == MAX_ROW);
        counts.add(b"\n");
        for label in 0..10_000 {
            counts.add(format!("{label:x} 18446744073709551615 1 18446744073709551615\n").as_bytes());
        }
        assert_eq!((counts.rows.len(), counts.rows[&OTHERS].errors), (MAX_OPERATIONS + 1, 10_000 - MAX_OPERATIONS as u64));
        assert_eq!(counts.table().lines().count(), MAX_OPERATIONS + 3);
    }
}
