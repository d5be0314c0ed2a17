//! The terminal: what is typed goes to the guest's serial line, and what it writes is shown.

use crate::board::BOARD;
use crate::shortage;
use alloc::string::String;
use alloc::{format, vec};
use nacre_proto::flags::OWN_POSITION;
use nacre_proto::structures::Attributes;
use nacre_proto::{file, terminal};
use nacre_rt::{stream, thread};
use nacre_sys::Reference;

/// Ctrl-], which leaves the machine.
const LEAVE: u8 = 0x1d;
/// Ctrl-D.
const END: u8 = 4;
const PIECE: usize = 256;

/// Attributes of a terminal that hands on each key: of input, output and local flags those that are
/// cleared (Linux's BRKINT ICRNL INPCK ISTRIP IXON, OPOST, ECHO ICANON IEXTEN ISIG).
const RAW: [u32; 3] = [0o2 | 0o400 | 0o20 | 0o40 | 0o2000, 0o1, 0o10 | 0o2 | 0o100000 | 0o1];

/// A terminal that is given back as it was.
pub struct Terminal(Option<(Reference, Attributes)>);

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some((stream, attributes)) = &self.0 {
            // Who has hung up does not see it.
            let _ = terminal::set_attributes(*stream, 0, &attributes.to_bytes()[..]);
        }
    }
}

/// Makes the terminal raw, if there is one.
fn make_raw(stream: Reference) -> Terminal {
    let mut bytes = [0; Attributes::SIZE];
    let found = terminal::get_attributes(stream, &mut bytes[..]).ok().and_then(|_| Attributes::from_bytes(&bytes));
    let Some(old) = found else { return Terminal(None) };
    let raw = Attributes { input: old.input & !RAW[0], output: old.output & !RAW[1], local: old.local & !RAW[2], ..old };
    let is_raw = terminal::set_attributes(stream, 0, &raw.to_bytes()[..]).is_ok();
    Terminal(is_raw.then_some((stream, old)))
}

/// A line of shell that makes the guest's terminal like ours: its size, or, if ours is none, lines
/// as they are and no echo.
pub fn settings() -> String {
    let stream = |number| stream::stream(number).ok();
    let is_terminal = |found: Reference| terminal::get_attributes(found, &mut [0; Attributes::SIZE][..]).is_ok();
    let (is_typed, is_shown) = (stream(stream::INPUT).is_some_and(is_terminal), stream(stream::OUTPUT).is_some_and(is_terminal));
    let mut words = String::from("stty");
    if let Some(size) = stream(stream::OUTPUT).and_then(|output| terminal::window(output).ok()).filter(|size| size.rows != 0) {
        words += &format!(" rows {} columns {}", size.rows, size.columns);
    }
    words += if is_shown { "" } else { " -onlcr" };
    words += if is_typed { "\n" } else { " -echo\n" };
    words
}

/// Starts to read what is typed.
pub fn begin() -> Result<Terminal, String> {
    let Ok(input) = stream::stream(stream::INPUT) else { return Ok(Terminal(None)) };
    let terminal = make_raw(input);
    let is_terminal = terminal.0.is_some();
    thread::spawn(read, usize::from(is_terminal)).map_err(|errno| format!("cannot read what is typed: {}", shortage::because(errno)))?;
    Ok(terminal)
}

fn read(is_terminal: usize) {
    let Ok(input) = stream::stream(stream::INPUT) else { return };
    let mut bytes = vec![0; PIECE];
    let mut last = b'\n';
    loop {
        let count = match file::read(input, OWN_POSITION, PIECE as u64, &mut bytes[..]) {
            Ok(reply) if reply.count != 0 => reply.count as usize,
            // A terminal tells that there is no more by a key; in the middle of a line the first
            // ends that.
            _ => return BOARD.type_bytes(if last == b'\n' { &[END] } else { &[END, END] }, true),
        };
        let typed = &bytes[..count.min(PIECE)];
        if is_terminal != 0 && typed.contains(&LEAVE) {
            return BOARD.end(Ok(None));
        }
        last = typed.last().copied().unwrap_or(last);
        BOARD.type_bytes(typed, is_terminal == 0);
    }
}
