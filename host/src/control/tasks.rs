//! The subcommands that ask machines which run: `ps`, `freeze`, `kill`.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use nacre_proto::Errno;
use nacre_proto::flags::{COMMAND_DRIVER, COMMAND_END, COMMAND_FREEZE, COMMAND_KILL, COMMAND_LIST, COMMAND_STORE};

use super::client::{About, Collected, ask};
use super::desk::END;
use super::fork::target;
use super::names;
use super::arguments::{FreezeArguments, KillArguments, PsArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::json::quote;
use crate::whole_file::WholeFile;

/// Time for which a machine may be silent when it is listed.
const LIST_PATIENCE: Duration = Duration::from_secs(10);
/// Time that a machine has for the whole of its list.
const LIST_LIMIT: Duration = Duration::from_secs(60);

/// Width of the column with what threads wait for.
const WAITS: usize = 24;

/// A line of a machine's list, by its fields: path, kind, name, state, bytes, nanoseconds, figures,
/// waits.
pub(super) struct Row(pub(super) Vec<String>);

impl Row {
    pub(super) fn field(&self, number: usize) -> &str {
        self.0.get(number).map_or("", String::as_str)
    }

    /// Number of monitors and processes that it is in.
    pub(super) fn depth(&self) -> usize {
        self.field(0).matches('/').count()
    }

    /// Counts of a monitor's work. What is none is left out: the guest is not trusted.
    pub(super) fn figures(&self) -> Vec<(&str, u64)> {
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        let figure = |text: &'_ str| text.split_once('=').and_then(|(name, count)| Some((name.len(), count.parse().ok()?)));
        self.field(6).split(' ').filter_map(|text| figure(text).map(|(end, count)| (&text[..end], count))).filter(|(name, _)| is_name(name)).collect()
    }

    /// Numbers of threads, and what each waits for. What is none is left out.
    fn waits(&self) -> Vec<(u64, &str)> {
        self.field(7).split("; ").filter_map(|wait| wait.split_once('=').and_then(|(number, what)| Some((number.parse().ok()?, what)))).collect()
    }

    /// Returns the threads as JSON.
    fn waits_json(&self) -> String {
        let all: Vec<String> = self.waits().iter().map(|(number, what)| format!("{{\"thread\":{number},\"waits_for\":{}}}", quote(what))).collect();
        format!("[{}]", all.join(","))
    }

    /// Returns the figures as JSON.
    pub(super) fn figures_json(&self) -> String {
        let all: Vec<String> = self.figures().iter().map(|(name, count)| format!("{}:{count}", quote(name))).collect();
        format!("{{{}}}", all.join(","))
    }

    /// Place in the tree, by numbers: those of all that it is in, and its own. Copies have another
    /// behind theirs. Monitors tell what they run, and only then what is within that.
    fn place(&self) -> Vec<(u64, u64)> {
        let number = |text: &str| text.parse().unwrap_or(u64::MAX);
        self.field(0).split('/').map(|step| step.split_once('.').map_or((number(step), 0), |(original, copy)| (number(original), number(copy)))).collect()
    }
}

/// A machine and what is in it.
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) about: About,
    pub(super) rows: Vec<Row>,
    pub(super) is_whole: bool,
}

/// Lists the machines that run, and the environments in them.
pub fn ps(arguments: &PsArguments) -> Outcome<i32> {
    let names = match &arguments.name {
        Some(name) => vec![name.clone()],
        None => names::all()?,
    };
    let mut all = Vec::new();
    for name in names {
        match list(&name) {
            Ok(listed) => all.push(listed),
            // One of all that has just ended.
            Err(_) if arguments.name.is_none() => {}
            Err(failure) => return Err(failure),
        }
    }
    let text = if arguments.json { to_json(&all) } else { to_table(&all) };
    print!("{text}");
    Ok(0)
}

/// Asks a machine what is in it, or in a copy in it.
pub(super) fn list(name: &str) -> Outcome<Listed> {
    let mut text = Collected::new(Some(LIST_LIMIT));
    let target = target(name);
    let (about, errno) = ask(target.machine, (COMMAND_LIST, 0, b""), Some(LIST_PATIENCE), |bytes| text.take(bytes))?;
    let text = String::from_utf8_lossy(&text.bytes);
    let mut rows: Vec<Row> = text.lines().map(|line| Row(line.split('\t').map(plain).collect())).collect();
    rows.sort_by_key(Row::place);
    if let Some(number) = target.copy() {
        rows = within_copy(rows, number);
        if rows.is_empty() {
            return Err(Failure::new(Class::Usage, format!("there is no environment {name}")).remedy("`nacre ps` lists them"));
        }
    }
    Ok(Listed { name: target.machine.to_string(), about, rows, is_whole: errno == Some(Errno(0)) || errno == Some(Errno::ENOSYS) })
}

