/* call: semget, semop, semtimedop, semctl; covers: several at once, what is undone, limits of time, errors, removal under those who wait */
#include "check.h"

#include <sys/sem.h>

static int set;

static void add(int number, int by, int flags)
{
    struct sembuf one = {number, by, flags};
    SHOW(semop(set, &one, 1));
}

static void taker(void)
{
    add(0, -2, SEM_UNDO);
    add(1, 3, SEM_UNDO);
}

static void waiter(void)
{
    struct sembuf down = {0, -10, 0};
    SHOW(semop(set, &down, 1));
}

static void came(int number)
{
}

static void interrupted(void)
{
    struct sembuf down = {0, -10, 0};
    handle(SIGALRM, came, SA_RESTART);
    alarm(1);
    SHOW(semop(set, &down, 1));
}


int main(void)
{
    unsigned short values[3] = {4, 5, 6};
    struct semid_ds state;
    struct sembuf both[2] = {{0, -1, 0}, {1, -9, IPC_NOWAIT}}, zero = {2, 0, 0};
    struct timespec little = {0, 20000000}, none = {0, 0};
    set = semget(0x4e41, 3, IPC_CREAT | IPC_EXCL | 0640);
    HOLDS(set >= 0);
    HOLDS(semget(0x4e41, 2, 0) == set);
    SHOW(semget(0x4e41, 4, 0));
    SHOW(semget(0x4e41, 3, IPC_CREAT | IPC_EXCL));
    SHOW(semget(0x4e42, 3, 0));
    SHOW(semget(IPC_PRIVATE, 0, 0));
    SHOW(semctl(set, 0, SETALL, values));
    SHOW(semop(set, both, 2));
    SHOW(semctl(set, 0, GETVAL));
    SHOW(semop(set, both, 0));
    both[1].sem_num = 9;
    SHOW(semop(set, both, 2));
    SHOW(semtimedop(set, &zero, 1, &little));
    SHOW(semtimedop(set, &zero, 1, &none));
    in_child(taker);
    SHOW(semctl(set, 0, GETALL, values));
    say("%d %d %d\n", values[0], values[1], values[2]);
    SHOW(semctl(set, 2, SETVAL, 40000));
    SHOW(semctl(set, 3, GETVAL));
    SHOW(semctl(set, 2, SETVAL, 7));
    HOLDS(semctl(set, 2, GETPID) == getpid());
    add(2, 32767, 0);
    in_child(interrupted);
    pid_t child = make_child(waiter);
    nap(20);
    SHOW(semctl(set, 0, GETNCNT));
    SHOW(semctl(set, 0, GETZCNT));
    SHOW(semctl(set, 0, IPC_STAT, &state));
    say("%o %d %d %d %x\n", state.sem_perm.mode, (int)state.sem_nsems, state.sem_otime != 0, state.sem_ctime != 0, state.sem_perm.__key);
    state.sem_perm.mode = 0600;
    SHOW(semctl(set, 0, IPC_SET, &state));
    SHOW(semctl(set, 0, IPC_STAT, &state));
    say("%o\n", state.sem_perm.mode);
    int removed = semctl(set, 0, IPC_RMID);
    wait_for(child);
    SHOW(removed);
    SHOW(semctl(set, 0, GETVAL));
    SHOW(semop(set, &zero, 1));
    return 0;
}
