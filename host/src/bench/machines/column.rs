//! What one system measured.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::table::Figures;

/// Figures of a system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Figures of the program.
    pub figures: Figures,
    /// Number of times that a guest was left, by the number of the exit.
    pub exits: BTreeMap<u64, u64>,
    /// Time of the whole run by the wall, from its start to its end.
    pub wall: Duration,
}

/// Numbers of exits of SVM (AMD's manual 2, appendix C), and what they are.
const NAMES: [(u64, u64, &str); 14] = [
    (0x00, 0x0f, "control register read"),
    (0x10, 0x1f, "control register written"),
    (0x20, 0x3f, "debug register"),
    (0x4e, 0x4e, "page fault"),
    (0x40, 0x5f, "other exception"),
    (0x60, 0x60, "interrupt of the machine"),
    (0x64, 0x64, "ready for an interrupt"),
    (0x6e, 0x6e, "RDTSC"),
    (0x72, 0x72, "CPUID"),
    (0x78, 0x78, "HLT"),
    (0x79, 0x79, "INVLPG"),
    (0x7b, 0x7b, "port"),
    (0x7c, 0x7c, "MSR"),
    (0x400, 0x400, "nested page fault"),
];

impl Column {
    /// Reads the lines that `machine --stats` writes: `machine: exit 0x7b: 12`.
    pub fn exits(errors: &str) -> BTreeMap<u64, u64> {
        let line = |line: &str| {
            let (number, count) = line.trim().strip_prefix("machine: exit 0x")?.split_once(": ")?;
            Some((u64::from_str_radix(number, 16).ok()?, count.parse().ok()?))
        };
        errors.lines().filter_map(line).collect()
    }

    /// Instructions of an operation.
    pub fn find(&self, name: &str) -> Option<u64> {
        self.figures.find(name).map(|figure| figure.instructions)
    }

    /// Factor by which an operation takes longer here than there.
    pub fn ratio(&self, other: &Column, name: &str) -> Option<f64> {
        let (here, there) = (self.find(name)?, other.find(name)?);
        (there > 0).then(|| here as f64 / there as f64)
    }

    /// Kinds of exits and how many there were.
    pub fn kinds(&self) -> BTreeMap<&'static str, u64> {
        let mut kinds = BTreeMap::new();
        for (number, count) in &self.exits {
            let name = NAMES.iter().find(|(first, last, _)| (first..=last).contains(&number)).map_or("other", |(.., name)| name);
            *kinds.entry(name).or_default() += count;
        }
        kinds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exits_are_read_and_named() {
        let exits = Column::exits("noise\nmachine: exit 0x7b: 12\nmachine: exit 0x10: 1\r\nmachine: exit 0x13: 2\nmachine: exit x: 3\n");
        assert_eq!(exits, [(0x7b, 12), (0x10, 1), (0x13, 2)].into());
        let column = Column { exits, ..Column::default() };
        assert_eq!(column.kinds(), [("port", 12), ("control register written", 3)].into());
    }

    #[test]
    fn a_page_fault_is_no_other_exception() {
        let column = Column { exits: [(0x4e, 7), (0x41, 1), (0xffff, 2)].into(), ..Column::default() };
        assert_eq!(column.kinds(), [("page fault", 7), ("other exception", 1), ("other", 2)].into());
    }
}
