//! Counts of tests that passed and failed, and a line for each test.

/// Numbers of tests that passed and failed. Each test is shown as it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// Passed.
    pub passed: usize,
    /// Failed.
    pub failed: usize,
}

impl TestCounts {
    /// Adds what another ring counted.
    pub fn add(&mut self, other: TestCounts) {
        self.passed += other.passed;
        self.failed += other.failed;
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
                let lines: String = fault.lines().map(|line| format!("        {line}\n")).collect();
                print!("FAILED  {name}\n{lines}");
            }
        }
    }
}
