//! Guest machines: Debian's unmodified kernel in `machine`, alone and between other monitors.

mod bochs;
mod commands;
mod compiler;
mod copied;
mod debugged;
mod frozen;
mod hostile;
mod identity;
mod moved;
mod instants;
mod kept;
mod multiboot;
mod nested;
mod networked;
mod word;

use super::arguments::TestArguments;
use super::parallel_tests;
use super::system::{describe, limits};
use super::tally::TestCounts;
use crate::boot::guest::Guest;
use crate::boot::kernel;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::Outcome;
use crate::run::machine;
use crate::scratch::Scratch;
use crate::session::capture::capture;
use crate::session::terminal::Facts;

/// A command that is run in a guest, or a guest that ends otherwise.
struct Case {
    name: &'static str,
    /// Monitors before the machine, and the words behind it.
    words: &'static [&'static str],
    input: &'static str,
    /// Lines that the output has to hold, and the status.
    output: &'static [&'static str],
    status: i32,
}

impl Case {
    /// Returns true if a guest mounts a directory, for which the kernel for clouds has no driver.
    fn has_directory(&self) -> bool {
        self.words.iter().any(|word| ["--share", "--root"].iter().any(|option| word.contains(option)))
    }
}

const ANSWER: &[&str] = &["the answer is 42"];
const SUM: &str = "echo the answer is $((6 * 7)); exit 7";

/// A shell's sums on each processor of the guest at once.
const PARALLEL: &str = "nproc; for cpu in $(seq 0 $(($(nproc) - 1))); do \
    taskset $((1 << cpu)) sh -c 'i=0 s=0; while [ $i -lt 2000 ]; do i=$((i + 1)) s=$((s + i)); done; echo $s' >/tmp/$cpu & done; \
    wait; cat /tmp/[0-9]* | sort -u; cat /tmp/[0-9]* | wc -l";
/// A guest makes a file system on a disk and writes a file. Another one reads it, may not write,
/// and has random bytes.
const DISK: &str = "truncate -s 4M /tmp/d
machine --disk /tmp/d sh -c 'mke2fs -F /dev/vda >/dev/null && mount /dev/vda /mnt && seq 1 20000 >/mnt/f && umount /mnt
dd if=/dev/zero of=/dev/vda bs=1k seek=4095 count=2 2>/dev/null || echo no room'
machine --disk /tmp/d:ro sh -c 'mount -o ro /dev/vda /mnt && sha256sum </mnt/f | cut -c 1-8
dd if=/dev/zero of=/dev/vda bs=512 count=1 2>/dev/null || echo refused
head -c 16 /dev/hwrng | wc -c'
grep -q 19999 /tmp/d && echo kept";

