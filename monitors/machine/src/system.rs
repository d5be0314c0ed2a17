//! A machine with its kernel loaded, before its first instruction.

use crate::board::{BOARD, End};
use crate::cards::{self, Extension};
use crate::clock::Clock;
use crate::console;
use crate::debugger;
use crate::elsewhere;
use crate::files;
use crate::guest::{Guest, Memory};
use crate::options::{Initrd, Options};
use crate::paging;
use crate::processor::Processor;
use crate::reset;
use crate::shortage;
use crate::translation::Translation;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use nacre_abi::frame::word;
use nacre_machine_devices::{HPET_ADDRESS, HPET_IDENTITY, IO_APIC_ADDRESS, IO_APIC_ID, Outcome};
use nacre_machine_load::cpio::Archive;
use nacre_machine_load::{Boot, ByteSource, Module, Protocol, Start, acpi, linux, multiboot1, multiboot2, pvh};
use nacre_nest::{Services, attending};
use nacre_nest::command::lossy;
use nacre_proto::flags::O_RDONLY;
use nacre_proto::{memory, parent};
use nacre_rt::thread::{self, Handle};
use nacre_sys::lock::Lock;
use nacre_sys::{Frame, OwnedPort, Reference, Thread};

/// Words that every kernel is given: a terminal.
const COMMAND_LINE: &str = "console=ttyS0 panic=-1 quiet";
/// More words where there is a command: what it says is then all that is to be seen.
const SILENT: &str = " loglevel=1";
/// Place of the command in the guest's files.
const COMMAND: &str = "nacre/command";
/// Place of a script that sets the guest's terminal.
const TERMINAL: &str = "nacre/terminal";

/// A machine.
pub struct System {
    /// Memory and space.
    guest: Guest,
    /// Pages of the processors, the first one's first.
    frames: Vec<Frame>,
    clock: Clock,
    /// Port that hears of it when the machine goes on elsewhere.
    told: Option<OwnedPort>,
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

/// Returns the text of a multiboot kernel's module: the path, and words if there are any.
fn module_text(initrd: &Initrd<'_>) -> String {
    let (path, words) = (lossy(initrd.path), lossy(initrd.words));
    if words.is_empty() { path.to_string() } else { format!("{path} {words}") }
}

/// Loads the kernel.
pub fn load_system(memory: &mut Memory, services: &Services, options: &Options<'_>) -> Result<Start, String> {
    let kernel = files::open(services, options.kernel, O_RDONLY)?;
    let initrds: Vec<files::File> = options.initrds.iter().map(|initrd| files::open(services, initrd.path, O_RDONLY)).collect::<Result<_, _>>()?;
    let more = additions(options.command)?;
    let parts: Vec<&dyn ByteSource> = initrds.iter().map(|file| file as &dyn ByteSource).chain([&more as &dyn ByteSource]).collect();
    let silent = if options.command.is_empty() { "" } else { SILENT };
    let root = options.root.map_or(String::new(), |number| format!(" root=share{number} rootfstype=9p rw"));
    let hpet = options.has_hpet.then_some((HPET_IDENTITY, HPET_ADDRESS));
    let facts = acpi::Facts { processors: options.processors as u8, io_apic: (IO_APIC_ID, IO_APIC_ADDRESS as u32), hpet };
    acpi::load(memory, &facts).map_err(|_| "the machine has too little memory for its tables; --memory SIZE gives it more".to_string())?;
    let words = lossy(options.append);
    // Words of other kernels than Linux are their own, and so is what they take for a file system.
    let own = if options.command.is_empty() { &parts[..parts.len() - 1] } else { &parts };
    let texts: Vec<String> = options.initrds.iter().map(module_text).collect();
    let modules: Vec<Module> = initrds.iter().zip(&texts).map(|(file, text)| Module { file, text }).collect();
    let boot = Boot { kernel: &kernel, modules: &modules, command_line: &words };
    let refused = |error| format!("cannot load {}: {error}", lossy(options.kernel));
    let protocol = Protocol::of(&kernel).map_err(refused)?;
    if matches!(protocol, Protocol::Multiboot1 | Protocol::Multiboot2) && !options.command.is_empty() {
        return Err("a multiboot kernel takes no COMMAND: give it words by --append".to_string());
    }
    let start = match protocol {
        Protocol::Linux => linux::load(memory, &kernel, &parts, format!("{COMMAND_LINE}{silent}{root} {words}").trim_end()),
        Protocol::Pvh => pvh::load(memory, &kernel, own, &words),
        Protocol::Multiboot1 => multiboot1::load(memory, &boot),
        Protocol::Multiboot2 => multiboot2::load(memory, &boot),
    };
    start.map_err(refused)
}

/// Makes the machine and loads its kernel.
pub fn load(services: &mut Services, options: &Options<'_>) -> Result<System, String> {
    let data = services.data_memory();
    let pool = || memory::status(data).ok().map(|status| (status.limit, status.used));
    let refused = |errno| shortage::of_guest(options.memory, errno, pool());
    let guest = Guest::new(services, options.memory, options.processors).map_err(refused)?;
    let mut memory = guest.memory();
    let start = load_system(&mut memory, services, options)?;
    let frames: Option<Vec<Frame>> = (0..options.processors).map(|number| guest.frame(number)).collect();
    let frames = frames.ok_or("the machine's processors have no pages")?;
    let no_clock = |errno| format!("cannot find the clock: {errno}");
    let (told, reference) = elsewhere::port().map_err(no_clock)?;
    let clock = Clock::find(&guest, &frames, (reference.handle(), elsewhere::BIT)).map_err(no_clock)?;
    reset::begin(&frames[0], &start);
    make_room(&frames);
    paging::want(options.paging);
    Ok(System { guest, frames, clock, told: Some(told) })
}

/// Lets processors of a guest that wait for each other make room, if the machine has fewer.
fn make_room(frames: &[Frame]) {
    let there = parent::processors(Reference::PARENT).map_or(1, |reply| reply.count);
    let is_crowded = there < frames.len() as u64;
    frames.iter().for_each(|frame| frame.set(word::PAUSES, is_crowded.into()));
}

impl System {
    /// Puts the devices on the board.
    pub fn begin(&mut self, services: &Services, options: &Options<'_>) -> Result<(), String> {
        let no_thread = |what| move |errno| format!("cannot start a thread for {what}: {}", shortage::because(errno));
        let cards = Extension::new(cards::cards(services, &self.guest, options)?, self.guest.memory());
        BOARD.begin(cards, self.clock, options).map_err(no_thread("the timer"))?;
        if let Some(told) = self.told.take().filter(|_| self.clock.is_followed()) {
            elsewhere::begin(services, told).map_err(no_thread("news of other machines"))?;
        }
        if options.is_debugged {
            debugger::begin(services, &self.frames, self.guest.memory())?;
        }
        Ok(())
    }

