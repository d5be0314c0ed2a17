//! Reads `tests/stacks/*.scenario`. The format is described in `tests/stacks/README.md`.

use std::path::PathBuf;

/// Something that stands in the scratch directory before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A file with these bytes and permissions.
    File(String, u32, String),
    /// A directory.
    Directory(String, u32),
    /// A symbolic link and its target.
    Link(String, String),
    /// A file with what a command (of this machine's busybox) prints: its name and the words.
    Made(String, Vec<String>),
    /// A C program: its name, its compiler, its source.
    Program(String, String, Source),
}

/// Source of a C program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Text in the scenario.
    Text(String),
    /// File, named from the root of the tree.
    File(PathBuf),
}

/// One command, and what it is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The line, for messages.
    pub line: String,
    /// Words of the command.
    pub words: Vec<String>,
    /// Input of the command.
    pub input: String,
    /// Status and output that are expected; without them those of this machine are.
    pub expected: Option<(i32, String)>,
    /// Set if the order of the lines does not matter.
    pub is_sorted: bool,
    /// Set if standard error may differ.
    pub ignores_errors: bool,
    /// Numbers of layers of `trace` to run it under.
    pub layers: Vec<usize>,
    /// Before which other words it runs: monitors and their options.
    pub under: Vec<Vec<String>>,
    /// Numbers of processors to run on.
    pub cpus: Vec<u32>,
}

/// A scenario: what is there, and what is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// Name of its file, without the ending.
    pub name: String,
    /// Files and programs of the scenario.
    pub items: Vec<Item>,
    /// Commands of the scenario.
    pub runs: Vec<Run>,
}

impl Scenario {
    /// Reads a scenario; an error names the line.
    pub fn parse(name: &str, text: &str) -> Result<Scenario, String> {
        let mut reader = Reader { lines: text.lines().enumerate().peekable(), layers: vec![0, 1, 2, 3], under: Vec::new(), cpus: vec![1] };
        let mut scenario = Scenario { name: name.to_string(), ..Scenario::default() };
        while let Some((number, line)) = reader.lines.next() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                reader.directive(line, &mut scenario).map_err(|error| format!("{name}, line {}: {error}", number + 1))?;
            }
        }
        Ok(scenario)
    }
}

struct Reader<'a> {
    lines: std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>,
    layers: Vec<usize>,
    under: Vec<Vec<String>>,
    cpus: Vec<u32>,
}

impl Reader<'_> {
    fn directive(&mut self, line: &str, scenario: &mut Scenario) -> Result<(), String> {
        let (keyword, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        match (keyword, words.as_slice()) {
            ("file", [name, mode @ ..]) => {
                let mode = permissions(mode, 0o644)?;
                scenario.items.push(Item::File(name.to_string(), mode, self.block()));
            }
            ("directory", [name, mode @ ..]) => {
                scenario.items.push(Item::Directory(name.to_string(), permissions(mode, 0o755)?));
            }
            ("link", [name, target]) => scenario.items.push(Item::Link(name.to_string(), target.to_string())),
            ("program", [name, compiler @ ("gcc" | "musl-gcc")]) => {
                scenario.items.push(Item::Program(name.to_string(), compiler.to_string(), Source::Text(self.block())));
            }
            ("program", [name, compiler @ ("gcc" | "musl-gcc"), path]) => {
                scenario.items.push(Item::Program(name.to_string(), compiler.to_string(), Source::File(path.into())));
            }
            ("made", [name, ..]) => {
                let words = shlex::split(rest).ok_or("a quote is not closed")?;
                scenario.items.push(Item::Made(name.to_string(), words[1..].to_vec()));
            }
            ("layers", counts) => {
                self.layers = numbers(counts)?;
                self.under.clear();
            }
            ("cpus", [_, ..]) => self.cpus = numbers(&words)?,
            ("under", [_, ..]) => self.under.push(shlex::split(rest).ok_or("a quote is not closed")?),
            ("run", _) => scenario.runs.push(self.run(rest)?),
            _ => self.about_run(keyword, &words, scenario.runs.last_mut().ok_or("this line needs a `run` before it")?)?,
        }
        Ok(())
    }

    fn run(&self, line: &str) -> Result<Run, String> {
        let words = shlex::split(line).filter(|words| !words.is_empty()).ok_or("`run` needs a command with its quotes closed")?;
        Ok(Run { line: line.to_string(), words, layers: self.layers.clone(), under: self.under.clone(), cpus: self.cpus.clone(), ..Run::default() })
    }

    fn about_run(&mut self, keyword: &str, words: &[&str], run: &mut Run) -> Result<(), String> {
        match (keyword, words) {
            ("input", []) => run.input = self.block(),
            ("expect", [status]) => {
                let status = status.parse().map_err(|_| format!("`{status}` is no status"))?;
                run.expected = Some((status, self.block()));
            }
            ("sorted", []) => run.is_sorted = true,
            ("ignore", ["errors"]) => run.ignores_errors = true,
            _ => return Err(format!("`{keyword} {}` means nothing here", words.join(" "))),
        }
        Ok(())
    }

    /// The lines that follow and start with `|`; one blank behind it is left out.
    fn block(&mut self) -> String {
        let mut text = String::new();
        while let Some((_, line)) = self.lines.next_if(|(_, line)| line.starts_with('|')) {
            let line = &line[1..];
            text.push_str(line.strip_prefix(' ').unwrap_or(line));
            text.push('\n');
        }
        text
    }
}

