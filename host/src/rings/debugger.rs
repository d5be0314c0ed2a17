//! Debian's gdb debugs programs in the system by the monitor `debug`, below and above others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::system::{describe, limits};
use super::tally::TestCounts;
use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::run::machine;
use crate::scratch::{Folder, Scratch};
use crate::session::capture::{Captured, capture};
use crate::session::debug_line::DebugLine;
use crate::session::terminal::Facts;

/// Folder of programs, and of what gdb is told and says of each.
const FOLDER: &str = "tests/debugged";
/// Start of the lines of gdb that a test looks at.
const MARK: &str = "= ";
/// Seconds after which gdb gives up, as a guard against hanging.
const LIMIT: &str = "1200";

/// A test: its sentence, the words before the program, the program's name, the name of what gdb is
/// told, whether gdb has the program's symbols from here, and on how many processors it runs.
struct Case {
    sentence: &'static str,
    under: &'static [&'static str],
    program: &'static str,
    script: &'static str,
    has_symbols: bool,
    /// Numbers of processors with which it runs.
    cpus: &'static [u32],
}

/// Records a program, and runs it by the recording.
const REPLAY: &str = "debug -q --record r /program; debug --replay r";

const CASES: [Case; 35] = [
    Case { sentence: "breakpoints, steps and the end of a program that is alone", under: &["debug"], program: "one", script: "one", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "a process in a world", under: &["process", "debug"], program: "one", script: "one", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "symbols come from the guest", under: &["process", "debug"], program: "one", script: "one", has_symbols: false, cpus: &[1, 2] },
    Case { sentence: "below a tracer", under: &["process", "trace", "-q", "debug"], program: "one", script: "one", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "below a checkpointer", under: &["checkpoint", "process", "debug"], program: "one", script: "one", has_symbols: true, cpus: &[1] },
    Case { sentence: "threads, a signal, and an end by it", under: &["process", "debug"], program: "threads", script: "threads", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "gdb goes, and the program goes on", under: &["process", "debug"], program: "one", script: "leave", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "gdb is killed while a program meets what it has set", under: &["process", "debug"], program: "alone", script: "alone", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "mappings, and a core that gdb opens here", under: &["process", "debug"], program: "one", script: "core", has_symbols: true, cpus: &[1] },
    Case { sentence: "system calls are caught", under: &["process", "debug"], program: "calls", script: "calls", has_symbols: true, cpus: &[2] },
    Case { sentence: "steps backwards by the record that gdb keeps", under: &["process", "debug"], program: "one", script: "back", has_symbols: true, cpus: &[1] },
    Case { sentence: "memory that nobody brings while the program stands still", under: &["process", "debug"], program: "served", script: "served", has_symbols: true, cpus: &[1] },
    Case { sentence: "a process that is made, and becomes another program", under: &["process", "debug"], program: "family", script: "family", has_symbols: true, cpus: &[2] },
    Case { sentence: "a breakpoint beside a call that the library changes", under: &["process", "debug"], program: "hot", script: "hot", has_symbols: true, cpus: &[1] },
    Case { sentence: "signals stop a program before it gets them", under: &["process", "debug"], program: "signals", script: "signals", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "signals below a pager", under: &["pager", "-m", "4M", "process", "debug"], program: "signals", script: "signals", has_symbols: true, cpus: &[1] },
    Case { sentence: "signals below a guard", under: &["guard", "--allow", "*", "process", "debug"], program: "signals", script: "signals", has_symbols: true, cpus: &[1] },
    Case { sentence: "a tracer, and the program that it runs beside itself", under: &["process", "debug", "trace", "-q", "/program"], program: "one", script: "inner", has_symbols: false, cpus: &[1, 2] },
    Case { sentence: "a program whose library asks its monitor for a directory before it begins", under: &["process", "sh", "-c", "cd /bin; exec debug trace -q /program"], program: "one", script: "inner", has_symbols: false, cpus: &[1, 2] },
    Case { sentence: "a debugger without a line, and the program below it", under: &["process", "debug", "debug", "/program"], program: "one", script: "outer", has_symbols: false, cpus: &[1, 2] },
    Case { sentence: "signals of a terminal and of another process", under: &["process", "debug"], program: "typed", script: "typed", has_symbols: true, cpus: &[1] },
    Case { sentence: "a condition does not hold, and gdb shows where", under: &["process", "debug"], program: "assert", script: "assert", has_symbols: true, cpus: &[1] },
    Case { sentence: "a condition does not hold in a program that is alone", under: &["debug"], program: "assert", script: "assert", has_symbols: true, cpus: &[1] },
    Case { sentence: "a condition does not hold below a checkpointer", under: &["checkpoint", "process", "trace", "-q", "debug"], program: "assert", script: "assert", has_symbols: true, cpus: &[2] },
    Case { sentence: "back and forth in a replay", under: &["process", "sh", "-c", REPLAY], program: "replay", script: "replay", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "threads and processes of a replay", under: &["process", "sh", "-c", REPLAY], program: "course", script: "course", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "gdb goes at the end of a replay", under: &["process", "sh", "-c", REPLAY], program: "one", script: "leave-replay", has_symbols: true, cpus: &[1] },
    Case { sentence: "memory is watched in a replay, forwards and backwards", under: &["process", "sh", "-c", REPLAY], program: "watch", script: "watch", has_symbols: true, cpus: &[2] },
    Case { sentence: "memory of a program that runs is watched", under: &["process", "debug"], program: "live", script: "live", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "memory is watched below a pager, a tracer and a checkpointer", under: &["pager", "-m", "4M", "checkpoint", "process", "trace", "-q", "debug"], program: "live", script: "live", has_symbols: true, cpus: &[2] },
    Case { sentence: "memory is watched whose pages change", under: &["process", "debug"], program: "pages", script: "pages", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "memory is watched beside which threads write, and whose page is forbidden for a while", under: &["process", "debug"], program: "racing", script: "racing", has_symbols: true, cpus: &[1, 2] },
    Case { sentence: "memory is watched whose pages change, below a pager", under: &["pager", "-m", "2M", "process", "debug"], program: "pages", script: "pages", has_symbols: true, cpus: &[1] },
    Case { sentence: "a replay below a tracer", under: &["process", "trace", "-q", "sh", "-c", REPLAY], program: "replay", script: "replay", has_symbols: true, cpus: &[1] },
    Case { sentence: "a replay below a checkpointer", under: &["checkpoint", "process", "sh", "-c", REPLAY], program: "replay", script: "replay", has_symbols: true, cpus: &[1] },
];

