//! Threads: the entries of their calls.

use super::description::{Argument, Entry, Kind, failure};
use crate::arguments::{Destroy, GetState, Move, Reference, SetState};
use crate::{Call, Code, ObjectType};

arguments! {
    ThreadCreate {
        slot: Kind::Slot(ObjectType::Thread), "";
        space: Kind::SpaceOrOwn, "";
    }
    ThreadStart {
        thread: Kind::Object(ObjectType::Thread), "";
    }
    ThreadStop {
        thread: Kind::Object(ObjectType::Thread), "";
        flags: Kind::Number, "STOP_INTERRUPT (1), STOP_UNSERVED (2), both or 0";
    }
    ThreadSleep {
        nanoseconds: Kind::Number, "";
    }
    ThreadSetForeign {
        thread: Kind::Object(ObjectType::Thread), "0: the caller";
        entry: Kind::Number, "address, or 0 for nowhere";
    }
    ThreadSetBase {
        which: Kind::Number, "0: fs, 1: gs";
        value: Kind::Number, "";
    }
    ThreadSetScheduler {
        thread: Kind::Object(ObjectType::Thread), "";
        port: Kind::Keeper, "0: it runs by its own right";
        word: Kind::Number, "what the scheduler knows it by";
    }
    ThreadDonate {
        thread: Kind::Use(ObjectType::Thread), "";
        until: Kind::Object(ObjectType::Port), "or a PortSet; 0: none";
        unused: Kind::Number, "";
        used: Kind::Number, "nanoseconds to count on from";
    }
    ThreadTime {
        thread: Kind::Object(ObjectType::Thread), "";
    }
    ThreadScheduleAs {
        thread: Kind::Object(ObjectType::Thread), "";
        model: Kind::Object(ObjectType::Thread), "may be the thread itself";
    }
    ThreadEnter {
        frame: Kind::Number, "address of a page with READ and WRITE, laid out as `abi/src/frame.rs` says";
    }
}

