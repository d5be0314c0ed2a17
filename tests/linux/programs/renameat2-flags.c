/* call: renameat2; covers: not over another, exchange, bad flags */
#include "check.h"

int main(void)
{
    put_file("a", "first");
    put_file("b", "second");
    mkdir("d", 0755);
    SHOW(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE));
    SHOW(renameat2(AT_FDCWD, "a", AT_FDCWD, "c", RENAME_NOREPLACE));
    SHOW(renameat2(AT_FDCWD, "c", AT_FDCWD, "b", RENAME_NOREPLACE | RENAME_EXCHANGE));
    SHOW(renameat2(AT_FDCWD, "c", AT_FDCWD, "b", 64));
    show_file("b");
    return 0;
}
