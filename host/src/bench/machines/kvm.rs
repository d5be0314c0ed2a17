//! Linux's own way to run a guest, in the same QEMU: Debian's kernel with its KVM, and Debian's
//! QEMU as a program of it.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::boots::LIMIT;
use super::super::linux;
use super::systems::{MEMORY, OUTER, steady};
use crate::boot::files::{BUSYBOX, Files};
use crate::boot::initramfs::archive;
use crate::boot::kernel::{Kind, kernel, package_folder};
use crate::boot::libraries;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::session::capture::Captured;
use crate::tree::Tree;

/// The program that runs the guest.
const QEMU: &str = "/usr/bin/qemu-system-x86_64";
/// Files that it reads.
const FIRMWARE: [&str; 2] = ["/usr/share/seabios/bios-microvm.bin", "/usr/share/qemu/linuxboot_dma.bin"];
/// Modules of the kernel, in the order in which they are loaded.
const MODULES: [&str; 3] = ["virt/lib/irqbypass.ko", "arch/x86/kvm/kvm.ko", "arch/x86/kvm/kvm-amd.ko"];

/// Boots Linux with these files below Linux, with nested paging or with KVM's shadow paging.
pub fn boot(tree: &Tree, guest: &Files, is_nested: bool) -> Outcome<Captured> {
    let kernel = kernel(tree, Kind::Cloud)?;
    let mut files = Files::default();
    add(&mut files, Path::new(QEMU), Path::new(QEMU))?;
    libraries::add(&mut files, Path::new(QEMU), &fs::read(QEMU).context(Class::File, || format!("cannot read {QEMU}"))?)?;
    add(&mut files, Path::new(BUSYBOX), Path::new(BUSYBOX))?;
    for path in FIRMWARE.map(Path::new) {
        add(&mut files, path, &Path::new("/usr/share/qemu").join(path.file_name().unwrap_or_default()))?;
    }
    let modules = modules(&kernel)?;
    for module in MODULES {
        add(&mut files, &modules.join(module), &Path::new("/modules").join(module))?;
    }
    add(&mut files, &kernel, Path::new("/kernel"))?;
    files.add_file(Path::new("/initrd"), 0o644, archive(guest));
    for folder in ["/proc", "/sys", "/dev", "/tmp"] {
        files.add_directory(Path::new(folder), 0o755);
    }
    files.add_file(Path::new("/init"), 0o755, script(is_nested));
    linux::boot(tree, &files, steady(OUTER), LIMIT)
}

/// Returns the folder of a kernel's modules.
fn modules(kernel: &Path) -> Outcome<PathBuf> {
    let missing = || Failure::new(Class::Machine, format!("{} has no modules beside it", kernel.display()));
    let folder = package_folder(kernel).ok_or_else(missing)?.join("lib/modules");
    let mut entries = fs::read_dir(&folder).context(Class::File, || format!("cannot read {}", folder.display()))?;
    Ok(entries.next().and_then(Result::ok).ok_or_else(missing)?.path().join("kernel"))
}

fn add(files: &mut Files, host: &Path, path: &Path) -> Outcome<()> {
    let bytes = fs::read(host).context(Class::File, || format!("cannot read {}", host.display()))?;
    files.add_file(path, 0o755, bytes);
    Ok(())
}

/// Returns the first program of the outer Linux.
fn script(is_nested: bool) -> String {
    let loads: String = MODULES.iter().map(|module| format!("b insmod /modules/{module}{}\n", if module.ends_with("amd.ko") { format!(" npt={}", u8::from(is_nested)) } else { String::new() })).collect();
    let memory = MEMORY >> 20;
    let words = linux::COMMAND_LINE;
    format!(
        "#!{BUSYBOX} sh\nb() {{ {BUSYBOX} \"$@\"; }}\nb mount -t proc proc /proc; b mount -t sysfs sysfs /sys; b mount -t devtmpfs dev /dev\n{loads}\
         {QEMU} -machine microvm -accel kvm -cpu host -m {memory}M -nodefaults -no-user-config -display none -no-reboot -serial stdio -kernel /kernel -initrd /initrd -append '{words}'\n\
         b poweroff -f\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_of_paging_is_an_option_of_the_last_module() {
        assert!(script(true).contains("kvm-amd.ko npt=1\n") && script(false).contains("kvm-amd.ko npt=0\n"));
        assert!(script(true).contains("insmod /modules/arch/x86/kvm/kvm.ko\n") && script(true).contains("-m 256M"));
    }
}
