//! The part of the long rings that a run of all rings has.

/// Extent of a ring's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it: it was asked for.
    Whole,
    /// Each test in some of its settings.
    Part,
}

/// Settings of a test of which one is run in a part.
const ONE_OF: usize = 5;

impl Extent {
    /// Returns the settings in which a test is run: all, or one of each five, of which its name
    /// decides the first. So each test is run, and each setting by some test, in each run the
    /// same.
    pub fn of<T>(self, name: &str, settings: Vec<T>) -> Vec<T> {
        let first = lot(name, settings.len().clamp(1, ONE_OF));
        settings.into_iter().enumerate().filter(|(number, _)| self == Extent::Whole || number % ONE_OF == first).map(|(_, setting)| setting).collect()
    }
}

/// A number below `count` that only a name decides.
pub fn lot(name: &str, count: usize) -> usize {
    name.bytes().fold(0, |lot, byte| (31 * lot + usize::from(byte)) % 65_521) % count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_each_test_and_each_setting() {
        for count in 1..9 {
            let mut seen = vec![0; count];
            for test in 0..100 {
                let some = Extent::Part.of(&format!("test {test}"), (0..count).collect());
                assert!(!some.is_empty() && some.len() <= count.div_ceil(ONE_OF));
                some.iter().for_each(|setting| seen[*setting] += 1);
            }
            assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
        }
    }

    #[test]
    fn a_whole_has_all_in_order() {
        assert_eq!(Extent::Whole.of("test", vec![1, 2, 3, 4]), [1, 2, 3, 4]);
    }
}