/// The rows of the outermost copy with a number, and of what is in it.
fn within_copy(mut rows: Vec<Row>, number: u64) -> Vec<Row> {
    let ending = format!(".{number}");
    let copy = rows.iter().filter(|row| row.field(1) == "copy" && row.field(0).ends_with(&ending)).min_by_key(|row| row.depth()).map(|row| row.field(0).to_string());
    rows.retain(|row| copy.as_deref().is_some_and(|copy| row.field(0).strip_prefix(copy).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))));
    rows
}

/// A field without what would move the cursor: the guest is not trusted.
pub(super) fn plain(field: &str) -> String {
    field.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

fn to_table(all: &[Listed]) -> String {
    let mut text = format!("{:<16} {:<5} {:>9} {:>9} {:<24} {}\n", "NAME", "STATE", "MEMORY", "CPU", "WAITS FOR", "WHAT");
    for listed in all {
        text += &format!("{:<16} {:<5} {:>9} {:>9} {:<24} {}\n", listed.name, "", "", "", "", plain(&listed.about.command.join(" ")));
        for row in &listed.rows {
            let depth = row.depth();
            let own = row.field(0).rsplit('/').next().unwrap_or_default();
            let what = if row.field(1) == "process" { format!("{own} {}", row.field(2)) } else { row.field(2).to_string() };
            let copy = if row.field(1) == "copy" { row.field(0).rsplit_once('.').map(|(_, number)| format!("{}.{number}", listed.name)) } else { None };
            let waits = waits_shown(&row.waits());
            text += &format!("{:<16} {:<5} {:>9} {:>9} {waits:<24} {}{what}\n", copy.unwrap_or_default(), row.field(3), bytes(row.field(4)), seconds(row.field(5)), "  ".repeat(depth + 1));
        }
        if !listed.is_whole {
            text += &format!("{:<16} (did not answer in full)\n", "");
        }
    }
    text
}

/// Returns the column with what threads wait for: each once, with the number of those that do.
fn waits_shown(waits: &[(u64, &str)]) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for (_, what) in waits {
        match counted.iter_mut().find(|(known, _)| known == what) {
            Some((_, count)) => *count += 1,
            None => counted.push((what, 1)),
        }
    }
    let shown: Vec<String> = counted.iter().map(|(what, count)| if *count == 1 { what.to_string() } else { format!("{count} {what}") }).collect();
    let text = shown.join(", ");
    if text.chars().count() <= WAITS { text } else { text.chars().take(WAITS - 3).chain("...".chars()).collect() }
}

pub(super) fn bytes(field: &str) -> String {
    match field.parse::<u64>() {
        Ok(bytes) if bytes >= 10 << 20 => format!("{}M", bytes >> 20),
        Ok(bytes) => format!("{}K", bytes >> 10),
        Err(_) => String::new(),
    }
}

pub(super) fn seconds(field: &str) -> String {
    field.parse::<u64>().map_or(String::new(), |nanoseconds| format!("{:.2}s", nanoseconds as f64 / 1e9))
}

fn to_json(all: &[Listed]) -> String {
    let machines: Vec<String> = all.iter().map(machine_json).collect();
    format!("[{}]\n", machines.join(",\n "))
}

fn machine_json(listed: &Listed) -> String {
    let command: Vec<String> = listed.about.command.iter().map(|word| quote(word)).collect();
    let number = |field: &str| field.parse::<u64>().map_or("null".to_string(), |number| number.to_string());
    let row = |row: &Row| {
        format!(
            "{{\"path\":{},\"kind\":{},\"name\":{},\"state\":{},\"memory\":{},\"cpu_ns\":{},\"figures\":{},\"threads\":{}}}",
            quote(row.field(0)), quote(row.field(1)), quote(row.field(2)), quote(row.field(3)), number(row.field(4)), number(row.field(5)), row.figures_json(), row.waits_json()
        )
    };
    let rows: Vec<String> = listed.rows.iter().map(row).collect();
    format!(
        "{{\"name\":{},\"pid\":{},\"command\":[{}],\"whole\":{},\"environments\":[{}]}}",
        quote(&listed.name), listed.about.pid, command.join(","), listed.is_whole, rows.join(",")
    )
}

