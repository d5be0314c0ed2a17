//! The first instructions of a program, and what is set up before its main function.
//!
//! | register | on entry |
//! | --- | --- |
//! | `rsp` | `argc`, below `argv`, the environment and the auxiliary vector; in root anything |
//! | others | nothing |

use core::cell::UnsafeCell;

use nacre_abi::boot_info::BootInfo;
use nacre_abi::environment::{AT_DATA_SIZE, AT_INHERITED_COUNT, AT_OBJECTS_PAGES, AT_WINDOW_COUNT, BOOT_INFO, DATA_REFERENCES, FREE, OBJECTS, OBJECTS_PAGES};
use nacre_abi::{ObjectType, PAGE_SIZE};
use nacre_sys::{Window, slots};

use crate::{Arguments, exit, objects};

/// Names the main function, a `fn(&Arguments) -> i32`, and marks the program as native.
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        const _: () = {
            #[cfg(target_os = "none")]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn _start() -> ! {
                core::arch::naked_asm!(
                    "xor ebp, ebp",
                    "mov rdi, rsp",
                    "and rsp, -16",
                    "call {run}",
                    "ud2",
                    $crate::nacre_note!(),
                    run = sym run,
                    version = const $crate::abi::VERSION,
                    kind = const $crate::abi::environment::NOTE_TYPE,
                )
            }

            #[cfg(target_os = "none")]
            extern "C" fn run(stack: *const u64) -> ! {
                // SAFETY: the stack pointer with which the program started.
                unsafe { $crate::start::run(stack, $main) }
            }
        };
    };
}

/// Names root's main function, a `fn() -> !`, and the size of its stack. Root has no parent: it
/// brings a source of memory ([`heap::set_source`](crate::heap::set_source)), somebody to tell of
/// panics ([`report::set_sink`](crate::report::set_sink)) and a way to end
/// ([`exit::set_ending`](crate::exit::set_ending)).
#[macro_export]
macro_rules! root_entry {
    ($main:path, $stack_size:expr) => {
        const _: () = {
            #[cfg(target_os = "none")]
            static STACK: $crate::start::Stack<{ $stack_size }> = $crate::start::Stack::new();

            #[cfg(target_os = "none")]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn _start() -> ! {
                core::arch::naked_asm!(
                    "xor ebp, ebp",
                    "lea rsp, [rip + {stack} + {size}]",
                    "call {run}",
                    "ud2",
                    $crate::nacre_note!(),
                    stack = sym STACK,
                    size = const $stack_size,
                    run = sym run,
                    version = const $crate::abi::VERSION,
                    kind = const $crate::abi::environment::NOTE_TYPE,
                )
            }

            #[cfg(target_os = "none")]
            extern "C" fn run() -> ! {
                $crate::start::prepare_root();
                let main: fn() -> ! = $main;
                main()
            }
        };
    };
}

/// The ELF note of a native program, as assembly.
#[doc(hidden)]
#[macro_export]
macro_rules! nacre_note {
    () => {
        ".pushsection .note.nacre, \"a\", @note
         .balign 4
         .long 6, 4, {kind}
         .asciz \"Nacre\"
         .balign 4
         .long {version}
         .popsection"
    };
}

/// A stack that is part of the program's image.
#[repr(C, align(16))]
pub struct Stack<const SIZE: usize>(UnsafeCell<[u8; SIZE]>);

// SAFETY: nothing reaches the bytes but the one thread that has them as its stack.
unsafe impl<const SIZE: usize> Sync for Stack<SIZE> {}

impl<const SIZE: usize> Stack<SIZE> {
    /// An empty stack.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Stack<SIZE> {
        Stack(UnsafeCell::new([0; SIZE]))
    }
}

/// Sets up what programs stand on, once, before anything else of this crate is used; the arguments.
///
/// # Safety
/// `stack` is the stack pointer with which the program started, and what lies there stays.
pub unsafe fn prepare(stack: *const u64) -> Arguments {
    // SAFETY: the caller's promise.
    let arguments = unsafe { Arguments::at(stack) };
    slots_from(arguments.auxiliary(AT_OBJECTS_PAGES).unwrap_or(OBJECTS_PAGES), given(&arguments));
    objects::prepare();
    arguments
}

/// Returns the number of bytes of objects that a program has besides those of every program.
fn given(arguments: &Arguments) -> u64 {
    let bytes = |key, object: ObjectType| arguments.auxiliary(key).unwrap_or(0).saturating_mul(object.size());
    let data = if arguments.auxiliary(AT_DATA_SIZE).unwrap_or(0) == 0 { 0 } else { DATA_REFERENCES * ObjectType::Reference.size() };
    bytes(AT_WINDOW_COUNT, ObjectType::Mapping).saturating_add(bytes(AT_INHERITED_COUNT, ObjectType::Reference)).saturating_add(data)
}

/// Sets up what root stands on.
pub fn prepare_root() {
    let offset = core::mem::offset_of!(BootInfo, objects_pages) as u64;
    let pages = Window::new(BOOT_INFO, PAGE_SIZE).and_then(|page| page.read_word(offset));
    slots_from(pages.unwrap_or(OBJECTS_PAGES), 0);
    crate::heap::prepare();
}

/// Gives the object area to the allocator of slots, but for what the program was born with: `given`
/// bytes of objects more than all have.
fn slots_from(pages: u64, given: u64) {
    if slots::add_area(OBJECTS, pages as usize).is_err() {
        crate::report!("no words for {pages} pages of object area");
    }
    let end = FREE + given.min(pages.saturating_mul(PAGE_SIZE));
    for address in (OBJECTS..end).step_by(64) {
        slots::claim(address, ObjectType::Reference);
    }
}

/// Sets everything up, runs `main`, and ends the program with its status.
///
/// # Safety
/// As [`prepare`].
pub unsafe fn run(stack: *const u64, main: fn(&Arguments) -> i32) -> ! {
    // SAFETY: the caller's promise.
    let arguments = unsafe { prepare(stack) };
    crate::heap::prepare();
    exit::exit(main(&arguments))
}
