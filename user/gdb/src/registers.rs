//! The registers of x86-64 in the order of gdb's description of them (see `description`).

/// Bytes of all registers as a packet has them.
pub const SIZE: usize = 560;
/// Bytes of the FPU's registers as `fxsave` writes them.
pub const FPU_SIZE: usize = 512;

/// Segment registers of a program in 64-bit mode.
const SEGMENTS: [u32; 6] = [0x33, 0x2b, 0, 0, 0, 0];

/// Offsets in the packet of groups of registers.
mod offset {
    pub const RIP: usize = 128;
    pub const FLAGS: usize = 136;
    pub const SEGMENTS: usize = 140;
    pub const STACK: usize = 164;
    pub const CONTROL: usize = 244;
    pub const VECTORS: usize = 276;
    pub const MXCSR: usize = 532;
    pub const ORIGINAL: usize = 536;
    pub const FS_BASE: usize = 544;
    pub const GS_BASE: usize = 552;
}

/// Offsets in what `fxsave` writes.
mod saved {
    pub const CONTROL: usize = 0;
    pub const STATUS: usize = 2;
    pub const TAGS: usize = 4;
    pub const OPERATION: usize = 6;
    pub const INSTRUCTION: usize = 8;
    pub const OPERAND: usize = 16;
    pub const MXCSR: usize = 24;
    pub const STACK: usize = 32;
    pub const VECTORS: usize = 160;
}

/// Registers of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// `rax rbx rcx rdx rsi rdi rbp rsp r8` to `r15`.
    pub general: [u64; 16],
    /// Instruction pointer.
    pub rip: u64,
    /// Flags.
    pub flags: u32,
    /// Segment registers: `cs ss ds es fs gs`. gdb does not set them.
    pub segments: [u32; 6],
    /// FPU registers as `fxsave` writes them.
    pub fpu: [u8; FPU_SIZE],
    /// Number of the system call that the thread is in, or -1.
    pub original: u64,
    /// Base of `fs`.
    pub fs_base: u64,
    /// Base of `gs`.
    pub gs_base: u64,
}

/// Index of `rax` in `general`.
pub const RAX: usize = 0;
/// Index of `rsp` in `general`.
pub const RSP: usize = 7;

impl Default for Registers {
    fn default() -> Registers {
        let mut fpu = [0; FPU_SIZE];
        fpu[saved::CONTROL..saved::CONTROL + 2].copy_from_slice(&0x37fu16.to_le_bytes());
        fpu[saved::MXCSR..saved::MXCSR + 4].copy_from_slice(&0x1f80u32.to_le_bytes());
        Registers { general: [0; 16], rip: 0, flags: 0x202, segments: SEGMENTS, fpu, original: u64::MAX, fs_base: 0, gs_base: 0 }
    }
}

