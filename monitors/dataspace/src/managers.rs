//! The managers that there are.

use crate::means::Means;
use crate::{anonymous, compressed, pinned};
use alloc::string::String;
use nacre_memory::stage::Plan;

/// Makes the plan of a manager.
pub type Make = for<'a> fn(&Means<'a>) -> Result<Plan<'a>, String>;

/// All managers.
pub const MANAGERS: &[(&str, Make)] = &[(anonymous::NAME, anonymous::make), (compressed::NAME, compressed::make), (pinned::NAME, pinned::make)];
