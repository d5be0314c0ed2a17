//! A processor: its thread enters the guest, and does for it what it is left for.

use crate::exits::{self, PortAccess};
use crate::access;
use crate::board::{BOARD, Devices};
use crate::clock::Clock;
use crate::debugger;
use crate::guest::Memory;
use crate::model;
use crate::reset;
use crate::shadow::Exit;
use crate::translation::Translation;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::cell::Cell;
use nacre_abi::frame::{EXIT_INVALID, event, word};
use nacre_machine_devices::{Outcome, Signal};
use nacre_machine_x86::{Instruction, Kind, Move};
use nacre_sys::{FOREVER, Frame, Thread};

/// Bit of DR6: an instruction was traced.
const STEPPED: u64 = 1 << 14;
/// An exception follows each instruction.
const TRAP: u64 = 1 << 8;
/// Interrupts are on.
const INTERRUPTS: u64 = 1 << 9;

/// Number under which accesses to addresses without memory are counted: that of the exit.
const MEMORY_EXIT: u64 = 0x400;
/// A guest with a file system of `nacre run` writes here when it takes what is typed.
const READY_PORT: u16 = 0xf5;

/// A processor of a machine.
pub struct Processor {
    number: usize,
    frame: Frame,
    clock: Clock,
    memory: Memory,
    registers: model::Registers,
    translation: Translation,
    /// An external interrupt that the guest was given and has not taken, or 0.
    held: Cell<u64>,
    /// The guest's last access may have left requests of a device, which this thread then serves.
    serves: Cell<bool>,
    /// Number of exits by their number.
    counts: BTreeMap<u64, u64>,
}

/// Result of what is done for a guest: it goes on, or the sentence that ends it.
type Step = Result<(), String>;

/// Step that a processor takes next.
enum Next {
    /// Enters its guest.
    Enter,
    /// Serves requests of devices that were left.
    Serve,
    /// Waits for another processor's start.
    Wait,
    /// Starts at a page.
    Start(u8),
    /// Ends the machine.
    End(Option<Outcome>),
}

impl Processor {
    /// A processor before its first instruction.
    pub fn new(number: usize, frame: Frame, memory: Memory, clock: Clock, translation: Translation) -> Processor {
        let registers = model::Registers::new(number, memory, clock, translation.has_identities());
        Processor { number, frame, clock, memory, registers, translation, held: Cell::new(0), serves: Cell::new(false), counts: BTreeMap::new() }
    }

    /// Returns the number of the processor.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns the frame.
    pub fn frame(&self) -> Frame {
        self.frame
    }

    /// Runs the processor to the machine's end, on this thread, which has its seat.
    pub fn run(mut self) {
        if let Err(text) = self.run_to_end() {
            BOARD.end(Err(text));
        }
        BOARD.seat(self.number).leave();
        BOARD.count(&self.counts);
    }

    fn run_to_end(&mut self) -> Step {
        let seat = BOARD.seat(self.number);
        loop {
            seat.look();
            BOARD.show_due(self.number);
            if BOARD.is_held() {
                BOARD.show_all();
                seat.wait(FOREVER);
                continue;
            }
            let steps = debugger::pause(self.number);
            if BOARD.is_over() {
                return Ok(());
            }
            match self.deliver(steps)? {
                Next::Enter if steps => self.step()?,
                Next::Enter => {
                    self.enter()?;
                    self.left()?;
                }
                Next::Serve => self.with_last_time(Devices::serve_rest)?,
                Next::Wait => seat.wait(FOREVER),
                Next::Start(page) => {
                    self.held.set(0);
                    reset::reset(&self.frame, page);
                }
                Next::End(outcome) => BOARD.end(Ok(outcome)),
            }
        }
    }

    /// Enters the guest, until it is left.
    fn enter(&mut self) -> Step {
        let frame = self.frame;
        self.translation.look(&frame)?;
        BOARD.seat(self.number).inside(|| frame.enter()).map_err(|status| format!("the guest cannot be entered: {status:?}"))
    }

