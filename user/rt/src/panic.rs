//! A panic: one line to whoever runs the system, then the end with status 101; of a program that
//! has no memory any more, the end that Linux gives it.

/// Status of a program that panicked, as Rust has it.
#[cfg(target_os = "none")]
const STATUS: i32 = 101;
/// `SIGKILL`.
#[cfg(target_os = "none")]
const KILL: u64 = 9;

#[cfg(target_os = "none")]
#[panic_handler]
fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
    use core::sync::atomic::{AtomicBool, Ordering};

    static PANICKED: AtomicBool = AtomicBool::new(false);
    // A panic while another is reported ends without a line.
    if !PANICKED.swap(true, Ordering::Relaxed) {
        match information.location() {
            Some(place) => crate::report!("panicked at {place}: {}", information.message()),
            None => crate::report!("panicked: {}", information.message()),
        }
    }
    if crate::heap::is_exhausted() {
        crate::exit::exit_by_signal(KILL);
    }
    crate::exit(STATUS)
}
