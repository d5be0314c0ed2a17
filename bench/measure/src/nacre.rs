//! Measurements on Nacre, with the kernel's own calls: they work from every program.

mod again;
mod environment;
mod fixture;
mod guests;
mod layers;
mod memory;
mod messages;
mod objects;
mod parallel;
mod programs;
mod threads;

use nacre_proto::Errno;
use nacre_rt::Arguments;

use crate::figure::{Operation, carry_out, sample, say, tell};
use crate::linux::call;
use fixture::Fixture;

const OPERATIONS: &[Operation<Fixture>] = &[
    Operation { name: "null_call", entries: 1, run: |_| Ok(sample(1000, nacre_sys::null)) },
    Operation { name: "foreign_call", entries: 1, run: |_| Ok(sample(1000, call::getppid)) },
    Operation { name: "round_trip_words", entries: 2, run: messages::round_trip_words },
    Operation { name: "round_trip_4096_bytes", entries: 2, run: messages::round_trip_page },
    Operation { name: "round_trip_reference", entries: 2, run: messages::round_trip_reference },
    Operation { name: "notification", entries: 1, run: messages::notification },
    Operation { name: "notification_to_waiter", entries: 2, run: messages::notification_to_waiter },
    Operation { name: "page_fault_keeper", entries: 2, run: memory::fault_to_keeper },
    Operation { name: "mapping_create_destroy", entries: 2, run: memory::map_and_unmap },
    Operation { name: "mapping_create_touch_destroy", entries: 3, run: memory::map_touch_and_unmap },
    Operation { name: "mutex_uncontended", entries: 0, run: threads::lock_uncontended },
    Operation { name: "mutex_contended", entries: 4, run: threads::lock_contended },
    Operation { name: "thread_switch", entries: 1, run: threads::switch },
    Operation { name: "thread_donate", entries: 2, run: threads::donate },
    Operation { name: "thread_create_destroy", entries: 6, run: threads::create },
    Operation { name: "thread_get_state", entries: 1, run: threads::get_state },
    Operation { name: "thread_set_state", entries: 1, run: threads::set_state },
    Operation { name: "space_create_destroy", entries: 2, run: objects::space },
    Operation { name: "port_create_destroy", entries: 2, run: objects::port },
    Operation { name: "reference_create_destroy", entries: 2, run: objects::reference },
    Operation { name: "reference_create_destroy_page", entries: 2, run: objects::lonely_reference },
    Operation { name: "guest_exit", entries: 1, run: guests::exit },
    Operation { name: "guest_view_fault", entries: 2, run: guests::view_fault },
    Operation { name: "user_event", entries: 1, run: guests::user_event },
    Operation { name: "environment_list", entries: 2, run: environment::list },
    Operation { name: "environment_destroy", entries: 1, run: environment::destroy },
    Operation { name: "move_port", entries: 1, run: environment::move_port },
    Operation { name: "move_reference", entries: 1, run: environment::move_reference },
    Operation { name: "move_region", entries: 1, run: environment::move_region },
    Operation { name: "move_mapping", entries: 1, run: environment::move_mapping },
    Operation { name: "move_space", entries: 1, run: environment::move_space },
    Operation { name: "move_thread", entries: 1, run: environment::move_thread },
    Operation { name: "revoke_1", entries: 1, run: environment::revoke::<1> },
    Operation { name: "revoke_16", entries: 1, run: environment::revoke::<16> },
    Operation { name: "revoke_256", entries: 1, run: environment::revoke::<256> },
    Operation { name: "call_made_again", entries: 1, run: again::made_again },
    // Not by design but counted, in a log of what QEMU executed: half of them are faults at first
    // touches.
    Operation { name: "program_start_finish", entries: 156, run: programs::this_one },
    Operation { name: "program_start_finish_busybox", entries: 338, run: programs::busybox_true },
    Operation { name: "interposed_1", entries: 4, run: layers::interposed::<1> },
    Operation { name: "interposed_2", entries: 6, run: layers::interposed::<2> },
    Operation { name: "interposed_4", entries: 10, run: layers::interposed::<4> },
    Operation { name: "interposed_8", entries: 18, run: layers::interposed::<8> },
    Operation { name: "interposed_16", entries: 34, run: layers::interposed::<16> },
    Operation { name: "handed_1", entries: 2, run: layers::handed::<1> },
    Operation { name: "handed_2", entries: 2, run: layers::handed::<2> },
    Operation { name: "handed_4", entries: 2, run: layers::handed::<4> },
    Operation { name: "handed_8", entries: 2, run: layers::handed::<8> },
    Operation { name: "handed_16", entries: 2, run: layers::handed::<16> },
];

/// Measures all that the first argument names. `through N` measures a call of a service of the
/// parent's, and is what `trace` runs; `parallel` measures on the wall's clock what two CPUs do at
/// once.
pub fn measure(arguments: &Arguments, begun: u64) -> i32 {
    let ground = match Fixture::prepare(arguments) {
        Ok(ground) => ground,
        Err(errno) => {
            say(format_args!("unmeasured everything {errno}"));
            return 1;
        }
    };
    let which = arguments.get(1).unwrap_or_default();
    match arguments.get(2) {
        Some(layers) if which == b"through" => programs::through(layers),
        _ if which == b"parallel" => parallel::tell(&ground),
        _ => {
            tell("machine_to_program", begun, 0);
            carry_out(OPERATIONS, &ground, which);
            if b"traced".starts_with(which) {
                programs::under_trace(&ground);
            }
            say(format_args!("measured"));
            Ok(())
        }
    }
    .map_or_else(|errno: Errno| errno.0 as i32, |()| 0)
}