fn numbers<T: std::str::FromStr>(words: &[&str]) -> Result<Vec<T>, String> {
    words.iter().map(|word| word.parse().map_err(|_| format!("`{word}` is no number"))).collect()
}

fn permissions(words: &[&str], default: u32) -> Result<u32, String> {
    match words {
        [] => Ok(default),
        [mode] => u32::from_str_radix(mode, 8).ok().filter(|mode| *mode <= 0o7777).ok_or(format!("`{mode}` is no mode")),
        _ => Err("a name and a mode are all that can stand here".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Counts.
file words.txt 600
| one
|  two
|
directory d
link l words.txt
made w.gz gzip -c '@/words.txt'
program p gcc
| int main(void) { return 0; }
program q musl-gcc user/q.c
run wc -l '@/words.txt'
layers 0
under trace -q guard --allow 'read /x'
cpus 1 4
run sort
input
| b
expect 3
| b
sorted
ignore errors
";

    #[test]
    fn everything_is_read() {
        let scenario = Scenario::parse("text", TEXT).unwrap();
        assert_eq!(scenario.items[0], Item::File("words.txt".into(), 0o600, "one\n two\n\n".into()));
        assert_eq!(scenario.items[3], Item::Made("w.gz".into(), vec!["gzip".into(), "-c".into(), "@/words.txt".into()]));
        assert_eq!(scenario.items[4], Item::Program("p".into(), "gcc".into(), Source::Text("int main(void) { return 0; }\n".into())));
        assert_eq!(scenario.items[5], Item::Program("q".into(), "musl-gcc".into(), Source::File("user/q.c".into())));
        assert_eq!(scenario.runs[0].words, ["wc", "-l", "@/words.txt"]);
        assert_eq!(scenario.runs[0].layers, [0, 1, 2, 3]);
        let second = &scenario.runs[1];
        assert_eq!((second.input.as_str(), second.expected.clone()), ("b\n", Some((3, "b\n".to_string()))));
        assert!(second.is_sorted && second.ignores_errors && second.layers == [0]);
        assert_eq!((&scenario.runs[0].cpus[..], &second.cpus[..]), (&[1][..], &[1, 4][..]));
        assert_eq!(second.under, [["trace", "-q", "guard", "--allow", "read /x"]]);
    }

    #[test]
    fn faults_name_their_line() {
        for text in ["\nfrobnicate", "#\nsorted", "run x\nfile", "run x\nexpect y", "run x\nlayers -1", "run x\ncpus two", "#\nrun 'x", "run x\nfile a 9"] {
            let error = Scenario::parse("s", text).unwrap_err();
            assert!(error.starts_with("s, line 2:"), "{text}: {error}");
        }
    }
}
