//! The end of the process, as the program asks for it.

use crate::abi::errno::Answer;
use crate::abi::registers::Frame;
use crate::process::Process;
use crate::process::end::end;

/// `exit_group(status)`, and `exit` of the last thread.
pub fn exit(process: &mut Process, frame: &mut Frame) -> Answer {
    end(process, frame.arguments()[0] & 0xff)
}