    /// Enters the guest for one instruction of gdb's. An exception that it causes is delivered, and
    /// the step ends when its handler returns.
    fn step(&mut self) -> Step {
        let (at, old) = (self.get(word::RIP), self.get(word::RFLAGS) & TRAP);
        self.set(word::RFLAGS, self.get(word::RFLAGS) | TRAP);
        self.enter()?;
        self.set(word::RFLAGS, self.get(word::RFLAGS) & !TRAP | old);
        let is_traced = self.get(word::EVENT) == event::EXIT && self.get(word::EXIT) == exits::EXCEPTIONS + u64::from(exits::DEBUG) && old == 0;
        if is_traced {
            self.hold();
            self.set(word::DR6, self.get(word::DR6) & !STEPPED);
        } else {
            self.left()?;
        }
        // An instruction that the guest was left for was carried out here, and is not traced.
        if is_traced || self.get(word::RIP) != at && self.get(word::INJECT) & exits::VALID == 0 {
            debugger::has_stepped(self.number);
        }
        Ok(())
    }

    /// Does something with the devices that does not ask for the time.
    fn with_last_time<T>(&self, act: impl FnOnce(&mut Devices) -> T) -> Result<T, String> {
        BOARD.with_last_time(self.number, |devices, _| act(devices)).ok_or_else(|| String::from("the machine has no devices"))
    }

    /// Does something with the devices.
    fn with<T>(&self, act: impl FnOnce(&mut Devices, u64) -> T) -> Result<T, String> {
        BOARD.with(self.number, act).ok_or_else(|| String::from("the machine has no devices"))
    }

    /// Takes what others want of the processor. Delivers an interrupt, or asks to be told when one
    /// can be; but not in a step of gdb's, which is one of the program that it looks at.
    fn deliver(&mut self, steps: bool) -> Result<Next, String> {
        let (frame, number) = (self.frame, self.number);
        if !steps && frame.get(word::INJECT) & exits::VALID == 0 {
            frame.set(word::INJECT, self.held.take());
        }
        let is_free = frame.get(word::INJECT) & exits::VALID == 0;
        let takes = !steps && is_free && frame.get(word::RFLAGS) & INTERRUPTS != 0 && frame.get(word::SHADOW) == 0;
        self.with_last_time(|devices| {
            let outcome = devices.platform.outcome();
            if outcome.is_some() {
                return Next::End(outcome);
            }
            // One that notified waits for its requests, as for any; the machine can end in between.
            if self.serves.get() && devices.extension.has_rest() {
                return Next::Serve;
            }
            self.serves.set(false);
            // A reset drops what was to be delivered.
            let takes_signal = is_free || devices.platform.apics().local(number).has_reset();
            let mut signal = if takes_signal { devices.platform.take_signal(number) } else { None };
            if signal == Some(Signal::Reset) {
                // There is no firmware from which the first processor could start again.
                if number == 0 {
                    return Next::End(Some(Outcome::Reset));
                }
                // The start may have come already.
                signal = devices.platform.take_signal(number);
            }
            match signal {
                Some(Signal::Start(page)) => {
                    devices.set_idle(number, false);
                    return Next::Start(page);
                }
                Some(Signal::NonMaskable) => frame.set(word::INJECT, exits::NON_MASKABLE),
                Some(Signal::Reset) | None => {}
            }
            if devices.platform.apics().local(number).waits() {
                return if devices.set_idle(number, true) { Next::End(None) } else { Next::Wait };
            }
            let class = devices.platform.apics().local(number).task_class();
            frame.set(word::TASK_PRIORITY, u64::from(class));
            if takes && signal.is_none() && let Some(vector) = devices.platform.acknowledge(number) {
                frame.set(word::INJECT, exits::interrupt(vector));
            }
            let waits = devices.platform.interrupt_pending(number) || devices.platform.apics().local(number).has_signal();
            frame.set(word::WINDOW, u64::from(waits && !steps));
            Next::Enter
        })
    }

    fn set(&self, number: usize, value: u64) {
        self.frame.set(number, value);
    }

    fn get(&self, number: usize) -> u64 {
        self.frame.get(number)
    }

    /// The guest goes on behind an instruction of so many bytes.
    fn pass(&self, bytes: u64) -> Step {
        self.set(word::RIP, self.get(word::RIP).wrapping_add(bytes));
        self.set(word::SHADOW, 0);
        Ok(())
    }

    /// The guest goes on behind the instruction that it was left for.
    fn pass_instruction(&self) -> Step {
        match self.registers.instruction(&self.frame) {
            Some(instruction) => self.pass(u64::from(instruction.length)),
            // Somebody has written over it meanwhile.
            None => self.raise(exits::UNDEFINED),
        }
    }

    fn raise(&self, vector: u8) -> Step {
        self.set(word::INJECT, exits::exception(vector));
        Ok(())
    }

