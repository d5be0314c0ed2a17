/* call: semget, semop, semctl; covers: counting, waiting in another process */
#include "check.h"

#include <sys/sem.h>

static int set;

static void child(void)
{
    struct sembuf up = {0, 1, 0};
    nap(20);
    semop(set, &up, 1);
}

int main(void)
{
    struct sembuf down = {0, -1, 0}, try = {0, -1, IPC_NOWAIT};
    set = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
    HOLDS(set >= 0);
    SHOW(semctl(set, 0, SETVAL, 1));
    SHOW(semop(set, &down, 1));
    SHOW(semop(set, &try, 1));
    pid_t id = make_child(child);
    SHOW(semop(set, &down, 1));
    wait_for(id);
    SHOW(semctl(set, 0, GETVAL));
    SHOW(semctl(set, 0, IPC_RMID));
    return 0;
}
