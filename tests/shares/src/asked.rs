//! A process that another one asks: the process manager makes a thread in its space, which runs
//! code that the process chose. That code loops for ever here.

use alloc::format;
use alloc::string::String;
use core::fmt::Debug;
use nacre_abi::rights::REFERENCE_ALL;
use nacre_nest::plan::Sizes;
use nacre_nest::spawn::{Ports, Program, spawn};
use nacre_nest::ward::Ward;
use nacre_proto::flags::{BEGIN_INHERITS, BEGIN_PROGRAM, SERVICE_FILES};
use nacre_proto::{parent, process};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{OwnedReference, Reference, Thread};

/// Path of this program.
const PATH: &[u8] = b"/bin/shares";
/// `jmp` to itself: it needs no stack, and the manager's thread has none.
const LOOP: [u8; 2] = [0xeb, 0xfe];
/// Bytes of a function that are searched for it.
const SEARCHED: u64 = 64;
/// Time that the question waits for an answer, which never comes: longer than the span in which
/// work is counted.
const PATIENCE: u64 = 1_800_000_000;

extern "C" fn forever() -> ! {
    loop {}
}

fn byte(address: u64) -> u8 {
    nacre_raw::read(address & !7).to_le_bytes()[(address & 7) as usize]
}

fn said<T: Debug>(what: &'static str) -> impl Fn(T) -> String {
    move |why| format!("{what}: {why:?}")
}

/// Plays the first thread of the process that is asked, which does nothing until the environment
/// ends.
pub fn wait() -> i32 {
    while Thread::sleep(PATIENCE).is_ok() {}
    1
}

/// Begins a process, a copy of this program, in which threads of the manager loop, and asks it.
pub fn ask() -> Result<(), String> {
    let begin = forever as extern "C" fn() -> ! as usize as u64;
    let visited = (begin..begin + SEARCHED).find(|at| [byte(*at), byte(*at + 1)] == LOOP).ok_or("the loop is not found")?;
    let files = parent::find(Reference::PARENT, SERVICE_FILES).map_err(said("no files"))?.found;
    let ward = Ward::new().map_err(|refusal| format!("{refusal}"))?.ok_or("there is no process manager")?;
    let program = Program { path: PATH, arguments: &[PATH, b"wait"], environment: &[], directory: b"", random: [7; 16], sizes: Sizes::default() };
    let ports = Ports { parent: ward.port(), keeper: Reference::NONE };
    let child = spawn(&mut ward.maker(files.handle()), &program, ports).map_err(|refusal| format!("{refusal}"))?;
    let space = OwnedReference::made_by(|slot| child.space().reference(slot, REFERENCE_ALL)).map_err(said("its space"))?;
    let thread = OwnedReference::made_by(|slot| child.thread().reference(slot, REFERENCE_ALL)).map_err(said("its thread"))?;
    process::begin(ward.port(), BEGIN_PROGRAM | BEGIN_INHERITS, 0, visited, space.handle(), thread.handle()).map_err(said("its beginning"))?;
    let question = Message::new(process::ask::LABEL, [ward.pid(), 1, 0, 0, 0, 0]);
    match ipc::call(Reference::PARENT, &question, Buffers::NONE, PATIENCE) {
        Ok(answer) => Err(format!("it was answered: {}", answer.label())),
        // Nobody answers.
        Err(_) => Ok(()),
    }
}
