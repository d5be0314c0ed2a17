//! Instructions that make a guest exit: their length and, where it matters, their registers. A
//! processor without next-rip saving tells neither.

/// Bytes of the longest instruction.
pub const MAX_LENGTH: usize = 15;

/// Kind of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `cpuid`
    Cpuid,
    /// `rdmsr`
    ReadMsr,
    /// `wrmsr`
    WriteMsr,
    /// `hlt`
    Halt,
    /// `vmmcall`, AMD's call of a hypervisor.
    Vmmcall,
    /// `vmcall`, Intel's.
    Vmcall,
    /// `xsetbv`
    SetXcr,
    /// `rdtsc`
    ReadTsc,
    /// `rdtscp`
    ReadTscp,
    /// `rdpmc`
    ReadPmc,
    /// `wbinvd`
    WriteBack,
    /// `invd`
    Invalidate,
    /// `monitor`
    Monitor,
    /// `mwait`
    Mwait,
    /// `pause`
    Pause,
    /// `clts`
    ClearTaskSwitched,
    /// `lmsw` of a general register, by number.
    LoadStatus(u8),
    /// `mov` to or from a control register.
    MoveControl(Move),
    /// `mov` to or from a debug register.
    MoveDebug(Move),
}

/// Operands of a `mov` with a control or debug register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Number of the control register (0, 2, 3, 4 or 8) or debug register (0 to 7).
    pub special: u8,
    /// Number of the general register, 0 to 15, in the order of their encoding: rax, rcx, rdx, rbx.
    pub general: u8,
    /// True if the special register is written.
    pub is_write: bool,
}

/// Instruction that was recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Kind, with operands.
    pub kind: Kind,
    /// Length in bytes, 1 to 15.
    pub length: u8,
}

/// Instructions of the opcodes 0x0f and another byte.
const TWO_BYTES: &[(u8, Kind)] = &[
    (0x06, Kind::ClearTaskSwitched),
    (0x08, Kind::Invalidate),
    (0x09, Kind::WriteBack),
    (0x30, Kind::WriteMsr),
    (0x31, Kind::ReadTsc),
    (0x32, Kind::ReadMsr),
    (0x33, Kind::ReadPmc),
    (0xa2, Kind::Cpuid),
];

/// Instructions of the opcodes 0x0f, 0x01 and another byte.
const THREE_BYTES: &[(u8, Kind)] = &[
    (0xc1, Kind::Vmcall),
    (0xc8, Kind::Monitor),
    (0xc9, Kind::Mwait),
    (0xd1, Kind::SetXcr),
    (0xd9, Kind::Vmmcall),
    (0xf9, Kind::ReadTscp),
];

/// Prefixes before the opcode.
#[derive(Clone, Copy, Default)]
struct Prefixes {
    count: usize,
    /// REX prefix; 0 if none.
    rex: u8,
    /// True if the last repeat prefix is 0xf3, which alone counts.
    has_repeat: bool,
    has_lock: bool,
}

/// Recognizes the instruction at the start of `code`, of which at most 15 bytes count. `is_64_bit`
/// tells the mode of the code segment, in which alone REX prefixes exist.
///
/// Returns `None` for other instructions, for one that goes on behind the end of `code`, for one
/// with a lock prefix, and for a `mov` with a register that does not exist. A `mov` of control
/// register 0 with a lock prefix is one of control register 8, as AMD's processors have it.
pub fn decode(code: &[u8], is_64_bit: bool) -> Option<Instruction> {
    let code = &code[..code.len().min(MAX_LENGTH)];
    let prefixes = prefixes(code, is_64_bit);
    let rest = code.get(prefixes.count..)?;
    if prefixes.has_lock {
        let [0x0f, opcode @ (0x20 | 0x22), operands, ..] = *rest else { return None };
        let Some(Kind::MoveControl(operands @ Move { special: 0, .. })) = special_move(opcode, operands, prefixes.rex) else {
            return None;
        };
        return Some(Instruction { kind: Kind::MoveControl(Move { special: 8, ..operands }), length: (prefixes.count + 3) as u8 });
    }
    let (kind, length) = match *rest {
        [0xf4, ..] => (Kind::Halt, 1),
        [0x90, ..] if prefixes.has_repeat => (Kind::Pause, 1),
        [0x0f, 0x01, third, ..] if third & 0xf8 == 0xf0 => (Kind::LoadStatus(third & 7 | (prefixes.rex & 1) << 3), 3),
        [0x0f, 0x01, third, ..] => (find(THREE_BYTES, third)?, 3),
        [0x0f, opcode @ 0x20..=0x23, operands, ..] => {
            (special_move(opcode, operands, prefixes.rex)?, 3)
        }
        [0x0f, second, ..] => (find(TWO_BYTES, second)?, 2),
        _ => return None,
    };
    Some(Instruction { kind, length: (prefixes.count + length) as u8 })
}

