//! The command line: `checkpoint [-o FILE] [--keep N] [--after SECONDS] [--every SECONDS] [--key]
//! [--fork N] [--end] [-m SIZE] [--stats] [--thaw FILE] [--hold] [--warm TEXT] [--]
//! [PROGRAM [ARGUMENTS]]`.

use crate::manifest::MANIFEST;
use alloc::vec::Vec;
use nacre_manifest::kept;
use nacre_nest::command::{Given, Stop, size};

/// A command line that was understood.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// Path of the image that is written.
    pub output: Option<&'a [u8]>,
    /// Number of images that stay, if it was said.
    pub kept: Option<u64>,
    /// A key freezes.
    pub has_key: bool,
    /// Nanoseconds until the first freeze.
    pub after: Option<u64>,
    /// Nanoseconds between two freezes.
    pub every: Option<u64>,
    /// Number of copies that are made then.
    pub copies: Option<u64>,
    /// The monitor ends when the first image is written.
    pub ends: bool,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Freezes are told.
    pub stats: bool,
    /// Path of the image to go on with.
    pub thaw: Option<&'a [u8]>,
    /// The environment of the image stands still until a command lets it go on.
    pub holds: bool,
    /// Input of the copies that run, instead of the environment of the image, one after the other.
    pub warm: Vec<&'a [u8]>,
    /// The program and its arguments.
    pub command: &'a [&'a [u8]],
}

/// Takes `arguments` (without the name of the command) apart.
pub fn parse<'a>(mut arguments: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let mut options = Options::default();
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut arguments)? {
        match name {
            b"-o" => options.output = Some(value),
            b"--after" => options.after = Some(nanoseconds(value).ok_or(Stop::Value(name))?),
            b"--every" => options.every = Some(nanoseconds(value).filter(|time| *time > 0).ok_or(Stop::Value(name))?),
            b"--keep" => options.kept = Some(kept(value).ok_or(Stop::Value(name))?),
            b"--key" => options.has_key = true,
            b"--end" => options.ends = true,
            b"--fork" => options.copies = Some(core::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).ok_or(Stop::Value(name))?),
            b"--stats" => options.stats = true,
            b"--hold" => options.holds = true,
            b"--warm" => options.warm.push(value),
            b"--thaw" => options.thaw = Some(value),
            _ => options.memory = Some(size(value).ok_or(Stop::Value(name))?),
        }
    }
    options.command = arguments;
    let freezes = options.after.is_some() || options.every.is_some() || options.has_key;
    match () {
        () if options.thaw.is_some() != arguments.is_empty() => Err(Stop::NoProgram),
        () if options.thaw.is_none() && (options.holds || !options.warm.is_empty()) => Err(Stop::Value(b"--thaw")),
        () if options.holds && !options.warm.is_empty() => Err(Stop::Value(b"--hold")),
        // Images need a file, and a file needs a time.
        // Copies that come one after the other are not frozen.
        () if options.has_key && !options.warm.is_empty() => Err(Stop::Value(b"--key")),
        () if options.kept.is_some() && options.output.is_none() => Err(Stop::Value(b"-o")),
        () if freezes && options.output.is_none() && options.copies.is_none() => Err(Stop::Value(b"-o")),
        () if !freezes && (options.output.is_some() || options.ends || options.copies.is_some()) => Err(Stop::Value(b"--after")),
        () => Ok(options),
    }
}

/// A number of seconds in decimal digits, with a fraction of up to nine.
fn nanoseconds(text: &[u8]) -> Option<u64> {
    let text = core::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let part: u64 = fraction.parse::<u64>().ok()? * 10u64.pow(9 - fraction.len() as u32);
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_or_an_image_is_named() {
        assert_eq!(parse(&[b"ls"]).map(|options| options.command.len()), Ok(1));
        assert_eq!(parse(&[b"--thaw", b"x"]).map(|options| options.thaw), Ok(Some(&b"x"[..])));
        assert_eq!(parse(&[]), Err(Stop::NoProgram));
        assert_eq!(parse(&[b"--thaw", b"x", b"ls"]), Err(Stop::NoProgram));
    }

    #[test]
    fn a_key_is_a_time_and_images_that_stay_need_a_file() {
        assert_eq!(parse(&[b"-o", b"f", b"--key", b"--keep", b"3", b"ls"]).map(|options| (options.has_key, options.kept)), Ok((true, Some(3))));
        assert_eq!(parse(&[b"--key", b"ls"]), Err(Stop::Value(b"-o")));
        assert_eq!(parse(&[b"--thaw", b"x", b"--warm", b"a", b"-o", b"f", b"--key"]), Err(Stop::Value(b"--key")));
        assert_eq!(parse(&[b"--keep", b"3", b"ls"]), Err(Stop::Value(b"-o")));
        for wrong in [&b"0"[..], b"1001", b"x", b"-1", b""] {
            assert_eq!(parse(&[b"-o", b"f", b"--every", b"1", b"--keep", wrong, b"ls"]), Err(Stop::Value(b"--keep")), "{wrong:?}");
        }
    }

    #[test]
    fn copies_need_a_time_or_an_image() {
        assert_eq!(parse(&[b"--after", b"1", b"--fork", b"2", b"ls"]).map(|options| options.copies), Ok(Some(2)));
        assert_eq!(parse(&[b"--fork", b"2", b"ls"]), Err(Stop::Value(b"--after")));
        assert_eq!(parse(&[b"--after", b"1", b"--fork", b"-2", b"ls"]), Err(Stop::Value(b"--fork")));
        assert_eq!(parse(&[b"--warm", b"a", b"ls"]), Err(Stop::Value(b"--thaw")));
        assert_eq!(parse(&[b"--hold", b"ls"]), Err(Stop::Value(b"--thaw")));
        assert_eq!(parse(&[b"--thaw", b"x", b"--hold", b"--warm", b"a"]), Err(Stop::Value(b"--hold")));
        assert_eq!(parse(&[b"--thaw", b"x", b"--warm", b"a", b"--warm", b"b"]).map(|options| options.warm.len()), Ok(2));
    }

    #[test]
    fn images_need_a_file_and_a_time() {
        let freezes = parse(&[b"-o", b"f", b"--every", b"0.5", b"--end", b"ls"]);
        assert_eq!(freezes.map(|options| (options.every, options.ends)), Ok((Some(500_000_000), true)));
        assert_eq!(parse(&[b"-o", b"f", b"ls"]), Err(Stop::Value(b"--after")));
        assert_eq!(parse(&[b"--after", b"1", b"ls"]), Err(Stop::Value(b"-o")));
        for wrong in [&b"x"[..], b"1.", b".5", b"1.2.3", b"-1", b"99999999999999"] {
            assert_eq!(parse(&[b"-o", b"f", b"--after", wrong, b"ls"]), Err(Stop::Value(b"--after")), "{wrong:?}");
        }
    }
}
