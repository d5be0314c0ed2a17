//! The subcommand `move`: an environment goes on in another machine.

use std::time::{Duration, Instant};

use nacre_proto::Errno;
use nacre_proto::flags::{COMMAND_END, COMMAND_FREEZE, COMMAND_HOLD, COMMAND_RELEASE};

use super::address::{Address, Link};
use super::wire::{Broken, Message, expect};
use crate::control::arguments::MoveArguments;
use crate::control::client::{Held, ask};
use crate::control::fork::{Target, target};
use crate::control::tasks::not_frozen;
use crate::failure::{Class, Failure, Outcome};

/// Time for which a receiver may be silent. While it works it says so each second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Moves an environment to a receiver.
pub fn send(arguments: &MoveArguments) -> Outcome<i32> {
    let address = Address::read(&arguments.to).map_err(|why| Failure::new(Class::Usage, why))?;
    let target = target(&arguments.name);
    let mut link = Link::connect(&address)?;
    let nothing_done = |broken: Broken| Failure::new(Class::Guest, format!("{address}: {broken}"));
    link.set_patience(PATIENCE).map_err(|error| nothing_done(error.into()))?;
    link.say(&Message::Hello).and_then(|()| expect(&mut link.from, &Message::Hello)).map_err(nothing_done)?;
    let began = Instant::now();
    let command = (COMMAND_FREEZE, target.flags | COMMAND_HOLD, &b""[..]);
    // Whatever fails from here on drops it, and by that the environment goes on.
    let (mut held, size) = Held::begin(target.machine, command)?.map_err(|errno| not_frozen(&arguments.name, errno))?;
    carry(&mut held, size, &mut link).map_err(|failure| goes_on(&arguments.name, failure))?;
    let ready = expect(&mut link.from, &Message::Ready).map_err(|broken| Failure::new(Class::Guest, format!("{address}: {broken}")));
    ready.map_err(|failure| goes_on(&arguments.name, failure))?;
    end(&target, held.number, &arguments.name)?;
    let running = link.say(&Message::Go).and_then(|()| expect(&mut link.from, &Message::Running));
    running.map_err(|broken| {
        let said = format!("{} has ended here, and {address} did not say that it goes on there: {broken}", arguments.name);
        Failure::new(Class::Guest, said).remedy("look there: if it does not run, its image was kept, and `nacre thaw` goes on with it")
    })?;
    if !arguments.quiet {
        println!("{}: moved to {address}, {} KiB, paused for {} ms", arguments.name, size.div_ceil(1024), began.elapsed().as_millis());
    }
    Ok(0)
}

/// Carries the image to the receiver.
fn carry(held: &mut Held, size: u64, link: &mut Link) -> Outcome<()> {
    let mut broken = None;
    let is_whole = held.copy(size, |part| {
        let sent = link.say(&Message::Part(part.len() as u64)).and_then(|()| Ok(link.write(part)?));
        sent.map_err(|why| {
            broken = Some(why);
            std::io::ErrorKind::TimedOut.into()
        })
    })?;
    match broken {
        // It may have said why it reads no more.
        Some(why) => Err(Failure::new(Class::Guest, expect(&mut link.from, &Message::Ready).err().filter(|said| matches!(said, Broken::Refused(_))).unwrap_or(why).to_string())),
        None if !is_whole => Err(Failure::new(Class::Guest, "the machine ended before the image was whole")),
        None => link.say(&Message::End).map_err(|why| Failure::new(Class::Guest, why.to_string())),
    }
}

/// Ends the environment that stands still.
fn end(target: &Target<'_>, number: u64, name: &str) -> Outcome<()> {
    let (_, errno) = ask(target.machine, (COMMAND_RELEASE, target.flags | COMMAND_END, number.to_string().as_bytes()), None, |_| Ok(()))?;
    match errno {
        Some(Errno(0)) => Ok(()),
        _ => Err(Failure::new(Class::Guest, format!("{name} ended by itself while it was moved, or its machine did; it does not go on elsewhere"))),
    }
}

/// Returns a failure that says that nothing is lost.
fn goes_on(name: &str, failure: Failure) -> Failure {
    Failure { message: format!("{name} was not moved, and goes on here: {}", failure.message), ..failure }
}
