/* call: open, setresuid; covers: what another user may not open */
#include "check.h"

static void other(void)
{
    SHOW(setresgid(1000, 1000, 1000));
    SHOW(setresuid(1000, 1000, 1000));
    SHOW(open("secret", O_RDONLY));
    SHOW(open("secret", O_WRONLY));
    SHOW(open("readable", O_RDONLY));
    SHOW(open("readable", O_RDWR));
    SHOW(open("closed/f", O_RDONLY));
    SHOW(open("new", O_RDWR | O_CREAT, 0644));
    SHOW(access("secret", R_OK));
    SHOW(access("readable", R_OK));
    SHOW(chmod("readable", 0777));
    SHOW(unlink("readable"));
}

int main(void)
{
    put_file("secret", "");
    put_file("readable", "");
    chmod("secret", 0600);
    mkdir("closed", 0700);
    put_file("closed/f", "");
    in_child(other);
    return 0;
}
