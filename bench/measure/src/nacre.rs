//! What is measured on Nacre.
use nacre_rt::Arguments;
pub fn measure(_arguments: &Arguments, _begun: u64) -> i32 { 0 }
