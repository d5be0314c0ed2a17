//! Files of events of several tracers of one machine, merged into one.

mod arrows;
pub mod command;
mod line;
mod lines;
mod survey;
mod write;

#[cfg(test)]
mod tests;