fn find(table: &[(u8, Kind)], byte: u8) -> Option<Kind> {
    table.iter().find(|(opcode, _)| *opcode == byte).map(|(_, kind)| *kind)
}

/// Reads prefixes. A REX prefix counts only directly before the opcode.
fn prefixes(code: &[u8], is_64_bit: bool) -> Prefixes {
    let mut prefixes = Prefixes::default();
    for byte in code {
        match byte {
            0x40..=0x4f if is_64_bit => prefixes.rex = *byte,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3 => {
                prefixes.rex = 0;
                prefixes.has_lock |= *byte == 0xf0;
                prefixes.has_repeat &= *byte != 0xf2;
                prefixes.has_repeat |= *byte == 0xf3;
            }
            _ => break,
        }
        prefixes.count += 1;
    }
    prefixes
}

/// Returns the `mov` of opcodes 0x20 to 0x23. Its operands are always registers.
fn special_move(opcode: u8, operands: u8, rex: u8) -> Option<Kind> {
    let operands = Move {
        special: operands >> 3 & 7 | (rex & 4) << 1,
        general: operands & 7 | (rex & 1) << 3,
        is_write: opcode & 2 != 0,
    };
    match (opcode & 1, operands.special) {
        (0, 0 | 2 | 3 | 4 | 8) => Some(Kind::MoveControl(operands)),
        (1, 0..=7) => Some(Kind::MoveDebug(operands)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(code: &[u8]) -> Option<(Kind, u8)> {
        decode(code, true).map(|instruction| (instruction.kind, instruction.length))
    }

    #[test]
    fn each_instruction_has_its_length() {
        for (opcode, kind) in TWO_BYTES {
            assert_eq!(long(&[0x0f, *opcode, 0xcc]), Some((*kind, 2)));
            assert_eq!(long(&[0x66, 0xf3, 0x48, 0x0f, *opcode]), Some((*kind, 5)));
        }
        for (opcode, kind) in THREE_BYTES {
            assert_eq!(long(&[0x0f, 0x01, *opcode]), Some((*kind, 3)));
        }
        assert_eq!(long(&[0xf4]), Some((Kind::Halt, 1)));
        assert_eq!((long(&[0xf3, 0x90]), long(&[0x90])), (Some((Kind::Pause, 2)), None));
        assert_eq!(long(&[0xf2, 0xf3, 0x90]), Some((Kind::Pause, 3)));
        assert_eq!(long(&[0xf3, 0xf2, 0x90]), None, "the last repeat prefix counts");
    }

    #[test]
    fn moves_tell_their_registers() {
        let moved = |special, general, is_write| Move { special, general, is_write };
        let debug = |special, general, write| Kind::MoveDebug(moved(special, general, write));
        let control = |special, general, write| Kind::MoveControl(moved(special, general, write));
        assert_eq!(long(&[0x0f, 0x23, 0xf8]), Some((debug(7, 0, true), 3)));
        assert_eq!(long(&[0x41, 0x0f, 0x21, 0xf3]), Some((debug(6, 11, false), 4)));
        assert_eq!(long(&[0x44, 0x0f, 0x22, 0xc0]), Some((control(8, 0, true), 4)));
        assert_eq!(long(&[0x0f, 0x20, 0x1f]), Some((control(3, 7, false), 3)));
        assert_eq!(long(&[0xf0, 0x0f, 0x22, 0xc1]), Some((control(8, 1, true), 4)));
        assert_eq!(long(&[0xf0, 0x0f, 0x22, 0xd9]), None);
    }

    #[test]
    fn registers_that_do_not_exist_are_none() {
        for operands in [0x08, 0x28, 0x30, 0x38] {
            assert_eq!(long(&[0x0f, 0x22, operands]), None);
            assert!(long(&[0x0f, 0x23, operands]).is_some());
        }
        assert_eq!(long(&[0x44, 0x0f, 0x23, 0xc0]), None);
        assert_eq!(long(&[0x44, 0x0f, 0x22, 0xd8]), None);
    }

    #[test]
    fn rex_prefixes_count_in_64_bit_code_and_before_the_opcode_only() {
        assert_eq!(decode(&[0x48, 0x0f, 0xa2], false), None);
        let ignored = decode(&[0x44, 0x66, 0x0f, 0x22, 0xc0], true).unwrap();
        let operands = Move { special: 0, general: 0, is_write: true };
        assert_eq!(ignored.kind, Kind::MoveControl(operands));
    }

    #[test]
    fn what_is_cut_off_too_long_or_locked_is_none() {
        for code in [&[][..], &[0x0f], &[0x66], &[0x0f, 0x01], &[0x0f, 0x23], &[0xf0, 0x0f, 0xa2]] {
            assert_eq!(long(code), None);
        }
        let padded = |count| [vec![0x66; count], vec![0x0f, 0xa2]].concat();
        assert_eq!(long(&padded(13)), Some((Kind::Cpuid, 15)));
        assert_eq!(long(&padded(14)), None);
        assert_eq!(long(&[0x66; 100]), None);
    }
}
