//! The machine as the core sees it.

use super::page_table::{self, USER_ENTRIES};
use super::{apic, clock, context, cpu, direct_map, features, fpu, frames, guest, interrupts, io, tlb};
use crate::lock;
use core::arch::asm;
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use direct_map::{DirectTables, direct};
use nacre_core::machine::{TableSweep, Frame, GuestEntry, Leaf, Machine, PageSize, Physical, PoolExhausted, TablePool};

/// An x86-64 computer.
pub struct X86;

const _: () = assert!(USER_ENTRIES == 256 && PageSize::Huge.bytes() == 1 << 30);

impl Machine for X86 {
    #[inline(always)]
    fn words<const N: usize>(&self, at: Physical) -> &[Cell<u64>; N] {
        // SAFETY: RAM that only the kernel reaches, aligned and inside one frame, as the trait
        // demands; shared between CPUs as that says.
        unsafe { &*(direct(at) as *const [Cell<u64>; N]) }
    }

    #[inline(always)]
    fn frame(&self, at: Physical) -> Option<&Frame> {
        frames::frame(at)
    }

    #[inline(always)]
    fn frames(&self, at: Physical, count: usize) -> &[Frame] {
        frames::frames(at, count)
    }

    #[inline(always)]
    fn special_count(&self, at: Physical) -> Option<&AtomicU32> {
        frames::special_count(at)
    }

    #[inline]
    fn zero(&self, at: Physical, size: u64) {
        // SAFETY: RAM inside one frame, as the trait demands, in no Rust object. Whole words, as
        // objects and frames are.
        unsafe {
            asm!("rep stosq", inout("rcx") size >> 3 => _, inout("rdi") direct(at) => _, in("rax") 0, options(nostack, preserves_flags));
        }
    }

    #[inline]
    fn copy(&self, from: Physical, to: Physical, size: u64) {
        // SAFETY: RAM inside one frame each, in no Rust object. An instruction, because users may
        // change the bytes meanwhile.
        unsafe {
            asm!(
                "rep movsq", "mov ecx, {rest:e}", "rep movsb",
                rest = in(reg) size & 7, inout("rcx") size >> 3 => _, inout("rsi") direct(from) => _, inout("rdi") direct(to) => _,
                options(nostack, preserves_flags)
            );
        }
    }

    #[inline(always)]
    fn read_word(&self, at: Physical) -> u64 {
        // SAFETY: an aligned word of RAM; atomic, because users may write it meanwhile.
        unsafe { (*(direct(at) as *const AtomicU64)).load(Ordering::Relaxed) }
    }

    #[inline(always)]
    fn read_half(&self, at: Physical) -> u32 {
        // SAFETY: as in `read_word`.
        unsafe { (*(direct(at) as *const AtomicU32)).load(Ordering::Acquire) }
    }

    #[inline(always)]
    fn write_word(&self, at: Physical, value: u64) {
        // SAFETY: as in `read_word`.
        unsafe { (*(direct(at) as *const AtomicU64)).store(value, Ordering::Relaxed) };
    }

    #[inline(always)]
    fn claim(&self, at: Physical) -> bool {
        lock::claim(direct_map::shared_word(at))
    }

    #[inline(always)]
    fn claim_end(&self, at: Physical) {
        lock::claim_end(direct_map::shared_word(at));
    }

    #[inline(always)]
    fn flip(&self, at: Physical, bits: u64) {
        direct_map::shared_word(at).fetch_xor(bits, Ordering::Relaxed);
    }

    fn table_create(&self, root: Physical) {
        direct_map::table_create(root);
    }

    #[inline(always)]
    fn table_lookup(&self, root: Physical, address: u64) -> Option<Leaf> {
        page_table::lookup(&DirectTables, root, address)
    }

    #[inline(always)]
    fn object_lookup(&self, root: Physical, address: u64) -> Option<Physical> {
        page_table::object_lookup(&DirectTables, root, address)
    }

    fn table_enter(&self, root: Physical, address: u64, leaf: Leaf, pool: &impl TablePool) -> Result<bool, PoolExhausted> {
        page_table::enter(&DirectTables, root, address, leaf, pool, features::get().huge_pages)
    }

    fn table_enter_row(&self, root: Physical, address: u64, leaf: Leaf, frames: &[Frame]) {
        page_table::enter_row(&DirectTables, root, address, leaf, frames);
    }

    fn table_clear(&self, root: Physical, low: u64, high: u64) -> TableSweep {
        page_table::clear(&DirectTables, root, low, high)
    }

    fn table_reset(&self, root: Physical) {
        page_table::reset(&DirectTables, root);
    }

    fn translations_flush(&self, cpus: u64, root: Physical, low: u64, high: u64) {
        tlb::flush(cpus, root, low, high);
    }

    #[inline(always)]
    fn switch_thread(&self, from: Option<Physical>, to: Physical, root: Option<Physical>) {
        context::switch(from, to, root);
    }

    fn time_hide(&self, hidden: bool) {
        features::time_hide(hidden);
    }

    fn leave_space(&self) {
        context::leave_space();
    }

    fn fpu_settle(&self, thread: Physical, discard: bool) {
        if !fpu::settle(thread, discard) {
            tlb::save_fpu_elsewhere(thread);
        }
    }

    fn fpu_import(&self, thread: Physical) {
        fpu::import(thread);
    }

    fn bases_save(&self, thread: Physical) {
        context::bases_settle(thread);
    }

    fn bases_changed(&self, thread: Physical) {
        context::bases_changed(thread);
    }

    fn has_guests(&self) -> bool {
        features::get().guests
    }

    fn guest_enter(&self, entry: GuestEntry) {
        guest::entry::prepare(entry);
    }

    #[inline(always)]
    fn cpu(&self) -> usize {
        cpu::index()
    }

    fn cpu_kick(&self, cpu: usize) {
        apic::send(cpu, super::vectors::KICK_VECTOR as u32);
    }

    fn now(&self) -> u64 {
        clock::now()
    }

    #[inline(always)]
    fn stamp(&self) -> u64 {
        super::io::time_stamp()
    }

    fn stamp_nanoseconds(&self, difference: u64) -> u64 {
        clock::nanoseconds(difference)
    }

    fn timer_set(&self, deadline: u64) {
        clock::timer_set(deadline);
    }

    fn io_read(&self, port: u16, width: u8) -> u32 {
        match width {
            1 => u32::from(io::read_u8(port)),
            2 => u32::from(io::read_u16(port)),
            _ => io::read_u32(port),
        }
    }

    fn io_write(&self, port: u16, width: u8, value: u32) {
        match width {
            1 => io::write_u8(port, value as u8),
            2 => io::write_u16(port, value as u16),
            _ => io::write_u32(port, value),
        }
    }

    fn interrupt_enable(&self, line: u32, enable: bool) {
        interrupts::enable(line, enable);
    }
}
