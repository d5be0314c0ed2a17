//! Control registers of a guest that is left for them: what an instruction does to those in the
//! frame.

use crate::exits::{PROTECTION, UNDEFINED};
use crate::model::Registers;
use nacre_abi::frame::word;
use nacre_machine_x86::{Instruction, Kind, Mode, Move};
use nacre_sys::Frame;

const CR0_PROTECTED: u64 = 1;
const CR0_TASK_SWITCHED: u64 = 8;
const CR0_TYPE: u64 = 0x10;
const CR0_NO_WRITES: u64 = 1 << 29;
const CR0_NO_CACHE: u64 = 1 << 30;
const CR0_PAGING: u64 = 1 << 31;
/// Bits that LMSW loads. It does not clear the first.
const STATUS: u64 = 0xf;
/// Bits of CR4 that the model announces, apart from process identities.
const CR4_BITS: u64 = 0x7ff;
const CR4_ADDRESS_EXTENSION: u64 = 1 << 5;
const CR4_IDENTITIES: u64 = 1 << 17;
const LONG_ENABLED: u64 = 1 << 8;
const LONG_ACTIVE: u64 = 1 << 10;
/// Bits of CR3 in long mode that are no address and no identity; the last one keeps what is known
/// of an identity.
const CR3_RESERVED: u64 = !0xff_ffff_ffff;
const KEEP: u64 = 1 << 63;
const IDENTITY: u64 = 0xfff;

/// Effect of an instruction on the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Number of bytes of an instruction without more effect, behind which the guest goes on.
    Pass(u64),
    /// Load of CR3. The guest goes on behind the instruction, too.
    LoadRoot {
        /// Value that the guest wrote.
        value: u64,
        /// Bytes of the instruction.
        length: u64,
    },
    /// Exception of the guest's, by its vector.
    Raise(u8),
}

/// The guest writes CR0, and may change its mode.
pub fn write_mode(frame: &Frame, registers: &Registers) -> Effect {
    let old = frame.get(word::CR0);
    let register = |number: u8| frame.get(word::REGISTERS + usize::from(number));
    let (value, length) = match registers.instruction(frame) {
        Some(Instruction { kind: Kind::MoveControl(Move { special: 0, general, is_write: true }), length }) => (register(general), length),
        Some(Instruction { kind: Kind::LoadStatus(general), length }) => (old & !STATUS | old & CR0_PROTECTED | register(general) & STATUS, length),
        Some(Instruction { kind: Kind::ClearTaskSwitched, length }) => (old & !CR0_TASK_SWITCHED, length),
        _ => return Effect::Raise(UNDEFINED),
    };
    let (cr4, efer) = (frame.get(word::CR4), frame.get(word::EFER));
    let is_long = value & CR0_PAGING != 0 && efer & LONG_ENABLED != 0;
    let refused = [
        value >> 32 != 0,
        value & (CR0_NO_WRITES | CR0_NO_CACHE) == CR0_NO_WRITES,
        value & (CR0_PAGING | CR0_PROTECTED) == CR0_PAGING,
        is_long && cr4 & CR4_ADDRESS_EXTENSION == 0,
        value & CR0_PAGING == 0 && cr4 & CR4_IDENTITIES != 0,
    ];
    if refused.contains(&true) {
        return Effect::Raise(PROTECTION);
    }
    frame.set(word::CR0, value | CR0_TYPE);
    frame.set(word::EFER, if is_long { efer | LONG_ACTIVE } else { efer & !LONG_ACTIVE });
    Effect::Pass(u64::from(length))
}

/// The guest reads CR0, CR3 or CR4, or writes one of the last two. `has_identities`: its model
/// announces process identities.
pub fn move_register(frame: &Frame, registers: &Registers, mode: Mode, has_identities: bool) -> Effect {
    let found = registers.instruction(frame);
    let Some(Instruction { kind: Kind::MoveControl(Move { special, general, is_write }), length }) = found else {
        return Effect::Raise(UNDEFINED);
    };
    let (length, general) = (u64::from(length), word::REGISTERS + usize::from(general));
    // Other code has 32 bits of each register.
    let mask = if mode == Mode::Long { u64::MAX } else { u64::from(u32::MAX) };
    let value = frame.get(general) & mask;
    let source = match (special, is_write) {
        (0, false) => word::CR0,
        (3, false) => word::CR3,
        (4, false) => word::CR4,
        (3, true) if may_be_root(frame, value) => {
            frame.set(word::CR3, value & !KEEP);
            return Effect::LoadRoot { value, length };
        }
        (4, true) if may_be_set(frame, value, has_identities) => {
            frame.set(word::CR4, value);
            return Effect::Pass(length);
        }
        _ => return Effect::Raise(PROTECTION),
    };
    frame.set(general, frame.get(source) & mask);
    Effect::Pass(length)
}

/// Returns true if the guest may load CR3 with this value.
fn may_be_root(frame: &Frame, value: u64) -> bool {
    let keep = if frame.get(word::CR4) & CR4_IDENTITIES != 0 { KEEP } else { 0 };
    value & CR3_RESERVED & !keep == 0
}

/// Returns true if the guest may load CR4 with this value.
fn may_be_set(frame: &Frame, value: u64, has_identities: bool) -> bool {
    let is_long = frame.get(word::EFER) & LONG_ACTIVE != 0;
    let bits = CR4_BITS | if has_identities { CR4_IDENTITIES } else { 0 };
    let begins = value & !frame.get(word::CR4) & CR4_IDENTITIES != 0;
    let is_refused = is_long && value & CR4_ADDRESS_EXTENSION == 0 || begins && (!is_long || frame.get(word::CR3) & IDENTITY != 0);
    value & !bits == 0 && !is_refused
}
