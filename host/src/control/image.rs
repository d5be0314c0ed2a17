//! `image-info`: what is in an image of an environment. The image is read whole, so that one that
//! was altered is told as that.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use nacre_snapshot::image::{Facts, Fault, Origin, Port, Reader};
use nacre_snapshot::store::{Memory, Store};

use super::arguments::ImageInfoArguments;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::json::quote;

/// Shows what is in an image.
pub fn image_info(arguments: &ImageInfoArguments) -> Outcome<i32> {
    let shown = arguments.image.display();
    let file = File::open(&arguments.image).context(Class::File, || format!("cannot read {shown}"))?;
    let facts = read_file(file).map_err(|fault| Failure::new(Class::File, format!("{shown}: {fault}")))?;
    print!("{}", if arguments.json { to_json(&facts) } else { to_text(&facts) });
    Ok(0)
}

fn read_file(file: File) -> Result<Facts, Fault> {
    let (mut file, apart) = find(file)?;
    let source = |into: &mut [u8]| file.read_exact(into).map_err(|error| if error.kind() == ErrorKind::UnexpectedEof { Fault::Truncated } else { Fault::File });
    let facts = read(source, apart.is_some())?;
    Ok(Facts { pages: facts.pages + apart.unwrap_or(0), ..facts })
}

/// A file that may be a store.
struct Stored(File);

