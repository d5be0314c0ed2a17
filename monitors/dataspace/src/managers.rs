//! The managers that there are.

use crate::means::Means;
use crate::{anonymous, coloured, compressed, device, file, persistent, physical, pinned};
use alloc::string::String;
use nacre_memory::stage::Plan;

/// Makes the plan of a manager.
pub type Make = for<'a> fn(&Means<'a>) -> Result<Plan<'a>, String>;

/// All managers.
pub const MANAGERS: &[(&str, Make)] = &[
    (anonymous::NAME, anonymous::make),
    (compressed::NAME, compressed::make),
    (persistent::NAME, persistent::make),
    (pinned::NAME, pinned::make),
    (physical::NAME, physical::make),
    (coloured::NAME, coloured::make),
    (device::NAME, device::make),
    (file::NAME, file::make),
];

/// Managers that are there only if the command line names them: each takes all its frames at the
/// start, or needs a file.
pub const OPTIONAL: &[&str] = &[persistent::NAME, physical::NAME, coloured::NAME, device::NAME, file::NAME];
