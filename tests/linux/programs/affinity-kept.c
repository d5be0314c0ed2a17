/* call: sched_setaffinity, sched_getaffinity; covers: what threads and children have of it, other processes, /proc */
#include "check.h"

static int ends[2];

static void line_of(const char *path, const char *start)
{
    char line[200];
    FILE *file = fopen(path, "r");
    if (!file)
        say("%s: %s\n", path, error_name(errno));
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, start, strlen(start)) == 0)
            say("%s", line);
    if (file)
        fclose(file);
}

static void child(void)
{
    char byte;
    close(ends[1]);
    read(ends[0], &byte, 1);
}

static int target;

static void stranger(void)
{
    cpu_set_t set;
    setresuid(1000, 1000, 1000);
    SHOW(sched_getaffinity(target, sizeof set, &set));
    SHOW(sched_setaffinity(target, sizeof set, &set));
    SHOW(sched_setaffinity(getpid(), sizeof set, &set));
}

int main(void)
{
    unsigned long mask[16] = {1};
    pipe(ends);
    target = make_child(child);
    SHOW(syscall(SYS_sched_setaffinity, 0, sizeof mask, mask));
    SHOW(syscall(SYS_sched_setaffinity, gettid(), 8, mask));
    mask[0] = ~0ul;
    SHOW(syscall(SYS_sched_setaffinity, 0, sizeof mask, mask));
    mask[0] = 0;
    SHOW(syscall(SYS_sched_getaffinity, 0, sizeof mask, mask));
    SHOW(syscall(SYS_sched_setaffinity, target, sizeof mask, mask));
    HOLDS(syscall(SYS_sched_getaffinity, target, sizeof mask, mask) >= 8 && mask[0] & 1);
    mask[0] = 0;
    SHOW(syscall(SYS_sched_setaffinity, target, sizeof mask, mask));
    SHOW(syscall(SYS_sched_setaffinity, 999999, sizeof mask, mask));
    SHOW(syscall(SYS_sched_setaffinity, 0, 0, mask));
    SHOW(syscall(SYS_sched_setaffinity, 0, 8, (void *)8));
    SHOW(syscall(SYS_sched_getaffinity, 0, 12, mask));
    in_child(stranger);
    line_of("/proc/self/status", "Cpus_allowed_list");
    SHOW(sysconf(_SC_NPROCESSORS_CONF));
    close(ends[1]);
    wait_for(target);
    return 0;
}
