//! Tells how far long work is. Runs cargo and does so: a first build takes minutes.

use std::io::{self, IsTerminal, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::{Class, Context, Failure, Outcome};

/// Time between two lines where they are not written over each other.
const PAUSE: Duration = Duration::from_secs(10);
/// Beginning of cargo's progress bar.
const BAR: &str = "Building [";

/// Runs a build of `what`; shows how far it is, and what it says only if it fails.
pub fn run(mut command: Command, what: &str) -> Outcome<()> {
    let program = command.get_program().to_owned();
    command.env("CARGO_TERM_PROGRESS_WHEN", "always").env("CARGO_TERM_PROGRESS_WIDTH", "200").env("CARGO_TERM_COLOR", "never");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().context(Class::Machine, || format!("cannot start {}", program.display()))?;
    let mut teller = Teller::new("building", "built", what);
    let said = child.stderr.take().map(|mut pipe| follow(&mut pipe, &mut teller)).unwrap_or_default();
    let status = child.wait().context(Class::Internal, || format!("cannot wait for {}", program.display()))?;
    teller.finish(status.success());
    if status.success() {
        return Ok(());
    }
    eprint!("{said}");
    Err(Failure::new(Class::Build, format!("{what} could not be built")).remedy("the compiler's messages are above"))
}

/// Reads to the end; returns what is no progress.
fn follow(pipe: &mut impl Read, teller: &mut Teller) -> String {
    let (mut said, mut line, mut buffer) = (String::new(), Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        for &byte in &buffer[..count] {
            line.push(byte);
            if byte == b'\r' || byte == b'\n' {
                let text = String::from_utf8_lossy(&line).into_owned();
                match progress(&text) {
                    Some(progress) => teller.tell(&progress),
                    None if byte == b'\n' => said.push_str(&text),
                    None => {}
                }
                line.clear();
            }
        }
    }
    said.push_str(&String::from_utf8_lossy(&line));
    said
}

/// Cargo's bar in words: `12 of 80, nacre-linux`.
fn progress(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(BAR)?.1.split_once("] ")?;
    let (counts, names) = rest.split_once(':').unwrap_or((rest, ""));
    let (done, all) = counts.trim().split_once('/')?;
    let names = names.split(',').map(|name| name.split('(').next().unwrap_or("").trim()).find(|name| !name.is_empty());
    Some(names.map_or(format!("{done} of {all}"), |name| format!("{done} of {all}, {name}")))
}

/// Tells a person how far some work is: on a terminal in one line, elsewhere in a line now and
/// then.
pub struct Teller {
    /// The work while it goes on, and afterwards.
    verbs: [&'static str; 2],
    what: String,
    is_terminal: bool,
    started: Instant,
    told: Instant,
}

impl Teller {
    /// Begins to tell of work on `what`; the verbs say what is done, and what was done.
    pub fn new(does: &'static str, did: &'static str, what: &str) -> Teller {
        Teller { verbs: [does, did], what: what.to_string(), is_terminal: io::stderr().is_terminal(), started: Instant::now(), told: Instant::now() }
    }

    /// Tells how far it is.
    pub fn tell(&mut self, progress: &str) {
        let [does, _] = self.verbs;
        if self.is_terminal {
            eprint!("\r\x1b[Knacre: {does} {}: {progress}", self.what);
        } else if self.told.elapsed() >= PAUSE {
            eprintln!("nacre: {does} {}: {progress}", self.what);
            self.told = Instant::now();
        }
    }

    /// Tells that it is over, if it was long.
    pub fn finish(&self, succeeded: bool) {
        if self.is_terminal {
            eprint!("\r\x1b[K");
        }
        if succeeded && self.started.elapsed() >= PAUSE {
            eprintln!("nacre: {} {} in {} s", self.verbs[1], self.what, self.started.elapsed().as_secs());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_of_progress_becomes_words() {
        assert_eq!(progress("    Building [=====>      ] 12/80: nacre-linux, object(build)\r").as_deref(), Some("12 of 80, nacre-linux"));
        assert_eq!(progress("    Building [            ] 0/3\r").as_deref(), Some("0 of 3"));
        assert_eq!(progress("   Compiling nacre v0.1.0\n"), None);
    }

    #[test]
    fn what_the_compiler_says_is_kept() {
        let text = "   Compiling x\n    Building [=>  ] 1/2: x\rerror: no\n    Building [=>  ] 1/2: x\r  --> here";
        let mut teller = Teller::new("building", "built", "x");
        assert_eq!(follow(&mut text.as_bytes(), &mut teller), "   Compiling x\nerror: no\n  --> here");
    }
}
