//! Manifest of `machine`.

use nacre_manifest::{Choice, Manifest, Programs, Value};

/// Manifest of this monitor.
pub const MANIFEST: Manifest = Manifest {
    name: "machine",
    summary: "Runs an unmodified Linux kernel in a machine of its own, on processors with SVM and nested paging.",
    programs: Programs::Guest,
    options: &[
        Choice::new("--kernel", Value::Input("FILE"), "the kernel: a bzImage, or an ELF file or a multiboot image"),
        Choice::new("--initrd", Value::Input("FILE"), "its initial file system, or a multiboot kernel's module; may be given several times"),
        Choice::new("--initrd-words", Value::Text("TEXT"), "words for a multiboot kernel about the module before"),
        Choice::new("--append", Value::Text("TEXT"), "more words for the kernel's command line"),
        Choice::new("--memory", Value::Text("SIZE"), "memory of the machine, at most 3G; 128M otherwise"),
        Choice::new("--cpus", Value::Text("N"), "processors of the machine, 1 to 16; 1 otherwise"),
        Choice::new("--disk", Value::Disk("FILE[:ro]"), "a disk of the machine, which reads and writes FILE, or only reads it; may be given several times"),
        Choice::new("--balloon", Value::None, "memory that the guest does not need goes back, for a pager around the machine; --stats says how much"),
        Choice::new("--net", Value::None, "a network card: the guest is 10.0.2.15 and reaches what the program around it does; ./nacre run --net user machine --net"),
        Choice::new("--hpet", Value::None, "high-precision event timers, for a guest that has no better clock: --append clocksource=hpet"),
        Choice::new("--share", Value::Directory("DIR"), "a directory for the guest: mount -t 9p -o trans=virtio share0 /mnt; the next one is share1"),
        Choice::new("--root", Value::Directory("DIR"), "a directory that is the guest's root file system"),
        Choice::new("--paging", Value::Text("HOW"), "translator of the guest's addresses: nested (the processor), shadow (the monitor), or turns (both, for tests)"),
        Choice::new("--gdb", Value::None, "let gdb attach to the guest, which waits for it before its first instruction: ./nacre run --gdb PORT machine --gdb"),
        Choice::new("--reboot", Value::None, "start the kernel anew when the guest resets its machine, which otherwise ends it"),
        Choice::new("--stats", Value::None, "say at the end what the guest was left for, and how often"),
    ],
    notes: "",
    hands_on: "",
};
