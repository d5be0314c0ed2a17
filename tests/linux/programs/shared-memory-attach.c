/* call: shmget, shmat, shmdt, shmctl; covers: segments that are attached often, by children, at chosen addresses, only to be read, and after their removal */
#include "check.h"

#include <sys/shm.h>

static int number;
static volatile int *shared;

static void show_state(const char *when)
{
    struct shmid_ds state;
    if (shmctl(number, IPC_STAT, &state))
        say("%s %s\n", when, error_name(errno));
    else
        say("%s %ld bytes, %ld times, %o, %d %d %d\n", when, (long)state.shm_segsz, (long)state.shm_nattch, state.shm_perm.mode,
            state.shm_cpid == getpid(), state.shm_atime != 0, state.shm_ctime != 0);
}

static void child(void)
{
    nap(10);
    show_state("in the child");
    shared[1] = 42;
    SHOW(shmdt((void *)shared));
    show_state("detached there");
}

static void writer(void)
{
    *(volatile int *)shmat(number, NULL, SHM_RDONLY) = 1;
}

int main(void)
{
    number = shmget(0x4e45, 5000, IPC_CREAT | IPC_EXCL | 0640);
    HOLDS(number >= 0 && shmget(0x4e45, 100, 0) == number);
    SHOW(shmget(0x4e45, 5001, 0));
    SHOW(shmget(0x4e45, 5000, IPC_CREAT | IPC_EXCL));
    SHOW(shmget(0x4e46, 100, 0));
    SHOW(shmget(IPC_PRIVATE, 0, IPC_CREAT));
    shared = shmat(number, NULL, 0);
    HOLDS(shared != (void *)-1);
    show_state("once");
    int *second = shmat(number, NULL, 0);
    shared[0] = 7;
    HOLDS(second != shared && second[0] == 7);
    show_state("twice");
    SHOW(shmdt(second));
    SHOW(shmdt((char *)shared + 4096));
    in_child(child);
    say("%d\n", shared[1]);
    show_state("after the child");
    in_child(writer);
    char *room = mmap(NULL, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(shmat(number, room, 0) == (void *)-1 && errno == EINVAL);
    HOLDS(shmat(number, room + 5, 0) == (void *)-1 && errno == EINVAL);
    HOLDS(shmat(number, room + 5, SHM_RND | SHM_REMAP) == room);
    say("%d\n", *(int *)room);
    SHOW(shmdt(room));
    SHOW(shmctl(number, IPC_RMID, NULL));
    show_state("removed");
    SHOW(shmget(0x4e45, 100, 0));
    say("%d\n", shared[1]);
    SHOW(shmdt((void *)shared));
    show_state("gone");
    HOLDS(shmat(number, NULL, 0) == (void *)-1 && errno == EINVAL);
    return 0;
}
