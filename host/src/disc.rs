//! `nacre image`: a disc that GRUB boots, on machines with a BIOS and with UEFI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::boot::guest::Guest;
use crate::builds::{self, Products};
use crate::cli::{GuestArguments, ImageArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::session::terminal::Facts;
use crate::tree::Tree;

const PACKAGES: &str = "grub-common grub-pc-bin grub-efi-amd64-bin mtools xorriso";

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
    let products = builds::ensure(tree)?;
    write(&products, &arguments.guest, &arguments.output)?;
    Ok(0)
}

/// Writes a disc that boots what `arguments` name.
pub fn write(products: &Products, arguments: &GuestArguments, output: &Path) -> Outcome<()> {
    // Whoever boots the disc sits at a serial terminal of the usual size.
    let facts = Facts { is_terminal: true, ..Facts::PIPE };
    let guest = Guest::compose(products, arguments, &facts)?;
    let staging = Staging::new()?;
    let cannot = || format!("cannot fill {}", staging.0.display());
    fs::write(staging.0.join("boot/nacre-image"), &guest.image).context(Class::File, cannot)?;
    fs::copy(&products.kernel, staging.0.join("boot/nacre-kernel")).context(Class::File, cannot)?;
    fs::write(staging.0.join("boot/grub/grub.cfg"), CONFIGURATION).context(Class::File, cannot)?;
    make_disc(&staging.0, output)
}

fn make_disc(staging: &Path, output: &Path) -> Outcome<()> {
    let mut command = Command::new("grub-mkrescue");
    command.arg("-o").arg(output).arg(staging);
    let remedy = format!("install Debian's packages {PACKAGES}");
    let made = command.output().context(Class::Machine, || "cannot start grub-mkrescue".to_string());
    let made = made.map_err(|failure| failure.remedy(remedy.clone()))?;
    // It ends with 0 even when xorriso could not write.
    if made.status.success() && output.is_file() {
        return Ok(());
    }
    eprint!("{}", String::from_utf8_lossy(&made.stderr));
    Err(Failure::new(Class::File, format!("grub-mkrescue could not write {}", output.display()))
        .remedy(format!("see its messages above, and {remedy}")))
}

/// A directory for the disc's files, gone when it is dropped.
struct Staging(PathBuf);

impl Staging {
    fn new() -> Outcome<Staging> {
        let staging = Staging(std::env::temp_dir().join(format!("nacre-disc-{}", std::process::id())));
        fs::create_dir_all(staging.0.join("boot/grub")).context(Class::File, || format!("cannot make {}", staging.0.display()))?;
        Ok(staging)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