const fn stack(name: &'static str, words: &'static [&'static str]) -> Case {
    Case { name, words, input: "", output: ANSWER, status: 7 }
}

/// Many processes one after the other, some at once, and pipes between processes.
const WORK: &str = "i=0; while [ $i -lt 60 ]; do (exit 3) || i=$((i + 1)); done; echo forks $i; \
    for k in 1 2 3 4 5 6 7 8 9 10; do (sleep 0; seq 1 200 | wc -l >/tmp/$k) & done; wait; cat /tmp/? /tmp/10 | sort | uniq -c; \
    seq 1 3000 | sed s/7/x/ | sort -r | grep -c x; dd if=/dev/zero bs=4k count=2000 2>/dev/null | cat | md5sum; ls -l /bin | tr a-z A-Z | wc -l | grep -qv ^0 && echo end";
/// Lines that Linux gives for it.
const WORKED: &[&str] = &["forks 60", "10 200", "813", "7eb24d865a14fa3227633816800522c1  -", "end"];

const fn work(name: &'static str, words: &'static [&'static str]) -> Case {
    Case { name, words, input: "", output: WORKED, status: 0 }
}

const CASES: &[Case] = &[
    stack("a guest runs a command", &["machine", "sh", "-c", SUM]),
    stack("a guest runs below trace", &["trace", "-q", "machine", "sh", "-c", SUM]),
    stack("a guest runs below guard", &["guard", "--allow", "memory", "--allow", "console", "--allow", "clock", "--allow", "read", "machine", "sh", "-c", SUM]),
    stack("a guest runs on a share of the processor", &["share-cpu", "machine", "sh", "-c", SUM]),
    stack("a guest runs on less memory than it has", &["pager", "-m", "48M", "machine", "sh", "-c", SUM]),
    stack("a guest runs on shadow paging on less memory than it has", &["pager", "-m", "64M", "machine", "--paging", "shadow", "sh", "-c", SUM]),
    stack("a guest runs below checkpoint", &["checkpoint", "-m", "256M", "machine", "--memory", "100M", "sh", "-c", SUM]),
    stack("a guest runs on shadow paging", &["machine", "--paging", "shadow", "sh", "-c", SUM]),
    Case { name: "a guest with two processors runs on shadow paging", words: &["machine", "--paging", "shadow", "--cpus", "2", "sh", "-c", PARALLEL], input: "", output: &["2", "2001000"], status: 0 },
    work("a guest's paging is switched while it runs", &["machine", "--paging", "turns", "sh", "-c", WORK]),
    work("a guest forks and pipes on nested paging", &["machine", "sh", "-c", WORK]),
    stack("a guest runs below two layers", &["trace", "-q", "process", "trace", "-q", "machine", "sh", "-c", SUM]),
    stack("a guest runs as a shell's job", &["process", "sh", "-c", "machine sh -c 'echo the answer is 42; exit 7' & wait $!"]),
    Case { name: "a guest that is stopped as a job goes on, and so does its clock", words: &["process", "sh", "-c", STOPPED], input: "", output: &["it stood still", "number 3", "its clock went on"], status: 7 },
    Case {
        name: "guests run beside each other",
        words: &["process", "sh", "-c", "for k in 1 2 3; do machine --memory 96M sh -c 'i=0; while [ $i -lt 200 ]; do i=$((i + 1)); /bin/true; done; echo made $i' & done; wait %1 && wait %2 && wait %3 && echo all"],
        input: "",
        output: &["made 200", "all"],
        status: 0,
    },
    Case { name: "a guest reads its input to the end", words: &["machine", "wc", "-l"], input: "1\n2\n3\n", output: &["3"], status: 0 },
    Case { name: "a guest's shell is typed to", words: &["machine"], input: "echo $((40 + 2))\nexit 9\n", output: &["42"], status: 9 },
    Case {
        name: "a guest's timers, signals, files and processes work",
        words: &["machine", "sh", "-c", "sleep 1 & kill -9 $!; seq 1 2000 | sort -n | tail -1; (exit 3) || echo $?; dd if=/dev/urandom of=/tmp/x bs=1M count=8 2>/dev/null; wc -c </tmp/x; sleep 1; echo end"],
        input: "",
        output: &["2000", "3", "8388608", "end"],
        status: 0,
    },
    Case { name: "a guest has two processors", words: &["machine", "--cpus", "2", "sh", "-c", PARALLEL], input: "", output: &["2", "2001000"], status: 0 },
    Case { name: "a guest has four processors", words: &["machine", "--cpus", "4", "sh", "-c", PARALLEL], input: "", output: &["4", "2001000"], status: 0 },
    Case { name: "a guest has sixteen processors", words: &["machine", "--cpus", "16", "sh", "-c", PARALLEL], input: "", output: &["16", "2001000"], status: 0 },
    Case { name: "a guest's APICs are pages of memory", words: &["machine", "--cpus", "2", "--append", "nox2apic", "sh", "-c", PARALLEL], input: "", output: &["2", "2001000"], status: 0 },
    stack("a guest runs without APIC and ACPI", &["machine", "--append", "acpi=off nolapic", "sh", "-c", SUM]),
    Case { name: "a guest is turned off", words: &["machine", "--cpus", "2", "sh", "-c", "poweroff -f"], input: "", output: &["reboot: Power down"], status: 0 },
    Case { name: "a guest that resets its machine is told of", words: &["machine", "sh", "-c", "reboot -f"], input: "", output: &["reboot: Restarting system"], status: 125 },
    Case { name: "a guest that resets its machine starts anew", words: &["process", "sh", "-c", REBOOT], input: "", output: &["1 of 2", "the answer is 42"], status: 7 },
    Case { name: "a guest's disk is a file", words: &["process", "sh", "-c", DISK], input: "", output: &["f6351f5e", "refused", "16", "kept", "no room"], status: 0 },
    Case { name: "a guest's files are those of the environment", words: &["process", "sh", "-c", SHARE], input: "", output: &["one", "f6351f5e", "2", "lost", "600 68", "644 5", "31", "g"], status: 0 },
    stack("a guest with a directory runs below trace", &["trace", "-q", "machine", "--share", "/etc", "sh", "-c", MOUNT]),
    Case { name: "a guard decides which files a guest opens", words: GUARDED, input: "", output: &["1 localhost", "not passwd", "the answer is 42"], status: 7 },
    stack("a guest's root file system is a directory", &["machine", "--root", "/", "sh", "-c", "grep -q ^nobody /etc/passwd && [ -d /lib/nacre ] && echo kept >/root/kept && echo the answer is 42; exit 7"]),
    stack("a guest's root file system is on a disk", &["process", "sh", "-c", ROOT_DISK]),
    Case { name: "a guest's first program is one of its disk", words: &["process", "sh", "-c", FIRST_PROGRAM], input: "", output: &["the answer is 42 of 1", "ended 0"], status: 0 },
    Case { name: "a signal presses a guest's power button", words: &["process", "sh", "-c", BUTTON], input: "", output: &["stands still", "turned off: 0", "ended: 143"], status: 0 },
    Case { name: "a guest's clock interrupts", words: &["machine", "sh", "-c", CLOCK], input: "", output: &["an alarm"], status: 0 },
    Case {
        name: "a guest counts by its event timers, and its clock interrupts through them",
        words: &["machine", "--hpet", "--append", "clocksource=hpet", "sh", "-c", CLOCK],
        input: "",
        output: &["hpet", "an alarm"],
        status: 0,
    },
    Case { name: "a root file system that is none is told of", words: &["machine", "--append", "root=/dev/vda", "true"], input: "", output: &["cannot mount /dev/vda as the root file system"], status: 125 },
    Case {
        name: "a guest reaches programs beside its machine, and gives up memory that it does not need",
        words: &["process", "sh", "-c", BESIDE],
        input: "",
        output: &["from outside", "refused", "full", "from the guest", "shrunk"],
        status: 0,
    },
    Case { name: "a disk that is not there is refused", words: &["machine", "--disk", "/nonesuch", "true"], input: "", output: &[], status: 125 },
    Case { name: "a guest that panics is told of", words: &["machine", "--append", "init=/nonesuch rdinit=/nonesuch", "true"], input: "", output: &[], status: 125 },
    Case { name: "a kernel that is none is refused", words: &["machine", "--kernel", "/bin/busybox"], input: "", output: &[], status: 125 },
    Case { name: "too little memory is refused", words: &["machine", "--memory", "8M", "true"], input: "", output: &[], status: 125 },
];

/// A guest makes, changes, renames, links, lists and removes files of the environment.
const SHARE: &str = "mkdir -p /tmp/s/sub; seq 1 20000 >/tmp/s/numbers; echo one >/tmp/s/sub/f
machine --share /tmp/s sh -c 'mount -t 9p -o trans=virtio,version=9p2000.L share0 /mnt && cd /mnt && cat sub/f
sha256sum <numbers >sum; mkdir new; mv sub/f new/g; ln -s new/g link; ln numbers again; chmod 600 sum; echo more >>link
for i in $(seq 1 30); do : >new/file$i; done; ls new | wc -l >count; rm -r sub new/file*; truncate -s 5 again'
cut -c 1-8 /tmp/s/sum; wc -l </tmp/s/new/g; ls /tmp/s/sub 2>/dev/null || echo lost; stat -c '%a %s' /tmp/s/sum /tmp/s/numbers; cat /tmp/s/count; ls /tmp/s/new";

/// A guest is stopped while it counts, for six seconds. It needs three for its count.
const STOPPED: &str = "machine --memory 80M sh -c 's=$(cut -d. -f1 /proc/uptime); for i in 1 2 3; do echo number $i; sleep 1; done
e=$(cut -d. -f1 /proc/uptime); [ $((e - s)) -ge 7 ] && echo its clock went on; exit 7' >/tmp/said &
while ! grep -q number /tmp/said; do sleep 0.1; done; kill -STOP $!; sleep 1; cp /tmp/said /tmp/before; sleep 5; cmp /tmp/said /tmp/before && echo it stood still
kill -CONT $!; wait $!; s=$?; cat /tmp/said; exit $s";

/// A program beside a machine is reached by its guest, as its gateway, and there is nobody else.
/// The guest fills memory and frees it: later it has given up at least 100 MB.
const BESIDE: &str = "echo from outside | nc -l -p 7000 >/tmp/got & nc=$!
machine --memory 256M --net --balloon --stats sh -c 'echo from the guest | nc 10.0.2.2 7000; nc 10.0.2.2 7001 </dev/null 2>&1 | grep -o refused
dd if=/dev/zero of=/tmp/x bs=1M count=32 2>/dev/null && echo full; rm /tmp/x; sleep 8' 2>/tmp/said
wait $nc; cat /tmp/got; grep -q 'given up: [1-9][0-9][0-9][0-9][0-9][0-9]' /tmp/said && echo shrunk";

/// A guest makes a root file system on a disk, and another one runs in it.
const ROOT_DISK: &str = "truncate -s 8M /tmp/d
machine --disk /tmp/d sh -c 'mke2fs -F /dev/vda >/dev/null && mount /dev/vda /mnt && cd /mnt && mkdir bin dev proc sys tmp run && cp /bin/busybox bin && ln -s busybox bin/sh; cd /; umount /mnt'
machine --disk /tmp/d --append 'root=/dev/vda rw' sh -c '[ ! -e /nacre ] && busybox mount | busybox grep -q \"^/dev/vda on / \" && echo the answer is 42; exit 7'";

/// A guest makes a root file system on a disk with a first program, which turns the machine off.
const FIRST_PROGRAM: &str = "truncate -s 8M /tmp/d
machine --disk /tmp/d sh -c 'mke2fs -F /dev/vda >/dev/null && mount /dev/vda /mnt && cd /mnt && mkdir bin dev proc && cp /bin/busybox bin && ln -s busybox bin/sh
printf \"#!/bin/sh\\necho the answer is \\$((6 * 7)) of \\$\\$\\nbusybox poweroff -f\\n\" >begin; chmod +x begin; cd /; umount /mnt'
machine --disk /tmp/d --append 'root=/dev/vda rw init=/begin'; echo ended $?";

/// A shell stops a machine, lets it go on, and presses its power button. Another signal ends one.
const BUTTON: &str = "machine sh -c 'while sleep 1; do echo ready; done' >/tmp/said & machine=$!
lines() { wc -l </tmp/said; }
until grep -q ready /tmp/said; do sleep 1; done
kill -STOP $machine; sleep 1; before=$(lines); sleep 3; [ $before = $(lines) ] && echo stands still
kill -CONT $machine; while [ $before = $(lines) ]; do sleep 1; done
kill -PWR $machine; wait $machine; echo turned off: $?
machine sh -c 'echo ready; sleep 1000' >/tmp/said & until grep -q ready /tmp/said; do sleep 1; done; kill $!; wait $!; echo ended: $?";

/// A guest counts its starts on its disk, and resets its machine at the first two.
const REBOOT: &str = "truncate -s 64k /tmp/d
machine --cpus 2 --reboot --disk /tmp/d sh -c 'n=$(head -c 1 /dev/vda | tr -d \\\\0); n=${n:-0}; echo $n of $(nproc); [ $n = 2 ] && echo the answer is 42 && exit 7
echo $((n + 1)) | dd of=/dev/vda conv=fsync 2>/dev/null; reboot -f'";

/// A guest says by what it counts, and waits for an alarm of its clock two seconds away.
const CLOCK: &str = "cat /sys/devices/system/clocksource/clocksource0/current_clocksource; hwclock -w
alarms() { grep rtc0 /proc/interrupts | tr -s ' ' | cut -d ' ' -f 3; }
before=$(alarms); echo +2 >/sys/class/rtc/rtc0/wakealarm; sleep 4; [ $(alarms) -gt $before ] && echo an alarm";

/// A guest reads a file of the environment's `/etc`.
const MOUNT: &str = "mount -t 9p -o trans=virtio,version=9p2000.L share0 /mnt && [ $(grep -c localhost /mnt/hosts) = 1 ] && echo the answer is 42; exit 7";
/// A guest tries to read two of them, of which the guard allows one.
const GUARDED: &[&str] = &[
    "guard", "--allow", "memory", "--allow", "console", "--allow", "clock", "--allow", "read", "--deny", "file.read /etc/passwd", "machine", "--share", "/etc", "sh", "-c",
    "mount -t 9p -o trans=virtio,version=9p2000.L share0 /mnt; echo $(grep -c localhost /mnt/hosts) localhost; cat /mnt/passwd || echo not passwd; echo the answer is 42; exit 7",
];

/// Runs each case on one processor and on two, or on one of both. Without the kernel's package
/// there are none.
pub fn run(products: &Products, filter: &str, arguments: &TestArguments) -> Outcome<TestCounts> {
    let jobs = arguments.jobs as usize;
    let mut tally = TestCounts::default();
    if let Err(failure) = kernel::kernel(&products.tree, kernel::Kind::Cloud) {
        println!("skipped: guest machines, because {failure}");
        return Ok(tally);
    }
    let wanted = CASES.iter().filter(|case| case.name.contains(filter) && has_kernel(products, case));
    let runs: Vec<_> = wanted.flat_map(|case| arguments.extent().of(case.name, vec![1, 2]).into_iter().map(move |cpus| (case, cpus))).collect();
    tally.add(parallel_tests::each(&runs, jobs, |&(case, cpus)| {
        let mut one = TestCounts::default();
        one.note(&format!("{} [cpus {cpus}]", case.name), fault(products, case, cpus)?.as_deref());
        Ok(one)
    })?);
    tally.add(frozen::run(products, filter, jobs)?);
    tally.add(instants::run(products, filter, jobs)?);
    copied::run(filter, &mut tally)?;
    identity::run(products, filter, &mut tally)?;
    if !filter.is_empty() {
        // It takes minutes: a filter has to name it.
        moved::run(filter, &mut tally)?;
    }
    tally.add(hostile::run(products, filter, jobs)?);
    debugged::run(products, filter, &mut tally)?;
    multiboot::run(products, filter, &mut tally)?;
    word::run(products, filter, &mut tally)?;
    tally.add(nested::run(products, filter, jobs)?);
    kept::run(filter, &mut tally)?;
    networked::run(products, filter, &mut tally)?;
    bochs::run(products, filter, &mut tally)?;
    Ok(tally)
}

/// Returns true if the kernel is there that a case needs beside the usual one.
fn has_kernel(products: &Products, case: &Case) -> bool {
    if case.has_directory()
        && let Err(failure) = kernel::kernel(&products.tree, kernel::Kind::General)
    {
        println!("skipped: {}, because {failure}", case.name);
        return false;
    }
    true
}

/// Returns the fault, if there was one.
fn fault(products: &Products, case: &Case, cpus: u32) -> Outcome<Option<String>> {
    let guest = GuestArguments { command: case.words.iter().map(Into::into).collect(), ..GuestArguments::default() };
    let guest = Guest::compose(products, &guest, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let arguments = MachineArguments { cpus, takes_turns: guest.has_machine, ..MachineArguments::default() };
    let machine = machine(products, &image, arguments);
    let captured = capture(&machine, limits(), case.input.as_bytes())?;
    let text = String::from_utf8_lossy(&captured.output).into_owned();
    let holds = |line: &&str| text.lines().any(|found| found.trim().ends_with(*line));
    let passed = case.output.iter().all(holds) && captured.status.as_ref().is_ok_and(|status| *status == case.status);
    Ok((!passed).then(|| describe(&captured)))
}
