//! The bootable kernel.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg_attr(target_arch = "x86_64", path = "x86_64/entry.rs")]
#[cfg(target_os = "none")]
mod entry;

#[cfg(target_os = "none")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    nacre_machine::panic(info)
}

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is the kernel: build it for a target without an operating system.");
}