/// Place and size of a register in the packet.
pub fn place(number: usize) -> Option<core::ops::Range<usize>> {
    let (start, size) = match number {
        0..=16 => (8 * number, 8),
        17..=23 => (offset::FLAGS + 4 * (number - 17), 4),
        24..=31 => (offset::STACK + 10 * (number - 24), 10),
        32..=39 => (offset::CONTROL + 4 * (number - 32), 4),
        40..=55 => (offset::VECTORS + 16 * (number - 40), 16),
        56 => (offset::MXCSR, 4),
        57..=59 => (offset::ORIGINAL + 8 * (number - 57), 8),
        _ => return None,
    };
    Some(start..start + size)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn half(bytes: &[u8], at: usize) -> u32 {
    let mut half = [0; 4];
    half.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(half)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

impl Registers {
    /// Returns all registers as a packet has them.
    pub fn to_bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        for (number, value) in self.general.iter().enumerate() {
            put(&mut bytes, 8 * number, &value.to_le_bytes());
        }
        put(&mut bytes, offset::RIP, &self.rip.to_le_bytes());
        put(&mut bytes, offset::FLAGS, &self.flags.to_le_bytes());
        for (number, value) in self.segments.iter().enumerate() {
            put(&mut bytes, offset::SEGMENTS + 4 * number, &value.to_le_bytes());
        }
        for number in 0..8 {
            let at = saved::STACK + 16 * number;
            put(&mut bytes, offset::STACK + 10 * number, &self.fpu[at..at + 10]);
        }
        for (number, value) in self.control().iter().enumerate() {
            put(&mut bytes, offset::CONTROL + 4 * number, &value.to_le_bytes());
        }
        put(&mut bytes, offset::VECTORS, &self.fpu[saved::VECTORS..saved::VECTORS + 256]);
        put(&mut bytes, offset::MXCSR, &self.fpu[saved::MXCSR..saved::MXCSR + 4]);
        put(&mut bytes, offset::ORIGINAL, &self.original.to_le_bytes());
        put(&mut bytes, offset::FS_BASE, &self.fs_base.to_le_bytes());
        put(&mut bytes, offset::GS_BASE, &self.gs_base.to_le_bytes());
        bytes
    }

    /// Takes over registers that a packet has. Segment registers stay.
    pub fn set_bytes(&mut self, bytes: &[u8; SIZE]) {
        for (number, value) in self.general.iter_mut().enumerate() {
            *value = word(bytes, 8 * number);
        }
        self.rip = word(bytes, offset::RIP);
        self.flags = half(bytes, offset::FLAGS);
        for number in 0..8 {
            let from = offset::STACK + 10 * number;
            put(&mut self.fpu, saved::STACK + 16 * number, &bytes[from..from + 10]);
        }
        self.set_control(core::array::from_fn(|number| half(bytes, offset::CONTROL + 4 * number)));
        put(&mut self.fpu, saved::VECTORS, &bytes[offset::VECTORS..offset::VECTORS + 256]);
        put(&mut self.fpu, saved::MXCSR, &bytes[offset::MXCSR..offset::MXCSR + 4]);
        self.original = word(bytes, offset::ORIGINAL);
        self.fs_base = word(bytes, offset::FS_BASE);
        self.gs_base = word(bytes, offset::GS_BASE);
    }

    /// `fctrl fstat ftag fiseg fioff foseg fooff fop`. A tag is 0 for a register that is in use and
    /// 3 for one that is not.
    fn control(&self) -> [u32; 8] {
        let short = |at: usize| u32::from(self.fpu[at]) | u32::from(self.fpu[at + 1]) << 8;
        let used = self.fpu[saved::TAGS];
        let tags = (0..8).filter(|number| used & 1 << number == 0).fold(0, |tags, number| tags | 3 << (2 * number));
        let (instruction, operand) = (word(&self.fpu, saved::INSTRUCTION), word(&self.fpu, saved::OPERAND));
        [
            short(saved::CONTROL),
            short(saved::STATUS),
            tags,
            (instruction >> 32) as u32,
            instruction as u32,
            (operand >> 32) as u32,
            operand as u32,
            short(saved::OPERATION),
        ]
    }

    fn set_control(&mut self, [control, status, tags, code, instruction, data, operand, operation]: [u32; 8]) {
        put(&mut self.fpu, saved::CONTROL, &(control as u16).to_le_bytes());
        put(&mut self.fpu, saved::STATUS, &(status as u16).to_le_bytes());
        self.fpu[saved::TAGS] = (0..8).filter(|number| tags >> (2 * number) & 3 != 3).fold(0, |used, number| used | 1 << number);
        put(&mut self.fpu, saved::OPERATION, &(operation as u16).to_le_bytes());
        put(&mut self.fpu, saved::INSTRUCTION, &(u64::from(code) << 32 | u64::from(instruction)).to_le_bytes());
        put(&mut self.fpu, saved::OPERAND, &(u64::from(data) << 32 | u64::from(operand)).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_follow_each_other_without_a_gap() {
        let mut end = 0;
        for number in 0..60 {
            let place = place(number).unwrap();
            assert_eq!(place.start, end);
            end = place.end;
        }
        assert_eq!((end, place(60)), (SIZE, None));
    }

    #[test]
    fn registers_come_back_as_they_went() {
        let mut registers = Registers { rip: 0x1234, flags: 0x246, fs_base: 7, gs_base: 9, original: 1, ..Registers::default() };
        registers.general = core::array::from_fn(|number| 0x1111 * number as u64);
        for (number, byte) in registers.fpu.iter_mut().enumerate() {
            *byte = number as u8;
        }
        let mut other = Registers::default();
        other.set_bytes(&registers.to_bytes());
        assert_eq!(other.to_bytes(), registers.to_bytes());
        assert_eq!((other.general, other.rip, other.fs_base), (registers.general, 0x1234, 7));
        assert_eq!(other.fpu[saved::TAGS], registers.fpu[saved::TAGS]);
    }
}
