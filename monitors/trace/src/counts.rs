//! Costs of operations, in a small table. Counting takes a few instructions.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// Operations that are told apart; what comes when the table is full is counted together, under
/// [`OTHERS`].
const CAPACITY: usize = 128;
/// The label under which the rest is counted. No protocol has it.
pub const OTHERS: u32 = u32::MAX;

/// Costs of one operation.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Row {
    /// Label of the operation.
    pub label: u32,
    /// Number of calls.
    pub calls: u64,
    /// Number of answers that were errors.
    pub errors: u64,
    /// Ticks of the time-stamp counter from message to answer.
    pub ticks: u64,
}

/// The table.
pub struct Counts {
    rows: [Row; CAPACITY],
    others: Row,
}

impl Counts {
    /// An empty table.
    pub const fn new() -> Counts {
        const EMPTY: Row = Row { label: 0, calls: 0, errors: 0, ticks: 0 };
        Counts { rows: [EMPTY; CAPACITY], others: Row { label: OTHERS, ..EMPTY } }
    }

    /// Protocol and operation are both small: their sum spreads well, and the first try nearly
    /// always hits.
    fn row(&mut self, label: u32) -> &mut Row {
        let first = ((label >> 16).wrapping_mul(16).wrapping_add(label)) as usize % CAPACITY;
        let place = (0..CAPACITY)
            .map(|step| (first + step) % CAPACITY)
            .find(|place| self.rows[*place].calls == 0 || self.rows[*place].label == label);
        match place {
            Some(place) => &mut self.rows[place],
            None => &mut self.others,
        }
    }

    /// Counts one call.
    pub fn count(&mut self, label: u32, failed: bool, ticks: u64) {
        let row = self.row(label);
        if row.label != OTHERS {
            row.label = label;
        }
        row.calls += 1;
        row.errors += u64::from(failed);
        row.ticks += ticks;
    }

    /// Returns the rows, the dearest first.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> =
            self.rows.iter().chain([&self.others]).filter(|row| row.calls > 0).copied().collect();
        rows.sort_by_key(|row| core::cmp::Reverse(row.ticks));
        rows
    }

    /// The table as text; `name` gives an operation its name.
    pub fn table(&self, name: impl Fn(u32, &mut String)) -> String {
        let mut text = String::from("       ticks        mean       calls      errors  operation\n");
        let mut total = Row::default();
        for row in self.rows() {
            line(&row, |text| name(row.label, text), &mut text);
            total.calls += row.calls;
            total.errors += row.errors;
            total.ticks += row.ticks;
        }
        line(&total, |text| text.push_str("total"), &mut text);
        text
    }
}

fn line(row: &Row, name: impl Fn(&mut String), text: &mut String) {
    let mean = row.ticks.checked_div(row.calls).unwrap_or(0);
    write!(text, "{:>12}{:>12}{:>12}{:>12}  ", row.ticks, mean, row.calls, row.errors).unwrap_or(());
    name(text);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dearest_stands_first() {
        let mut counts = Counts::new();
        counts.count(0x40001, false, 100);
        counts.count(0x40001, true, 300);
        counts.count(0x10001, false, 900);
        let text = counts.table(|label, text| write!(text, "{label:x}").unwrap());
        let expected = "       ticks        mean       calls      errors  operation
         900         900           1           0  10001
         400         200           2           1  40001
        1300         433           3           1  total
";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_flood_of_labels_is_counted_together() {
        let mut counts = Counts::new();
        for label in 1..=1000 {
            counts.count(label * 77, false, 1);
        }
        let rows = counts.rows();
        assert_eq!(rows.len(), CAPACITY + 1);
        assert_eq!(rows[0], Row { label: OTHERS, calls: 1000 - CAPACITY as u64, errors: 0, ticks: 1000 - CAPACITY as u64 });
    }
}
