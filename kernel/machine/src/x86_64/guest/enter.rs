//! A CPU goes from the kernel into a guest and back. The thread stands at `thread_enter` all the
//! while: whatever is none of its monitor's business is over when it makes the call again.

use super::super::cpu::{self, Cpu};
use super::super::doors;
use super::super::latency::EntryKind;
use super::super::fpu;
use super::entry::uses_from_now;
use super::{pages, vmcb, world};
use nacre_abi::Call;
use nacre_core::Next;
use nacre_core::machine::GuestEntry;

const PAGE_FAULT: u64 = 14;
/// Exit by exception 18.
const MACHINE_CHECK: u64 = 0x52;
const NESTED_FAULT: u64 = 0x400;
/// INTR, NMI, SMI and INIT: the kernel's own business.
const INTERRUPTS: core::ops::RangeInclusive<u64> = 0x60..=0x63;
/// IRET, where one more interrupt waits for it.
const RETURN: u64 = 0x74;

/// The call `thread_enter`.
pub fn entered() -> ! {
    const ENTER: u64 = Call::ThreadEnter as u64;
    let left = doors::under_locks(EntryKind::Call(ENTER), |kernel| {
        let next = kernel.system_call(ENTER);
        let cpu = cpu::this();
        let guest = cpu.guest.take().filter(|(thread, _)| next == Next::User && cpu.live_thread() == Some(*thread));
        // Under all locks: who takes something out of the tables afterwards asks this CPU, too.
        uses_from_now(cpu, guest.map(|(_, entry)| entry));
        (next, guest.map(|(_, entry)| entry))
    });
    match left {
        Some(entry) => run(cpu::this(), &entry),
        None => doors::leave(),
    }
}

fn run(cpu: &Cpu, entry: &GuestEntry) -> ! {
    let Some(pages) = pages::this() else { doors::leave() };
    let mut registers = [0; 16];
    if !vmcb::load(&pages, entry, &mut registers) {
        uses_from_now(cpu, None);
        vmcb::refuse(entry.frame);
        doors::pass_call();
    }
    if cpu.fpu_traps.get() {
        fpu::trapped(cpu);
    }
    world::run(&pages, &mut registers);
    // The stack pointer and RAX are in the block alone.
    let exit = vmcb::store(&pages, entry, &registers);
    uses_from_now(cpu, None);
    match exit {
        NESTED_FAULT => {
            vmcb::deliver_again(entry.frame);
            let (error, address) = vmcb::fault_of(&pages);
            // The guest touched what its space's tables do not show.
            doors::locked(EntryKind::Vector(PAGE_FAULT), |kernel| kernel.guest_fault(address, doors::needed(error), error))
        }
        MACHINE_CHECK => panic!("the machine reports an error of its own"),
        exit if exit == RETURN || INTERRUPTS.contains(&exit) => {
            vmcb::deliver_again(entry.frame);
            doors::leave()
        }
        _ => {
            vmcb::tell(entry.frame);
            doors::pass_call()
        }
    }
}
