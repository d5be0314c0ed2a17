/* call: setgid, setregid, setresgid, setfsgid, getgroups, setgroups; covers: groups */
#include "check.h"

static void show(void)
{
    gid_t real, effective, saved;
    getresgid(&real, &effective, &saved);
    say("%d %d %d\n", real, effective, saved);
}

static void child(void)
{
    gid_t groups[4] = {10, 20, 30, 40};
    SHOW(syscall(SYS_setgroups, 3, groups));
    SHOW(getgroups(0, NULL));
    SHOW(getgroups(2, groups));
    SHOW(getgroups(4, groups));
    say("%d %d %d\n", groups[0], groups[1], groups[2]);
    SHOW(syscall(SYS_setgroups, -1, groups));
    SHOW(setresgid(1, 2, 3));
    show();
    SHOW(setregid(-1, 1));
    show();
    SHOW(setgid(9));
    show();
    SHOW(syscall(SYS_setfsgid, 5));
    SHOW(setuid(1000));
    SHOW(setgid(10));
    SHOW(syscall(SYS_setgroups, 0, NULL));
}

int main(void)
{
    in_child(child);
    return 0;
}
