//! Interval timer 8254: channel 0 drives interrupt line 0, channel 2 is gated and read by port
//! 0x61, as Linux does to measure the speed of its processor.
//!
//! A channel is idle until software has given a mode and a count. From then on its output follows
//! from the ticks since `start`, so nothing happens between two looks at it. Counts in decimal are
//! taken as binary ones, as other machines do; no known system asks for them.

use crate::{BadState, check_version};

/// Version of [`PitState`].
const VERSION: u32 = 1;
/// Ticks in a second.
const FREQUENCY: u128 = 1_193_182;
const SECOND: u128 = 1_000_000_000;
/// Shortest period of edges that are told, in ticks (200 microseconds): a guest that asks for less
/// gets those of several rounds as one, else it keeps its monitor busy.
const MIN_PERIOD: u64 = 239;
/// Period of the memory refresh of old machines, which port 0x61 shows, in nanoseconds.
const REFRESH: u64 = 15_085;
/// Bytes of a count that a channel reads and writes.
const LOW_BYTE: u8 = 1;
const HIGH_BYTE: u8 = 2;
const BOTH_BYTES: u8 = 3;

/// State of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelState {
    /// Time at which counting began, in nanoseconds; with the gate low, ticks counted before.
    pub start: u64,
    /// Number of rising edges of the output that were told.
    pub edges_told: u64,
    /// Ticks of a round, 1 to 65536.
    pub count: u32,
    /// Count that was latched for reading.
    pub latched: u16,
    /// Mode, 0 to 5.
    pub mode: u8,
    /// Bytes that are read and written: 1 low, 2 high, 3 low and then high.
    pub access: u8,
    /// Low byte of a count whose high byte is still to come.
    pub low_byte: u8,
    /// Status that was latched for reading.
    pub status: u8,
    /// True if counting has begun.
    pub is_started: bool,
    /// True if a count was given.
    pub is_loaded: bool,
    /// Level of the gate.
    pub gate: bool,
    /// True if the channel was told to count in decimal.
    pub is_decimal: bool,
    /// True if a count is latched.
    pub has_latched: bool,
    /// True if a status is latched.
    pub has_status: bool,
    /// True if the next byte read is the high one of two.
    pub reads_high: bool,
    /// True if the next byte written is the high one of two.
    pub writes_high: bool,
}

impl ChannelState {
    const fn new(gate: bool) -> Self {
        ChannelState {
            start: 0,
            edges_told: 0,
            count: 0x1_0000,
            latched: 0,
            mode: 0,
            access: BOTH_BYTES,
            low_byte: 0,
            status: 0,
            is_started: false,
            is_loaded: false,
            gate,
            is_decimal: false,
            has_latched: false,
            has_status: false,
            reads_high: false,
            writes_high: false,
        }
    }

    fn is_valid(&self) -> bool {
        (1..=0x1_0000).contains(&self.count) && self.mode < 6 && matches!(self.access, 1..=3)
    }

    /// Returns true if a rising gate begins a round, and a low gate does not hold it.
    fn is_triggered(&self) -> bool {
        matches!(self.mode, 1 | 5)
    }

    fn is_periodic(&self) -> bool {
        matches!(self.mode, 2 | 3)
    }

    /// Returns true if the gate holds the count.
    fn is_held(&self) -> bool {
        !self.gate && !self.is_triggered()
    }

    /// Returns the ticks since counting began.
    fn ticks(&self, now: u64) -> u64 {
        if self.is_held() { self.start } else { ticks_in(now.saturating_sub(self.start)) }
    }

    /// Returns the level of the output.
    fn output(&self, now: u64) -> bool {
        if !self.is_started {
            return self.mode != 0;
        }
        let (ticks, count) = (self.ticks(now), u64::from(self.count));
        match self.mode {
            0 | 1 => ticks >= count,
            2 => count == 1 || self.is_held() || ticks % count != count - 1,
            3 => self.is_held() || ticks % count < count.div_ceil(2),
            _ => ticks != count,
        }
    }

    /// Returns the value of the counter.
    fn value(&self, now: u64) -> u16 {
        if !self.is_started {
            return self.count as u16;
        }
        let (ticks, count) = (self.ticks(now), u64::from(self.count));
        match self.mode {
            2 => (count - ticks % count) as u16,
            3 => (count - (ticks % count * 2) % count) as u16,
            _ => count.wrapping_sub(ticks) as u16,
        }
    }

