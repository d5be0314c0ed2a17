/* call: clone; covers: addresses that cannot be written, a child that could not be told leaves nothing */
#include "check.h"
#include <sched.h>

/* What a clone with these flags and addresses leaves: its error, or that its child ran. */
static void try(const char *name, uint64_t flags, void *parent_number, void *child_number)
{
    int before = dup(0);
    close(before);
    long child = syscall(SYS_clone, flags | SIGCHLD, 0, parent_number, child_number, 0);
    if (child == 0)
        _exit(7);
    say("%s: %s\n", name, child < 0 ? error_name(errno) : "begun");
    int status = 0;
    pid_t waited = waitpid(-1, &status, __WALL);
    say("wait: %s %d\n", waited < 0 ? error_name(errno) : waited == child ? "it" : "another", status >> 8);
    int after = dup(0);
    close(after);
    HOLDS(before == after);
}

int main(void)
{
    void *readable = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    try("pidfd nowhere", CLONE_PIDFD, (void *)8, NULL);
    try("pidfd in what is only read", CLONE_PIDFD, readable, NULL);
    try("number nowhere", CLONE_PARENT_SETTID, (void *)8, NULL);
    try("number in what is only read", CLONE_PARENT_SETTID, readable, NULL);
    try("the child's nowhere", CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID, NULL, (void *)8);
    for (int turn = 0; turn < 200; turn++) {
        HOLDS(syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, (void *)8, NULL, 0) == -1 && errno == EFAULT);
    }
    try("after 200 failures", 0, NULL, NULL);
    return 0;
}
