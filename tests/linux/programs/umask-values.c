/* call: umask; covers: what it says, what it takes, that it is inherited; also: musl */
#include "check.h"

static void child(void)
{
    SHOW(umask(0));
}

int main(void)
{
    struct stat status;
    SHOW(umask(077));
    SHOW(umask(07777));
    SHOW(umask(0177027));
    SHOW(mkdir("d", 07777));
    stat("d", &status);
    say("%o\n", status.st_mode);
    close(open("f", O_CREAT | O_RDWR, 0777));
    stat("f", &status);
    say("%o\n", status.st_mode);
    in_child(child);
    SHOW(umask(022));
    return 0;
}
