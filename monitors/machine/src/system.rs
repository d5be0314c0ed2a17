//! A machine with its kernel loaded, before its first instruction.

use crate::board::{BOARD, End};
use crate::clock::Clock;
use crate::console;
use crate::files;
use crate::guest::{Guest, Memory};
use crate::options::Options;
use crate::processor::Processor;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use nacre_abi::frame::word;
use nacre_machine_devices::Platform;
use nacre_machine_load::cpio::Archive;
use nacre_machine_load::{ByteSource, Segment, Start, linux};
use nacre_nest::Services;
use nacre_nest::command::lossy;
use nacre_sys::{Frame, Thread};

/// Words that every kernel is given: a terminal, and no firmware to look for.
const COMMAND_LINE: &str = "console=ttyS0 acpi=off pci=off panic=-1 quiet";
/// More words where there is a command: what it says is then all that is to be seen.
const SILENT: &str = " loglevel=1";
/// Processors of a machine.
const PROCESSORS: usize = 1;
/// Place of the command in the guest's files.
const COMMAND: &str = "nacre/command";
/// Place of a script that sets the guest's terminal.
const TERMINAL: &str = "nacre/terminal";

/// A machine.
pub struct System {
    /// Memory and space.
    guest: Guest,
    /// Processors; the first runs on the program's first thread.
    processors: Vec<Processor>,
    clock: Clock,
}

/// A shell script that runs these words as they are.
fn script(words: &[&[u8]]) -> Vec<u8> {
    let mut text = Vec::from(*b"exec");
    for word in words {
        text.extend_from_slice(b" '");
        for byte in *word {
            match byte {
                b'\'' => text.extend_from_slice(b"'\\''"),
                byte => text.push(*byte),
            }
        }
        text.push(b'\'');
    }
    text.push(b'\n');
    text
}

/// The archive that is laid behind the initial file system.
fn additions(command: &[&[u8]]) -> Result<Vec<u8>, String> {
    let archive = Archive::new().directory("nacre", 0o755).and_then(|archive| archive.file(TERMINAL, 0o755, console::settings().as_bytes()));
    let archive = archive.and_then(|archive| if command.is_empty() { Ok(archive) } else { archive.file(COMMAND, 0o755, &script(command)) });
    archive.map(Archive::finish).map_err(|_| "the command is too long".to_string())
}

/// Loads the kernel.
pub fn load_system(memory: &mut Memory, services: &Services, options: &Options<'_>) -> Result<Start, String> {
    let kernel = files::open(services, options.kernel)?;
    let initrd = options.initrd.map(|path| files::open(services, path)).transpose()?;
    let more = additions(options.command)?;
    let parts: Vec<&dyn ByteSource> = initrd.iter().map(|file| file as &dyn ByteSource).chain([&more as &dyn ByteSource]).collect();
    let silent = if options.command.is_empty() { "" } else { SILENT };
    let line = format!("{COMMAND_LINE}{silent} {}", lossy(options.append));
    linux::load(memory, &kernel, &parts, line.trim_end()).map_err(|error| error.to_string())
}

/// Makes the machine and loads its kernel.
pub fn load(services: &mut Services, options: &Options<'_>) -> Result<System, String> {
    let refused = |errno| format!("cannot take {} bytes of memory for the machine: {errno}", options.memory);
    let guest = Guest::new(services, options.memory, PROCESSORS).map_err(refused)?;
    let mut memory = guest.memory();
    let start = load_system(&mut memory, services, options)?;
    let clock = Clock::find().map_err(|errno| format!("cannot find the clock: {errno}"))?;
    let frames: Option<Vec<Frame>> = (0..PROCESSORS).map(|number| guest.frame(number)).collect();
    let frames = frames.ok_or("the machine's processors have no pages")?;
    begin(&frames[0], &start);
    let processors = frames.into_iter().enumerate().map(|(number, frame)| Processor::new(number, frame, memory, clock)).collect();
    Ok(System { guest, processors, clock })
}

impl System {
    /// Puts the devices on the board.
    pub fn begin(&self, options: &Options<'_>) -> Result<(), String> {
        let platform = Platform::new(self.clock.start_of_machine() / 1_000_000_000);
        BOARD.begin(platform, self.clock, !options.is_ours(), self.processors.len()).map_err(|errno| format!("cannot start a thread for the timer: {errno}"))
    }

    /// Runs all processors to the machine's end.
    pub fn run(self) -> End {
        for processor in self.processors {
            processor.run(Thread::FIRST);
        }
        drop(self.guest);
        BOARD.outcome()
    }
}

fn set_segment(frame: &Frame, number: usize, segment: &Segment) {
    let place = word::SEGMENTS + 2 * number;
    frame.set(place, u64::from(segment.selector) | u64::from(segment.attributes) << 16 | u64::from(segment.limit) << 32);
    frame.set(place + 1, segment.base);
}

/// Puts the registers of a start into the frame.
fn begin(frame: &Frame, start: &Start) {
    const RSI: usize = word::REGISTERS + 6;
    let none = Segment { attributes: 0x82, ..Segment::default() };
    let segments = [&start.ds, &start.cs, &start.ds, &start.ds, &start.ds, &start.ds, &start.gdtr, &none, &start.idtr, &start.tr];
    segments.iter().enumerate().for_each(|(number, segment)| set_segment(frame, number, segment));
    let words = [
        (word::RIP, start.rip),
        (word::RSP, start.rsp),
        (RSI, start.rsi),
        (word::RFLAGS, start.rflags),
        (word::CR0, start.cr0),
        (word::CR3, start.cr3),
        (word::CR4, start.cr4),
        (word::EFER, start.efer),
        (word::PAT, 0x0007_0406_0007_0406),
        (word::DR6, 0xffff_0ff0),
    ];
    words.iter().for_each(|(number, value)| frame.set(*number, *value));
}
