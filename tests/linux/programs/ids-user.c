/* call: setuid, setreuid, setresuid, setfsuid; covers: dropping, taking up again, refusals */
#include "check.h"

static void show(void)
{
    uid_t real, effective, saved;
    getresuid(&real, &effective, &saved);
    say("%d %d %d\n", real, effective, saved);
}

static void for_good(void)
{
    SHOW(setuid(1000));
    show();
    SHOW(setuid(0));
    SHOW(setuid(1000));
    SHOW(setresuid(-1, 0, -1));
}

static void for_a_while(void)
{
    SHOW(seteuid(1000));
    show();
    SHOW(setresuid(1, 2, 3));
    SHOW(seteuid(0));
    show();
    SHOW(setreuid(5, 6));
    show();
    SHOW(setreuid(6, 5));
    show();
    SHOW(setreuid(7, -1));
}

static void files(void)
{
    SHOW(syscall(SYS_setfsuid, 1000));
    SHOW(syscall(SYS_setfsuid, -1));
}

int main(void)
{
    in_child(for_good);
    in_child(for_a_while);
    in_child(files);
    return 0;
}
