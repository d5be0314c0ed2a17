/* call: unshare; covers: what a process with one thread shares with nobody */
#include "check.h"

static void *beside(void *unused)
{
    sleep(60);
    return unused;
}

int main(void)
{
    pthread_t thread;
    SHOW(unshare(0));
    SHOW(unshare(CLONE_FS));
    SHOW(unshare(CLONE_FILES | CLONE_SYSVSEM));
    SHOW(unshare(CLONE_THREAD));
    SHOW(unshare(CLONE_VM | CLONE_SIGHAND));
    SHOW(unshare(0x40));
    pthread_create(&thread, 0, beside, 0);
    SHOW(unshare(0));
    SHOW(unshare(CLONE_VM));
    return 0;
}
