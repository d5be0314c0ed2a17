//! The command line of `nacre bench`, as clap reads it.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `bench`.
#[derive(Args, Debug)]
pub struct BenchArguments {
    /// Also write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also draw a chart
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Measure Nacre alone
    #[arg(long)]
    pub no_linux: bool,
    /// Print only the table of what Linux's calls cost; with NAMEs, only their rows (see
    /// `bench/calls`)
    #[arg(long, value_name = "NAME", num_args = 0..)]
    pub calls: Option<Vec<String>>,
    /// Print only how costs grow with the number of things; with NAMEs, only their rows (see
    /// `bench/scale`)
    #[arg(long, value_name = "NAME", num_args = 0.., conflicts_with = "calls")]
    pub scale: Option<Vec<String>>,
    /// Print only the tables of programs on paged memory and of a chain of forks; with NAME,
    /// only rows whose names contain it
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub memory: Option<String>,
    /// Print only the table of freezing, copying and thawing; with MIB, only rows of at most that
    /// much memory
    #[arg(long, value_name = "MIB", num_args = 0..=1, default_missing_value = "512")]
    pub freeze: Option<u64>,
    /// Print only the tables of moves and of warmed programs, by the wall; with MIB, only moves of
    /// at most that much memory
    #[arg(long, value_name = "MIB", num_args = 0..=1, default_missing_value = "256")]
    pub moves: Option<u64>,
    /// Print only the table of what crosses the machine's boundary, and of programs as Debian ships
    /// them; MIB is the size of the files that are read (see `bench/outside`)
    #[arg(long, value_name = "MIB", num_args = 0..=1, default_missing_value = "256", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub outside: Option<u64>,
    /// Print only the tables of Linux in a guest, with each way of paging, beside Linux alone, KVM
    /// and the machine monitor Karma
    #[arg(long, value_name = "TABLE", num_args = 0..=1, default_missing_value = "karma", value_parser = ["karma"], conflicts_with_all = ["no_linux", "calls", "scale", "memory", "outside"])]
    pub machines: Option<String>,
    /// Also write the figures into the tree's page doc/performance.md; of --memory, whole
    /// tables
    #[arg(long, conflicts_with_all = ["no_linux", "calls", "scale"])]
    pub write: bool,
    /// Show QEMU's command lines
    #[arg(long)]
    pub debug: bool,
}
