//! The machine as the core sees it.

use core::cell::Cell;
use nacre_core::machine::{Cleared, Frame, Leaf, Machine, Physical, PoolExhausted, TablePool};

/// A 64-bit RISC-V computer. It does nothing yet: the core compiles against it, and that is what it is for.
pub struct Riscv64;

fn absent() -> ! {
    unimplemented!("this machine is not written yet")
}

impl Machine for Riscv64 {
    fn words<const N: usize>(&self, _at: Physical) -> &[Cell<u64>; N] {
        absent()
    }

    fn frame(&self, _at: Physical) -> Option<&Frame> {
        absent()
    }

    fn frames(&self, _at: Physical, _count: usize) -> &[Frame] {
        absent()
    }

    fn special_count(&self, _at: Physical) -> Option<&Cell<u32>> {
        absent()
    }

    fn zero(&self, _at: Physical, _size: u64) {
        absent()
    }

    fn copy(&self, _from: Physical, _to: Physical, _size: u64) {
        absent()
    }

    fn read_word(&self, _at: Physical) -> u64 {
        absent()
    }

    fn read_half(&self, _at: Physical) -> u32 {
        absent()
    }

    fn write_word(&self, _at: Physical, _value: u64) {
        absent()
    }

    fn claim(&self, _at: Physical) -> bool {
        absent()
    }

    fn claim_end(&self, _at: Physical) {
        absent()
    }

    fn flip(&self, _at: Physical, _bits: u64) {
        absent()
    }

    fn table_create(&self, _root: Physical) {
        absent()
    }

    fn table_lookup(&self, _root: Physical, _address: u64) -> Option<Leaf> {
        absent()
    }

    fn table_enter(&self, _root: Physical, _address: u64, _leaf: Leaf, _pool: &impl TablePool) -> Result<bool, PoolExhausted> {
        absent()
    }

    fn table_enter_row(&self, _root: Physical, _address: u64, _leaf: Leaf, _frames: &[Frame]) {
        absent()
    }

    fn table_clear(&self, _root: Physical, _low: u64, _high: u64) -> Cleared {
        absent()
    }

    fn table_reset(&self, _root: Physical) {
        absent()
    }

    fn translations_flush(&self, _cpus: u64, _root: Physical, _low: u64, _high: u64) {
        absent()
    }

    fn switch_thread(&self, _from: Option<Physical>, _to: Physical, _root: Option<Physical>) {
        absent()
    }

    fn time_hide(&self, _hidden: bool) {
        absent()
    }

    fn leave_space(&self) {
        absent()
    }

    fn fpu_settle(&self, _thread: Physical, _discard: bool) {
        absent()
    }

    fn fpu_import(&self, _thread: Physical) {
        absent()
    }

    fn bases_save(&self, _thread: Physical) {
        absent()
    }

    fn bases_changed(&self, _thread: Physical) {
        absent()
    }

    fn cpu(&self) -> usize {
        absent()
    }

    fn cpu_kick(&self, _cpu: usize) {
        absent()
    }

    fn now(&self) -> u64 {
        absent()
    }

    fn stamp(&self) -> u64 {
        absent()
    }

    fn stamp_nanoseconds(&self, _difference: u64) -> u64 {
        absent()
    }

    fn timer_set(&self, _deadline: u64) {
        absent()
    }

    fn io_read(&self, _port: u16, _width: u8) -> u32 {
        absent()
    }

    fn io_write(&self, _port: u16, _width: u8, _value: u32) {
        absent()
    }

    fn interrupt_enable(&self, _line: u32, _enable: bool) {
        absent()
    }
}
