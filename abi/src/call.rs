//! The calls and their numbers.
//!
//! On x86-64 a call is `syscall` with the number in `rax` and the arguments in `rdi rsi rdx r8 r9
//! r10 r12 r13`, in this order; `r14` and `r15` are used by messages only (see
//! [`message`](crate::message)). It returns the [`Status`](crate::Status) in `rax` and up to two
//! values in `rdx` and `r8`. `rcx` and `r11` are lost to the instruction; all other registers are
//! kept.
//!
//! Any argument that names an object may be the address of the object itself or of a
//! [`Reference`](crate::ObjectType) to it that carries the needed right. Where a *space* is asked
//! for, 0 stands for the caller's own.

/// Number of the first call. `syscall` with a number outside
/// [`CALL_BASE`]..[`CALL_BASE`]+[`CALL_COUNT`] is a *foreign* call.
pub const CALL_BASE: u64 = 0x4e61_0000;

/// A shift that packs the number of a foreign call beside its return address: at the foreign entry,
/// `rax` is `number << 48 | return address`, `r11` the flags, every other register as it was. A
/// number that does not fit 16 bits arrives as 0xffff.
pub const FOREIGN_NUMBER_SHIFT: u32 = 48;

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// A call. The variants' documentation gives arguments and results; `doc/manual/calls.md`
        /// gives the rest.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Call { $($(#[$doc])* $name = $number,)* }

        impl Call {
            /// Every call, in order of its number; the numbers are dense from 0.
            pub const ALL: &'static [Call] = &[$(Call::$name,)*];

            /// The name used everywhere: in the manual, in `user/sys` and in traces.
            pub const fn name(self) -> &'static str {
                match self { $(Call::$name => $text,)* }
            }

            /// The value for `rax`.
            pub const fn number(self) -> u64 {
                CALL_BASE + self as u64
            }
        }
    };
}