/// The entries.
pub const ENTRIES: &[Entry] = &[
    Entry {
        call: Call::ThreadCreate,
        purpose: "Makes a stopped thread.",
        arguments: ThreadCreate::ARGUMENTS,
        results: "",
        failures: &[],
        restarts: "from the start; nothing was made",
    },
    Entry {
        call: Call::ThreadDestroy,
        purpose: "Ends the thread; whom it owed a reply gets Gone. A thread may end itself. If the caller is of another space, or the thread was the last of its space, the watcher of its space, or without one the keeper, is notified with bit 62 (THREAD_ENDED).",
        arguments: &Destroy::of([Kind::Object(ObjectType::Thread)], [""]),
        results: "",
        failures: &[],
        restarts: "where it was: what is destroyed stays destroyed, the rest follows",
    },
    Entry {
        call: Call::ThreadMove,
        purpose: "Moves the thread to another address. Everything that is linked to it stays linked.",
        arguments: &Move::of([Kind::Object(ObjectType::Thread), Kind::Slot(ObjectType::Thread)], ["the object itself, not a reference to it", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "it has more than 500 references: they are told at once", "destroy some of them"),
            failure(1, Code::Busy, "it is running, or loaded on a CPU", "stop it first"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ThreadReference,
        purpose: "Makes a reference lead to the thread.",
        arguments: &Reference::of([Kind::Use(ObjectType::Thread), Kind::ReferenceSlot, Kind::ReferenceRights], ["", "", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::Denied, "a reply reference cannot be copied", "move it"),
            failure(3, Code::Denied, "more rights than the source has", "ask for fewer"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ThreadGetState,
        purpose: "Writes `ThreadState` to the buffer; `links`, if given, are filled with references to [space, client, scheduler]. They grant nothing (see `space_get_state`). A scheduler that the caller has too is not shown: neither the link, nor the flags and the word.",
        arguments: &GetState::of([Kind::Object(ObjectType::Thread), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[&[
            failure(1, Code::NotStopped, "the thread is not stopped, and is not the caller", "stop it first"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ThreadSetState,
        purpose: "Takes over registers, what the thread awaits, the time that it has had (unless the machine's is hidden from the caller's space), and the FPU state if there is one behind them. `links`, if given, are [space (not looked at), client, scheduler]: from now on the thread owes that client an answer, and has that scheduler if the flags say that it has one. If they say none, and the link is null, it is scheduled as the caller is. Without links its scheduler stays.",
        arguments: &SetState::of([Kind::Object(ObjectType::Thread), Kind::Buffer, Kind::BufferSize, Kind::Links], ["", "", "", ""]),
        results: "",
        failures: &[&[
            failure(2, Code::BadVersion, "the header names another type or a version that is not known", "pass a state of this version"),
            failure(1, Code::NotStopped, "the thread is not stopped", "stop it first"),
            failure(2, Code::BadArgument, "an address beyond the user's, or flags or words without meaning (KNOWN or a scheduler's word without SCHEDULED), or a thread that awaits a reply and does not stand at ipc_receive_reply", "pass an exported state"),
            failure(4, Code::NotStopped, "the client is not stopped", "stop it first"),
            failure(4, Code::BadArgument, "the client awaits no answer, or is the thread itself", "set the client's state first"),
            failure(4, Code::BadArgument, "there is a scheduler, and the flags say that there is none", "set SCHEDULED, or pass null"),
            failure(4, Code::Busy, "somebody owes the client an answer already", "set who that is to owe nobody"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ThreadStart,
        purpose: "Lets a stopped thread go on: at its instruction, or at its wait for a reply, which is Gone if nobody owes one; an exception that nobody has answered is offered to the keeper again.",
        arguments: ThreadStart::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(1, Code::Busy, "its space is gone", "destroy the thread"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ThreadStop,
        purpose: "Stops a thread. A wait that it was in is undone: it stands at its call. Who owes it a reply still does, and can give it while it is stopped. With STOP_INTERRUPT the wait ends with Interrupted. With STOP_UNSERVED nothing is cut off that somebody is at work on.",
        arguments: ThreadStop::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(2, Code::BadArgument, "flags without meaning", "pass 0 to 3"),
            failure(1, Code::Busy, "with STOP_UNSERVED: whoever owes it a reply is at work on that", "try again soon, or do without the flag"),
        ]],
        restarts: "from the start, until the CPU that runs the thread has let it go",
    },
    Entry {
        call: Call::ThreadYield,
        purpose: "Lets others run first.",
        arguments: &[],
        results: "",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::ThreadSleep,
        purpose: "Waits.",
        arguments: ThreadSleep::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(0, Code::Interrupted, "thread_stop ended the wait", "sleep on if you like: rdi says how long"),
        ]],
        restarts: "with what is left in rdi",
    },
    Entry {
        call: Call::ThreadSetForeign,
        purpose: "Sets where foreign calls continue.",
        arguments: ThreadSetForeign::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(2, Code::BadAddress, "beyond the user's addresses", "pass an address of the thread's space"),
            failure(1, Code::NotStopped, "the thread is running", "stop it first"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ThreadSetBase,
        purpose: "Sets the caller's own thread pointer.",
        arguments: ThreadSetBase::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(1, Code::BadArgument, "neither 0 nor 1", "pass 0 or 1"),
            failure(2, Code::BadAddress, "beyond the user's addresses", "pass an address of your space"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ThreadSetScheduler,
        purpose: "From now on the thread runs only on time that somebody gives it with `thread_donate`. Whenever it becomes ready, the port is told: a message with the flag READY, the word, in r8 whether it was woken to hear that a port of its has no references any more, and a reference to the thread with USE if a slot is offered; no reply is due. It is told once, until a donation ends with DONATION_BLOCKED; of a thread that hears of a last reference it is told always. Threads that it makes are scheduled as it is. If the port goes it runs no more until it gets another scheduler. It leads to the port as a reference does: when the last one goes, the port is notified with NO_REFERENCES, and there is nobody left to schedule.",
        arguments: ThreadSetScheduler::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(2, Code::Denied, "a caller that has a scheduler itself cannot free a thread of one", "pass a port"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ThreadDonate,
        purpose: "Gives the caller's CPU time to a thread, and through it to whoever it waits for. It ends when something comes to the port or set, which is left there; when the timeout in r15 has passed; when nobody can go on; or when who runs yields.",
        arguments: ThreadDonate::ARGUMENTS,
        results: "rdx: DONATION_ARRIVED 1, _TIMED_OUT 2, _BLOCKED 3, _YIELDED 4 or _BUSY 5 (it runs elsewhere); r8: used and the nanoseconds that it took",
        failures: &[&[
            failure(1, Code::BadArgument, "a thread cannot give time to itself", "pass another thread"),
            failure(0, Code::Gone, "the port or set is gone", "name another"),
            failure(0, Code::Interrupted, "thread_stop ended the donation", "make the call again if you still want it"),
        ]],
        restarts: "with what is left in r15, and what was used in r8",
    },
    Entry {
        call: Call::ThreadTime,
        purpose: "Tells what time of processors the thread has had, by whatever right it ran; the kernel's work for it counts as its own. 0 if the caller's space does not see the machine's time. Tells, too, what the thread waits for just now, and does not disturb it.",
        arguments: ThreadTime::ARGUMENTS,
        results: "rdx: nanoseconds; r8: how it waits, as `abi/src/waiting.rs` numbers it, and from bit 32 on the label of its message, if it sends one or awaits the reply",
        failures: &[],
        restarts: "",
    },
    Entry {
        call: Call::ThreadScheduleAs,
        purpose: "Schedules the thread as the model is scheduled: by the same scheduler and under the same word, or by its own right. A party that makes a thread in another's space lets it run on that space's time.",
        arguments: ThreadScheduleAs::ARGUMENTS,
        results: "",
        failures: &[&[
            failure(2, Code::Denied, "a caller that has a scheduler itself cannot free a thread of one", "pass a model that has a scheduler"),
        ]],
        restarts: "",
    },
    Entry {
        call: Call::ThreadEnter,
        purpose: "Runs a guest: a processor's whole state in the frame, in the space that the frame names, whose addresses are the guest's physical ones; or, as the frame's kind says, on the tables of two spaces, whose addresses are its virtual ones. With the kind USER, it is no processor but a program: the thread runs the frame's registers in user mode, on the tables of the space, and each system call and exception is its monitor's. It runs on the caller's time until something happens that its monitor has to deal with; then all of its state is in the frame again, with what happened. Interrupts, ends of time slices and pages that a keeper brings go by unseen. A guest has no calls and names no object.",
        arguments: ThreadEnter::ARGUMENTS,
        results: "in the frame",
        failures: &[&[
            failure(1, Code::BadAddress, "the frame is not a whole page of plain memory", "pass a page with READ and WRITE"),
            failure(1, Code::BadVersion, "the frame's first word is no version that this kernel knows", "write `FRAME_VERSION` there"),
            failure(1, Code::BadArgument, "the frame's kind is none that this kernel knows", "write a number of `frame::kind` there"),
            failure(1, Code::Denied, "the space that the frame names is the machine's", "make a space for the guest"),
            failure(0, Code::UnknownCall, "the frame is of a kind other than USER, and the processor has no guest mode (AMD's SVM with nested paging, or Intel's VMX with extended tables and unrestricted guests), or its firmware has locked it", "run the system on one that has"),
        ]],
        restarts: "with the frame as it is: the guest goes on",
    },
];
