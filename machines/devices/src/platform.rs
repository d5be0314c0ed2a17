//! Bus of the machine: which port belongs to which device, and which interrupt line each has.

use crate::hpet::{FIRST_INPUT, INPUTS, TIMERS};
use crate::{
    Apics, ApicsState, BadState, Control, ControlState, EVENT_PORT, GENERAL_PORT, Hpet, HpetState, Outcome, Pic,
    PicState, Pit, PitState, Power, PowerState, Rtc, RtcState, Signal, Uart, UartState,
    check_version,
};

/// Version of [`PlatformState`].
const VERSION: u32 = 6;
/// Input of the I/O APIC that the timer's line leads to.
const TIMER_INPUT: usize = 2;
const TIMER_LINE: u8 = 0;
const CLOCK_LINE: u8 = 8;
const POWER_LINE: u8 = 9;
/// Number of serial lines.
pub const SERIAL_LINES: usize = 3;
/// Interrupt lines of the serial lines: the first and the third share one.
const SERIAL: [(u8, [bool; SERIAL_LINES]); 2] = [(4, [true, false, true]), (3, [false, true, false])];

/// Device on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    Pic,
    Pit,
    Rtc,
    /// Serial line with this index.
    Uart(u8),
    Control,
    Power,
    /// Ports that software writes in order to wait.
    Delay,
    /// Configuration ports of PCI, which the machine does not have.
    NoPci,
}

/// Ports of a device, from `first` to `last`.
struct Range {
    first: u16,
    last: u16,
    device: Device,
    /// Widest access, in bytes, that goes to the device whole. Wider ones are split into bytes, as
    /// an 8-bit bus does.
    width: u8,
}

const fn range(first: u16, last: u16, device: Device) -> Range {
    Range { first, last, device, width: 1 }
}

/// Devices by port. The first range that fits port and width has the access.
const RANGES: &[Range] = &[
    range(0x20, 0x21, Device::Pic),
    range(0x40, 0x43, Device::Pit),
    range(0x60, 0x60, Device::Control),
    range(0x61, 0x61, Device::Pit),
    range(0x64, 0x64, Device::Control),
    range(0x70, 0x71, Device::Rtc),
    range(0x80, 0x80, Device::Control),
    range(0x92, 0x92, Device::Control),
    range(0xa0, 0xa1, Device::Pic),
    range(0xed, 0xed, Device::Delay),
    range(0xf4, 0xf4, Device::Control),
    range(0x3f8, 0x3ff, Device::Uart(0)),
    range(0x2f8, 0x2ff, Device::Uart(1)),
    range(0x3e8, 0x3ef, Device::Uart(2)),
    range(0x4d0, 0x4d1, Device::Pic),
    range(EVENT_PORT, EVENT_PORT + 3, Device::Power),
    range(0x604, 0x605, Device::Control),
    range(GENERAL_PORT, GENERAL_PORT + 3, Device::Power),
    range(0xcf9, 0xcf9, Device::Control),
    Range { first: 0xcf8, last: 0xcff, device: Device::NoPci, width: 4 },
];

/// Returns the device of a port for accesses of a width in bytes.
fn device_of(port: u16, width: u8) -> Option<Device> {
    let fits = |range: &&Range| (range.first..=range.last).contains(&port) && width <= range.width;
    RANGES.iter().find(fits).map(|range| range.device)
}

/// State of all devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlatformState {
    /// Version of this struct.
    pub version: u32,
    /// Legacy interrupt controllers.
    pub pic: PicState,
    /// APICs.
    pub apics: ApicsState,
    /// Interval timer.
    pub pit: PitState,
    /// Serial lines.
    pub uarts: [UartState; SERIAL_LINES],
    /// Real-time clock.
    pub rtc: RtcState,
    /// Reset, power and exit.
    pub control: ControlState,
    /// Power events.
    pub power: PowerState,
    /// High-precision event timers, if the machine has them.
    pub hpet: Option<HpetState>,
    /// Number of accesses to ports without a device.
    pub unknown_count: u64,
}