/// Freezes the outermost `checkpoint` of a machine into an image.
pub fn freeze(arguments: &FreezeArguments) -> Outcome<i32> {
    if arguments.store {
        return freeze_into_store(arguments);
    }
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.image", arguments.name)));
    let unwritten = || format!("cannot write {}", path.display());
    let mut file = WholeFile::create(&path).context(Class::File, unwritten)?;
    let size = freeze_into(arguments, &mut file)?;
    file.sync().and_then(|()| file.finish()).context(Class::File, unwritten)?;
    if !arguments.quiet {
        println!("{}: {} KiB", path.display(), size >> 10);
    }
    Ok(0)
}

/// Freezes an environment into the store of its machine.
fn freeze_into_store(arguments: &FreezeArguments) -> Outcome<i32> {
    let target = target(&arguments.name);
    let flags = target.flags | COMMAND_STORE | if arguments.end { COMMAND_END } else { 0 };
    match ask(target.machine, (COMMAND_FREEZE, flags, b""), None, |_| Ok(()))?.1 {
        Some(Errno(0)) => {
            if !arguments.quiet {
                println!("{}: frozen into its store", arguments.name);
            }
            Ok(0)
        }
        Some(Errno::EINVAL) => Err(Failure::new(Class::Usage, format!("{} is a copy: the original alone is frozen into a store", arguments.name)).remedy("write it to a file with -o")),
        Some(Errno::EIO) => Err(not_frozen(&arguments.name, Some(Errno::EIO)).remedy("a machine has a store, large enough for two images, by: nacre run --store FILE:SIZE")),
        errno => Err(not_frozen(&arguments.name, errno)),
    }
}

fn freeze_into(arguments: &FreezeArguments, file: &mut WholeFile) -> Outcome<u64> {
    let target = target(&arguments.name);
    let mut size = 0;
    let (_, errno) = ask(target.machine, (COMMAND_FREEZE, target.flags | if arguments.end { COMMAND_END } else { 0 }, b""), None, |bytes| {
        size += bytes.len() as u64;
        file.write_all(bytes)
    })?;
    match errno {
        Some(Errno(0)) if size > 0 => Ok(size),
        errno => Err(not_frozen(&arguments.name, errno)),
    }
}

/// Returns the failure of a freeze that ended with this errno.
pub fn not_frozen(name: &str, errno: Option<Errno>) -> Failure {
    match errno {
        Some(Errno::ENOSYS) => Failure::new(Class::Usage, format!("nothing in the machine {name} can be frozen")).remedy("start the program below `checkpoint`: nacre run checkpoint PROGRAM"),
        Some(Errno::ESRCH) => no_copy(name),
        Some(_) => Failure::new(Class::Guest, "the environment could not be frozen; the machine said why"),
        None => Failure::new(Class::Guest, "the machine ended before the image was whole"),
    }
}

fn no_copy(name: &str) -> Failure {
    Failure::new(Class::Usage, format!("there is no environment {name}")).remedy("`nacre ps` lists them")
}

/// Ends a driver of a machine, for another one to take its place.
fn end_driver(machine: &str, number: u32) -> Outcome<i32> {
    let mut answer = Collected::new(Some(LIST_LIMIT));
    match ask(machine, (COMMAND_KILL, COMMAND_DRIVER, number.to_string().as_bytes()), Some(LIST_PATIENCE), |bytes| answer.take(bytes))?.1 {
        Some(Errno(0)) => Ok(0),
        Some(Errno::ENODEV) => {
            let drivers: Vec<String> = String::from_utf8_lossy(&answer.bytes).lines().map(plain).collect();
            let remedy = if drivers.is_empty() { "it has none: directories of this machine and disks have drivers".to_string() } else { format!("there are {}", drivers.join(", ")) };
            Err(Failure::new(Class::Usage, format!("the machine {machine} has no driver {number}")).remedy(remedy))
        }
        errno => Err(Failure::new(Class::Guest, format!("the driver could not be ended ({errno:?})"))),
    }
}

