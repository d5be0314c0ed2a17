//! Root: the first program. Its logic is the library beside this file.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
extern crate alloc;

#[cfg(target_os = "none")]
mod start {
    use nacre_rt::{exit, heap, report};

    nacre_rt::root_entry!(main, 128 << 10);

    fn main() -> ! {
        heap::set_source(nacre_root::memory::grow_heap);
        report::set_sink(nacre_root::hardware::say);
        exit::set_ending(nacre_root::hardware::give_up);
        if let Err(failure) = nacre_root::run::run() {
            nacre_rt::report!("root cannot go on: {failure:?}");
        }
        nacre_rt::exit(0)
    }
}

/// There is nothing to run on a host.
#[cfg(not(target_os = "none"))]
fn main() {}
