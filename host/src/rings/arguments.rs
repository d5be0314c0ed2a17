//! The command line of `nacre test`.

use std::path::PathBuf;

use clap::Args;

use super::part::Extent;

/// Arguments of `test`.
#[derive(Args, Debug)]
pub struct TestArguments {
    /// Run only tests whose name contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Run only these rings
    #[arg(long, value_name = "RING", value_enum, value_delimiter = ',')]
    pub ring: Vec<Ring>,
    /// Run the ring of Linux programs below these monitors alone, as `process trace -q`
    #[arg(long, value_name = "MONITORS", allow_hyphen_values = true)]
    pub below: Option<String>,
    /// Also write the summary as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Run the ring `programs` alone
    #[arg(long, conflicts_with = "ring")]
    pub programs: bool,
    /// Run all settings of each test, also where no ring and no test is named
    #[arg(long)]
    pub whole: bool,
    /// Number of machines that run at once
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub jobs: u32,
}

impl TestArguments {
    /// Returns how much of each long ring is run: all of what somebody names.
    pub fn extent(&self) -> Extent {
        let names = !self.ring.is_empty() || self.filter.is_some() || self.programs || self.below.is_some();
        if self.whole || names { Extent::Whole } else { Extent::Part }
    }
}

/// A ring of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Ring {
    /// Unit and model tests, on this machine
    Host,
    /// The conformance program, in the system
    Conformance,
    /// The hostile program, in the system
    Hostile,
    /// One program in environments that differ, and what it observes
    Relative,
    /// Programs under layers of monitors, compared with this machine
    Stacks,
    /// Small programs, each about a call of Linux's, on Linux and in the system
    Linux,
    /// All programs of the linux ring on memory that is paged by chance, by one pager to three
    /// (left out if no ring is named)
    Paged,
    /// The programs of the linux ring, frozen at random moments and thawed in a second machine
    /// (left out if no ring is named)
    Frozen,
    /// A disc under a BIOS and under UEFI; a store whose machine is killed
    Discs,
    /// Debian's kernel in guest machines, alone and between monitors
    Guests,
    /// Programs as Debian ships them, on Linux and in the system (left out if no ring is named)
    Programs,
}