    /// Keeps an interrupt that the guest has not taken: what it was left for comes first.
    fn hold(&self) {
        let waiting = self.get(word::INJECT);
        if waiting & exits::VALID != 0 && waiting & exits::KIND == 0 {
            self.held.set(waiting);
            self.set(word::INJECT, 0);
        }
    }

    /// The guest writes CR8, which is the task priority of its APIC.
    fn priority(&self) -> Step {
        let found = self.registers.instruction(&self.frame);
        let Some(Instruction { kind: Kind::MoveControl(Move { special: 8, general, is_write: true }), length }) = found else {
            return self.raise(exits::UNDEFINED);
        };
        let value = self.get(word::REGISTERS + usize::from(general));
        if value & !0xf != 0 {
            return self.raise(exits::PROTECTION);
        }
        self.with_last_time(|devices| devices.platform.apics().set_task_class(self.number, value as u8))?;
        self.pass(u64::from(length))
    }

    /// Deals with whatever the guest was left for.
    fn left(&mut self) -> Step {
        BOARD.count_exit();
        self.hold();
        match self.get(word::EVENT) {
            event::PENDING => Ok(()),
            event::MEMORY => self.memory(),
            _ => self.exit(self.get(word::EXIT)),
        }
    }

    /// The guest touched an address where no memory is.
    fn memory(&mut self) -> Step {
        const FETCH: u64 = 16;
        *self.counts.entry(MEMORY_EXIT).or_default() += 1;
        let (error, address) = (self.get(word::INFORMATION[0]), self.get(word::INFORMATION[1]));
        let refused = || format!("the guest touched its address {address:#x}, where nothing is, at {:#x}", self.get(word::RIP));
        // Neither code nor a stack can be there. An interrupt that was not taken yet is neither.
        let inject = self.get(word::INJECT);
        if error & FETCH != 0 || inject & exits::VALID != 0 && inject & exits::KIND != 0 {
            return Err(refused());
        }
        // What nobody here can carry out is refused to the guest, which goes on or says so.
        access::carry_out(&self.frame, self.memory, self.number).or_else(|access::Unknown| self.raise(exits::PROTECTION))
    }

    fn exit(&mut self, exit: u64) -> Step {
        *self.counts.entry(exit).or_default() += 1;
        if let Some(event) = exits::again(self.get(word::INTERRUPTED)) {
            self.set(word::INJECT, event);
        }
        match self.translation.exit(exit, &self.frame, &self.registers)? {
            Exit::Done => return Ok(()),
            Exit::Pass(bytes) => return self.pass(bytes),
            Exit::Raise(vector) => return self.raise(vector),
            Exit::Memory => return self.left(),
            Exit::Other => {}
        }
        match exit {
            exits::WINDOW => Ok(()),
            exits::PORT => self.port(),
            exits::CPUID => self.identify(),
            exits::REGISTER => self.register(),
            exits::HALT if debugger::has_broken(self.number) => Ok(()),
            exits::HALT => self.halt(),
            exits::TIME => self.time(),
            exits::PAUSE => {
                // What it waits for may be another processor, which needs this one to run.
                Thread::yield_now();
                self.pass_instruction()
            }
            exits::CALL => {
                // No such hypercall (KVM_ENOSYS).
                self.set(word::RAX, -1000i64 as u64);
                self.pass_instruction()
            }
            exits::PRIORITY_WRITE => self.priority(),
            exits::INVALIDATE | exits::WRITE_BACK => self.pass_instruction(),
            exits::BREAK => {
                self.pass(1)?;
                self.raise(exits::DEBUG)
            }
            exits::COUNTER => self.raise(exits::PROTECTION),
            exit if (exits::DEBUG_READS..exits::EXCEPTIONS).contains(&exit) => self.debug_register(exit),
            exit if (exits::EXCEPTIONS..exits::EXCEPTIONS + 32).contains(&exit) => self.raise((exit - exits::EXCEPTIONS) as u8),
            exits::SHUTDOWN => Err(format!("the guest's processor has shut down, at {:#x}", self.get(word::RIP))),
            EXIT_INVALID => Err(format!("the processor does not take the guest's state, at {:#x}", self.get(word::RIP))),
            _ => self.raise(exits::UNDEFINED),
        }
    }

