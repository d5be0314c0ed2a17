//! `nacre-symbols KERNEL`: fills the kernel image's room for function names.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: nacre-symbols KERNEL")?;
    let mut image = std::fs::read(&path)?;
    nacre_symbols::embed(&mut image)?;
    std::fs::write(&path, image)?;
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nacre-symbols: {error}");
            ExitCode::FAILURE
        }
    }
}
