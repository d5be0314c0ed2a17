//! Devices for whoever holds the reference: I/O ports, interrupt lines, the clock.

use crate::call_result::wrong;
use crate::kernel::{Attempt, Done, Kernel};
use crate::list;
use crate::machine::{INTERRUPT_LINES, Machine, Physical, thread_page::register};
use crate::object::{Reference, Thread};
use nacre_abi::object::TargetType;
use nacre_abi::{Code, PAGE_SIZE, Rights};

/// Offset of the interrupt bindings in the frame of globals. A binding is a link to a port, then
/// the bits.
const BINDINGS: u64 = 1024;
/// Bytes of one binding.
const BINDING_SIZE: u64 = 32;

impl<M: Machine> Kernel<M> {
    /// The port number that arguments 2 and 3 name in a range of I/O ports, and the width.
    fn io_port(&self, caller: Thread<'_>, ports: Reference<'_>, width: u64) -> Attempt<(u16, u8)> {
        if !matches!(width, 1 | 2 | 4) {
            return wrong(Code::BadArgument, 3);
        }
        let offset = caller.argument(2);
        if offset >= ports.count() || width > ports.count() - offset {
            return wrong(Code::BadRange, 2);
        }
        Ok(((ports.first() + offset) as u16, width as u8))
    }

    pub(crate) fn io_read(&self, caller: Thread<'_>) -> Attempt<Done> {
        let ports = self.resource_argument(caller, 1, TargetType::IoPorts)?;
        let (port, width) = self.io_port(caller, ports, caller.argument(3))?;
        let value = self.machine.io_read(port, width);
        caller.set_register(register::RESULT_1, u64::from(value));
        Ok(Done::Return)
    }

    pub(crate) fn io_write(&self, caller: Thread<'_>) -> Attempt<Done> {
        let ports = self.resource_argument(caller, 1, TargetType::IoPorts)?;
        let (port, width) = self.io_port(caller, ports, caller.argument(3))?;
        self.machine.io_write(port, width, caller.argument(4) as u32);
        Ok(Done::Return)
    }

    pub(crate) fn io_write_bytes(&self, caller: Thread<'_>) -> Attempt<Done> {
        let ports = self.resource_argument(caller, 1, TargetType::IoPorts)?;
        let (port, _) = self.io_port(caller, ports, 1)?;
        let (address, size) = (caller.argument(3), caller.argument(4));
        if size > PAGE_SIZE {
            return wrong(Code::BadArgument, 4);
        }
        let span = self.span(caller, 3, address, size, Rights::READ)?;
        let mut word = [0u8; 8];
        for at in 0..size {
            if at % 8 == 0 {
                word = self.span_bytes(&span, at);
            }
            self.machine.io_write(port, 1, u32::from(word[(at % 8) as usize]));
        }
        Ok(Done::Return)
    }

    /// The reference at argument 2, which is to lead to a part of the range that argument 1 leads
    /// to.
    fn narrow(&self, caller: Thread<'_>, kind: TargetType) -> Attempt<Done> {
        let range = self.resource_argument(caller, 1, kind)?;
        let to = self.reference_argument(caller, 2)?;
        let (first, count) = (caller.argument(3), caller.argument(4));
        if first > range.count() || count > range.count() - first {
            return wrong(Code::BadRange, 3);
        }
        let (first, rights) = (range.first() + first, range.rights());
        if to != range.at {
            self.reference_fill(to, kind as u64, rights);
        }
        let part = self.reference(to);
        part.set_first(first);
        part.set_count(count);
        Ok(Done::Return)
    }

    pub(crate) fn io_ports_reference(&self, caller: Thread<'_>) -> Attempt<Done> {
        self.narrow(caller, TargetType::IoPorts)
    }

    pub(crate) fn interrupt_reference(&self, caller: Thread<'_>) -> Attempt<Done> {
        self.narrow(caller, TargetType::Interrupts)
    }

    /// The line that arguments 1 and 2 name.
    fn line_argument(&self, caller: Thread<'_>) -> Attempt<u32> {
        let lines = self.resource_argument(caller, 1, TargetType::Interrupts)?;
        let offset = caller.argument(2);
        if offset >= lines.count() {
            return wrong(Code::BadRange, 2);
        }
        Ok((lines.first() + offset) as u32 % INTERRUPT_LINES)
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
        let line = self.line_argument(caller)?;
        let port = self.keeper_argument(caller, 3)?;
        let binding = self.binding(line);
        self.machine.interrupt_enable(line, false);
        self.machine.words::<1>(binding.add(24))[0].set(caller.argument(4));
        self.link_to_port(binding, port);
        if port.is_some() {
            self.machine.interrupt_enable(line, true);
        }
        Ok(Done::Return)
    }

    pub(crate) fn interrupt_acknowledge(&self, caller: Thread<'_>) -> Attempt<Done> {
        let line = self.line_argument(caller)?;
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
        self.resource_argument(caller, 1, TargetType::Clock)?;
        caller.set_register(register::RESULT_1, self.machine.now());
        Ok(Done::Return)
    }
}
