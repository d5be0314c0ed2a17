//! Packets about registers, memory and breakpoints.

use crate::packet::MAX_PACKET;
use crate::registers;
use crate::session::{Reply, Session};
use crate::target::Target;
use crate::text::{self, bytes_of, put_hex, split};
use alloc::vec;
use alloc::vec::Vec;

/// Kinds of breakpoints that stop at an instruction: in memory, and in the processor. Both are the
/// same to a target, which knows best how to make one.
const AT_INSTRUCTION: [&[u8]; 2] = [b"0", b"1"];

/// Kind of breakpoints that stop when memory has changed.
const AT_CHANGE: &[u8] = b"2";

impl Session {
    pub(crate) fn registers(&mut self, kind: u8, rest: &[u8], target: &mut impl Target) -> Reply {
        let Some(thread) = self.thread(target) else { return Reply::error() };
        let Some(mut known) = target.registers(thread) else { return Reply::error() };
        let mut bytes = known.to_bytes();
        match kind {
            b'g' => return Reply::Body(hex(&bytes)),
            b'p' => return Reply::text(text::number(rest).and_then(place).map(|place| hex(&bytes[place]))),
            b'G' => match bytes_of(rest) {
                Some(given) if given.len() == bytes.len() => bytes.copy_from_slice(&given),
                _ => return Reply::error(),
            },
            _ => {
                let (number, value) = split(rest, b'=');
                match (text::number(number).and_then(place), bytes_of(value)) {
                    (Some(place), Some(value)) if place.len() == value.len() => bytes[place].copy_from_slice(&value),
                    _ => return Reply::error(),
                }
            }
        }
        known.set_bytes(&bytes);
        Reply::of(target.set_registers(thread, &known))
    }

    pub(crate) fn memory(&mut self, kind: u8, rest: &[u8], target: &mut impl Target) -> Reply {
        let Some(process) = self.process(target) else { return Reply::error() };
        let (range, data) = split(rest, b':');
        let Some((address, size)) = text::pair(range, b',') else { return Reply::error() };
        if kind == b'm' {
            let mut bytes = vec![0; size.min(MAX_PACKET as u64 / 2) as usize];
            let count = target.read(process, address, &mut bytes).min(bytes.len());
            return if count == 0 && size != 0 { Reply::error() } else { Reply::Body(hex(&bytes[..count])) };
        }
        let bytes = if kind == b'X' { Some(data.to_vec()) } else { bytes_of(data) };
        match bytes {
            Some(bytes) if bytes.len() as u64 == size => Reply::of(bytes.is_empty() || target.write(process, address, &bytes)),
            _ => Reply::error(),
        }
    }

    /// Inserts or removes a breakpoint, or what watches memory for changes. Where memory cannot be
    /// watched gdb does it by itself, by single steps.
    pub(crate) fn breakpoint(&mut self, inserts: bool, rest: &[u8], target: &mut impl Target) -> Reply {
        let (kind, rest) = split(rest, b',');
        if kind == AT_CHANGE && target.can_watch() {
            return match (text::pair(rest, b','), self.process(target)) {
                (Some((address, size)), Some(process)) if inserts => Reply::of(target.watch(process, address, size)),
                (Some((address, size)), Some(process)) => Reply::of(target.unwatch(process, address, size)),
                _ => Reply::error(),
            };
        }
        if !AT_INSTRUCTION.contains(&kind) {
            return Reply::unknown();
        }
        let (address, _) = split(rest, b',');
        match (text::number(address), self.process(target)) {
            (Some(address), Some(process)) if inserts => Reply::of(target.insert_breakpoint(process, address)),
            (Some(address), Some(process)) => Reply::of(target.remove_breakpoint(process, address)),
            _ => Reply::error(),
        }
    }
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(2 * bytes.len());
    put_hex(bytes, &mut text);
    text
}

fn place(number: u64) -> Option<core::ops::Range<usize>> {
    registers::place(usize::try_from(number).ok()?)
}
