//! Extended attributes: no file has any, as on a Linux file system that does not keep them. Whether
//! the file is there is still told.

use crate::abi::errno::{Answer, EOPNOTSUPP};
use crate::abi::registers::Frame;
use crate::operations::paths::path_status::{check_descriptor, check_path};
use crate::process::Process;

/// `setxattr(path, ..)`, `getxattr(path, ..)`, `removexattr(path, ..)`.
pub fn of_path(process: &mut Process, frame: &mut Frame) -> Answer {
    check_path(process, frame.arguments()[0], true)?;
    Err(EOPNOTSUPP)
}

/// Carries out an attribute call on a symbolic link itself.
pub fn of_link(process: &mut Process, frame: &mut Frame) -> Answer {
    check_path(process, frame.arguments()[0], false)?;
    Err(EOPNOTSUPP)
}

/// Carries out an attribute call on an open file.
pub fn of_descriptor(process: &mut Process, frame: &mut Frame) -> Answer {
    check_descriptor(process, frame.arguments()[0])?;
    Err(EOPNOTSUPP)
}

/// `listxattr(path, ..)`: an empty list.
pub fn list(process: &mut Process, frame: &mut Frame) -> Answer {
    check_path(process, frame.arguments()[0], true).map(|()| 0)
}

/// `llistxattr(path, ..)`: an empty list.
pub fn list_of_link(process: &mut Process, frame: &mut Frame) -> Answer {
    check_path(process, frame.arguments()[0], false).map(|()| 0)
}

/// `flistxattr(descriptor, ..)`: an empty list.
pub fn list_of_descriptor(process: &mut Process, frame: &mut Frame) -> Answer {
    check_descriptor(process, frame.arguments()[0]).map(|()| 0)
}