calls! {
    /// Does nothing. The measure of what entering costs.
    Null = 0, "null";
    /// `(reference, info, words.., descriptor, timeout)`: sends a message and waits for the reply
    /// to it.
    IpcCall = 1, "ipc_call";
    /// `(-, -, .., descriptor, timeout)`: waits for the reply to a message that was sent: the
    /// second half of `ipc_call`.
    IpcReceiveReply = 2, "ipc_receive_reply";
    /// `(reference, info, words.., descriptor, timeout)`: hands a message over; nobody replies. To
    /// a reply reference it is the reply.
    IpcSend = 3, "ipc_send";
    /// `(port or set, -, .., descriptor, timeout)`: waits for a message, a notification or a fault.
    IpcReceive = 4, "ipc_receive";
    /// `(-, info, words.., descriptor)`: answers the client whose message was received last.
    IpcReply = 5, "ipc_reply";
    /// `(port or set, info, words.., descriptor, timeout)`: `ipc_reply`, then `ipc_receive`, in one
    /// entry.
    IpcReplyReceive = 6, "ipc_reply_receive";
    /// `(slot)`: makes a reply reference to the client whose message was received last, so that it
    /// can be answered later.
    IpcDetach = 7, "ipc_detach";
    /// `(port reference, bits)`: adds pending notification bits to a port. Never blocks.
    PortNotify = 8, "port_notify";

    /// `(slot, pool, pages, keeper)`: makes an empty space. `pool` is `pages` (at least 5) pages of
    /// the caller's memory, donated for its tables; `keeper` is a port reference for exceptions, or
    /// 0.
    SpaceCreate = 9, "space_create";
    /// `(object)`: destroys the space: its mappings and regions go, its threads stop; the pool
    /// becomes plain memory again.
    SpaceDestroy = 10, "space_destroy";
    /// `(object, slot)`: moves the object to another address.
    SpaceMove = 11, "space_move";
    /// `(object, reference, rights)`: makes the existing reference at `reference` lead to the
    /// object.
    SpaceReference = 12, "space_reference";
    /// `(object, buffer, size, references)`: writes [`SpaceState`](crate::state::SpaceState);
    /// `references`: 0, or the address of an array of reference slots to fill with what it is
    /// linked to.
    SpaceGetState = 13, "space_get_state";
    /// `(object, buffer, size, references)`: takes over a state; `references`: 0, or the address of
    /// an array of references to what it is to be linked to.
    SpaceSetState = 14, "space_set_state";
    /// `(space, pool, pages)`: donates more pages for the space's tables.
    SpaceDonate = 15, "space_donate";

    /// `(slot, space, start, size, rights, keeper)`: exports a window of a space; `keeper` is a
    /// port reference for faults, or 0.
    RegionCreate = 16, "region_create";
    /// `(object)`: destroys the region; everything mapped from it is unmapped.
    RegionDestroy = 17, "region_destroy";
    /// Moves a region to another slot, as `space_move` does.
    RegionMove = 18, "region_move";
    /// Makes a reference lead to a region, as `space_reference` does.
    RegionReference = 19, "region_reference";
    /// Writes [`RegionState`](crate::state::RegionState).
    RegionGetState = 20, "region_get_state";
    /// Narrows, moves or widens the window, or changes rights and keeper.
    RegionSetState = 21, "region_set_state";

    /// `(slot, space, start, size, region, offset, rights)`: fills a window of `space` from a
    /// region.
    MappingCreate = 22, "mapping_create";
    /// `(object)`: unmaps.
    MappingDestroy = 23, "mapping_destroy";
    /// Moves a mapping to another slot, as `space_move` does.
    MappingMove = 24, "mapping_move";
    /// Makes a reference lead to a mapping, as `space_reference` does.
    MappingReference = 25, "mapping_reference";
    /// Writes [`MappingState`](crate::state::MappingState).
    MappingGetState = 26, "mapping_get_state";
    /// Changes start, size, offset or rights.
    MappingSetState = 27, "mapping_set_state";

    /// `(slot, space)`: makes a stopped thread in `space`. The slot is a whole page.
    ThreadCreate = 28, "thread_create";
    /// `(object)`: ends the thread; who waits for its reply gets `Gone`.
    ThreadDestroy = 29, "thread_destroy";
    /// Moves a thread to another slot, as `space_move` does.
    ThreadMove = 30, "thread_move";
    /// Makes a reference lead to a thread, as `space_reference` does.
    ThreadReference = 31, "thread_reference";
    /// Writes [`ThreadState`](crate::state::ThreadState), and the FPU state behind it if `size`
    /// allows. The thread must be stopped (or be the caller).
    ThreadGetState = 32, "thread_get_state";
    /// Takes over a [`ThreadState`](crate::state::ThreadState), with the FPU state behind it if
    /// `size` says so. The thread must be stopped.
    ThreadSetState = 33, "thread_set_state";
    /// `(thread)`: lets a stopped thread run.
    ThreadStart = 34, "thread_start";
    /// `(thread, flags)`: stops a thread at the next point where its state is whole, which is at
    /// once. [`STOP_INTERRUPT`] also ends a wait with `Interrupted`; [`STOP_UNSERVED`] refuses a
    /// thread that somebody is about to answer.
    ThreadStop = 35, "thread_stop";
    /// `()`: lets others run first.
    ThreadYield = 36, "thread_yield";
    /// `(nanoseconds)`: waits; the register counts down what is left.
    ThreadSleep = 37, "thread_sleep";
    /// `(thread or 0, entry)`: sets the address at which foreign calls continue; 0 = they fail with
    /// `UnknownCall`.
    ThreadSetForeign = 38, "thread_set_foreign";
    /// `(which, value)`: sets the caller's own thread pointer: `which` 0 = fs base, 1 = gs base.
    ThreadSetBase = 39, "thread_set_base";

    /// `(slot, word, set)`: makes a port; `word` is handed to whoever receives from it; `set` is a
    /// port set to join, or 0.
    PortCreate = 40, "port_create";
    /// `(object)`: destroys the port: its references become null, waiting clients get `Gone`.
    PortDestroy = 41, "port_destroy";
    /// Moves a port to another slot, as `space_move` does.
    PortMove = 42, "port_move";
    /// Makes a reference lead to a port, as `space_reference` does.
    PortReference = 43, "port_reference";
    /// Writes [`PortState`](crate::state::PortState).
    PortGetState = 44, "port_get_state";
    /// Changes the word, the pending bits, or the set (through `references`).
    PortSetState = 45, "port_set_state";

    /// `(slot)`: makes an empty set of ports.
    PortSetCreate = 46, "port_set_create";
    /// `(object)`: destroys the set; its ports stand alone again.
    PortSetDestroy = 47, "port_set_destroy";
    /// Moves a set of ports to another slot, as `space_move` does.
    PortSetMove = 48, "port_set_move";
    /// Makes a reference lead to a set of ports, as `space_reference` does.
    PortSetReference = 49, "port_set_reference";
    /// Writes [`PortSetState`](crate::state::PortSetState).
    PortSetGetState = 50, "port_set_get_state";
    /// Accepts a state with the right header; a set has nothing else to change.
    PortSetSetState = 51, "port_set_set_state";

    /// `(slot)`: makes a null reference.
    ReferenceCreate = 52, "reference_create";
    /// `(object)`: destroys the reference, not what it leads to.
    ReferenceDestroy = 53, "reference_destroy";
    /// Moves a reference to another slot, as `space_move` does.
    ReferenceMove = 54, "reference_move";
    /// `(object, reference, rights)`: copies a reference, with equal or fewer rights.
    ReferenceReference = 55, "reference_reference";
    /// Writes [`ReferenceState`](crate::state::ReferenceState).
    ReferenceGetState = 56, "reference_get_state";
    /// Makes a reference null, with the state of a null reference. Other targets are set by the
    /// target's own `reference` call.
    ReferenceSetState = 57, "reference_set_state";
    /// `(reference, start, size)`: if the target lies in that range of the caller's memory, its
    /// address there in `rdx` (its type in `r8`); else `rdx` = 0.
    ReferenceReveal = 58, "reference_reveal";

    /// `(slot)`: makes a mutex.
    MutexCreate = 59, "mutex_create";
    /// `(object)`: destroys the mutex; who waits gets `Gone`.
    MutexDestroy = 60, "mutex_destroy";
    /// Moves a mutex to another slot, as `space_move` does.
    MutexMove = 61, "mutex_move";
    /// Makes a reference lead to a mutex, as `space_reference` does.
    MutexReference = 62, "mutex_reference";
    /// Writes [`MutexState`](crate::state::MutexState).
    MutexGetState = 63, "mutex_get_state";
    /// Accepts a state with the right header.
    MutexSetState = 64, "mutex_set_state";
    /// `(mutex, word)`: waits while the 32-bit word at `word` is 2 (locked, contended). `r15` is a
    /// timeout.
    MutexLock = 65, "mutex_lock";
    /// `(mutex)`: lets one waiting thread look again.
    MutexUnlock = 66, "mutex_unlock";

    /// `(slot)`: makes a condition variable.
    ConditionCreate = 67, "condition_create";
    /// `(object)`: destroys the condition; who waits gets `Gone`.
    ConditionDestroy = 68, "condition_destroy";
    /// Moves a condition to another slot, as `space_move` does.
    ConditionMove = 69, "condition_move";
    /// Makes a reference lead to a condition, as `space_reference` does.
    ConditionReference = 70, "condition_reference";
    /// Writes [`ConditionState`](crate::state::ConditionState).
    ConditionGetState = 71, "condition_get_state";
    /// Accepts a state with the right header.
    ConditionSetState = 72, "condition_set_state";
    /// `(condition, word, expected)`: waits while the 32-bit word at `word` equals `expected`.
    /// `r15` is a timeout.
    ConditionWait = 73, "condition_wait";
    /// `(condition, count)`: wakes up to `count` threads; how many were woken in `rdx`.
    ConditionSignal = 74, "condition_signal";

    /// `(start, size, buffer, capacity)`: lists the objects in a range of the caller's memory as
    /// [`ObjectEntry`](crate::state::ObjectEntry); `rdx`: how many were written, `r8`: where to go
    /// on (0 = the end).
    MemoryObjects = 75, "memory_objects";
    /// `(start, size)`: destroys every object in a range of the caller's memory and takes donated
    /// pages back.
    MemoryReclaim = 76, "memory_reclaim";

    /// `(ports, port, width)`: reads 1, 2 or 4 bytes from an I/O port into `rdx`; `port` counts
    /// from the first of the range.
    IoRead = 77, "io_read";
    /// `(ports, port, width, value)`: writes an I/O port.
    IoWrite = 78, "io_write";
    /// `(ports, port, buffer, size)`: writes bytes (at most 4096) to one I/O port.
    IoWriteBytes = 79, "io_write_bytes";
    /// `(ports, reference, first, count)`: makes `reference` lead to a part of the range.
    IoPortsReference = 80, "io_ports_reference";
    /// `(interrupts, line, port, bits)`: from now on the line notifies `port` with `bits`, and is
    /// masked until acknowledged. `port` 0 unbinds.
    InterruptBind = 81, "interrupt_bind";
    /// `(interrupts, line)`: lets the line interrupt again.
    InterruptAcknowledge = 82, "interrupt_acknowledge";
    /// `(interrupts, reference, first, count)`: makes `reference` lead to a part of the range.
    InterruptReference = 83, "interrupt_reference";
    /// `(clock)`: nanoseconds since the machine started, in `rdx`.
    ClockRead = 84, "clock_read";

    /// `(thread, port or 0, word)`: from now on the thread runs only on time that it is given, and
    /// `port` is told when it is ready. 0: it runs by its own right again.
    ThreadSetScheduler = 85, "thread_set_scheduler";
    /// `(thread, port or set or 0, -, used, .., timeout)`: gives the caller's time to the thread;
    /// `rdx`: why it ended, `r8`: `used` and the nanoseconds that it took.
    ThreadDonate = 86, "thread_donate";
    /// `(thread)`: nanoseconds that the thread has had of processors, in `rdx`.
    ThreadTime = 87, "thread_time";
    /// `(start, size)`: the first pages of a range of the caller's memory that may hold something;
    /// `rdx`: where they start (the range's end, if there are none), `r8`: where they end.
    MemoryTouched = 88, "memory_touched";
    /// `(from, to, size)`: copies pages of the caller's memory to others of it.
    MemoryCopy = 89, "memory_copy";
    /// `(thread, model)`: schedules the thread as the model is: by the same scheduler under the
    /// same word, or by its own right.
    ThreadScheduleAs = 90, "thread_schedule_as";
    /// `(frame)`: runs the guest that the frame describes, on the caller's time, until something
    /// happens that is its monitor's to deal with (see [`frame`](crate::frame)).
    ThreadEnter = 91, "thread_enter";
    /// `(mapping, list, count)`: enters pages into a view: pairs of words, the page's address with
    /// its rights in the lower bits, and its offset in the region; how many were entered in `rdx`.
    ViewEnter = 92, "view_enter";
    /// `(mapping, start, size)`: takes the pages of a range out of a view.
    ViewForget = 93, "view_forget";
}

