//! The board: all devices behind one lock, and the threads beside those of the processors: one
//! waits for timers, one reads what is typed. Whatever a device does, the processors that it is
//! about are called.
//!
//! Locks are taken in this order: output, devices, seats.

use crate::cards::{self, Extension};
use crate::clock::Clock;
use crate::exits::PortAccess;
use crate::manifest::MANIFEST;
use crate::options::Options;
use crate::output::{Output, PATIENCE};
use crate::seat::Seat;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use nacre_machine_devices::{MAX_PROCESSORS, OUTPUT_SIZE, Outcome, Platform};
use nacre_machine_load::GuestMemory;
use nacre_machine_load::generation::{IDENTITY, IDENTITY_SIZE};
use nacre_nest::attending;
use nacre_proto::Errno;
use nacre_rt::{stream, thread};
use nacre_sys::FOREVER;
use nacre_sys::lock::{Condition, Lock};

/// Processor that has written nothing that is to be shown.
const NOBODY: usize = usize::MAX;
/// Nanoseconds a second.
const SECOND: u64 = 1_000_000_000;
/// Bytes that were typed and that the guest has not taken.
const INPUT: usize = 4096;

/// Everything that the guest's accesses reach.
pub struct Devices {
    /// Devices of the ports, interrupt controllers, and timers.
    pub platform: Platform,
    /// Devices on the PCI bus.
    pub extension: Extension,
    clock: Clock,
    input: VecDeque<u8>,
    /// The guest takes what is typed.
    is_ready: bool,
    /// Seconds since 1970 when the clock said 0, as the clock of the ports was last told.
    calendar: u64,
    /// Time at which something happens by itself.
    alarm: Option<u64>,
    /// Time at which gathered output is to be shown.
    due: Option<u64>,
    /// Number of processors.
    processors: usize,
    /// Bits of the processors that nothing but another processor can wake.
    idle: u32,
}

/// Result of the whole machine: how the guest ended it, `None` if somebody else did, or the
/// sentence that says why it cannot go on.
pub type End = Result<Option<Outcome>, String>;

/// Devices and seats of the machine.
pub struct Board {
    devices: Lock<Option<Devices>>,
    /// Lock of the thread that shows what the guest wrote, so that it stays in order; and what is
    /// gathered of it.
    output: Lock<Output>,
    /// Number of the processor that wrote last, as long as output is gathered.
    writer: AtomicUsize,
    /// Gathered output is to be shown: a processor does so, since whoever shows it may wait for a
    /// reader, and the timer's thread must not.
    is_due: AtomicBool,
    /// The timer's thread waits here.
    set: Condition,
    /// Condition for whoever reads what is typed: there is room again.
    taken: Condition,
    seats: [Seat; MAX_PROCESSORS],
    end: Lock<Option<End>>,
    is_over: AtomicBool,
    /// All processors wait.
    is_held: AtomicBool,
    /// Number of exits by their number.
    counts: Lock<BTreeMap<u64, u64>>,
    /// Number of all exits so far.
    exits: AtomicU64,
}

/// The one machine of this program.
pub static BOARD: Board = Board {
    devices: Lock::new(None),
    output: Lock::new(Output::new()),
    writer: AtomicUsize::new(NOBODY),
    is_due: AtomicBool::new(false),
    set: Condition::new(),
    taken: Condition::new(),
    seats: [const { Seat::new() }; MAX_PROCESSORS],
    end: Lock::new(None),
    is_over: AtomicBool::new(false),
    is_held: AtomicBool::new(false),
    counts: Lock::new(BTreeMap::new()),
    exits: AtomicU64::new(0),
};

impl Devices {
    /// Reads a port.
    pub fn read_port(&mut self, access: PortAccess, now: u64) -> u32 {
        match self.extension.read(access, &mut self.platform) {
            Some(value) => value,
            None => self.platform.read(access.port, access.width, now),
        }
    }

    /// Writes a port.
    pub fn write_port(&mut self, access: PortAccess, value: u32, now: u64) {
        if !self.extension.write(access, value, &mut self.platform) {
            self.platform.write(access.port, access.width, value, now);
        }
    }

    /// Gives a turn to each device with requests that were left.
    pub fn serve_rest(&mut self) {
        self.extension.serve_rest(&mut self.platform);
    }