    /// Returns the ticks from one edge that is told to the next, of a periodic channel.
    fn period(&self) -> u64 {
        MIN_PERIOD.next_multiple_of(u64::from(self.count))
    }

    /// Returns the number of rising edges until now, of which short rounds have one together.
    fn edges(&self, now: u64) -> u64 {
        if !self.is_started {
            return 0;
        }
        let (ticks, count) = (self.ticks(now), u64::from(self.count));
        match self.mode {
            2 | 3 => ticks / self.period(),
            0 | 1 => u64::from(ticks >= count),
            _ => u64::from(ticks > count),
        }
    }

    /// Returns the time of the next edge that was not told.
    fn next_edge(&self) -> Option<u64> {
        let is_over = self.edges_told > 0 && !self.is_periodic();
        if !self.is_started || self.is_held() || is_over {
            return None;
        }
        let ticks = match self.mode {
            2 | 3 => u128::from(self.period()) * (u128::from(self.edges_told) + 1),
            0 | 1 => u128::from(self.count),
            _ => u128::from(self.count) + 1,
        };
        let time = u128::from(self.start) + (ticks * SECOND).div_ceil(FREQUENCY);
        u64::try_from(time).ok()
    }

    fn set_gate(&mut self, gate: bool, now: u64) {
        if gate == self.gate {
            return;
        }
        let ticks = self.ticks(now);
        self.gate = gate;
        match (gate, self.mode) {
            (true, 1 | 5) if self.is_loaded => self.begin(now),
            (true, 2 | 3) => self.begin_if_started(now),
            (true, 0 | 4) => self.start = now.saturating_sub(time_of(ticks)),
            (false, 0 | 2 | 3 | 4) => self.start = ticks,
            _ => {}
        }
    }

    fn begin(&mut self, now: u64) {
        self.is_started = true;
        self.edges_told = 0;
        self.start = if self.is_held() { 0 } else { now };
    }

    fn begin_if_started(&mut self, now: u64) {
        if self.is_started {
            self.begin(now);
        } else {
            self.start = now;
        }
    }

    /// Takes a mode and an access from a control word. The channel waits for a count.
    fn set_mode(&mut self, control: u8) {
        let mode = control >> 1 & 7;
        *self = ChannelState {
            mode: if mode > 5 { mode - 4 } else { mode },
            access: control >> 4 & 3,
            is_decimal: control & 1 != 0,
            ..ChannelState::new(self.gate)
        };
    }

    fn latch_count(&mut self, now: u64) {
        if !self.has_latched {
            self.latched = self.value(now);
            self.has_latched = true;
            self.reads_high = false;
        }
    }

    fn latch_status(&mut self, now: u64) {
        if !self.has_status {
            let bits = [(self.output(now), 0x80), (!self.is_loaded, 0x40), (self.is_decimal, 1)];
            let flags: u8 = bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum();
            self.status = flags | self.access << 4 | self.mode << 1;
            self.has_status = true;
        }
    }

    fn read(&mut self, now: u64) -> u8 {
        if core::mem::take(&mut self.has_status) {
            return self.status;
        }
        let value = if self.has_latched { self.latched } else { self.value(now) };
        let [low, high] = value.to_le_bytes();
        let is_high = self.access == HIGH_BYTE || (self.access == BOTH_BYTES && self.reads_high);
        if self.access == BOTH_BYTES {
            self.reads_high = !self.reads_high;
        }
        if self.access != BOTH_BYTES || is_high {
            self.has_latched = false;
        }
        if is_high { high } else { low }
    }

    fn write(&mut self, value: u8, now: u64) {
        match self.access {
            LOW_BYTE => self.load(u16::from(value), now),
            HIGH_BYTE => self.load(u16::from(value) << 8, now),
            _ if self.writes_high => {
                self.writes_high = false;
                self.load(u16::from_le_bytes([self.low_byte, value]), now);
            }
            _ => {
                self.writes_high = true;
                self.low_byte = value;
                // In mode 0 the first byte of a new count stops the old one.
                self.is_started &= self.mode != 0;
            }
        }
    }

