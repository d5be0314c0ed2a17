//! The command line of `nacre fuzz`, as clap reads it.

use clap::Args;

/// Arguments of `fuzz`.
#[derive(Args, Debug)]
pub struct FuzzArguments {
    /// Target to fuzz on this machine: core, decoders, or one of fuzz/README.md; without it the
    /// hostile program runs in the system
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,
    /// Minutes to fuzz the target
    #[arg(long, value_name = "N", default_value_t = 1.0, requires = "target")]
    pub minutes: f64,
    /// Run one input instead: a file, or its bytes in base 16
    #[arg(long, value_name = "FILE", requires = "target")]
    pub input: Option<String>,
    /// Add to the corpus what was found to reach more
    #[arg(long, requires = "target")]
    pub keep: bool,
    /// Seed of the random numbers; printed when it is not given
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of calls
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    pub calls: u64,
    /// Number of processors
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub cpus: u32,
    /// Show QEMU's command line
    #[arg(long)]
    pub debug: bool,
}