    /// Lets time pass, and typed bytes go in.
    fn advance(&mut self, now: u64, taken: &Condition) {
        self.platform.advance(now);
        if self.is_ready && !self.input.is_empty() {
            let count = self.platform.receive(self.input.make_contiguous());
            self.input.drain(..count.min(INPUT));
            taken.signal();
        }
    }

    /// Reads memory where no memory of the guest is; nothing reads all ones.
    pub fn read(&mut self, processor: usize, address: u64, width: u8, now: u64) -> u64 {
        self.platform.read_memory(processor, address, width, now).unwrap_or(u64::MAX)
    }

    /// Writes memory where no memory of the guest is.
    pub fn write(&mut self, processor: usize, address: u64, width: u8, value: u64, now: u64) {
        self.platform.write_memory(processor, address, width, value, now);
    }

    /// Lets the clock show the calendar of the machine below, which is another one now.
    fn follow_calendar(&mut self) {
        let calendar = self.clock.start_of_machine() / SECOND;
        self.platform.move_calendar(calendar.wrapping_sub(self.calendar) as i64);
        self.calendar = calendar;
    }

    /// A processor waits for nothing but other processors, or no longer. Returns true if all do so:
    /// then the machine is over.
    pub fn set_idle(&mut self, processor: usize, is_idle: bool) -> bool {
        let bit = 1u32 << (processor % MAX_PROCESSORS);
        self.idle = if is_idle { self.idle | bit } else { self.idle & !bit };
        self.idle == (1u32 << self.processors) - 1 && !(0..self.processors).any(|other| self.platform.apics().local(other).has_signal())
    }
}

/// Returns the devices that have no cards, as a reset leaves them, and the calendar that they were
/// told.
fn platform(clock: &Clock, options: &Options<'_>) -> (Platform, u64) {
    let calendar = clock.start_of_machine() / SECOND;
    let mut platform = Platform::new(calendar, options.processors);
    cards::wire(&mut platform);
    if options.has_hpet {
        platform.add_hpet();
    }
    (platform, calendar)
}

impl Board {
    /// Puts the devices there and starts the timer's thread.
    pub fn begin(&self, extension: Extension, clock: Clock, options: &Options<'_>) -> Result<(), Errno> {
        let (platform, calendar) = platform(&clock, options);
        let (is_ready, processors) = (!options.is_ours(), options.processors);
        *self.devices.lock() = Some(Devices { platform, extension, clock, input: VecDeque::new(), is_ready, calendar, alarm: None, due: None, processors, idle: 0 });
        // It goes on for as long as the program.
        thread::spawn(|_| BOARD.keep_time(), 0).inspect(attending::count).map(drop)
    }

