//! A test monitor: its program meets a failure at a message that is named by its number.
//!
//! It stands between the program and everything else, by the nesting library's interposition layer.
//! Reading on: `fault`.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]
#![forbid(unsafe_code)]

extern crate alloc;

mod fault;
mod options;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use fault::Fault;
use nacre_nest::Services;
use nacre_nest::command::{FAILED, complain, explain};
use nacre_nest::interpose::stage;
use nacre_rt::Arguments;
use options::{MANIFEST, Options};

nacre_rt::entry!(faulty);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Name in messages.
const NAME: &str = "faulty";

fn run(options: &Options<'_>, arguments: &Arguments) -> Result<i32, String> {
    let services = Services::find().map_err(|refusal| refusal.to_string())?;
    let fault = Fault::new(options, stage::name(options.command));
    stage::run(fault, false, services, options.command, arguments)
}

fn faulty(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match options::parse(&words) {
        Err(stop) => explain(&MANIFEST, &stop),
        Ok(options) => run(&options, arguments).unwrap_or_else(|text| {
            complain(NAME, &text);
            FAILED
        }),
    }
}