/// All devices of a machine on one bus.
///
/// Times are nanoseconds from any moment on, such as the start of the machine. They should not go
/// backwards; if they do, devices stand still until the time is reached again.
#[derive(Clone, Debug)]
pub struct Platform {
    pic: Pic,
    apics: Apics,
    pit: Pit,
    uarts: [Uart; SERIAL_LINES],
    rtc: Rtc,
    control: Control,
    power: Power,
    hpet: Option<Hpet>,
    unknown_count: u64,
    /// An interrupt waited for the processor when it was last told.
    was_pending: bool,
}

impl Platform {
    /// Makes the devices of a machine that is turned on. Its clock shows `unix_time`, in seconds
    /// since 1970, at time 0 of those that the caller gives, not at the time of this call.
    pub fn new(unix_time: u64, processors: usize) -> Self {
        Platform {
            pic: Pic::new(),
            apics: Apics::new(processors),
            pit: Pit::new(),
            uarts: core::array::from_fn(|_| Uart::new()),
            rtc: Rtc::new(unix_time),
            control: Control::new(),
            power: Power::new(),
            hpet: None,
            unknown_count: 0,
            was_pending: false,
        }
    }

    /// Adds high-precision event timers.
    pub fn add_hpet(&mut self) {
        self.hpet = Some(Hpet::default());
    }

    /// Returns the whole state.
    pub fn state(&self) -> PlatformState {
        PlatformState {
            version: VERSION,
            pic: self.pic.state(),
            apics: self.apics.state(),
            pit: self.pit.state(),
            uarts: core::array::from_fn(|line| self.uarts[line].state()),
            rtc: self.rtc.state(),
            control: self.control.state(),
            power: self.power.state(),
            hpet: self.hpet.as_ref().map(Hpet::state),
            unknown_count: self.unknown_count,
        }
    }

    /// Makes the devices from a saved state.
    pub fn restore(state: &PlatformState) -> Result<Self, BadState> {
        check_version(state.version, VERSION, "version of the platform")?;
        Ok(Platform {
            pic: Pic::restore(&state.pic)?,
            apics: Apics::restore(&state.apics)?,
            pit: Pit::restore(&state.pit)?,
            uarts: [Uart::restore(&state.uarts[0])?, Uart::restore(&state.uarts[1])?, Uart::restore(&state.uarts[2])?],
            rtc: Rtc::restore(&state.rtc)?,
            control: Control::restore(&state.control)?,
            power: Power::restore(&state.power)?,
            hpet: state.hpet.as_ref().map(Hpet::restore).transpose()?,
            unknown_count: state.unknown_count,
            was_pending: false,
        })
    }

    /// Returns true if a device answers this port.
    pub fn has_port(&self, port: u16) -> bool {
        device_of(port, 1).is_some()
    }

    /// Reads a port; the width is 1, 2 or 4 bytes. Ports without a device read all ones.
    pub fn read(&mut self, port: u16, width: u8, now: u64) -> u32 {
        self.advance(now);
        let value = match device_of(port, width) {
            Some(device) => self.read_device(device, port, now),
            None => self.read_bytes(port, width, now),
        };
        self.follow_lines();
        value
    }

    /// Writes a port; the width is 1, 2 or 4 bytes.
    pub fn write(&mut self, port: u16, width: u8, value: u32, now: u64) {
        self.advance(now);
        match device_of(port, width) {
            Some(device) => self.write_device(device, port, value as u8, now),
            None => self.write_bytes(port, width, value, now),
        }
        self.follow_lines();
    }

    /// Reads memory of a device, for a processor; 1, 2, 4 or 8 bytes. `None`: there is no device.
    pub fn read_memory(&mut self, processor: usize, address: u64, width: u8, now: u64) -> Option<u64> {
        match self.hpet.as_mut().and_then(|hpet| hpet.read(address, width, now)) {
            Some(value) => Some(value),
            None => self.apics.read(processor, address, width, now),
        }
    }

    /// Writes memory of a device, if one is there.
    pub fn write_memory(&mut self, processor: usize, address: u64, width: u8, value: u64, now: u64) {
        if self.hpet.as_mut().is_some_and(|hpet| hpet.write(address, width, value, now)) {
            self.advance(now);
            self.follow_lines();
        } else {
            self.apics.write(processor, address, width, value, now);
        }
    }

