//! Checks whose failure is a sentence.

use alloc::format;
use alloc::string::String;
use nacre_abi::{Call, Code, Status};

/// Makes a call that must succeed.
pub fn must(call: Call, arguments: &[u64]) -> Result<(u64, u64), String> {
    crate::fixture::must(call, arguments).map_err(|status| format!("{}: {status:?}", call.name()))
}

/// Fails if two values differ.
pub fn equal<T: PartialEq + core::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what}: {found:x?}, not {wanted:x?}")) }
}

/// Fails if a result is not this error.
pub fn fails<T>(what: &str, result: Result<T, Status>, code: Code) -> Result<(), String> {
    match result {
        Ok(_) => Err(format!("{what}: succeeded, not {code:?}")),
        Err(status) if status.code() == Some(code) => Ok(()),
        Err(status) => Err(format!("{what}: {status:?}, not {code:?}")),
    }
}

/// Returns a function that describes an unexpected status.
pub fn text(what: &'static str) -> impl Fn(Status) -> String {
    move |status| format!("{what}: {status:?}")
}