/// Sends a signal to the first process of a machine, or ends the machine.
pub fn kill(arguments: &KillArguments) -> Outcome<i32> {
    let target = target(&arguments.name);
    if let Some(number) = arguments.driver {
        return end_driver(target.machine, number);
    }
    if arguments.now && target.flags == 0 {
        return ask(&arguments.name, (END, 0, b""), None, |_| Ok(())).map(|_| 0);
    }
    let (signal, mut answer) = (arguments.signal.to_string(), Collected::new(Some(LIST_LIMIT)));
    let flags = target.flags | if arguments.now { COMMAND_END } else { 0 };
    let (_, errno) = ask(target.machine, (COMMAND_KILL, flags, signal.as_bytes()), Some(LIST_PATIENCE), |bytes| answer.take(bytes))?;
    match errno {
        // It may have ended by that.
        Some(Errno(0)) | None => Ok(0),
        Some(Errno::ESRCH) if target.flags != 0 => Err(no_copy(&arguments.name)),
        Some(Errno::ENOSYS) => Err(Failure::new(Class::Usage, format!("the machine {} has no processes", arguments.name)).remedy("end the machine with --now")),
        Some(errno) => Err(Failure::new(Class::Guest, format!("the signal could not be sent ({errno})"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_listed_with_what_is_in_it() {
        let row = |path: &str, kind: &str| Row(vec![path.into(), kind.into()]);
        let rows = || vec![row("0", "monitor"), row("0/0", "process"), row("0.1", "copy"), row("0.1/0", "monitor"), row("0.1/0/0.2", "copy"), row("0.11", "copy"), row("0.2", "copy")];
        let paths = |number| within_copy(rows(), number).iter().map(|row| row.field(0).to_string()).collect::<Vec<String>>();
        assert_eq!(paths(1), ["0.1", "0.1/0", "0.1/0/0.2"]);
        assert_eq!((paths(2), paths(3)), (vec!["0.2".to_string()], vec![]));
    }

    fn listed() -> Listed {
        let rows = ["0\tmonitor\tprocess\t\t2097152\t-\tprocesses=1", "0/1\tprocess\tsh \x1b[2J\tS\t-\t1500000000\t\t1=futex; 7=poll; 8=futex; x"];
        let rows = rows.iter().map(|line| Row(line.split('\t').map(plain).collect())).collect();
        Listed { name: "web".to_string(), about: About { pid: 4, number: 1, command: vec!["process".to_string(), "sh".to_string()] }, rows, is_whole: true }
    }

    #[test]
    fn a_table_shows_the_tree_and_moves_no_cursor() {
        let text = to_table(&[listed()]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("web ") && lines[1].ends_with("   process sh"));
        assert!(lines[2].contains("2048K") && lines[2].ends_with("    process"));
        assert!(lines[3].contains("1.50s 2 futex, poll    ") && lines[3].ends_with("      1 sh ?[2J"));
    }

    #[test]
    fn copies_are_shown_by_name_and_apart() {
        let lines = ["0\tmonitor\tcheckpoint\t\t-\t-", "0/2\tprocess\tsh\t\t-\t-", "0/10\tprocess\tsh\t\t-\t-", "0/2/0\tmonitor\ttrace\t\t-\t-", "0.10\tcopy\tcheckpoint\t\t-\t-", "0.2\tcopy\tcheckpoint\t\t-\t-", "0/0\tmonitor\tprocess\t\t-\t-"];
        let mut rows: Vec<Row> = lines.iter().map(|line| Row(line.split('\t').map(plain).collect())).collect();
        rows.sort_by_key(Row::place);
        assert_eq!(rows.iter().map(|row| row.field(0)).collect::<Vec<_>>(), ["0", "0/0", "0/2", "0/2/0", "0/10", "0.2", "0.10"]);
        let text = to_table(&[Listed { rows, ..listed() }]);
        assert!(text.lines().nth(7).is_some_and(|line| line.starts_with("web.2 ")), "{text}");
    }

    #[test]
    fn json_has_every_field() {
        let text = to_json(&[listed()]);
        assert!(text.contains("\"path\":\"0/1\",\"kind\":\"process\",\"name\":\"sh ?[2J\",\"state\":\"S\",\"memory\":null,\"cpu_ns\":1500000000,\"figures\":{},\"threads\":[{\"thread\":1,\"waits_for\":\"futex\"},{\"thread\":7,"), "{text}");
    }
}