    fn port(&mut self) -> Step {
        let access = PortAccess::of(self.get(word::INFORMATION[0]));
        if access.is_string {
            self.serves.set(true);
            let refused = |access::Unknown| format!("the guest moves strings through port {:#x} in an unknown way", access.port);
            return access::carry_out(&self.frame, self.memory, self.number).map_err(refused);
        }
        let (old, mask) = (self.get(word::RAX), u64::MAX >> (64 - 8 * u32::from(access.width)));
        if access.reads {
            let value = self.with(|devices, now| devices.read_port(access, now))?;
            // As in all 64-bit code, 32 bits clear the upper half.
            let kept = if access.width == 4 { 0 } else { old & !mask };
            self.set(word::RAX, kept | u64::from(value) & mask);
        } else if access.port == READY_PORT {
            BOARD.make_ready(self.number);
        } else {
            self.serves.set(true);
            self.with(|devices, now| devices.write_port(access, (old & mask) as u32, now))?;
        }
        self.set(word::RIP, self.get(word::INFORMATION[1]));
        self.set(word::SHADOW, 0);
        Ok(())
    }

    fn identify(&mut self) -> Step {
        const RCX: usize = word::REGISTERS + 1;
        const RDX: usize = word::REGISTERS + 2;
        const RBX: usize = word::REGISTERS + 3;
        let [a, b, c, d] = self.registers.identify(self.get(word::RAX) as u32, self.get(RCX) as u32);
        [(word::RAX, a), (RBX, b), (RCX, c), (RDX, d)].iter().for_each(|(number, value)| self.set(*number, u64::from(*value)));
        self.pass_instruction()
    }

    fn register(&mut self) -> Step {
        const RCX: usize = word::REGISTERS + 1;
        const RDX: usize = word::REGISTERS + 2;
        let number = self.get(RCX) as u32;
        let frame = self.frame;
        let result = if self.get(word::INFORMATION[0]) == 1 {
            self.registers.write(&frame, number, self.get(RDX) << 32 | self.get(word::RAX) & 0xffff_ffff)
        } else {
            self.registers.read(&frame, number).map(|value| {
                frame.set(word::RAX, value & 0xffff_ffff);
                frame.set(RDX, value >> 32);
            })
        };
        if result.is_ok() { self.pass_instruction() } else { self.raise(exits::PROTECTION) }
    }

    fn time(&mut self) -> Step {
        const RDX: usize = word::REGISTERS + 2;
        let ticks = self.clock.ticks().wrapping_add(self.clock.difference(&self.frame));
        self.set(word::RAX, ticks & 0xffff_ffff);
        self.set(RDX, ticks >> 32);
        self.pass_instruction()
    }

    /// Debug registers are all zero: the kernel keeps those of the processor.
    fn debug_register(&mut self, exit: u64) -> Step {
        const CONTROL: u64 = 0x400;
        let found = self.registers.instruction(&self.frame);
        let Some(Instruction { kind: Kind::MoveDebug(operands), length }) = found else { return self.raise(exits::UNDEFINED) };
        if exit < exits::DEBUG_WRITES {
            let value = match operands.special & 7 {
                4 | 6 => self.get(word::DR6),
                5 | 7 => CONTROL,
                _ => 0,
            };
            self.set(word::REGISTERS + usize::from(operands.general), value);
        }
        self.pass(u64::from(length))
    }

    /// The guest waits for an interrupt.
    fn halt(&mut self) -> Step {
        self.pass_instruction()?;
        let takes = self.get(word::RFLAGS) & INTERRUPTS != 0;
        if !takes && self.with_last_time(|devices| devices.set_idle(self.number, true))? {
            // Nothing can wake it: a machine without a power switch is turned off so.
            BOARD.end(Ok(None));
        }
        let (seat, number, is_held) = (BOARD.seat(self.number), self.number, self.held.get() != 0);
        BOARD.show_own(number);
        while !BOARD.is_over() {
            seat.look();
            BOARD.show_due(number);
            debugger::pause(number);
            let left = self.with(|devices, now| {
                let has_come = takes && (is_held || devices.platform.interrupt_pending(number)) || devices.platform.apics().local(number).has_signal();
                if has_come {
                    devices.set_idle(number, false);
                    return None;
                }
                Some(devices.platform.next_deadline(now).map_or(FOREVER, |at| at.saturating_sub(now).max(1)))
            })?;
            let Some(left) = left else { break };
            seat.wait(left);
        }
        Ok(())
    }
}