    /// Lets the machine start anew: no processor runs, and the devices are as before the first
    /// instruction. What was typed stays.
    pub fn reset(&self, options: &Options<'_>) -> Result<(), String> {
        *self.output.lock() = Output::new();
        let mut found = self.devices.lock();
        if let Some(devices) = found.as_mut() {
            devices.extension.reset().map_err(|bad| format!("a device cannot be reset: {}", bad.0))?;
            (devices.platform, devices.calendar) = platform(&devices.clock, options);
            (devices.is_ready, devices.alarm, devices.idle) = (!options.is_ours(), None, 0);
        }
        *self.end.lock() = None;
        self.is_over.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// The seat of a processor.
    pub fn seat(&self, processor: usize) -> &Seat {
        &self.seats[processor % MAX_PROCESSORS]
    }

    /// Lets a processor do something with the devices, at the time that `act` is given. `None`: the
    /// board has no devices yet.
    pub fn with<T>(&self, processor: usize, act: impl FnOnce(&mut Devices, u64) -> T) -> Option<T> {
        self.with_time(processor, Clock::now, act)
    }

    /// Does the same at the time that was seen last: for a processor that has just asked for it, or
    /// to which it does not matter. Who asks may wait for an answer, and all others meanwhile.
    pub fn with_last_time<T>(&self, processor: usize, act: impl FnOnce(&mut Devices, u64) -> T) -> Option<T> {
        self.with_time(processor, Clock::last, act)
    }

    fn with_time<T>(&self, processor: usize, time: impl FnOnce(&Clock) -> u64, act: impl FnOnce(&mut Devices, u64) -> T) -> Option<T> {
        let mut found = self.devices.lock();
        let devices = found.as_mut()?;
        let now = time(&devices.clock);
        devices.advance(now, &self.taken);
        let result = act(devices, now);
        self.settle(devices, now, Some(processor));
        let has_output = devices.platform.line_with_output().is_some();
        drop(found);
        if has_output {
            self.gather(processor);
        }
        Some(result)
    }

    /// Calls the processors that something has come for, but for one that looks by itself, and sets
    /// the timer.
    fn settle(&self, devices: &mut Devices, now: u64, own: Option<usize>) {
        for processor in 0..devices.processors {
            if devices.platform.take_news(processor) && own != Some(processor) {
                self.seat(processor).call();
            }
        }
        let alarm = devices.platform.next_deadline(now);
        let is_earlier = alarm.is_some_and(|alarm| devices.alarm.is_none_or(|old| alarm < old));
        devices.alarm = alarm;
        if is_earlier {
            self.set.signal();
        }
    }

    /// Does something with the devices that comes from outside of the machine.
    fn from_outside(&self, act: impl FnOnce(&mut Devices)) {
        let mut found = self.devices.lock();
        if let Some(devices) = found.as_mut() {
            act(devices);
            let now = devices.clock.last();
            self.settle(devices, now, None);
        }
    }

    /// Serves a queue of a device of the bus, for whose other end something has come.
    pub fn serve(&self, device: usize, queue: usize) {
        self.from_outside(|devices| devices.extension.serve(device, queue, &mut devices.platform));
    }

    /// Presses the power button.
    pub fn press_power(&self) {
        self.from_outside(|devices| devices.platform.press_power());
    }

    /// Gives the guest an identity, which its system has not seen yet.
    pub fn identify(&self, identity: &[u8; IDENTITY_SIZE]) {
        // A memory that is too small has no place for it, as for all tables.
        self.from_outside(|devices| _ = devices.extension.memory.write(IDENTITY, identity));
    }

    /// The machine goes on elsewhere, or is a copy, with a new identity.
    pub fn go_on_elsewhere(&self, identity: &[u8; IDENTITY_SIZE]) {
        self.identify(identity);
        self.from_outside(|devices| {
            devices.follow_calendar();
            devices.platform.tell_generation();
        });
    }

    /// Gathers what a processor has written. Much of it is shown at once.
    fn gather(&self, processor: usize) {
        let mut output = self.output.lock();
        let mut bytes = [0; OUTPUT_SIZE];
        while let Some((line, count)) = self.take_output(&mut bytes) {
            output.add(line, &bytes[..count], show);
        }
        self.set_due(&output, processor);
    }

    /// Takes output of the guest: the number of its line, and how many bytes.
    fn take_output(&self, bytes: &mut [u8]) -> Option<(usize, usize)> {
        let mut found = self.devices.lock();
        let devices = found.as_mut()?;
        let line = devices.platform.line_with_output()?;
        let count = devices.platform.take_output(line, bytes);
        let now = devices.clock.last();
        // The processor may have looked already.
        self.settle(devices, now, None);
        Some((line, count))
    }

    /// Has output shown after a while, if there is any.
    fn set_due(&self, output: &Output, processor: usize) {
        self.writer.store(if output.is_empty() { NOBODY } else { processor }, Ordering::Relaxed);
        let mut found = self.devices.lock();
        let Some(devices) = found.as_mut() else { return };
        if output.is_empty() {
            devices.due = None;
        } else if devices.due.is_none() {
            let due = devices.clock.last().saturating_add(PATIENCE);
            devices.due = Some(due);
            if devices.alarm.is_none_or(|alarm| due < alarm) {
                self.set.signal();
            }
        }
    }

    /// Shows lines that were gathered for long enough.
    pub fn show_due(&self, processor: usize) {
        if self.is_due.load(Ordering::Relaxed) && self.is_due.swap(false, Ordering::Relaxed) {
            let mut output = self.output.lock();
            output.show_lines(show);
            self.set_due(&output, processor);
        }
    }

    /// Shows all output, if this processor wrote last: it waits now.
    pub fn show_own(&self, processor: usize) {
        if self.writer.load(Ordering::Relaxed) == processor {
            self.show_all();
        }
    }

    /// Shows all output.
    pub fn show_all(&self) {
        let mut output = self.output.lock();
        output.show_all(show);
        self.set_due(&output, NOBODY);
    }

    /// Returns the status that a guest of this tree has told of.
    pub fn told_status(&self) -> Option<u8> {
        self.output.lock().status()
    }

    fn keep_time(&self) {
        let mut found = self.devices.lock();
        loop {
            let mut left = FOREVER;
            if let Some(devices) = found.as_mut() {
                let now = devices.clock.now();
                if devices.alarm.is_some_and(|alarm| alarm <= now) {
                    devices.advance(now, &self.taken);
                    self.settle(devices, now, None);
                }
                if devices.due.take_if(|due| *due <= now).is_some() {
                    self.is_due.store(true, Ordering::Relaxed);
                    self.seat(self.writer.load(Ordering::Relaxed)).call();
                }
                let next = [devices.alarm, devices.due].into_iter().flatten().min();
                left = next.map_or(FOREVER, |next| next.saturating_sub(now).max(1));
            }
            found = self.set.wait_for(found, left);
        }
    }

    /// Bytes were typed. If there is no room, it `waits`, or they are lost: whoever sits at a
    /// terminal may want to leave.
    pub fn type_bytes(&self, bytes: &[u8], waits: bool) {
        let mut found = self.devices.lock();
        for byte in bytes {
            if found.as_ref().is_some_and(|devices| devices.input.len() >= INPUT) {
                self.hand_in(&mut found);
            }
            while waits && found.as_ref().is_some_and(|devices| devices.input.len() >= INPUT) {
                found = self.taken.wait(found);
            }
            if let Some(devices) = found.as_mut().filter(|devices| devices.input.len() < INPUT) {
                devices.input.push_back(*byte);
            }
        }
        self.hand_in(&mut found);
    }

    /// Gives typed bytes to the serial line.
    fn hand_in(&self, found: &mut Option<Devices>) {
        if let Some(devices) = found {
            let now = devices.clock.now();
            devices.advance(now, &self.taken);
            self.settle(devices, now, None);
        }
    }

    /// The guest takes what is typed from now on.
    pub fn make_ready(&self, processor: usize) {
        self.with(processor, |devices, _| devices.is_ready = true);
    }

    /// Ends the machine; the first end counts.
    pub fn end(&self, end: End) {
        self.end.lock().get_or_insert(end);
        self.is_over.store(true, Ordering::SeqCst);
        self.call();
    }

    /// Makes all processors look.
    pub fn call(&self) {
        self.seats.iter().for_each(Seat::call);
    }

    /// Lets all processors wait, or go on.
    pub fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::SeqCst);
        self.call();
    }

    /// Returns true if processors are to wait.
    pub fn is_held(&self) -> bool {
        self.is_held.load(Ordering::SeqCst) && !self.is_over()
    }

    /// Returns true if the machine is to end.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Returns how the machine ended.
    pub fn outcome(&self) -> End {
        self.end.lock().take().unwrap_or(Ok(None))
    }

    /// The guest was left once more.
    pub fn count_exit(&self) {
        self.exits.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often the guest was left so far.
    pub fn exits(&self) -> u64 {
        self.exits.load(Ordering::Relaxed)
    }

    /// Adds a processor's exits to those of all.
    pub fn count(&self, counts: &BTreeMap<u64, u64>) {
        let mut all = self.counts.lock();
        counts.iter().for_each(|(exit, count)| *all.entry(*exit).or_default() += count);
    }

    /// Tells how often the guest was left, by the number of the exit.
    pub fn tell(&self) {
        for (exit, count) in self.counts.lock().iter() {
            nacre_rt::eprint!("{}: exit {exit:#x}: {count}\n", MANIFEST.name);
        }
    }
}

/// Shows output of a serial line: the first one's is the standard output. Text that nobody takes is
/// lost.
fn show(line: usize, text: &[u8]) {
    let _ = stream::write(if line == 0 { stream::OUTPUT } else { stream::MESSAGES }, text);
}
