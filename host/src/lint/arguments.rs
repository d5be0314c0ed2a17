//! The command line of `lint`, as clap reads it.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `lint`.
#[derive(Args, Debug)]
pub struct LintArguments {
    /// Also write the counts and what breaks a rule as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print each import of this crate that is in a circle or comes from a higher layer
    #[arg(long, value_name = "FOLDER")]
    pub imports: Option<String>,
    /// Print each comment of this folder that does not begin with its item, and each line of prose
    /// over 100 columns
    #[arg(long, value_name = "FOLDER")]
    pub words: Option<String>,
}