    fn load(&mut self, count: u16, now: u64) {
        self.count = if count == 0 { 0x1_0000 } else { u32::from(count) };
        self.is_loaded = true;
        if !self.is_triggered() {
            self.begin(now);
        }
    }
}

/// Returns the ticks in a time.
fn ticks_in(nanoseconds: u64) -> u64 {
    (u128::from(nanoseconds) * FREQUENCY / SECOND) as u64
}

/// Returns the time after which so many ticks are over.
fn time_of(ticks: u64) -> u64 {
    u64::try_from((u128::from(ticks) * SECOND).div_ceil(FREQUENCY)).unwrap_or(u64::MAX)
}

/// State of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PitState {
    /// Version of this struct.
    pub version: u32,
    /// Channels.
    pub channels: [ChannelState; 3],
    /// True if port 0x61 lets channel 2 through to the speaker, which nobody hears.
    pub speaker: bool,
}

/// Interval timer.
#[derive(Clone, Debug)]
pub struct Pit {
    channels: [ChannelState; 3],
    speaker: bool,
}

impl Pit {
    /// Makes a timer whose channels are idle.
    pub fn new() -> Self {
        let channels = [ChannelState::new(true), ChannelState::new(true), ChannelState::new(false)];
        Pit { channels, speaker: false }
    }

    /// Returns the whole state.
    pub fn state(&self) -> PitState {
        PitState { version: VERSION, channels: self.channels, speaker: self.speaker }
    }

    /// Makes a timer from a saved state.
    pub fn restore(state: &PitState) -> Result<Self, BadState> {
        check_version(state.version, VERSION, "version of the interval timer")?;
        if !state.channels.iter().all(ChannelState::is_valid) {
            return Err(BadState("a channel of the interval timer"));
        }
        Ok(Pit { channels: state.channels, speaker: state.speaker })
    }

    /// Reads a port: 0x40 to 0x42, or 0x61. Others read all ones.
    pub fn read(&mut self, port: u16, now: u64) -> u8 {
        match port {
            0x40..=0x42 => self.channels[usize::from(port & 3)].read(now),
            0x61 => self.read_gate(now),
            _ => 0xff,
        }
    }

    fn read_gate(&self, now: u64) -> u8 {
        let channel = &self.channels[2];
        let refresh = (now / REFRESH) as u8 & 1;
        let output = u8::from(channel.output(now));
        u8::from(channel.gate) | u8::from(self.speaker) << 1 | refresh << 4 | output << 5
    }

    /// Writes a port: 0x40 to 0x43, or 0x61.
    pub fn write(&mut self, port: u16, value: u8, now: u64) {
        match port {
            0x40..=0x42 => self.channels[usize::from(port & 3)].write(value, now),
            0x43 => self.control(value, now),
            0x61 => {
                self.speaker = value & 2 != 0;
                self.channels[2].set_gate(value & 1 != 0, now);
            }
            _ => {}
        }
    }

    fn control(&mut self, value: u8, now: u64) {
        let number = usize::from(value >> 6);
        match self.channels.get_mut(number) {
            None => self.read_back(value, now),
            Some(channel) if value & 0x30 == 0 => channel.latch_count(now),
            Some(channel) => channel.set_mode(value),
        }
    }

    /// Latches counts and statuses of the channels that the command names.
    fn read_back(&mut self, value: u8, now: u64) {
        let is_named = |number: &usize| value & (2 << number) != 0;
        for number in (0..3).filter(is_named) {
            if value & 0x20 == 0 {
                self.channels[number].latch_count(now);
            }
            if value & 0x10 == 0 {
                self.channels[number].latch_status(now);
            }
        }
    }

    /// Returns true if channel 0 has had an edge that was not told. Edges that were missed are told
    /// as one, so a machine that was stopped is not flooded when it goes on.
    pub fn take_edge(&mut self, now: u64) -> bool {
        let channel = &mut self.channels[0];
        let edges = channel.edges(now);
        let has_edge = edges > channel.edges_told;
        channel.edges_told = edges.max(channel.edges_told);
        has_edge
    }

    /// Returns the time of channel 0's next edge, which may be over by `now`; `None` if there will
    /// be none.
    pub fn next_edge(&self, now: u64) -> Option<u64> {
        self.channels[0].next_edge().map(|time| time.max(now))
    }
}

impl Default for Pit {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
#[path = "pit_tests.rs"]
mod tests;
