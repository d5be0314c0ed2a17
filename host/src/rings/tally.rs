//! Counts of tests that passed and failed, and a line for each test.

/// Numbers of tests that passed and failed. Each test is shown as it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// Passed.
    pub passed: usize,
    /// Failed.
    pub failed: usize,
    /// Names of those, each with the first lines of what went wrong.
    pub failures: Vec<String>,
}

/// Lines of a fault that are shown again at the end.
const SHOWN_AGAIN: usize = 12;
/// Number of tests whose lines are still in sight at the end.
const IN_SIGHT: usize = 50;

impl TestCounts {
    /// Adds what another ring counted.
    pub fn add(&mut self, other: TestCounts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
    }

    /// Lines of what failed, to be shown behind many tests.
    pub fn summary(&self) -> String {
        if self.passed + self.failed > IN_SIGHT { self.failures.concat() } else { String::new() }
    }

    /// Notes one test and prints its line; `fault` says what went wrong.
    pub fn note(&mut self, name: &str, fault: Option<&str>) {
        match fault {
            None => {
                self.passed += 1;
                println!("ok      {name}");
            }
            Some(fault) => {
                self.failed += 1;
                // In one piece: others may be telling theirs.
                let lines: Vec<String> = fault.lines().map(|line| format!("        {line}\n")).collect();
                print!("FAILED  {name}\n{}", lines.concat());
                self.failures.push(format!("FAILED  {name}\n{}", lines[..lines.len().min(SHOWN_AGAIN)].concat()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_shown_again_behind_many_tests() {
        let mut counts = TestCounts::default();
        counts.note("few", Some("a\nb"));
        assert_eq!(counts.summary(), "");
        (0..IN_SIGHT).for_each(|_| counts.note("good", None));
        let mut all = TestCounts::default();
        all.add(counts);
        assert_eq!((all.summary().as_str(), all.failed), ("FAILED  few\n        a\n        b\n", 1));
    }
}
