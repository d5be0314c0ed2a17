//! `nacre debian DIR`: a Debian userland, as a root directory for guests.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use crate::failure::{Class, Context, Failure, Outcome};
use crate::progress::Teller;
use crate::tree::Tree;

const DEBOOTSTRAP: &str = "debootstrap";
/// Lines of its last words that are shown if it fails.
const SHOWN: usize = 8;

/// Arguments of `debian`.
#[derive(Args, Debug)]
pub struct DebianArguments {
    /// Debian's release: a code name or a suite
    #[arg(long, value_name = "SUITE", default_value = "bookworm", value_parser = word)]
    pub suite: String,
    /// Add these packages, with all that they need
    #[arg(long, value_name = "PACKAGE,...", value_delimiter = ',', value_parser = word)]
    pub include: Vec<String>,
    /// Take packages from this archive (default: debootstrap's)
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
    /// The directory to make; if it is there, it is empty
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Reads a name of a suite or package.
fn word(text: &str) -> Result<String, String> {
    let is_allowed = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "+-.".contains(letter);
    let starts_well = text.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    if starts_well && text.chars().all(is_allowed) { Ok(text.to_string()) } else { Err("a name has small letters, digits, '+', '-' and '.'".to_string()) }
}

/// Makes the directory; its status.
pub fn debian(tree: &Tree, arguments: &DebianArguments) -> Outcome<i32> {
    let folder = empty(&arguments.folder)?;
    let packages = tree.target("debian-packages");
    fs::create_dir_all(&packages).context(Class::File, || format!("cannot make {}", packages.display()))?;
    let mut child = command(arguments, &folder, &packages).spawn().map_err(|error| {
        Failure::new(Class::Machine, format!("cannot start {DEBOOTSTRAP}: {error}")).remedy(format!("install Debian's package {DEBOOTSTRAP}"))
    })?;
    let mut teller = Teller::new("making", "made", &arguments.folder.display().to_string());
    let mut last: Vec<String> = Vec::new();
    for line in child.stdout.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines()).map_while(Result::ok) {
        teller.tell(&told(&line));
        last.push(line);
        last.drain(..last.len().saturating_sub(SHOWN));
    }
    let status = child.wait().context(Class::Internal, || format!("cannot wait for {DEBOOTSTRAP}"))?;
    teller.finish(status.success());
    if status.success() {
        return Ok(0);
    }
    last.iter().for_each(|line| eprintln!("{line}"));
    let log = folder.join("debootstrap/debootstrap.log");
    Err(Failure::new(Class::File, format!("{DEBOOTSTRAP} could not make {}; its last words are above", arguments.folder.display()))
        .remedy(format!("see {}, remove the directory, and try again", log.display())))
}

/// The directory, made if it is not there. One with files in it is refused: they would be mixed.
fn empty(folder: &Path) -> Outcome<PathBuf> {
    let shown = folder.display();
    fs::create_dir_all(folder).context(Class::File, || format!("cannot make {shown}"))?;
    let mut entries = fs::read_dir(folder).context(Class::File, || format!("cannot read {shown}"))?;
    if entries.next().is_some() {
        return Err(Failure::new(Class::File, format!("{shown} is not empty")).remedy("name a new directory"));
    }
    fs::canonicalize(folder).context(Class::File, || format!("cannot find {shown}"))
}

/// The command that fills the directory: as root, since files belong to their users.
fn command(arguments: &DebianArguments, folder: &Path, packages: &Path) -> Command {
    // Only root writes to its own folder for processes.
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let mut command = Command::new(if is_root { DEBOOTSTRAP } else { "sudo" });
    if !is_root {
        command.arg(DEBOOTSTRAP);
    }
    let mut cache = std::ffi::OsString::from("--cache-dir=");
    cache.push(packages);
    command.args(["--variant=minbase"]).arg(cache);
    if !arguments.include.is_empty() {
        command.arg(format!("--include={}", arguments.include.join(",")));
    }
    command.arg(&arguments.suite).arg(folder).args(&arguments.mirror);
    command.stdin(Stdio::inherit()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command
}

/// A line of debootstrap's without its mark.
fn told(line: &str) -> String {
    line.split_once(": ").filter(|(mark, _)| mark.len() == 1).map_or(line, |(_, rest)| rest).trim_end_matches("...").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn names_are_words_of_debian() {
        for (text, allowed) in [("bookworm", true), ("libstdc++6", true), ("python3.11", true), ("", false), ("-x", false), ("a b", false), ("A", false), ("a;b", false)] {
            assert_eq!(word(text).is_ok(), allowed, "{text}");
        }
    }

    #[test]
    fn a_directory_with_files_is_refused() {
        let folder = Folder::new("debian").unwrap();
        assert!(empty(&folder.path().join("new/inner")).is_ok());
        assert_eq!(empty(folder.path()).unwrap_err().class, Class::File);
    }

    #[test]
    fn words_and_progress() {
        let arguments = DebianArguments { suite: "trixie".into(), include: vec!["git".into(), "gcc".into()], mirror: Some("http://mirror".into()), folder: "/x".into() };
        let made = command(&arguments, Path::new("/x"), Path::new("/cache"));
        let words: Vec<_> = made.get_args().map(|word| word.to_string_lossy().into_owned()).filter(|word| word != DEBOOTSTRAP).collect();
        assert_eq!(words, ["--variant=minbase", "--cache-dir=/cache", "--include=git,gcc", "trixie", "/x", "http://mirror"]);
        assert_eq!((told("I: Unpacking libc6..."), told("W: x"), told("text")), ("unpacking libc6".to_string(), "x".to_string(), "text".to_string()));
    }
}
