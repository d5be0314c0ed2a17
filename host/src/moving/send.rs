//! The subcommand `move`: an environment goes on in another machine.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use nacre_proto::Errno;
use nacre_proto::flags::{COMMAND_END, COMMAND_FREEZE, COMMAND_HOLD, COMMAND_RELEASE, COMMAND_ROUND};

use super::address::{Address, Link};
use super::rounds::is_worth_while;
use super::wire::{Broken, MAX_PART, Message, expect};
use crate::control::arguments::MoveArguments;
use crate::control::client::{Held, ask};
use crate::control::fork::{Target, target};
use crate::control::tasks::not_frozen;
use crate::failure::{Class, Failure, Outcome};
use crate::json::quote;

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
    let mut sizes = Vec::new();
    while is_worth_while(&sizes, arguments.rounds) {
        let size = send_round(&target, sizes.len(), &arguments.name, &mut link).map_err(|failure| goes_on(&arguments.name, failure))?;
        sizes.push(size);
    }
    let began = Instant::now();
    let (flags, number) = (target.flags | COMMAND_HOLD | COMMAND_ROUND, sizes.len().to_string());
    // Whatever fails from here on drops it, and by that the environment goes on.
    let (mut held, size) = Held::begin(target.machine, (COMMAND_FREEZE, flags, number.as_bytes()))?.map_err(|errno| not_frozen(&arguments.name, errno))?;
    sizes.push(size);
    carry(&mut held, size, &mut link).map_err(|failure| goes_on(&arguments.name, failure))?;
    let ready = expect(&mut link.from, &Message::Ready).map_err(|broken| Failure::new(Class::Guest, format!("{address}: {broken}")));
    ready.map_err(|failure| goes_on(&arguments.name, failure))?;
    end(&target, held.number, &arguments.name)?;
    let running = link.say(&Message::Go).and_then(|()| expect(&mut link.from, &Message::Running));
    running.map_err(|broken| {
        let said = format!("{} has ended here, and {address} did not say that it goes on there: {broken}", arguments.name);
        Failure::new(Class::Guest, said).remedy("look there: if it does not run, its image was kept, and `nacre thaw` goes on with it")
    })?;
    let (total, pause) = (sizes.iter().sum::<u64>(), began.elapsed().as_millis());
    if arguments.json {
        let all: Vec<String> = sizes.iter().map(u64::to_string).collect();
        println!("{{\"name\":{},\"to\":{},\"bytes\":{total},\"rounds\":[{}],\"paused_ms\":{pause}}}", quote(&arguments.name), quote(&address.to_string()), all.join(","));
    } else if !arguments.quiet {
        println!("{}: moved to {address}, {} KiB in {} rounds, paused for {pause} ms", arguments.name, total.div_ceil(1024), sizes.len());
    }
    Ok(0)
}

/// Sends a round while the environment goes on: its size.
fn send_round(target: &Target<'_>, round: usize, name: &str, link: &mut Link) -> Outcome<u64> {
    let (mut size, mut broken) = (0, None);
    let (_, errno) = ask(target.machine, (COMMAND_FREEZE, target.flags | COMMAND_ROUND, round.to_string().as_bytes()), None, |bytes| {
        size += bytes.len() as u64;
        let sent = bytes.chunks(MAX_PART as usize).try_for_each(|part| link.say(&Message::Part(part.len() as u64)).and_then(|()| Ok(link.write(part)?)));
        sent.map_err(|why| {
            broken = Some(why);
            ErrorKind::TimedOut.into()
        })
    })?;
    match (broken, errno) {
        (Some(why), _) => Err(refused(link, why)),
        (None, Some(Errno(0))) if size > 0 => link.say(&Message::Next).map(|()| size).map_err(|why| refused(link, why)),
        (None, errno) => Err(not_frozen(name, errno)),
    }
}

/// Returns the failure of a connection to which nothing can be written: the receiver may have said
/// why it reads no more.
fn refused(link: &mut Link, why: Broken) -> Failure {
    let said = expect(&mut link.from, &Message::Ready).err().filter(|said| matches!(said, Broken::Refused(_)));
    Failure::new(Class::Guest, said.unwrap_or(why).to_string())
}

/// Carries the last round to the receiver.
fn carry(held: &mut Held, size: u64, link: &mut Link) -> Outcome<()> {
    let mut broken = None;
    let is_whole = held.copy(size, |part| {
        let sent = link.say(&Message::Part(part.len() as u64)).and_then(|()| Ok(link.write(part)?));
        sent.map_err(|why| {
            broken = Some(why);
            ErrorKind::TimedOut.into()
        })
    })?;
    match broken {
        Some(why) => Err(refused(link, why)),
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