    /// Lets all happen that is due. Reads and writes do so, too.
    pub fn advance(&mut self, now: u64) {
        let is_legacy = self.is_legacy();
        if self.pit.take_edge(now) && !is_legacy {
            self.pulse(TIMER_LINE);
        }
        if self.rtc.advance(now) && !is_legacy {
            self.set_line(CLOCK_LINE, true);
        }
        let edges = self.hpet.as_mut().map_or(0, |hpet| hpet.take_edges(now));
        for timer in (0..TIMERS).filter(|timer| edges >> timer & 1 != 0) {
            match timer {
                0 if is_legacy => self.pulse(TIMER_LINE),
                1 if is_legacy => self.pulse(CLOCK_LINE),
                _ => {
                    let input = self.hpet.as_ref().map_or(FIRST_INPUT, |hpet| hpet.input(timer));
                    self.apics.set_input(input, true);
                    self.apics.set_input(input, false);
                }
            }
        }
        self.follow_levels();
        self.apics.advance(now);
    }

    /// Returns the time at which `advance` has something to do that the guest would notice. It is
    /// `now` if that is over; `None` if nothing happens by itself. While the guest masks the
    /// line of a timer, an edge changes nothing that it could see before its next access.
    pub fn next_deadline(&self, now: u64) -> Option<u64> {
        let is_masked = |line, input| self.pic.is_masked(line) && self.apics.is_masked(input);
        let edge = if is_masked(TIMER_LINE, TIMER_INPUT) { None } else { self.pit.next_edge(now) };
        let clock = if is_masked(CLOCK_LINE, CLOCK_LINE.into()) { None } else { self.rtc.next_deadline(now) };
        let events = self.hpet.as_ref().and_then(|hpet| hpet.next_deadline(now));
        let timers = self.apics.next_deadline().map(|at| at.max(now));
        [edge, clock].into_iter().flatten().filter(|_| !self.is_legacy()).chain(events).chain(timers).min()
    }

    /// Returns true if an interrupt waits that a processor would take.
    pub fn interrupt_pending(&self, processor: usize) -> bool {
        self.apics.local(processor).pending().is_some() || self.legacy_pending(processor)
    }

    /// Returns true if the legacy controllers have an interrupt for a processor.
    fn legacy_pending(&self, processor: usize) -> bool {
        processor == 0 && self.pic.pending() && self.apics.local(0).takes_legacy()
    }

    /// Takes the waiting interrupt of a processor into service, and returns its vector.
    pub fn acknowledge(&mut self, processor: usize) -> Option<u8> {
        // As on a processor with both, the legacy controllers' line comes first.
        if self.legacy_pending(processor) { Some(self.pic.acknowledge()) } else { self.apics.acknowledge(processor) }
    }

    /// Returns true if something has come for a processor since this was last asked.
    pub fn take_news(&mut self, processor: usize) -> bool {
        let has_news = self.apics.take_news(processor);
        if processor != 0 {
            return has_news;
        }
        let is_pending = self.legacy_pending(0);
        let was_pending = core::mem::replace(&mut self.was_pending, is_pending);
        has_news || is_pending && !was_pending
    }

    /// Takes the next signal for a processor: a reset, a start, an interrupt without mask.
    pub fn take_signal(&mut self, processor: usize) -> Option<Signal> {
        self.apics.take_signal(processor)
    }

    /// Returns the APICs.
    pub fn apics(&mut self) -> &mut Apics {
        &mut self.apics
    }

    /// Sets the level of an interrupt line, 0 to 15; lines of devices beside those of this bus
    /// are level-triggered.
    pub fn set_line(&mut self, line: u8, level: bool) {
        self.pic.set_line(line, level);
        self.apics.set_input(if line == TIMER_LINE { TIMER_INPUT } else { usize::from(line) }, level);
    }

    /// Takes input for the first serial line, and returns how many bytes fit.
    pub fn receive(&mut self, bytes: &[u8]) -> usize {
        let count = self.uarts[0].receive(bytes);
        self.follow_lines();
        count
    }

    /// Moves output of a serial line into `into`, and returns how many bytes.
    pub fn take_output(&mut self, line: usize, into: &mut [u8]) -> usize {
        let count = self.uarts.get_mut(line).map_or(0, |uart| uart.take_output(into));
        self.follow_lines();
        count
    }