/// Runs all of them, on one processor and on two.
pub fn run(root: &Path, products: &Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    for case in &CASES {
        for &cpus in case.cpus {
            let name = format!("gdb: {} [cpus {cpus}]", case.sentence);
            if name.contains(filter) {
                tally.note(&name, debug(root, products, case, cpus)?.as_deref());
            }
        }
    }
    Ok(tally)
}

/// Compiles a program of the folder, as static code with symbols.
fn compile(source: &Path, folder: &Folder) -> Outcome<PathBuf> {
    let program = folder.path().join("program");
    let status = Command::new("gcc").args(["-g", "-O1", "-static", "-pthread", "-o"]).arg(&program).arg(source).status();
    match status {
        Ok(status) if status.success() => Ok(program),
        _ => Err(Failure::new(Class::Machine, format!("cannot compile {}", source.display()))),
    }
}

/// Returns the fault, if there was one.
fn debug(root: &Path, products: &Products, case: &Case, cpus: u32) -> Outcome<Option<String>> {
    let (scratch, sources) = (Folder::new("debugged")?, root.join(FOLDER));
    let program = compile(&sources.join(case.program).with_extension("c"), &scratch)?;
    let mut command: Vec<std::ffi::OsString> = case.under.iter().map(Into::into).collect();
    let mut files = Vec::new();
    // A script names it by its path in the guest.
    match case.under.last() {
        Some(&"debug") => command.push(program.clone().into()),
        _ => files.push(format!("{}:/program", program.display())),
    }
    let guest = Guest::compose(products, &GuestArguments { bare: true, command, files, ..GuestArguments::default() }, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let line = DebugLine::open(0)?;
    let (port, socket) = (line.number(), line.socket());
    let _folder = line.carry();
    let machine = machine(products, &image, MachineArguments { cpus, debug_line: Some(socket), ..MachineArguments::default() });
    let script = sources.join(case.script).with_extension("gdb");
    let (captured, said) = std::thread::scope(|scope| {
        let gdb = scope.spawn(|| gdb(&script, case.has_symbols.then_some(&program), port, scratch.path()));
        (capture(&machine, limits(), b""), gdb.join())
    });
    let said = said.map_err(|_| Failure::new(Class::Internal, "the thread of gdb has panicked"))??;
    judge(&sources.join(case.script).with_extension("expected"), &captured?, &said)
}

/// Returns all that gdb says.
pub(super) fn gdb(script: &Path, program: Option<&PathBuf>, port: u16, folder: &Path) -> Outcome<String> {
    let mut command = Command::new("timeout");
    command.current_dir(folder);
    command.args([LIMIT, "gdb", "-nx", "-batch", "-ex", "set remotetimeout 200", "-ex", "set pagination off"]);
    if let Some(program) = program {
        command.args(["-ex", "set sysroot /"]).arg(program);
    }
    let target = format!("target remote 127.0.0.1:{port}");
    let output = command.args(["-ex", &target, "-x"]).arg(script).output();
    let output = output.context(Class::Machine, || "cannot start gdb".to_string())?;
    Ok([output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat())
}

/// Returns the fault, if gdb or the machine has not said what this file has.
pub(super) fn judge(expected: &Path, captured: &Captured, said: &str) -> Outcome<Option<String>> {
    let wanted = fs::read_to_string(expected).context(Class::File, || format!("cannot read {}", expected.display()))?;
    let marked = said.lines().filter(|line| line.starts_with(MARK)).map(|line| format!("{line}\n"));
    let status = captured.status.as_ref().map_or("none".to_string(), i32::to_string);
    let output = String::from_utf8_lossy(&captured.output);
    let found = marked.chain([format!("status {status}\n"), output.into_owned()]).collect::<String>();
    Ok((found != wanted).then(|| format!("expected\n{wanted}found\n{found}gdb says\n{said}{}", describe(captured))))
}
