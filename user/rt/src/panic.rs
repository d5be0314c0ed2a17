//! A panic: one line to whoever runs the system, then the end with status 101.

/// Status of a program that panicked, as Rust has it.
#[cfg(target_os = "none")]
const STATUS: i32 = 101;

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
    crate::exit(STATUS)
}
