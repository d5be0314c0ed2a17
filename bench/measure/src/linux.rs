//! Measurements on Linux: for each operation of Nacre's table the nearest that Linux has, under the
//! same name.

pub mod call;
mod context;
mod memory;
mod processes;
mod threads;
mod tracing;

use nacre_proto::Errno;
use nacre_rt::Arguments;

use context::Context;

use crate::figure::{Operation, carry_out, sample, say, tell};
use crate::program_path;

const OPERATIONS: &[Operation<Context>] = &[
    Operation { name: "null_call", entries: 1, run: getppid },
    Operation { name: "foreign_call", entries: 1, run: getppid },
    Operation { name: "round_trip_words", entries: 4, run: processes::futex_round_trip },
    Operation { name: "round_trip_pipe", entries: 4, run: processes::pipe_round_trip },
    Operation { name: "round_trip_4096_bytes", entries: 4, run: processes::pipe_round_trip_page },
    Operation { name: "round_trip_reference", entries: 5, run: processes::descriptor_round_trip },
    Operation { name: "notification", entries: 1, run: processes::event },
    Operation { name: "notification_to_waiter", entries: 2, run: processes::event_to_waiter },
    Operation { name: "page_fault_keeper", entries: 4, run: memory::user_fault },
    Operation { name: "mapping_create_destroy", entries: 2, run: memory::map_and_unmap },
    Operation { name: "mapping_create_touch_destroy", entries: 3, run: memory::map_touch_and_unmap },
    Operation { name: "mutex_uncontended", entries: 0, run: threads::lock_uncontended },
    Operation { name: "mutex_contended", entries: 4, run: threads::lock_contended },
    Operation { name: "thread_switch", entries: 1, run: threads::switch },
    Operation { name: "thread_create_destroy", entries: 3, run: threads::create },
    Operation { name: "thread_get_state", entries: 1, run: tracing::get_registers },
    Operation { name: "thread_set_state", entries: 1, run: tracing::set_registers },
    Operation { name: "program_start_finish", entries: 4, run: processes::spawn },
    Operation { name: "fork_exit_wait", entries: 3, run: processes::fork },
    Operation { name: "interposed_1", entries: 7, run: tracing::traced_call },
];

fn getppid(_: &Context) -> Result<u64, Errno> {
    Ok(sample(1000, call::getppid))
}

/// Measures all that the first argument names, and ends the machine if this is its first process.
pub fn measure(arguments: &Arguments, begun: u64) -> i32 {
    nacre_rt::report::set_sink(|line| call::write(2, line.as_bytes()));
    nacre_rt::exit::set_ending(|status| call::exit(status as i32));
    let context = Context { path: program_path::path(arguments) };
    if call::getpid() == 1 {
        tell("machine_to_program", begun, 0);
    }
    carry_out(OPERATIONS, &context, arguments.get(1).unwrap_or_default());
    say(format_args!("measured"));
    if call::getpid() == 1 {
        call::restart_machine();
    }
    0
}
