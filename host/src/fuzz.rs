//! `nacre fuzz`: the hostile program in the system, or an engine that follows coverage on this
//! machine.

pub mod arguments;
mod corpus;
mod engine;
mod system;

use arguments::FuzzArguments;
use crate::failure::Outcome;
use crate::tree::Tree;

/// Runs the engine on a target, or without a target the hostile program in the system.
pub fn fuzz(tree: &Tree, arguments: &FuzzArguments) -> Outcome<i32> {
    match &arguments.target {
        Some(target) => engine::fuzz(tree, target, arguments),
        None => system::fuzz(tree, arguments),
    }
}