    /// Runs the machine to its end, across resets of the guest if it reboots.
    pub fn run_to_end(self, services: &Services, options: &Options<'_>) -> End {
        let mut end = self.run(options);
        while options.reboots && matches!(end, Ok(Some(Outcome::Reset))) {
            end = self.reset(services, options).and_then(|()| self.run(options));
        }
        debugger::end(&end);
        end
    }

    /// Brings all to where it was before the first instruction.
    fn reset(&self, services: &Services, options: &Options<'_>) -> Result<(), String> {
        let mut memory = self.guest.memory();
        self.guest.clear().map_err(|errno| format!("cannot clear the machine's memory: {errno}"))?;
        let start = load_system(&mut memory, services, options)?;
        self.frames.iter().for_each(|frame| self.guest.clear_frame(frame));
        self.clock.begin_counters(&self.frames);
        make_room(&self.frames);
        if let Some(first) = self.frames.first() {
            reset::begin(first, &start);
        }
        BOARD.reset(options)?;
        elsewhere::identify();
        Ok(())
    }

    /// Runs all processors until the machine ends, or the guest resets it.
    fn run(&self, options: &Options<'_>) -> End {
        let memory = self.guest.memory();
        let processor = |(number, frame): (usize, &Frame)| Processor::new(number, *frame, memory, self.clock, Translation::new(self.guest.ground(), options.paging));
        let mut processors = self.frames.iter().enumerate().map(processor);
        let first = processors.next();
        let others: Vec<_> = processors.map_while(start).collect();
        if let Some(first) = first {
            BOARD.seat(first.number()).take(first.frame(), Thread::FIRST);
            first.run();
        }
        // Another processor may wait for a request yet.
        BOARD.show_all();
        others.into_iter().for_each(Handle::join);
        BOARD.show_all();
        BOARD.outcome()
    }
}

/// Processors that wait for their threads.
static WAITING: Lock<Vec<Processor>> = Lock::new(Vec::new());

/// Starts the thread of a processor other than the first. `None`: there is no memory for it, and
/// the machine is over.
fn start(processor: Processor) -> Option<Handle> {
    let mut waiting = WAITING.lock();
    let (number, frame) = (processor.number(), processor.frame());
    match thread::spawn(run_other, number).inspect(attending::count) {
        Ok(handle) => {
            if let Some(thread) = handle.thread() {
                BOARD.seat(number).take(frame, thread);
            }
            waiting.push(processor);
            Some(handle)
        }
        Err(errno) => {
            BOARD.end(Err(format!("cannot start a processor: {}", shortage::because(errno))));
            None
        }
    }
}

fn run_other(number: usize) {
    // Whoever starts the thread has this lock until the processor is there.
    let mut waiting = WAITING.lock();
    let found = waiting.iter().position(|processor| processor.number() == number);
    let processor = found.map(|index| waiting.swap_remove(index));
    drop(waiting);
    if let Some(processor) = processor {
        processor.run();
    }
}
