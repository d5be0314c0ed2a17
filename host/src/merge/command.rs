//! The subcommand `trace-merge`.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{BufReader, BufWriter};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::lines::Problem;
use super::survey::{MAX_LAYERS, MAX_TRACKS};
use super::write::{Written, merge};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::whole_file::WholeFile;

/// Arguments of `trace-merge`.
#[derive(Args, Debug)]
pub struct TraceMergeArguments {
    /// The file to write; one that is there stays until the new one is whole
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Files that `trace -o FILE.json` wrote, in one machine
    #[arg(value_name = "FILE", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Print nothing but what is missing
    #[arg(short, long)]
    pub quiet: bool,
}

/// Merges traces into one file.
pub fn merge_traces(arguments: &TraceMergeArguments) -> Outcome<i32> {
    let TraceMergeArguments { output, inputs, quiet } = arguments;
    check_names(inputs, output)?;
    let unwritten = || format!("cannot write {}", output.display());
    let mut file = WholeFile::create(output).context(Class::File, unwritten)?;
    let open = |number: usize| File::open(&inputs[number]).map(|file| BufReader::with_capacity(1 << 16, file));
    let written = merge(inputs.len(), open, BufWriter::with_capacity(1 << 16, &mut file)).map_err(|(number, problem)| refusal(&inputs[number], inputs, output, &problem))?;
    file.finish().context(Class::File, unwritten)?;
    for number in &written.cut {
        eprintln!("nacre: {} was cut off: what its tracer wrote last is missing; let the program end by itself to have all", inputs[*number].display());
    }
    if written.is_measured {
        eprintln!("nacre: no arrows are drawn, since the times are not exact: a program that reads no clock of the machine, as below `checkpoint`, was traced");
    }
    if written.is_crowded {
        eprintln!("nacre: arrows are missing, since too many calls were under way at once; trace fewer operations, with -e");
    }
    if !quiet {
        print!("{}", summary(output, &written));
    }
    Ok(0)
}

/// Each file is read twice, so it has to be one, and one alone, and none that is written.
fn check_names(inputs: &[PathBuf], output: &Path) -> Outcome<()> {
    let number_of = |found: Metadata| (found.dev(), found.ino());
    let written = fs::metadata(output).ok().map(number_of);
    let mut known = BTreeSet::new();
    for input in inputs {
        let shown = input.display();
        let found = fs::metadata(input).context(Class::File, || format!("cannot read {shown}"))?;
        if !found.is_file() {
            return Err(Failure::new(Class::File, format!("{shown} is no file")).remedy("name files that trace -o FILE.json wrote"));
        }
        let number = number_of(found);
        if written == Some(number) {
            return Err(Failure::new(Class::Usage, format!("{shown} is the file to write, too")).remedy("name another file with -o"));
        }
        if !known.insert(number) {
            return Err(Failure::new(Class::Usage, format!("{shown} is named twice")));
        }
    }
    Ok(())
}

/// Text of JSON as a terminal may show it.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

fn summary(output: &Path, written: &Written) -> String {
    let mut text = format!("{}: {} arrows\n", output.display(), written.arrows);
    for (name, program, events) in &written.layers {
        text += &format!("  {name}: {} ({events} calls)\n", plain(program));
    }
    text
}

fn refusal(path: &Path, inputs: &[PathBuf], output: &Path, problem: &Problem) -> Failure {
    let shown = path.display();
    let failure = |text: String, remedy: &str| Failure::new(Class::File, text).remedy(remedy);
    match problem {
        Problem::Read(error) => Failure::new(Class::File, format!("cannot read {shown}: {error}")),
        Problem::Write(error) => Failure::new(Class::File, format!("cannot write {}: {error}", output.display())),
        Problem::NoTrace => failure(format!("{shown} is no trace"), "make one with nacre run trace -o FILE.json PROGRAM"),
        Problem::Old => failure(format!("{shown} does not tell its clock, since an older trace wrote it"), "trace the program again"),
        Problem::Damaged(line) => failure(format!("{shown} is damaged: line {line} is none of a trace"), "trace the program again, each tracer into a file of its own"),
        Problem::TooManyTracks => failure(format!("there are over {MAX_TRACKS} processes and threads up to {shown}"), "merge fewer files, or trace fewer operations, with -e"),
        Problem::TooManyTracers => failure(format!("there are over {MAX_LAYERS} tracers up to {shown}"), "merge fewer files"),
        Problem::OtherClock(other) => failure(format!("{shown} has another clock than {}", inputs[*other].display()), "merge traces of one run: each start of a machine begins a clock, and so does each `checkpoint`"),
        Problem::Changed => failure(format!("{shown} has changed while it was read"), "merge when all tracers have ended"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn a_file_is_read_once_and_is_not_the_one_that_is_written() {
        let folder = Folder::new("merge").unwrap();
        let [input, link, output] = ["a", "b", "c"].map(|name| folder.path().join(name));
        fs::write(&input, "trace").unwrap();
        fs::hard_link(&input, &link).unwrap();
        let refused = |inputs: &[&PathBuf], output: &Path| check_names(&inputs.iter().map(|path| path.to_path_buf()).collect::<Vec<_>>(), output).map_err(|failure| failure.to_string());
        assert_eq!(refused(&[&input], &output), Ok(()));
        assert!(refused(&[&input, &link], &output).unwrap_err().contains("is named twice"));
        assert!(refused(&[&input], &link).unwrap_err().contains("is the file to write, too"));
        assert!(refused(&[&folder.path().to_path_buf()], &output).unwrap_err().contains("is no file"));
    }
}
