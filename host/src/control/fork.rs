//! The subcommand `fork`, and names of copies.

use nacre_proto::Errno;
use nacre_proto::flags::{COMMAND_FORK, COMMAND_WAIT, COPY_SHIFT};

use super::arguments::ForkArguments;
use super::client::{Collected, ask};
use super::names;
use crate::failure::{Class, Failure, Outcome};

/// Maximum number of bytes of a copy's input: a command is one line of the host's.
const MAX_INPUT: usize = 1024;

/// A machine, or a copy in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// Name of the machine.
    pub machine: &'a str,
    /// Flags of a command to the copy.
    pub flags: u64,
}

impl Target<'_> {
    /// Returns the number of the copy.
    pub fn copy(&self) -> Option<u64> {
        Some(self.flags >> COPY_SHIFT).filter(|number| *number > 0)
    }
}

/// Finds the machine that a name means: `NAME.3` is a copy in the machine `NAME`, unless a machine
/// is called so.
pub fn target(name: &str) -> Target<'_> {
    let whole = Target { machine: name, flags: 0 };
    if names::all().is_ok_and(|all| all.iter().any(|known| known == name)) { whole } else { copy(name).unwrap_or(whole) }
}

fn copy(name: &str) -> Option<Target<'_>> {
    let (machine, number) = name.rsplit_once('.')?;
    let number: u32 = number.parse().ok().filter(|number| *number > 0)?;
    Some(Target { machine, flags: u64::from(number) << COPY_SHIFT })
}

/// Makes copies of the outermost `checkpoint` of a machine.
pub fn fork(arguments: &ForkArguments) -> Outcome<i32> {
    let target = target(&arguments.name);
    let input = arguments.input.as_deref();
    if input.is_some_and(|input| input.len() > MAX_INPUT) {
        return Err(Failure::new(Class::Usage, format!("the input of a copy has at most {MAX_INPUT} bytes")));
    }
    let text = input.map_or(arguments.count.to_string(), |input| format!("{}\n{input}\n", arguments.count));
    let flags = target.flags | if arguments.wait { COMMAND_WAIT } else { 0 };
    let mut answer = Collected::new(None);
    let (_, errno) = ask(target.machine, (COMMAND_FORK, flags, text.as_bytes()), None, |bytes| answer.take(bytes))?;
    let copies = copies(&String::from_utf8_lossy(&answer.bytes), arguments.count as usize);
    match errno {
        Some(Errno(0)) => {}
        Some(Errno::ENOSYS) => return Err(Failure::new(Class::Usage, format!("nothing in the machine {} can be copied", target.machine)).remedy("start the program below `checkpoint`: nacre run checkpoint PROGRAM")),
        Some(Errno::ESRCH) => return Err(Failure::new(Class::Usage, format!("there is no environment {}", arguments.name)).remedy("`nacre ps` lists them")),
        Some(Errno::ENOMEM) => return Err(Failure::new(Class::Guest, "the copies could not be made; the machine said why")),
        Some(errno) => return Err(Failure::new(Class::Guest, format!("the copies could not be made ({errno})"))),
        None => return Err(Failure::new(Class::Guest, "the machine ended before the copies had")),
    }
    print!("{}", if arguments.json { to_json(target.machine, &copies) } else { to_lines(target.machine, &copies) });
    Ok(copies.iter().filter_map(|copy| copy.status).find(|status| *status != 0).map_or(0, |status| (status & 0xff) as i32))
}

/// A copy that was made, and how it ended.
#[derive(Debug, PartialEq, Eq)]
struct Copy {
    number: u32,
    status: Option<u32>,
}

/// Reads the lines of an answer: number, `started` or `ended`, status. The guest is not trusted:
/// lines that make no sense are left out, and so are copies beyond those that were asked for.
fn copies(text: &str, count: usize) -> Vec<Copy> {
    let mut copies: Vec<Copy> = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [number, state, status] = fields[..] else { continue };
        let Ok(number) = number.parse() else { continue };
        let has_room = copies.len() < count;
        match (state, copies.iter_mut().find(|copy| copy.number == number)) {
            ("started", None) if has_room => copies.push(Copy { number, status: None }),
            ("ended", Some(copy)) => copy.status = status.parse().ok(),
            _ => {}
        }
    }
    copies
}

fn to_lines(machine: &str, copies: &[Copy]) -> String {
    copies.iter().map(|copy| copy.status.map_or(format!("{machine}.{}\n", copy.number), |status| format!("{machine}.{}: {status}\n", copy.number))).collect()
}

fn to_json(machine: &str, copies: &[Copy]) -> String {
    let all: Vec<String> = copies
        .iter()
        .map(|copy| {
            let status = copy.status.map_or("null".to_string(), |status| status.to_string());
            format!("{{\"name\":{},\"copy\":{},\"status\":{status}}}", crate::json::quote(&format!("{machine}.{}", copy.number)), copy.number)
        })
        .collect();
    format!("[{}]\n", all.join(",\n "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_named_by_its_machine_and_its_number() {
        assert_eq!(copy("web.3"), Some(Target { machine: "web", flags: 3 << 32 }));
        for name in ["web", "web.0", "web.x", "web.", "web.99999999999"] {
            assert_eq!(copy(name), None, "{name}");
        }
    }

    #[test]
    fn copies_are_listed_with_their_statuses() {
        let made = copies("1\tstarted\t-\n2\tstarted\t-\nnonsense\n2\tended\t7\n9\tended\t0\nx\tstarted\t-\n3\tstarted\t-\n", 2);
        assert_eq!(to_lines("web", &made), "web.1\nweb.2: 7\n");
        assert_eq!(to_json("web", &made[1..]), "[{\"name\":\"web.2\",\"copy\":2,\"status\":7}]\n");
    }
}
