//! The system call instruction, and the few other things that only unsafe code can do. Everything
//! here that others may call is safe: a call that makes the kernel write memory goes through a
//! function that takes that memory as a Rust borrow.
//!
//! | register | on entry | on exit |
//! | --- | --- | --- |
//! | `rax` | number of the call | status |
//! | `rdi rsi rdx r8 r9 r10 r12 r13` | arguments; of messages: target, info, words | `rdx r8`: results; of messages: word of the port, info, words |
//! | `r14` | messages: descriptor or 0 | kept |
//! | `r15` | waits: timeout or 0 | what is left of it |
//! | `rcx r11` | - | lost |
//! | others | - | kept |
//!
//! A call that was cut off and made again may have counted in its arguments' registers, so all of
//! them count as changed.

use core::arch::asm;
use core::marker::PhantomData;
use core::mem::{MaybeUninit, size_of};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use nacre_abi::message::{Descriptor, Info, RECEIVE_ONLY, WORDS};
use nacre_abi::state::ObjectEntry;
use nacre_abi::{Call, Code, Status};

use crate::message::{Buffers, Message, Received};
use crate::{Reference, Window};

/// The two results of a call that succeeded.
pub(crate) type Results = Result<(u64, u64), Status>;

/// The call that does nothing.
#[inline(always)]
pub fn null() {
    // SAFETY: the call touches no memory and loses only the registers named.
    unsafe {
        asm!("syscall", inlateout("rax") Call::Null.number() => _, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
}

/// A call with up to four arguments.
///
/// # Safety
/// Memory that the call makes the kernel write must be the caller's to lend.
#[inline(always)]
unsafe fn enter(call: Call, arguments: [u64; 4]) -> Results {
    let (status, first, second): (u64, u64, u64);
    let [a, b, c, d] = arguments;
    // SAFETY: the registers lost and changed are those of the table above; memory is the caller's
    // promise.
    unsafe {
        asm!("syscall", inlateout("rax") call.number() => status, inlateout("rdi") a => _, inlateout("rsi") b => _,
            inlateout("rdx") c => first, inlateout("r8") d => second,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    Status(status).result().map(|()| (first, second))
}

/// Returns true if the kernel writes memory of the caller that an argument names.
const fn writes_memory(call: Call) -> bool {
    use Call::*;
    matches!(
        call,
        SpaceGetState | RegionGetState | MappingGetState | ThreadGetState | PortGetState | PortSetGetState | ReferenceGetState
            | MutexGetState | ConditionGetState | MemoryObjects | IpcCall | IpcReceiveReply | IpcSend | IpcReceive | IpcReply | IpcReplyReceive
    )
}

/// A call that writes no memory of the caller.
#[inline(always)]
pub(crate) fn call(call: Call, arguments: [u64; 4]) -> Results {
    if writes_memory(call) {
        return Err(Status::new(Code::UnknownCall));
    }
    // SAFETY: the kernel writes no memory for this call.
    unsafe { enter(call, arguments) }
}

/// A call with up to eight arguments that writes no memory of the caller.
#[inline(always)]
pub(crate) fn call_long(call: Call, arguments: [u64; 8]) -> Results {
    if writes_memory(call) {
        return Err(Status::new(Code::UnknownCall));
    }
    let (status, first, second): (u64, u64, u64);
    let [a, b, c, d, e, f, g, h] = arguments;
    // SAFETY: the kernel writes no memory for this call; the registers lost and changed are those
    // of the table above.
    unsafe {
        asm!("syscall", inlateout("rax") call.number() => status, inlateout("rdi") a => _, inlateout("rsi") b => _,
            inlateout("rdx") c => first, inlateout("r8") d => second, inlateout("r9") e => _, inlateout("r10") f => _,
            inlateout("r12") g => _, inlateout("r13") h => _,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    Status(status).result().map(|()| (first, second))
}

/// Memory of the caller that a call writes: where it starts, and how many bytes; `None` if it is
/// none of those for [`call_within`].
fn written(call: Call, arguments: &[u64; 8]) -> Option<(u64, u64)> {
    use Call::*;
    match call {
        MemoryObjects => Some((arguments[2], arguments[3].checked_mul(size_of::<ObjectEntry>() as u64)?)),
        MemoryCopy | IpcCall | IpcReceiveReply | IpcSend | IpcReceive | IpcReply | IpcReplyReceive => None,
        _ if writes_memory(call) => Some((arguments[1], arguments[2])),
        _ => Some((0, 0)),
    }
}

/// A call on any object, for whoever reads out and makes anew all objects of others. It writes
/// memory in `window` alone; `UnknownCall` if it would write elsewhere, or is a message. Status and
/// the two results.
pub fn call_within(window: Window, call: Call, arguments: [u64; 8]) -> (Status, u64, u64) {
    let is_inside = |(start, size): (u64, u64)| {
        size == 0 || start.checked_sub(window.start()).is_some_and(|offset| window.part(offset, size).is_some())
    };
    if !written(call, &arguments).is_some_and(is_inside) {
        return (Status::new(Code::UnknownCall), 0, 0);
    }
    let (status, first, second): (u64, u64, u64);
    let [a, b, c, d, e, f, g, h] = arguments;
    // SAFETY: the kernel writes the window alone, where no Rust object lies; the registers lost and
    // changed are those of the table above.
    unsafe {
        asm!("syscall", inlateout("rax") call.number() => status, inlateout("rdi") a => _, inlateout("rsi") b => _,
            inlateout("rdx") c => first, inlateout("r8") d => second, inlateout("r9") e => _, inlateout("r10") f => _,
            inlateout("r12") g => _, inlateout("r13") h => _, inlateout("r15") 0u64 => _,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    (Status(status), first, second)
}

/// `mutex_lock` and `condition_wait`: the object, the word it watches, what is expected of the
/// word, a timeout.
#[inline(always)]
pub(crate) fn wait(call: Call, object: u64, word: &AtomicU32, expected: u64, timeout: u64) -> Result<(), Status> {
    if writes_memory(call) {
        return Err(Status::new(Code::UnknownCall));
    }
    let status: u64;
    // SAFETY: the kernel only reads the word; the registers lost and changed are those of the table
    // above.
    unsafe {
        asm!("syscall", inlateout("rax") call.number() => status, inlateout("rdi") object => _,
            inlateout("rsi") word as *const AtomicU32 as u64 => _, inlateout("rdx") expected => _, inlateout("r15") timeout => _, lateout("r8") _,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    Status(status).result()
}

/// `thread_donate`: the thread, the port or set that ends it, a timeout. Why it ended, and what was
/// used.
#[inline(always)]
pub(crate) fn donate(thread: u64, until: u64, timeout: u64) -> Results {
    let (status, reason, used): (u64, u64, u64);
    // SAFETY: the kernel touches no memory for this call; the registers lost and changed are those
    // of the table above.
    unsafe {
        asm!("syscall", inlateout("rax") Call::ThreadDonate.number() => status, inlateout("rdi") thread => _, inlateout("rsi") until => _,
            inlateout("rdx") 0u64 => reason, inlateout("r8") 0u64 => used, inlateout("r15") timeout => _,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    Status(status).result().map(|()| (reason, used))
}

/// Addresses of references, where the kernel wants them: in an array that crosses no page.
#[repr(C, align(64))]
struct References([u64; 8]);

impl References {
    #[inline(always)]
    fn new(references: &[Reference]) -> References {
        let mut array = References([0; 8]);
        for (entry, reference) in array.0.iter_mut().zip(references) {
            *entry = reference.0;
        }
        array
    }

    fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
}

/// The address of `references` as an array for the kernel: where they are if they lie well, else in
/// `place`, where they are copied; 0 if there are none.
#[inline(always)]
fn array_address(references: &[Reference], place: &mut MaybeUninit<References>) -> u64 {
    if references.is_empty() {
        return 0;
    }
    let start = references.as_ptr() as u64;
    if references.len() == 8 && start.is_multiple_of(64) { start } else { place.write(References::new(references)).address() }
}

/// Address of the array of links for a state call, or 0 if there are none.
fn links_address(array: &References, links: &[Reference]) -> u64 {
    if links.is_empty() { 0 } else { array.address() }
}

/// Makes a `get_state` call: fills `words`, and makes the references in `links` lead to what the
/// object is linked to.
pub(crate) fn get_state(call: Call, object: u64, words: &mut [u64], links: &[Reference]) -> Result<(), Status> {
    let array = References::new(links);
    let arguments = [object, words.as_mut_ptr() as u64, 8 * words.len() as u64, links_address(&array, links)];
    // SAFETY: the kernel writes at most the size it is told, into `words`; every bit pattern is a
    // word.
    unsafe { enter(call, arguments) }.map(drop)
}

/// Makes a `set_state` call.
pub(crate) fn set_state(call: Call, object: u64, words: &[u64], links: &[Reference]) -> Result<(), Status> {
    let array = References::new(links);
    self::call(call, [object, words.as_ptr() as u64, 8 * words.len() as u64, links_address(&array, links)]).map(drop)
}

/// `memory_objects`.
pub(crate) fn memory_objects(start: u64, size: u64, entries: &mut [ObjectEntry]) -> Results {
    // SAFETY: the kernel writes at most as many entries as it is told; every bit pattern is an
    // entry.
    unsafe { enter(Call::MemoryObjects, [start, size, entries.as_mut_ptr() as u64, entries.len() as u64]) }
}

/// Makes a message call.
///
/// # Safety
/// `descriptor` is 0 or the address (with or without `RECEIVE_ONLY`) of a [`Descriptor`] whose
/// memory is the caller's to lend.
#[inline(always)]
unsafe fn exchange(call: Call, target: u64, info: u64, words: [u64; WORDS], descriptor: u64, timeout: u64) -> Result<Received, Status> {
    let (status, word, info_out): (u64, u64, u64);
    let [mut a, mut b, mut c, mut d, mut e, mut f] = words;
    // SAFETY: the registers lost and changed are those of the table above; memory is the caller's
    // promise.
    unsafe {
        asm!("syscall", inlateout("rax") call.number() => status, inlateout("rdi") target => word, inlateout("rsi") info => info_out,
            inlateout("rdx") a, inlateout("r8") b, inlateout("r9") c, inlateout("r10") d, inlateout("r12") e, inlateout("r13") f,
            in("r14") descriptor, inlateout("r15") timeout => _,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    Status(status).result().map(|()| Received { info: Info(info_out), word, words: [a, b, c, d, e, f] })
}

/// A message call with words alone, either way.
#[inline(always)]
pub(crate) fn message_words(call: Call, target: u64, info: u64, words: [u64; WORDS], timeout: u64) -> Result<Received, Status> {
    // SAFETY: without a descriptor the kernel touches no memory.
    unsafe { exchange(call, target, info, words, 0, timeout) }
}

/// A message call with all that a message can carry. That there is nothing but words is usually
/// known when this is compiled.
#[inline(always)]
pub(crate) fn message(call: Call, target: u64, message: &Message<'_>, buffers: Buffers<'_>, timeout: u64) -> Result<Received, Status> {
    if message.bytes.is_empty() && message.references.is_empty() && buffers.bytes.is_empty() && buffers.slots.is_empty() {
        return message_words(call, target, message.info(), message.words, timeout);
    }
    message_long(call, target, message, buffers, timeout)
}

#[inline(never)]
fn message_long(call: Call, target: u64, message: &Message<'_>, buffers: Buffers<'_>, timeout: u64) -> Result<Received, Status> {
    let (mut references, mut slots) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    let descriptor = Descriptor {
        send_address: message.bytes.address(),
        send_size: message.bytes.size() as u64,
        receive_address: buffers.bytes.address(),
        receive_capacity: buffers.bytes.size() as u64,
        send_references: array_address(message.references, &mut references),
        send_reference_count: message.references.len().min(8) as u64,
        receive_slots: array_address(buffers.slots, &mut slots),
        receive_slot_count: buffers.slots.len().min(8) as u64,
    };
    let only = if message.bytes.is_empty() && message.references.is_empty() { RECEIVE_ONLY } else { 0 };
    // SAFETY: the descriptor names the bytes of a `Span`, which may be read, and of a `SpanMut`,
    // which may be written, for the whole call.
    unsafe { exchange(call, target, message.info(), message.words, &raw const descriptor as u64 | only, timeout) }
}

/// The first page of a window as words, to be read and written by many at once; `None` if it is not
/// wholly there.
pub(crate) fn shared_words(window: Window) -> Option<&'static [AtomicU64; 512]> {
    let part = window.part(0, 4096).filter(|part| part.start().is_multiple_of(8))?;
    // SAFETY: a window is mapped memory, or an exception of who touches it, and holds no Rust
    // object but such words.
    Some(unsafe { &*(part.start() as *const [AtomicU64; 512]) })
}

/// Returns the first page of a window as words of 32 bits.
pub(crate) fn shared_halves(window: Window) -> Option<&'static [AtomicU32; 1024]> {
    let part = window.part(0, 4096).filter(|part| part.start().is_multiple_of(8))?;
    // SAFETY: as above.
    Some(unsafe { &*(part.start() as *const [AtomicU32; 1024]) })
}

/// Words of this program as a window.
pub(crate) fn window_of(words: &'static [AtomicU64]) -> Window {
    // SAFETY: nobody can borrow the words but as what many may write at once.
    unsafe { Window::anywhere(words.as_ptr() as u64, size_of_val(words) as u64) }
}

/// The processor's time-stamp counter.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: touches no memory; the two registers are all that changes.
    unsafe { asm!("rdtsc", out("rax") low, out("rdx") high, options(nostack, nomem, preserves_flags)) };
    high << 32 | low & 0xffff_ffff
}

/// A function that can be set at run time: a place for what a library needs of whoever uses it.
pub struct FunctionCell<F: Copy>(AtomicUsize, PhantomData<F>);

impl<F: Copy> FunctionCell<F> {
    /// A hook that nothing hangs on. `F` must be a type of function pointers.
    pub const fn new() -> FunctionCell<F> {
        FunctionCell(AtomicUsize::new(0), PhantomData)
    }
}

impl<F: Copy> Default for FunctionCell<F> {
    fn default() -> FunctionCell<F> {
        FunctionCell::new()
    }
}

macro_rules! hooks {
    ($($function:ty),*) => {$(
        impl FunctionCell<$function> {
            /// Hangs `function` on the hook, in place of what was there.
            pub fn set(&self, function: $function) {
                self.0.store(function as usize, Ordering::Release);
            }

            /// Returns the function that was set last.
            pub fn get(&self) -> Option<$function> {
                const { assert!(size_of::<$function>() == size_of::<usize>()) };
                match self.0.load(Ordering::Acquire) {
                    0 => None,
                    // SAFETY: only `set` stores anything but 0, and it stores a function of this
                    // type.
                    address => Some(unsafe { core::mem::transmute::<usize, $function>(address) }),
                }
            }
        }
    )*};
}

hooks!(fn() -> bool, fn() -> u64, fn(usize) -> Option<(usize, usize)>, fn(u64), fn(&str));

/// A slice that is set once, at run time.
pub(crate) struct OnceSlice<T: 'static> {
    start: AtomicPtr<T>,
    size: AtomicUsize,
    taken: AtomicBool,
}

impl<T: Sync + 'static> OnceSlice<T> {
    /// Returns an empty slice, which can be set once.
    pub(crate) const fn new() -> OnceSlice<T> {
        OnceSlice { start: AtomicPtr::new(core::ptr::null_mut()), size: AtomicUsize::new(0), taken: AtomicBool::new(false) }
    }

    /// Sets it. A second time nothing happens.
    pub(crate) fn set(&self, slice: &'static [T]) {
        if !self.taken.swap(true, Ordering::Relaxed) {
            self.size.store(slice.len(), Ordering::Relaxed);
            self.start.store(slice.as_ptr().cast_mut(), Ordering::Release);
        }
    }

    /// The slice.
    pub(crate) fn get(&self) -> &'static [T] {
        let start = self.start.load(Ordering::Acquire);
        if start.is_null() {
            return &[];
        }
        // SAFETY: `set` stored the parts of one slice, the start last, and nothing changes them
        // again.
        unsafe { core::slice::from_raw_parts(start, self.size.load(Ordering::Relaxed)) }
    }
}

/// 64 bits of RDSEED, if it has some now. The caller has found by `cpuid` that there is the
/// instruction.
pub fn rdseed() -> Option<u64> {
    let (value, has_some): (u64, u8);
    // SAFETY: the instruction changes one register and the flags.
    unsafe { asm!("rdseed {}", "setc {}", out(reg) value, out(reg_byte) has_some, options(nomem, nostack)) };
    (has_some != 0).then_some(value)
}

/// 64 bits of RDRAND, if it has some now. The caller has found by `cpuid` that there is the
/// instruction.
pub fn rdrand() -> Option<u64> {
    let (value, has_some): (u64, u8);
    // SAFETY: the instruction changes one register and the flags.
    unsafe { asm!("rdrand {}", "setc {}", out(reg) value, out(reg_byte) has_some, options(nomem, nostack)) };
    (has_some != 0).then_some(value)
}

/// Bytes that FXSAVE writes.
pub const FPU_SIZE: usize = 512;

/// Bytes where FXSAVE can write.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct FpuArea(pub [u8; FPU_SIZE]);

/// Returns the registers of the FPU and of SSE of the calling thread.
pub fn fpu_save() -> FpuArea {
    let mut area = FpuArea([0; FPU_SIZE]);
    // SAFETY: the instruction writes 512 bytes, aligned to 16, and nothing else.
    unsafe { asm!("fxsave64 [{}]", in(reg) &raw mut area, options(nostack, preserves_flags)) };
    area
}

/// Sets the registers of the FPU and of SSE. MXCSR has no bit that the processor lacks. On a host,
/// whose code uses these registers, it does nothing.
pub fn fpu_restore(area: &FpuArea) {
    // SAFETY: the area is aligned to 16, and code for this target uses none of the registers.
    #[cfg(target_os = "none")]
    unsafe {
        asm!("fxrstor64 [{}]", in(reg) area, options(nostack, preserves_flags, readonly));
    }
    let _ = area;
}
