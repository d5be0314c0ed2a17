/* call: unlink, rename; covers: others' files in a directory like /tmp */
#include "check.h"

static void child(void)
{
    setresgid(100, 100, 100);
    setresuid(100, 100, 100);
    SHOW(unlink("d/root"));
    SHOW(rename("d/root", "d/mine"));
    close(open("d/own", O_CREAT | O_RDWR, 0644));
    SHOW(rename("d/own", "d/other"));
    SHOW(unlink("d/other"));
    SHOW(open("closed/f", O_CREAT | O_RDWR, 0644));
}

int main(void)
{
    mkdir("d", 0777), chmod("d", 01777);
    mkdir("closed", 0755);
    put_file("d/root", "");
    in_child(child);
    return 0;
}
