/* call: setresuid, open, chown; covers: whose the files are that a user makes */
#include "check.h"

static void child(void)
{
    struct stat status;
    SHOW(setresgid(200, 200, 200));
    SHOW(setresuid(100, 100, 100));
    close(open("d/f", O_CREAT | O_RDWR, 0644));
    SHOW(stat("d/f", &status));
    say("%d %d\n", status.st_uid, status.st_gid);
    SHOW(chown("d/f", 0, 0));
    SHOW(chown("d/f", -1, 200));
    SHOW(chmod("d/f", 0600));
    SHOW(mkdir("d/e", 0755));
    SHOW(open("/dev/null", O_RDWR));
}

int main(void)
{
    mkdir("d", 0777);
    chmod("d", 0777);
    in_child(child);
    return 0;
}