    /// Presses the power button.
    pub fn press_power(&mut self) {
        self.power.press();
        self.follow_lines();
    }

    /// Tells that the machine has a new identity.
    pub fn tell_generation(&mut self) {
        self.power.tell_generation();
        self.follow_lines();
    }

    /// Lets the clock show so many seconds more: the machine goes on elsewhere, at another time.
    pub fn move_calendar(&mut self, seconds: i64) {
        self.rtc.move_calendar(seconds);
    }

    /// Returns the first serial line with output that waits.
    pub fn line_with_output(&self) -> Option<usize> {
        self.uarts.iter().position(|uart| uart.output_len() != 0)
    }

    /// Returns how the guest has ended the machine.
    pub fn outcome(&self) -> Option<Outcome> {
        self.control.outcome()
    }

    /// Returns the number of accesses to ports without a device.
    pub fn unknown_count(&self) -> u64 {
        self.unknown_count
    }

    /// Returns true if the event timers have the lines of the old timer and of the clock.
    fn is_legacy(&self) -> bool {
        self.hpet.as_ref().is_some_and(Hpet::is_legacy)
    }

    /// Makes an edge on an interrupt line.
    fn pulse(&mut self, line: u8) {
        self.set_line(line, true);
        self.set_line(line, false);
    }

    /// Sets the inputs that event timers can have to their levels.
    fn follow_levels(&mut self) {
        let Some(hpet) = &self.hpet else { return };
        for input in FIRST_INPUT..FIRST_INPUT + INPUTS {
            self.apics.set_input(input, hpet.level(input));
        }
    }

    fn follow_lines(&mut self) {
        for (line, shares) in SERIAL {
            let level = self.uarts.iter().zip(shares).any(|(uart, shares)| shares && uart.interrupt());
            self.set_line(line, level);
        }
        self.set_line(CLOCK_LINE, self.rtc.interrupt() && !self.is_legacy());
        self.set_line(POWER_LINE, self.power.interrupt());
        self.follow_levels();
    }

    /// Reads an access that no device takes whole, byte by byte.
    fn read_bytes(&mut self, port: u16, width: u8, now: u64) -> u32 {
        let mut value = 0;
        for index in 0..width.min(4) {
            let port = port.wrapping_add(u16::from(index));
            let byte = match device_of(port, 1) {
                Some(device) => self.read_device(device, port, now) & 0xff,
                None => self.unknown(),
            };
            value |= byte << (8 * index);
        }
        value
    }

    fn write_bytes(&mut self, port: u16, width: u8, value: u32, now: u64) {
        for (index, byte) in value.to_le_bytes().into_iter().take(usize::from(width)).enumerate() {
            let port = port.wrapping_add(index as u16);
            match device_of(port, 1) {
                Some(device) => self.write_device(device, port, byte, now),
                None => _ = self.unknown(),
            }
        }
    }

    /// Counts an access to a port without a device, and returns what it reads.
    fn unknown(&mut self) -> u32 {
        self.unknown_count = self.unknown_count.saturating_add(1);
        0xff
    }

    fn read_device(&mut self, device: Device, port: u16, now: u64) -> u32 {
        let byte = match device {
            Device::Pic => self.pic.read(port),
            Device::Pit => self.pit.read(port, now),
            Device::Rtc => self.rtc.read(port, now),
            Device::Uart(line) => self.uarts[usize::from(line) % SERIAL_LINES].read((port & 7) as u8),
            Device::Control => self.control.read(port),
            Device::Power => self.power.read(port),
            Device::Delay => 0xff,
            Device::NoPci => return u32::MAX,
        };
        u32::from(byte)
    }

    fn write_device(&mut self, device: Device, port: u16, value: u8, now: u64) {
        match device {
            Device::Pic => self.pic.write(port, value),
            Device::Pit => self.pit.write(port, value, now),
            Device::Rtc => self.rtc.write(port, value, now),
            Device::Uart(line) => self.uarts[usize::from(line) % SERIAL_LINES].write((port & 7) as u8, value),
            Device::Control => self.control.write(port, value),
            Device::Power => self.power.write(port, value),
            Device::Delay | Device::NoPci => {}
        }
    }
}

#[cfg(test)]
#[path = "platform_tests.rs"]
mod tests;
