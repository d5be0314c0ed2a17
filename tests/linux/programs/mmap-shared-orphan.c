/* call: mmap, fork, execve; covers: shared memory outlives the process that mapped it, as a daemon's does; also: musl dynamic */
#include "check.h"

static int *shared, *opened;

/* Uses the memory once its maker has gone, and hands it on. */
static void orphan(pid_t maker)
{
    while (kill(maker, 0) == 0)
        usleep(1000);
    /* The first process prints before. */
    while (access("go", F_OK) != 0)
        usleep(1000);
    shared[1] += 1;
    opened[1] = shared[1] + 1;
    pid_t id = fork();
    if (id == 0) {
        shared[2] = 7;
        _exit(shared[0] == 5 ? 3 : 4);
    }
    wait_for(id);
    say("orphan: %d %d %d %d\n", shared[0], shared[1], opened[1], shared[2]);
    _exit(0);
}

/* Maps the memory as the second program of its process: what is mapped may then be made of what the first one had. */
static int maker(void)
{
    pid_t own = getpid();
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    opened = mmap(NULL, 4096, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    mprotect(opened, 4096, PROT_READ | PROT_WRITE);
    shared[0] = 5;
    pid_t middle = fork();
    if (middle == 0) {
        shared[1] = 41;
        if (fork() == 0)
            orphan(own);
        _exit(0);
    }
    waitpid(middle, NULL, 0);
    return 6;
}

static void first(void)
{
    again("second");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[argc - 1], "second") == 0)
        return maker();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    in_child(first);
    put_file("go", "");
    while (waitpid(-1, NULL, 0) > 0)
        ;
    return 0;
}
