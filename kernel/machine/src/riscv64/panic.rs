//! The end: there is no way to say anything yet.

use core::panic::PanicInfo;

/// A panic of Rust code.
pub fn panic(_info: &PanicInfo) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
