//! The `nacre` command: builds what is stale, composes boot images, runs them in QEMU, tests,
//! measures.

#![forbid(unsafe_code)]

mod absolute;
mod amounts;
mod bench;
mod linux_comparison;
mod boot;
mod builds;
mod cli;
mod closed_output;
mod control;
mod disc;
mod dist;
mod debian;
mod describe;
mod failure;
mod fuzz;
mod json;
mod latency;
mod lint;
mod merge;
mod monitors;
mod moving;
mod network;
mod outputs;
mod progress;
mod rings;
mod run;
mod scratch;
mod session;
mod stack;
mod store;
mod toolchain;
mod tree;
mod whole_file;
#[cfg(test)]
mod whole_file_tests;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use cli::{Cli, Task};
use control::{diff, exec, fork, image, log, stats, tasks, trace};
use failure::{Class, Failure, Outcome, suggestion};
use moving::{receive, send};
use tree::Tree;

fn main() {
    closed_output::watch();
    if let Some(help) = monitors::help_of(std::env::args_os().skip(1)) {
        let written = write!(io::stdout(), "{help}");
        std::process::exit(closed_output::finish(0, written));
    }
    let cli = Cli::try_parse().unwrap_or_else(|error| refuse_usage(&error));
    let status = perform(&cli).unwrap_or_else(|failure| {
        eprintln!("{failure}");
        failure.class.status()
    });
    std::process::exit(closed_output::finish(status, Ok(())));
}

/// Clap's own status for a wrong command line would collide with a program's.
fn refuse_usage(error: &clap::Error) -> ! {
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let status = if asked { 0 } else { Class::Usage.status() };
    let written = error.print().and_then(|()| near_subcommand(error));
    std::process::exit(if asked { closed_output::finish(status, written) } else { status });
}

/// Asks whether a subcommand was meant that is near to what was typed.
fn near_subcommand(error: &clap::Error) -> io::Result<()> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return Ok(()) };
    match Cli::near_subcommand(typed) {
        Some(near) => writeln!(io::stderr(), "nacre: did you mean `nacre {near}`?"),
        None => Ok(()),
    }
}

/// Refuses a program whose name is an option: one that `run` does not know.
fn check_program(program: Option<&OsString>) -> Outcome<()> {
    let Some(word) = program.map(|word| word.to_string_lossy()).filter(|word| word.starts_with('-')) else { return Ok(()) };
    let near = suggestion(word.split('=').next().unwrap_or_default(), Cli::options_of("run").into_iter());
    Err(Failure::new(Class::Usage, format!("there is no option {word}{near}")).remedy("see `nacre run --help`"))
}

fn perform(cli: &Cli) -> Outcome<i32> {
    match &cli.task {
        Task::Completions(arguments) => return describe::completions(arguments),
        Task::Man(arguments) => return describe::manual_pages(arguments),
        Task::Ps(arguments) => return tasks::ps(arguments),
        Task::Stats(arguments) => return stats::stats(arguments),
        Task::Diff(arguments) => return diff::diff(arguments),
        Task::Freeze(arguments) => return tasks::freeze(arguments),
        Task::Move(arguments) => return send::send(arguments),
        Task::Fork(arguments) => return fork::fork(arguments),
        Task::Exec(arguments) => return exec::exec(arguments),
        Task::Logs(arguments) => return log::logs(arguments),
        Task::Trace(arguments) => return trace::trace(arguments),
        Task::TraceMerge(arguments) => return merge::command::merge_traces(arguments),
        Task::Kill(arguments) => return tasks::kill(arguments),
        Task::ImageInfo(arguments) => return image::image_info(arguments),
        _ => {}
    }
    let tree = Tree::find()?;
    if matches!(cli.task, Task::Test(_) | Task::Lint(_) | Task::Bench(_) | Task::Dist(_) | Task::Fuzz(_) | Task::Latency(_)) {
        tree.check_sources()?;
    }
    match &cli.task {
        Task::Run(arguments) => {
            check_program(arguments.guest.command.first())?;
            run::run(&tree, &arguments.clone().from_image()?)
        }
        Task::Thaw(arguments) => run::run(&tree, &arguments.as_run()),
        Task::Receive(arguments) => receive::receive(&tree, arguments),
        Task::Test(arguments) => rings::test(&tree, arguments),
        Task::Lint(arguments) => lint::lint(&tree, arguments),
        Task::Bench(arguments) => bench::bench(&tree, arguments),
        Task::Image(arguments) => disc::image(&tree, arguments),
        Task::Dist(arguments) => dist::dist(&tree, arguments),
        Task::Debian(arguments) => debian::debian(&tree, arguments),
        Task::Fuzz(arguments) => fuzz::fuzz(&tree, arguments),
        Task::Latency(arguments) => latency::latency(&tree, arguments),
        _ => Ok(0),
    }
}
