//! A CPU goes from the kernel into a guest and back. The thread stands at `thread_enter` all the
//! while: whatever is none of its monitor's business is over when it makes the call again.

use super::super::cpu::{self, Cpu};
use super::super::doors;
use super::super::latency::EntryKind;
use super::super::{features, fpu};
use super::entry::uses_from_now;
use super::frame::{self, Left, MEMORY_EXIT};
use super::{pages, user, vmcb, vmx, world};
use nacre_abi::Call;
use nacre_core::Next;
use nacre_core::machine::GuestEntry;

const PAGE_FAULT: u64 = 14;
/// Exit by exception 18.
const MACHINE_CHECK: u64 = 0x52;
/// INTR, NMI, SMI and INIT: the kernel's own business.
const INTERRUPTS: core::ops::RangeInclusive<u64> = 0x60..=0x63;
/// IRET, where one more interrupt waits for it.
const RETURN: u64 = 0x74;

/// The call `thread_enter`.
pub fn entered() -> ! {
    const ENTER: u64 = Call::ThreadEnter as u64;
    user::enter_briefly();
    let left = doors::under_locks(EntryKind::Call(ENTER), |kernel| {
        let next = kernel.system_call(ENTER);
        let cpu = cpu::this();
        let guest = cpu.guest.take().filter(|(thread, _)| next == Next::User && cpu.live_thread() == Some(*thread));
        // Under all locks: who takes something out of the tables afterwards asks this CPU, too.
        uses_from_now(cpu, guest.map(|(_, entry)| entry));
        (next, guest.map(|(_, entry)| entry))
    });
    match left {
        Some(entry) => {
            user::note(entry.is_user);
            if entry.is_user { user::run(cpu::this(), entry) } else { run(cpu::this(), &entry) }
        }
        None => doors::leave(),
    }
}

fn run(cpu: &Cpu, entry: &GuestEntry) -> ! {
    if cpu.fpu_traps.get() {
        fpu::trapped(cpu);
    }
    let left = if features::get().vmx { vmx::run(cpu, entry) } else { run_svm(entry) };
    // What the space's tables show they show while this CPU is known to use them.
    let is_filled = left.as_ref().is_some_and(|left| features::get().vmx && left.exit == MEMORY_EXIT && vmx::fill(cpu, entry, left.address, doors::needed(left.error)));
    uses_from_now(cpu, None);
    let Some(left) = left else {
        frame::refuse(entry.frame);
        doors::pass_call()
    };
    match left.exit {
        MEMORY_EXIT if !is_filled => {
            frame::deliver_again(entry.frame);
            // The guest touched what its space's tables do not show.
            doors::locked(EntryKind::Vector(PAGE_FAULT), |kernel| kernel.guest_fault(left.address, doors::needed(left.error), left.error))
        }
        MACHINE_CHECK => panic!("the machine reports an error of its own"),
        exit if is_filled || exit == RETURN || INTERRUPTS.contains(&exit) => {
            frame::deliver_again(entry.frame);
            doors::leave()
        }
        _ => {
            frame::tell(entry.frame);
            doors::pass_call()
        }
    }
}

/// Runs a guest by SVM. `None`: the processor would not take it.
fn run_svm(entry: &GuestEntry) -> Option<Left> {
    let (pages, mut registers) = (pages::this()?, [0; 16]);
    if !vmcb::load(&pages, entry, &mut registers) {
        return None;
    }
    world::run(&pages, &mut registers);
    // The stack pointer and RAX are in the block alone.
    let exit = vmcb::store(&pages, entry, &registers);
    let (error, address) = vmcb::fault_of(&pages);
    Some(Left { exit, error, address })
}
