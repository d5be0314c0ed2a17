/* call: getuid, geteuid, getgid, getegid, getresuid, getresgid; covers: the superuser's numbers; also: musl dynamic */
#include "check.h"

int main(void)
{
    uid_t real, effective, saved;
    SHOW(getuid());
    SHOW(geteuid());
    SHOW(getgid());
    SHOW(getegid());
    SHOW(getresuid(&real, &effective, &saved));
    say("%d %d %d\n", real, effective, saved);
    SHOW(getresgid(&real, &effective, &saved));
    say("%d %d %d\n", real, effective, saved);
    SHOW(getresuid((void *)8, &effective, &saved));
    return 0;
}
