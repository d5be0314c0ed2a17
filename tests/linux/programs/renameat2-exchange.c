/* call: renameat2; covers: two names that change places */
#include "check.h"

int main(void)
{
    struct stat status;
    put_file("a", "first");
    put_file("b", "second");
    mkdir("d", 0755);
    SHOW(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE));
    show_file("a");
    show_file("b");
    SHOW(renameat2(AT_FDCWD, "a", AT_FDCWD, "d", RENAME_EXCHANGE));
    stat("a", &status);
    HOLDS(S_ISDIR(status.st_mode));
    show_file("d");
    SHOW(renameat2(AT_FDCWD, "a", AT_FDCWD, "missing", RENAME_EXCHANGE));
    return 0;
}
