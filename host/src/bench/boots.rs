//! Runs of the measuring program.

use std::time::Duration;

use super::table::Figures;
use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Failure, Outcome};
use crate::rings::describe;
use crate::run::machine;
use crate::scratch::Scratch;
use crate::session::Limits;
use crate::session::capture::{Captured, capture};
use crate::session::terminal::Facts;

/// A guard against hanging.
pub const LIMIT: Duration = Duration::from_secs(1800);

/// Runs a command without a monitor.
pub fn boot(products: &Products, words: &[&str], arguments: MachineArguments) -> Outcome<Captured> {
    let guest = GuestArguments { bare: true, command: words.iter().map(Into::into).collect(), ..GuestArguments::default() };
    let guest = Guest::compose(products, &guest, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    capture(&machine(products, &image, arguments), Limits { timeout: Some(LIMIT), ..Limits::default() }, b"")
}

/// Returns the figures that a system printed; without any the run failed.
pub fn figures(captured: &Captured) -> Outcome<Figures> {
    let figures = Figures::parse(&String::from_utf8_lossy(&captured.output));
    if figures.is_empty() {
        eprintln!("{}", describe(captured));
        return Err(Failure::new(Class::Guest, "the measuring program printed no figures").remedy("what it said is above"));
    }
    figures.unmeasured().for_each(|line| eprintln!("nacre: {line}"));
    Ok(figures)
}
