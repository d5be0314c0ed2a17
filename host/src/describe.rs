//! The command line, described for shells and for `man`: made from the declarations that also read it.

use std::fs;
use std::io;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArguments, ManArguments};
use crate::failure::{Class, Context, Outcome};

/// Prints the script for a shell.
pub fn completions(arguments: &CompletionsArguments) -> Outcome<i32> {
    clap_complete::generate(arguments.shell, &mut Cli::command(), "nacre", &mut io::stdout());
    Ok(0)
}

/// Writes `nacre.1` and a page for each subcommand.
pub fn manual_pages(arguments: &ManArguments) -> Outcome<i32> {
    let cannot = || format!("cannot write manual pages to {}", arguments.folder.display());
    fs::create_dir_all(&arguments.folder).context(Class::File, cannot)?;
    clap_mangen::generate_to(Cli::command(), &arguments.folder).context(Class::File, cannot)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_has_a_page_and_is_completed() {
        let folder = crate::scratch::Folder::new("man").unwrap();
        manual_pages(&ManArguments { folder: folder.path().join("man1") }).unwrap();
        let mut script = Vec::new();
        clap_complete::generate(clap_complete::Shell::Bash, &mut Cli::command(), "nacre", &mut script);
        let script = String::from_utf8(script).unwrap();
        for command in Cli::command().get_subcommands() {
            let page = fs::read_to_string(folder.path().join(format!("man1/nacre-{}.1", command.get_name()))).unwrap();
            assert!(page.contains(".TH") && script.contains(command.get_name()), "{}", command.get_name());
        }
        assert!(script.contains("--bare"));
    }
}
