//! `nacre image`: a disc that GRUB boots, on machines with a BIOS and with UEFI.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use crate::boot::guest::Guest;
use crate::builds::{self, Products};
use crate::cli::{GuestArguments, ImageArguments, Seed};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::scratch::Folder;
use crate::session::terminal::Facts;
use crate::tree::Tree;

const PACKAGES: &str = "grub-common grub-pc-bin grub-efi-amd64-bin mtools xorriso";

/// Offsets in an ELF file's first 64 bytes: position, size and number of the program headers;
/// position and number of the sections, and the index of the one that names them.
const PROGRAM_HEADERS: usize = 0x20;
const HEADER_SIZE: usize = 0x36;
const HEADER_COUNT: usize = 0x38;
const SECTION_HEADERS: Range<usize> = 0x28..0x30;
const SECTION_COUNTS: Range<usize> = 0x3c..0x40;
/// Offsets in a program header: position and size in the file.
const OFFSET: usize = 0x8;
const SIZE: usize = 0x20;

const CONFIGURATION: &str = "\
set timeout=0
menuentry 'Nacre' {
    multiboot2 /boot/nacre-kernel
    module2 /boot/nacre-image
    boot
}
";

/// Writes the disc.
pub fn image(tree: &Tree, arguments: &ImageArguments) -> Outcome<i32> {
    let products = builds::ensure_for(tree, &arguments.guest.command)?;
    if arguments.boot_image {
        let image = compose(&products, &arguments.guest)?.image;
        fs::write(&arguments.output, image).context(Class::File, || format!("cannot write {}", arguments.output.display()))?;
    } else {
        write(&products, &arguments.guest, &arguments.output)?;
    }
    Ok(0)
}

/// A guest that any machine may boot, at a serial terminal of the usual size.
fn compose(products: &Products, arguments: &GuestArguments) -> Outcome<Guest> {
    let facts = Facts { is_terminal: true, is_one_output: true, ..Facts::PIPE };
    Guest::compose(products, &GuestArguments { seed: Seed::Processor, starts_here: true, ..arguments.clone() }, &facts)
}

/// Writes a disc that boots what `arguments` name.
pub fn write(products: &Products, arguments: &GuestArguments, output: &Path) -> Outcome<()> {
    let guest = compose(products, arguments)?;
    let staging = Folder::new("disc")?;
    let cannot = || format!("cannot fill {}", staging.path().display());
    fs::create_dir_all(staging.path().join("boot/grub")).context(Class::File, cannot)?;
    fs::write(staging.path().join("boot/nacre-image"), &guest.image).context(Class::File, cannot)?;
    let kernel = fs::read(&products.kernel).context(Class::File, || format!("cannot read {}", products.kernel.display()))?;
    let kernel = loaded_part(kernel).ok_or_else(|| Failure::new(Class::File, format!("{} is no program", products.kernel.display())))?;
    fs::write(staging.path().join("boot/nacre-kernel"), kernel).context(Class::File, cannot)?;
    fs::write(staging.path().join("boot/grub/grub.cfg"), CONFIGURATION).context(Class::File, cannot)?;
    make_disc(staging.path(), output)
}

/// A program as an ELF file of 64 bits without sections, and without what lies behind what is
/// loaded. GRUB loads all sections, those for debuggers too, and under a BIOS it does not come to
/// an end with ours.
fn loaded_part(mut file: Vec<u8>) -> Option<Vec<u8>> {
    let word = |at: usize| Some(u64::from_le_bytes(file.get(at..at.checked_add(8)?)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_le_bytes(file.get(at..at + 2)?.try_into().ok()?));
    let (headers, size, count) = (word(PROGRAM_HEADERS)?, u64::from(half(HEADER_SIZE)?), u64::from(half(HEADER_COUNT)?));
    let mut end = headers.checked_add(size * count)?;
    for number in 0..count {
        let at = usize::try_from(headers.checked_add(number * size)?).ok()?;
        end = end.max(word(at.checked_add(OFFSET)?)?.checked_add(word(at.checked_add(SIZE)?)?)?);
    }
    let end = usize::try_from(end).ok().filter(|end| (64..=file.len()).contains(end))?;
    file.truncate(end);
    file[SECTION_HEADERS].fill(0);
    file[SECTION_COUNTS].fill(0);
    Some(file)
}

fn make_disc(staging: &Path, output: &Path) -> Outcome<()> {
    let mut command = Command::new("grub-mkrescue");
    command.arg("-o").arg(output).arg(staging);
    let remedy = format!("install Debian's packages {PACKAGES}");
    let made = command.output().context(Class::Machine, || "cannot start grub-mkrescue".to_string());
    let made = made.map_err(|failure| failure.remedy(remedy.clone()))?;
    // xorriso ends with 0 even when it could not write.
    if made.status.success() && output.is_file() {
        return Ok(());
    }
    eprint!("{}", String::from_utf8_lossy(&made.stderr));
    Err(Failure::new(Class::File, format!("grub-mkrescue could not write {}", output.display()))
        .remedy(format!("see its messages above, and {remedy}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_loaded_goes() {
        let mut file = vec![7; 300];
        file[PROGRAM_HEADERS..PROGRAM_HEADERS + 8].copy_from_slice(&64_u64.to_le_bytes());
        file[HEADER_SIZE..HEADER_COUNT + 2].copy_from_slice(&[56, 0, 2, 0]);
        for (number, [offset, size]) in [[0_u64, 240], [200, 50]].into_iter().enumerate() {
            let at = 64 + 56 * number;
            file[at + OFFSET..at + OFFSET + 8].copy_from_slice(&offset.to_le_bytes());
            file[at + SIZE..at + SIZE + 8].copy_from_slice(&size.to_le_bytes());
        }
        let part = loaded_part(file.clone()).unwrap();
        assert_eq!((part.len(), &part[SECTION_HEADERS], &part[SECTION_COUNTS]), (250, &[0; 8][..], &[0; 4][..]));
        assert_eq!(part[64..], file[64..250]);
        for size in 0..250 {
            assert_eq!(loaded_part(file[..size].to_vec()), None);
        }
    }
}
