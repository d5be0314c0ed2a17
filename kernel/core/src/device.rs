//! Devices for whoever holds the reference: I/O ports, interrupt lines, the clock.

use crate::call_result::wrong;
use crate::kernel::{Attempt, Done, Kernel};
use crate::list;
use crate::machine::{INTERRUPT_LINES, Machine, Physical, thread_page::register};
use crate::object::{Reference, Thread};
use nacre_abi::arguments::{self, Word};
use nacre_abi::object::TargetType;
use nacre_abi::{Code, PAGE_SIZE, Rights};

/// Offset of the interrupt bindings in the frame of globals. A binding is a link to a port, then
/// the bits.
const BINDINGS: u64 = 1024;
/// Bytes of one binding.
const BINDING_SIZE: u64 = 32;

impl<M: Machine> Kernel<M> {
    /// The number of the port that an argument names in a range of I/O ports, for accesses of
    /// `width` bytes.
    fn io_port(&self, ports: Reference<'_>, port: Word, width: u64) -> Attempt<u16> {
        if port.value >= ports.count() || width > ports.count() - port.value {
            return wrong(Code::BadRange, port);
        }
        Ok((ports.first() + port.value) as u16)
    }

    /// The width of an access, in bytes.
    fn io_width(&self, width: Word) -> Attempt<u8> {
        if !matches!(width.value, 1 | 2 | 4) {
            return wrong(Code::BadArgument, width);
        }
        Ok(width.value as u8)
    }

    pub(crate) fn io_read(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::IoRead = caller.arguments();
        let ports = self.resource_argument(caller, call.ports, TargetType::IoPorts)?;
        let width = self.io_width(call.width)?;
        let port = self.io_port(ports, call.port, u64::from(width))?;
        let value = self.machine.io_read(port, width);
        caller.set_register(register::RESULT_1, u64::from(value));
        Ok(Done::Return)
    }

    pub(crate) fn io_write(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::IoWrite = caller.arguments();
        let ports = self.resource_argument(caller, call.ports, TargetType::IoPorts)?;
        let width = self.io_width(call.width)?;
        let port = self.io_port(ports, call.port, u64::from(width))?;
        self.machine.io_write(port, width, call.value.value as u32);
        Ok(Done::Return)
    }

    pub(crate) fn io_write_bytes(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::IoWriteBytes = caller.arguments();
        let ports = self.resource_argument(caller, call.ports, TargetType::IoPorts)?;
        let port = self.io_port(ports, call.port, 1)?;
        let size = call.size.value;
        if size > PAGE_SIZE {
            return wrong(Code::BadArgument, call.size);
        }
        let span = self.span(caller, call.buffer.number, call.buffer.value, size, Rights::READ)?;
        let mut word = [0u8; 8];
        for at in 0..size {
            if at % 8 == 0 {
                word = self.span_bytes(&span, at);
            }
            self.machine.io_write(port, 1, u32::from(word[(at % 8) as usize]));
        }
        Ok(Done::Return)
    }

    /// Makes the reference at `to` lead to a part of what the reference at `from` leads to.
    fn narrow(&self, caller: Thread<'_>, kind: TargetType, [from, to]: [Word; 2], [part, count]: [Word; 2]) -> Attempt<Done> {
        let range = self.resource_argument(caller, from, kind)?;
        let to = self.reference_argument(caller, to)?;
        let count = count.value;
        if part.value > range.count() || count > range.count() - part.value {
            return wrong(Code::BadRange, part);
        }
        let (first, rights) = (range.first() + part.value, range.rights());
        if to != range.at {
            self.reference_fill(to, kind as u64, rights);
        }
        let part = self.reference(to);
        part.set_first(first);
        part.set_count(count);
        Ok(Done::Return)
    }

    pub(crate) fn io_ports_reference(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::IoPortsReference = caller.arguments();
        self.narrow(caller, TargetType::IoPorts, [call.ports, call.reference], [call.first, call.count])
    }

    pub(crate) fn interrupt_reference(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::InterruptReference = caller.arguments();
        self.narrow(caller, TargetType::Interrupts, [call.lines, call.reference], [call.first, call.count])
    }

    /// The line that two arguments name.
    fn line_argument(&self, caller: Thread<'_>, lines: Word, line: Word) -> Attempt<u32> {
        let lines = self.resource_argument(caller, lines, TargetType::Interrupts)?;
        if line.value >= lines.count() {
            return wrong(Code::BadRange, line);
        }
        Ok((lines.first() + line.value) as u32 % INTERRUPT_LINES)
    }

    fn binding(&self, line: u32) -> Physical {
        self.globals.get().add(BINDINGS + u64::from(line) * BINDING_SIZE)
    }

    /// Makes the links of all lines null.
    pub(crate) fn bindings_init(&self) {
        for line in 0..INTERRUPT_LINES {
            list::link_init(&self.machine, self.binding(line));
        }
    }

    pub(crate) fn interrupt_bind(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::InterruptBind = caller.arguments();
        let line = self.line_argument(caller, call.lines, call.line)?;
        let port = self.keeper_argument(caller, call.port)?;
        let binding = self.binding(line);
        self.machine.interrupt_enable(line, false);
        self.machine.words::<1>(binding.add(24))[0].set(call.bits.value);
        self.link_to_port(binding, port);
        if port.is_some() {
            self.machine.interrupt_enable(line, true);
        }
        Ok(Done::Return)
    }

    pub(crate) fn interrupt_acknowledge(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::InterruptAcknowledge = caller.arguments();
        let line = self.line_argument(caller, call.lines, call.line)?;
        if list::link_target(&self.machine, self.binding(line)).is_some() {
            self.machine.interrupt_enable(line, true);
        }
        Ok(Done::Return)
    }

    /// A line went up (and is masked now): its port is notified.
    pub(crate) fn interrupt_arrived(&self, line: u32) {
        let binding = self.binding(line % INTERRUPT_LINES);
        let Some(port) = list::link_target(&self.machine, binding) else { return };
        let bits = self.machine.words::<1>(binding.add(24))[0].get();
        self.notify(self.port(port), bits & !nacre_abi::message::KERNEL_BITS);
    }

    pub(crate) fn clock_read(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ClockRead = caller.arguments();
        self.resource_argument(caller, call.clock, TargetType::Clock)?;
        caller.set_register(register::RESULT_1, self.machine.now());
        Ok(Done::Return)
    }
}
