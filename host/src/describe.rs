//! The command line, described for shells and for `man`: made from the declarations that also read
//! it.

use std::fs;
use std::io;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, CommandFactory};
use clap_complete::Shell;
use nacre_manifest::{Choice, Manifest, Programs};

use crate::cli::{Cli, CompletionsArguments, ManArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::monitors::MONITORS;

/// Prints the script for a shell.
pub fn completions(arguments: &CompletionsArguments) -> Outcome<i32> {
    print!("{}", script(arguments.shell));
    Ok(0)
}

/// The script for a shell.
pub fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut completed(), "nacre", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Returns the command line whose words a shell completes: monitors among the programs of `run`.
fn completed() -> Command {
    let names = PossibleValuesParser::new(MONITORS.iter().map(|manifest| manifest.name));
    Cli::command().mut_subcommand("run", |run| run.mut_arg("command", |program| program.value_parser(names)))
}

/// Writes `nacre.1`, a page for each subcommand, and one for each monitor. A folder that is not
/// there is more likely a word that was meant otherwise, as in `nacre man run`.
pub fn manual_pages(arguments: &ManArguments) -> Outcome<i32> {
    if !arguments.folder.is_dir() {
        let shown = arguments.folder.display();
        let failure = Failure::new(Class::File, format!("there is no folder {shown} to write manual pages to"));
        return Err(failure.remedy(format!("make it with `mkdir -p {shown}`; `nacre COMMAND --help` shows the help of one command")));
    }
    write_pages(&arguments.folder).map(|()| 0)
}

/// Writes all pages to a folder, which is made.
pub fn write_pages(folder: &Path) -> Outcome<()> {
    let cannot = || format!("cannot write manual pages to {}", folder.display());
    fs::create_dir_all(folder).context(Class::File, cannot)?;
    clap_mangen::generate_to(Cli::command(), folder).context(Class::File, cannot)?;
    for manifest in MONITORS {
        let name = format!("nacre-monitor-{}", manifest.name);
        let file = fs::File::create(folder.join(format!("{name}.1"))).context(Class::File, cannot)?;
        let page = clap_mangen::Man::new(monitor(manifest)).title(name);
        page.render(&mut io::BufWriter::new(file)).context(Class::File, cannot)?;
    }
    Ok(())
}

/// Returns a monitor's command line, as a manual page describes it.
fn monitor(manifest: &Manifest) -> Command {
    let is_required = !matches!(manifest.programs, Programs::Optional | Programs::Guest);
    let program = Arg::new("PROGRAM").required(is_required).help("Program that runs inside, or another monitor");
    let others = match manifest.programs {
        Programs::One | Programs::Optional | Programs::Guest | Programs::Behind(_) => "Arguments of the program",
        Programs::Several => "Arguments of the program. A word `:` begins the next program and its options",
    };
    let arguments = Arg::new("ARGUMENTS").num_args(0..).trailing_var_arg(true).help(others);
    let repeated: String = manifest.options.iter().filter(|choice| is_repeated(choice)).map(|choice| format!("\n{}: {}", choice.name, choice.help)).collect();
    let more = format!("{}{repeated}\nWhat the monitor hands on: {}", manifest.notes, manifest.hands_on);
    let command = Command::new(manifest.name).about(manifest.summary).after_help(more).arg(program).arg(arguments);
    manifest.options.iter().filter(|choice| !is_repeated(choice)).fold(command, |command, choice| command.arg(option(choice)))
}

/// Returns true for a letter that is given several times, as `-tt`, which is no option of its own
/// where options are letters.
fn is_repeated(choice: &Choice) -> bool {
    !choice.name.starts_with("--") && choice.name.len() > 2
}

fn option(choice: &Choice) -> Arg {
    let argument = Arg::new(choice.name).help(choice.help);
    let argument = match choice.name.strip_prefix("--") {
        Some(word) => argument.long(word),
        None => argument.short(choice.name.chars().nth(1)),
    };
    match choice.value.name() {
        Some(value) => argument.value_name(value),
        None => argument.action(ArgAction::SetTrue),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_has_a_page_and_is_completed() {
        let folder = crate::scratch::Folder::new("man").unwrap();
        let pages = ManArguments { folder: folder.path().join("man1") };
        assert_eq!(manual_pages(&pages).unwrap_err().class, Class::File);
        assert!(!pages.folder.exists());
        fs::create_dir(&pages.folder).unwrap();
        manual_pages(&pages).unwrap();
        let mut script = Vec::new();
        clap_complete::generate(clap_complete::Shell::Bash, &mut completed(), "nacre", &mut script);
        let script = String::from_utf8(script).unwrap();
        for command in Cli::command().get_subcommands() {
            let page = fs::read_to_string(folder.path().join(format!("man1/nacre-{}.1", command.get_name()))).unwrap();
            assert!(page.contains(".TH") && script.contains(command.get_name()), "{}", command.get_name());
        }
        assert!(script.contains("--bare"));
        for manifest in MONITORS {
            let page = fs::read_to_string(folder.path().join(format!("man1/nacre-monitor-{}.1", manifest.name))).unwrap().replace("\\*(Aq", "'");
            assert!(page.contains(manifest.hands_on) && script.contains(manifest.name), "{}", manifest.name);
            for choice in manifest.options {
                assert!(page.contains(&choice.name.replace('-', "\\-")), "{}: {}", manifest.name, choice.name);
            }
        }
    }
}
