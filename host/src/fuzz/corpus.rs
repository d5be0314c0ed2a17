//! The corpus of a target: in the tree a file of inputs in base 16, one a line; for the engine a
//! folder with a file for each.

use std::fs;
use std::path::Path;

use crate::failure::{Class, Context, Failure, Outcome};

/// Bytes of a line.
pub fn decode(line: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = line.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|two| (two[0] << 4 | two[1]) as u8).collect())
}

fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Puts every line of `list` into `folder` as a file. A list that is not there has no lines.
pub fn unpack(list: &Path, folder: &Path) -> Outcome<()> {
    fs::create_dir_all(folder).context(Class::File, || format!("cannot make {}", folder.display()))?;
    for (number, line) in fs::read_to_string(list).unwrap_or_default().lines().enumerate() {
        let bytes = decode(line).ok_or_else(|| Failure::new(Class::File, format!("{}:{}: not base 16", list.display(), number + 1)))?;
        let path = folder.join(format!("seed-{number}"));
        fs::write(&path, bytes).context(Class::File, || format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Writes every file of `folder` as a line of `list`, the shortest first.
pub fn pack(folder: &Path, list: &Path) -> Outcome<usize> {
    let cannot = || format!("cannot read {}", folder.display());
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder).context(Class::File, cannot)? {
        lines.push(encode(&fs::read(entry.context(Class::File, cannot)?.path()).context(Class::File, cannot)?));
    }
    lines.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    lines.dedup();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(list, text).context(Class::File, || format!("cannot write {}", list.display()))?;
    Ok(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_goes_there_and_back() {
        let scratch = crate::scratch::Folder::new("corpus").unwrap();
        let folder = scratch.path();
        let (first, second) = (folder.join("first.txt"), folder.join("second.txt"));
        fs::write(&first, "00ff10\n\nab\n").unwrap();
        unpack(&first, &folder.join("inputs")).unwrap();
        assert_eq!(pack(&folder.join("inputs"), &second).unwrap(), 3);
        assert_eq!(fs::read_to_string(&second).unwrap(), "\nab\n00ff10\n");
        fs::write(&first, "0g\n").unwrap();
        assert!(unpack(&first, &folder.join("inputs")).is_err());
    }

    #[test]
    fn base_16_is_checked() {
        assert_eq!(decode("0aFf"), Some(vec![10, 255]));
        assert_eq!((decode("abc"), decode("zz")), (None, None));
    }
}
