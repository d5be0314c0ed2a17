//! The words of a VMCS that say what guests are left for, as this processor takes them.

use super::super::super::io;
use super::abilities::*;
use super::{field, world};

/// Fills the words. `is_kept`: the guest's control registers are its monitor's. `more`: bits of the
/// primary word.
pub fn load(is_shadow: bool, is_kept: bool, is_long: bool, more: u64) {
    let when = |is_so, bits| if is_so { bits } else { 0 };
    let must = |register, bits| io::msr_read(register) & 0xffff_ffff | bits;
    let second = io::msr_read(SECONDARY_ALLOWED) >> 32;
    let timer = io::msr_read(PIN_ALLOWED) >> 32 & TIMER;
    let words = [
        (field::PIN, must(PIN_ALLOWED, PIN | timer)),
        (field::TIMER, TIME_INSIDE >> (io::msr_read(MISCELLANEOUS) & 31)),
        (field::PRIMARY, must(PRIMARY_ALLOWED, PRIMARY | more | when(is_shadow, INVALIDATE) | when(is_kept, ROOT))),
        (field::SECONDARY, SECONDARY | when(!is_shadow, NESTED) | second & INVPCID),
        (field::EXCEPTIONS, EXCEPTIONS | when(is_shadow, PAGE_FAULT)),
        (field::EXIT, must(EXIT_ALLOWED, EXIT)),
        (field::ENTRY, must(ENTRY_ALLOWED, ENTRY | when(is_long, ENTRY_LONG))),
    ];
    words.iter().for_each(|(number, value)| world::write(*number, *value));
}
