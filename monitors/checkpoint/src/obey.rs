//! Carrying out commands: which environment a command is for, and what is done with it.

use crate::files::write_unnamed;
use crate::fork::fork;
use crate::stored;
use crate::world::{Awaited, ORIGINAL, World};
use crate::{NAME, tell, tell_fork};
use alloc::format;
use alloc::string::String;
use nacre_control::attendance::PART;
use nacre_control::{Command, attendance};
use nacre_nest::command::complain;
use nacre_proto::Errno;
use nacre_proto::flags::{COMMAND_END, COMMAND_FORK, COMMAND_FREEZE, COMMAND_HOLD, COMMAND_KILL, COMMAND_LIST, COMMAND_LOGS, COMMAND_RELEASE, COMMAND_ROUND, COMMAND_STORE, COMMAND_WAIT, COPY_SHIFT};

/// Carries out the commands that have come. True: nothing is to go on.
pub fn obey(world: &mut World, has_figures: bool) -> bool {
    while let Some(mut command) = world.desk.take() {
        let number = command.flags >> COPY_SHIFT;
        command.flags &= (1 << COPY_SHIFT) - 1;
        match command.operation {
            COMMAND_LIST => list(world, command),
            COMMAND_LOGS => {
                let result = tell_log(world, number, &command);
                world.desk.end(command.number, result.err().unwrap_or(Errno(0)));
            }
            _ if !world.lives.contains_key(&number) => world.desk.end(command.number, Errno::ESRCH),
            COMMAND_FREEZE => {
                let result = freeze_now(world, number, &command, has_figures);
                let is_done = result.is_ok();
                if is_done && command.flags & COMMAND_HOLD != 0 {
                    // It is done when it is released.
                    continue;
                }
                world.desk.end(command.number, result.err().unwrap_or(Errno(0)));
                if is_done && command.flags & COMMAND_END != 0 && ends(world, number) {
                    return true;
                }
            }
            COMMAND_RELEASE => {
                let result = release_now(world, number, &command);
                world.desk.end(command.number, result.err().unwrap_or(Errno(0)));
                if result.is_ok() && command.flags & COMMAND_END != 0 && ends(world, number) {
                    return true;
                }
            }
            COMMAND_FORK => fork_now(world, number, &command, has_figures),
            COMMAND_KILL if command.flags & COMMAND_END != 0 => {
                ends(world, number);
                world.desk.end(command.number, Errno(0));
            }
            _ => {
                if let Some(life) = world.lives.get_mut(&number) {
                    life.outside.commands.pass(command);
                }
            }
        }
    }
    false
}

/// Ends an environment by force. True: it was the only one.
fn ends(world: &mut World, number: u64) -> bool {
    if let Some(life) = world.lives.get_mut(&number) {
        life.outside.ended.get_or_insert(nacre_nest::host::KILLED);
    }
    world.lives.len() == 1
}

/// Tells what a copy has written last.
fn tell_log(world: &World, number: u64, command: &Command) -> Result<(), Errno> {
    let running = world.lives.get(&number).and_then(|life| life.outside.input.as_ref()).map(|input| &input.log);
    let bytes = running.or_else(|| world.ended.get(number)).ok_or(Errno::ESRCH)?.bytes();
    bytes.chunks(PART).try_for_each(|part| world.desk.answer_whole(command.number, part))
}

/// Lists all environments.
fn list(world: &mut World, command: Command) {
    world.desk.share(command.number, world.lives.len());
    let told = world.history.figures();
    for (number, life) in &mut world.lives {
        life.outside.send_list(command.clone(), if *number == ORIGINAL { &told } else { &[] });
    }
}

/// Freezes an environment for a command, which gets the image. An environment that is to end or to
/// be held stands still from then on; if its image could not be handed over, it goes on.
fn freeze_now(world: &mut World, number: u64, command: &Command, has_figures: bool) -> Result<(), Errno> {
    let stands_still = command.flags & (COMMAND_END | COMMAND_HOLD) != 0;
    let failed = |why: String| {
        complain(NAME, &why);
        Errno::EIO
    };
    if command.flags & COMMAND_STORE != 0 {
        if number != ORIGINAL || command.flags & (COMMAND_HOLD | COMMAND_ROUND) != 0 {
            return Err(Errno::EINVAL);
        }
        let figures = stored::write(world, stands_still.then_some(command.number)).map_err(|why| failed(format!("/dev/store: {why}")))?;
        tell(world, number, &figures, has_figures);
        return Ok(());
    }
    let round = match command.flags & COMMAND_ROUND {
        0 => None,
        _ => Some(nacre_control::exec::number(&command.text).ok_or(Errno::EINVAL)?),
    };
    let (file, figures) = write_unnamed(world, number, stands_still.then_some(command.number), round).map_err(failed)?;
    tell(world, number, &figures, has_figures);
    let handed = attendance::answer_file(command, file.handle());
    if handed.is_err() && let Some(life) = world.lives.get_mut(&number) && stands_still {
        life.release().map_err(failed)?;
    }
    handed
}

/// Lets an environment go on that stands still for the command which the text names, unless it is
/// to end. The command that froze it is done with that.
fn release_now(world: &mut World, number: u64, command: &Command) -> Result<(), Errno> {
    let named = nacre_control::exec::number(&command.text).ok_or(Errno::EINVAL)?;
    let life = world.lives.get_mut(&number).filter(|life| life.held.as_ref().is_some_and(|held| held.command == named)).ok_or(Errno::ESRCH)?;
    let released = if command.flags & COMMAND_END != 0 { Ok(()) } else { life.release() };
    if named != 0 {
        world.desk.end(named, Errno(0));
    }
    released.map_err(|why| {
        complain(NAME, &why);
        Errno::EIO
    })
}

/// Makes copies for a command, which is told their numbers, and, if it waits, how each ends.
fn fork_now(world: &mut World, number: u64, command: &Command, has_figures: bool) {
    let done = request(&command.text).ok_or(Errno::EINVAL).and_then(|(count, input)| {
        fork(world, number, count, input).map_err(|why| {
            complain(NAME, &why);
            Errno::ENOMEM
        })
    });
    let forked = match done {
        Ok(forked) => forked,
        Err(errno) => return world.desk.end(command.number, errno),
    };
    tell_fork(&forked, has_figures);
    let lines: String = forked.copies.iter().map(|copy| format!("{copy}\tstarted\t-\n")).collect();
    // Who asked may have gone.
    let _ = world.desk.answer(command.number, lines.as_bytes());
    if command.flags & COMMAND_WAIT != 0 {
        world.awaited.push(Awaited { command: command.number, copies: forked.copies });
    } else {
        world.desk.end(command.number, Errno(0));
    }
}

/// Takes the text of a fork apart: the number of copies, and what they read, if anything.
fn request(text: &[u8]) -> Option<(u64, Option<&[u8]>)> {
    let end = text.iter().position(|byte| *byte == b'\n');
    let (count, input) = match end {
        Some(end) => (&text[..end], text.get(end + 1..)),
        None => (text, None),
    };
    let count = core::str::from_utf8(count).ok()?.parse().ok()?;
    Some((count, input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_has_a_number_and_perhaps_input() {
        assert_eq!(request(b"3"), Some((3, None)));
        assert_eq!(request(b"1\nab\nc"), Some((1, Some(&b"ab\nc"[..]))));
        assert_eq!(request(b"1\n"), Some((1, Some(&b""[..]))));
        for wrong in [&b""[..], b"\n", b"x", b"-1", b"99999999999999999999", b"1 \n"] {
            assert_eq!(request(wrong), None);
        }
    }
}
