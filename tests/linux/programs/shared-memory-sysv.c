/* call: shmget, shmat, shmdt, shmctl; covers: a segment by key, shared with a child */
#include "check.h"

#include <sys/shm.h>

static int *shared;

static void child(void)
{
    shared[1] = 42;
}

int main(void)
{
    struct shmid_ds state;
    int id = shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0600);
    HOLDS(id >= 0);
    shared = shmat(id, NULL, 0);
    HOLDS(shared != (void *)-1);
    if (shared == (void *)-1)
        return 1;
    in_child(child);
    say("%d\n", shared[1]);
    SHOW(shmctl(id, IPC_STAT, &state));
    say("%ld %ld\n", (long)state.shm_segsz, (long)state.shm_nattch);
    SHOW(shmctl(id, IPC_RMID, NULL));
    SHOW(shmdt(shared));
    SHOW(shmdt(shared));
    SHOW(shmget(12345, 8192, 0600));
    return 0;
}
