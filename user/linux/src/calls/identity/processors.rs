//! Processors, as far as the program is told of them: how many there are says the parent, which
//! ones a thread was to run on is kept and told.

use crate::abi::errno::{Answer, EFAULT, EINVAL, EPERM};
use crate::abi::registers::Frame;
use crate::calls::identity::scheduling::is_there;
use crate::operations::proc;
use crate::operations::processors;
use crate::process::Process;

/// `sched_setaffinity(thread, size, mask)`: of another process's threads its library keeps it.
pub fn sched_setaffinity(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, size, address, ..] = frame.arguments();
    let bytes = process.memory.readable(address, (size & 0xffff_ffff).min(1024)).map_err(|_| EFAULT)?;
    let mask = bytes.iter().take(8).enumerate().fold(0, |mask, (number, byte)| mask | u64::from(*byte) << (8 * number));
    let which = which & 0xffff_ffff;
    if is_there(process, which)? {
        processors::set_processors(process, which, mask)?;
    } else {
        proc::remote_query::ask_processors(process, which, Some(mask))?;
    }
    Ok(0)
}

/// `sched_getaffinity(thread, size, mask)`.
pub fn sched_getaffinity(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, size, mask, ..] = frame.arguments();
    let (which, size) = (which & 0xffff_ffff, size & 0xffff_ffff);
    if size < 8 || size % 8 != 0 {
        return Err(EINVAL);
    }
    let own = process.me().number;
    let processors = match is_there(process, which)? {
        true if which == 0 => processors::processors_of(process, own),
        true => processors::processors_of(process, which),
        // One that does not tell is told of as many as this one.
        false => match proc::remote_query::ask_processors(process, which, None) {
            Err(EPERM) => processors::all_processors(process),
            answer => answer?,
        },
    };
    process.memory.write_words(mask, &[processors])?;
    Ok(8)
}