/// Number of calls.
pub const CALL_COUNT: u64 = Call::ALL.len() as u64;

/// Flag of `thread_stop`: a wait that the thread is in ends with `Interrupted`, instead of being
/// made again at `thread_start`.
pub const STOP_INTERRUPT: u64 = 1;
/// Flag of `thread_stop`: not a thread that waits for an answer which somebody is at work on.
/// Whoever has put the answer off (`ipc_detach`) is not at work on it, nor whoever waits himself
/// for an answer for his client ([`FOR_CLIENT`](crate::message::FOR_CLIENT)), unless that one is
/// worked on. So nothing is cut off that was done already.
pub const STOP_UNSERVED: u64 = 2;

/// A donation ended because something has come to the port or set that was named.
pub const DONATION_ARRIVED: u64 = 1;
/// A donation ended because its timeout passed.
pub const DONATION_TIMED_OUT: u64 = 2;
/// A donation ended because nobody on whom the thread waits can go on. It will be announced when it
/// is ready again.
pub const DONATION_BLOCKED: u64 = 3;
/// A donation ended because whoever ran on it yielded.
pub const DONATION_YIELDED: u64 = 4;
/// A donation ended because the thread, or whoever it waits for, runs on another CPU or in another
/// donation. It is not announced again.
pub const DONATION_BUSY: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense() {
        for (number, call) in Call::ALL.iter().enumerate() {
            assert_eq!(*call as usize, number);
        }
    }
}