impl Memory for Stored {
    fn size(&self) -> u64 {
        self.0.metadata().map_or(0, |facts| facts.len())
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Option<()> {
        self.0.read_exact_at(into, at).ok()
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Option<()> {
        None
    }
}

/// Finds the image in a file. If that is a store, it is the newest, with the number of pages beside
/// it.
fn find(file: File) -> Result<(impl Read, Option<u64>), Fault> {
    let (start, size, apart) = match Store::open(Stored(file.try_clone().map_err(|_| Fault::File)?)) {
        Err(Fault::NoImage) => (0, u64::MAX, None),
        Err(fault) => return Err(fault),
        Ok(store) => {
            let stored = store.newest()?;
            (stored.stream_start(), stored.stream, Some(store.filled(&stored, (0, stored.data)).len() as u64))
        }
    };
    let mut file = BufReader::new(file);
    file.seek(SeekFrom::Start(start)).map_err(|_| Fault::File)?;
    Ok((file.take(size), apart))
}

/// Number of images that were written to a store before its newest one; `None`: it has none.
pub fn generation(path: &Path) -> Option<u64> {
    let store = Store::open(Stored(File::open(path).ok()?)).ok()?;
    store.newest().ok().map(|stored| stored.generation)
}

/// Returns true if the file is an image of an environment in which a guest machine runs.
pub fn has_machine(path: &Path) -> bool {
    let Ok(Ok((mut file, _))) = File::open(path).map(find) else { return false };
    let reader = Reader::new(|into: &mut [u8]| file.read_exact(into).map_err(|_| Fault::File));
    reader.is_ok_and(|reader| reader.facts().command.iter().any(|word| names(word, b"machine")))
}

/// Returns true if a word is a name, or a script that has it.
fn names(word: &[u8], name: &[u8]) -> bool {
    word.split(|byte| !byte.is_ascii_alphanumeric()).any(|part| part == name)
}

/// Reads an image to its end, which lies in a store if its pages may be raw.
fn read(source: impl FnMut(&mut [u8]) -> Result<(), Fault>, is_raw: bool) -> Result<Facts, Fault> {
    let mut reader = Reader::new(source)?;
    if is_raw {
        reader.read_raw();
    }
    while reader.pages()?.is_some() {}
    Ok(reader.facts().clone())
}

/// Objects by their kinds.
fn counts(facts: &Facts) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for object in &facts.objects {
        *counts.entry(format!("{:?}", object.kind).to_lowercase()).or_insert(0) += 1;
    }
    counts
}

fn words(facts: &Facts) -> Vec<String> {
    facts.command.iter().map(|word| plain(word)).collect()
}

/// Bytes as text that moves no cursor: the image is not trusted.
fn plain(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// Returns what has to be there when it is thawed, in words.
fn needs(facts: &Facts) -> Vec<String> {
    let mut all: Vec<String> = facts.ports.iter().flatten().filter_map(|port| match port {
        Port::Outside(Origin::File(path, ..) | Origin::Program(path)) => Some(plain(path)),
        Port::Outside(Origin::Lost(what)) => Some(format!("{} (cannot be got again)", plain(what))),
        _ => None,
    }).collect();
    all.sort();
    all.dedup();
    all
}

fn changed(facts: &Facts) -> Vec<(String, &'static str, usize)> {
    facts.changes.iter().map(|change| (plain(&change.path), if change.mode == 0 { "removed" } else { "written" }, change.contents.len())).collect()
}

/// Returns the date and the time of day, by seconds since 1970.
fn date(seconds: u64) -> String {
    // Years begin with March here, so that a leap day is their last: 146,097 days have 400 years.
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", era * 400 + year + next, rest / 3_600, rest / 60 % 60, rest % 60)
}

fn to_text(facts: &Facts) -> String {
    let mut text = format!("command    {}\n", words(facts).join(" "));
    text += &format!("frozen at  {} UTC, {:.3} s after its start\n", date(facts.frozen_at), facts.monotonic as f64 / 1e9);
    text += &format!("memory     {} KiB used of {} KiB; {} pages in the image\n", facts.size >> 10, facts.limit >> 10, facts.pages);
    let kinds: Vec<String> = counts(facts).iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    text += &format!("objects    {}: {}\n", facts.objects.len(), kinds.join(", "));
    text += &format!("threads    {} were running; {} requests wait outside\n", facts.running.len(), facts.waiting.len());
    for need in needs(facts) {
        text += &format!("needs      {need}\n");
    }
    for (path, how, size) in changed(facts) {
        text += &format!("{how:<10} {path} ({size} bytes)\n");
    }
    text
}

fn to_json(facts: &Facts) -> String {
    let strings = |all: &[String]| all.iter().map(|text| quote(text)).collect::<Vec<_>>().join(",");
    let kinds: Vec<String> = counts(facts).iter().map(|(kind, count)| format!("{}:{count}", quote(kind))).collect();
    let changes: Vec<String> = changed(facts).iter().map(|(path, how, size)| format!("{{\"path\":{},\"how\":{},\"bytes\":{size}}}", quote(path), quote(how))).collect();
    format!(
        "{{\"command\":[{}],\"frozen_at\":{},\"monotonic_ns\":{},\"memory\":{},\"limit\":{},\"pages\":{},\"objects\":{{{}}},\"running\":{},\"waiting\":{},\"needs\":[{}],\"changes\":[{}]}}\n",
        strings(&words(facts)), facts.frozen_at, facts.monotonic, facts.size, facts.limit, facts.pages, kinds.join(","), facts.running.len(), facts.waiting.len(), strings(&needs(facts)), changes.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_snapshot::image::{Change, Writer};

    fn image() -> Vec<u8> {
        let mut bytes = Vec::new();
        let facts = Facts {
            command: vec![b"sh\x1b".to_vec(), b"-c".to_vec()],
            size: 4096,
            ports: vec![Some(Port::Outside(Origin::File(b"/etc/x".to_vec(), 0, 0)))],
            changes: vec![Change { path: b"/tmp/y".to_vec(), mode: 0o100644, contents: vec![1, 2], ..Change::default() }],
            ..Facts::default()
        };
        Writer::new(|part: &[u8]| { bytes.extend_from_slice(part); Ok(()) }, &facts).and_then(Writer::end).unwrap();
        bytes
    }

    fn read_bytes(mut bytes: &[u8]) -> Result<Facts, Fault> {
        read(|into| bytes.read_exact(into).map_err(|_| Fault::Truncated), false)
    }

    #[test]
    fn an_image_says_what_it_holds_and_needs() {
        let facts = read_bytes(&image()).unwrap();
        let text = to_text(&facts);
        assert!(text.contains("command    sh? -c\n") && text.contains("needs      /etc/x\n") && text.contains("written    /tmp/y (2 bytes)\n"), "{text}");
        assert!(to_json(&facts).contains("\"needs\":[\"/etc/x\"]"));
    }

    #[test]
    fn seconds_are_told_as_a_date() {
        let told = [(0, "1970-01-01 00:00:00"), (951_782_399, "2000-02-28 23:59:59"), (951_782_400, "2000-02-29 00:00:00"), (1_709_251_199, "2024-02-29 23:59:59"), (1_798_761_600, "2027-01-01 00:00:00"), (4_107_542_400, "2100-03-01 00:00:00")];
        for (seconds, shown) in told {
            assert_eq!(date(seconds), shown);
        }
    }

    #[test]
    fn one_that_was_cut_off_or_altered_is_told_as_that() {
        let whole = image();
        assert_eq!(read_bytes(&whole[..whole.len() - 1]).err(), Some(Fault::Truncated));
        let mut altered = whole.clone();
        altered[60] ^= 1;
        assert!(read_bytes(&altered).is_err() && read_bytes(b"hello").is_err());
    }
}
