//! Registers of a processor that starts: by a loader, or by another processor.

use nacre_abi::frame::word;
use nacre_machine_load::{Segment, Start};
use nacre_sys::Frame;

/// Attributes of an empty local table.
const LOCAL_TABLE: u16 = 0x82;

fn set_segment(frame: &Frame, number: usize, segment: &Segment) {
    let place = word::SEGMENTS + 2 * number;
    frame.set(place, u64::from(segment.selector) | u64::from(segment.attributes) << 16 | u64::from(segment.limit) << 32);
    frame.set(place + 1, segment.base);
}

/// Puts the registers of a start into the frame.
pub fn begin(frame: &Frame, start: &Start) {
    const RBX: usize = word::REGISTERS + 3;
    const RSI: usize = word::REGISTERS + 6;
    let none = Segment { attributes: LOCAL_TABLE, ..Segment::default() };
    let segments = [&start.ds, &start.cs, &start.ds, &start.ds, &start.ds, &start.ds, &start.gdtr, &none, &start.idtr, &start.tr];
    segments.iter().enumerate().for_each(|(number, segment)| set_segment(frame, number, segment));
    let words = [
        (word::RIP, start.rip),
        (word::RSP, start.rsp),
        (RSI, start.rsi),
        (RBX, start.rbx),
        (word::RAX, start.rax),
        (word::RFLAGS, start.rflags),
        (word::CR0, start.cr0),
        (word::CR3, start.cr3),
        (word::CR4, start.cr4),
        (word::EFER, start.efer),
        (word::PAT, 0x0007_0406_0007_0406),
        (word::DR6, 0xffff_0ff0),
    ];
    words.iter().for_each(|(number, value)| frame.set(*number, *value));
}

/// Puts the registers of a reset into the frame, with which a processor starts at a page of the
/// first MiB in real mode.
pub fn reset(frame: &Frame, page: u8) {
    const CODE: u16 = 0x9b;
    const DATA: u16 = 0x93;
    const TASK: u16 = 0x8b;
    /// Extension type, caches off.
    const CR0: u64 = 0x6000_0010;
    /// Family, as a processor finds it there.
    const RDX: usize = word::REGISTERS + 2;
    (0..16).for_each(|number| frame.set(word::REGISTERS + number, 0));
    (0..8).for_each(|number| frame.set(word::SYSTEM + number, 0));
    let segment = |attributes, selector| Segment { selector, attributes, limit: 0xffff, base: u64::from(selector) << 4 };
    let (data, table) = (segment(DATA, 0), segment(0, 0));
    let segments = [data, segment(CODE, u16::from(page) << 8), data, data, data, data, table, segment(LOCAL_TABLE, 0), table, segment(TASK, 0)];
    segments.iter().enumerate().for_each(|(number, segment)| set_segment(frame, number, segment));
    let words = [
        (RDX, 0x0006_0fb1),
        (word::RIP, 0),
        (word::RFLAGS, 2),
        (word::CR0, CR0),
        (word::CR2, 0),
        (word::CR3, 0),
        (word::CR4, 0),
        (word::EFER, 0),
        (word::DR6, 0xffff_0ff0),
        (word::PRIVILEGE, 0),
        (word::INJECT, 0),
        (word::WINDOW, 0),
        (word::SHADOW, 0),
        (word::TASK_PRIORITY, 0),
    ];
    words.iter().for_each(|(number, value)| frame.set(*number, *value));
}
