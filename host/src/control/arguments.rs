//! The command lines of the subcommands about machines that run and images, as clap reads them.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::moving::rounds::MAX_ROUNDS;

/// Examples that `nacre thaw --help` shows.
pub const THAW_EXAMPLES: &str = "\
Examples:
  nacre run --name web checkpoint process sh   in one terminal
  nacre freeze web -o image --end              in another one
  nacre thaw image                             now or tomorrow, here or elsewhere";

/// Examples that `nacre exec --help` shows.
pub const EXEC_EXAMPLES: &str = "\
Examples:
  nacre run --name web process sh       in one terminal
  nacre exec web ps                     in another one
  nacre exec --tty web sh               a shell beside the first one
  nacre exec web sh -c 'cat > /tmp/x' < x";

/// Examples that `nacre move --help` and `nacre receive --help` show.
pub const MOVE_EXAMPLES: &str = "\
Examples:
  nacre run --name web checkpoint process sh   in one terminal
  nacre receive ./here                         in another one, or elsewhere: nacre receive 0.0.0.0:7000
  nacre move web --to ./here                   in a third one";

/// Arguments of `ps`.
#[derive(Args, Debug)]
pub struct PsArguments {
    /// List this machine alone
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `diff`.
#[derive(Args, Debug)]
pub struct DiffArguments {
    /// The machine
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// Arguments of `stats`.
#[derive(Args, Debug)]
pub struct StatsArguments {
    /// The machine, or a copy in it: NAME.1
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `freeze`.
#[derive(Args, Debug)]
pub struct FreezeArguments {
    /// The machine, or a copy in it: NAME.1
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The image to write (default: NAME.image); one that is there stays until the new one is whole
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write into the machine's own `--store`, from which a thaw takes pages when they are needed
    #[arg(long, conflicts_with = "output")]
    pub store: bool,
    /// The environment does not go on afterwards
    #[arg(long)]
    pub end: bool,
    /// Print nothing
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `move`.
#[derive(Args, Debug)]
pub struct MoveArguments {
    /// The machine, or a copy in it: NAME.1
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Address at which `nacre receive` listens: the path of a socket, with a '/' in it, or
    /// HOST:PORT
    #[arg(long, value_name = "SOCKET|HOST:PORT")]
    pub to: String,
    /// Maximum number of rounds in which memory is sent before all stands still; 0: all is sent
    /// then
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(..=MAX_ROUNDS))]
    pub rounds: u64,
    /// Print bytes, rounds and pause as JSON
    #[arg(long)]
    pub json: bool,
    /// Print nothing
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `fork`.
#[derive(Args, Debug)]
pub struct ForkArguments {
    /// The machine, or a copy in it: NAME.1
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Number of copies
    #[arg(value_name = "N", default_value_t = 1)]
    pub count: u64,
    /// Input of each copy: it reads this, a newline, and then the end
    #[arg(short, long, value_name = "TEXT")]
    pub input: Option<String>,
    /// End when all copies have ended, with the first status that is not 0
    #[arg(short, long)]
    pub wait: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `exec`.
#[derive(Args, Debug)]
pub struct ExecArguments {
    /// The machine, or a copy in it: NAME.1
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Give the process a terminal of its own; Ctrl-] leaves
    #[arg(short, long)]
    pub tty: bool,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Arguments of `logs`.
#[derive(Args, Debug)]
pub struct LogsArguments {
    /// The machine, or a copy in it: NAME.1
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Go on with what comes, until the machine ends
    #[arg(short, long)]
    pub follow: bool,
}

/// Arguments of `trace`.
#[derive(Args, Debug)]
pub struct TraceArguments {
    /// The machine, or a copy in it: NAME.1
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Show these operations alone: read, file, file.read, trace=openat; !LIST: all others;
    /// status=failed
    #[arg(short = 'e', value_name = "LIST")]
    pub expressions: Vec<String>,
    /// Print a table of what each operation cost at the end, by Ctrl-C, instead of lines
    #[arg(short = 'c', long)]
    pub counts: bool,
    /// Write the lines to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `kill`.
#[derive(Args, Debug)]
pub struct KillArguments {
    /// The machine, or a copy in it: NAME.1
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Signal that its first process gets: a number, or a name as TERM
    #[arg(short, long, value_name = "SIGNAL", default_value = "15", value_parser = signal)]
    pub signal: u32,
    /// End the machine or the copy, whatever runs in it
    #[arg(long)]
    pub now: bool,
    /// End the driver with this number, and another one takes its place. Counted from 0: the
    /// directory of --root, then those of -v, then the disks of --disk
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["signal", "now"])]
    pub driver: Option<u32>,
}

/// Reads the number or the name of a signal.
fn signal(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=64).contains(number));
    let wanted = text.to_uppercase();
    let is_wanted = |name: &str| name == wanted || name.strip_prefix("SIG") == Some(&wanted);
    let named = || (1..=64u32).find(|number| signal_hook::low_level::signal_name(*number as i32).is_some_and(is_wanted));
    number.or_else(named).ok_or_else(|| "a signal is a number from 1 to 64, or a name as TERM".to_string())
}

/// Arguments of `image-info`.
#[derive(Args, Debug)]
pub struct ImageInfoArguments {
    /// The image
    #[arg(value_name = "IMAGE")]
    pub image: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_has_a_number_or_a_name() {
        for (text, number) in [("15", Some(15)), ("TERM", Some(15)), ("SIGKILL", Some(9)), ("int", Some(2)), ("0", None), ("65", None), ("SIG", None), ("", None)] {
            assert_eq!(signal(text).ok(), number, "{text}");
        }
    }
}
