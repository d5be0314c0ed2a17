/* call: access, faccessat; covers: what the superuser may do; also: musl */
#include "check.h"

int main(void)
{
    put_file("f", "");
    chmod("f", 0);
    SHOW(access("f", F_OK));
    SHOW(access("f", R_OK | W_OK));
    SHOW(access("f", X_OK));
    chmod("f", 0100);
    SHOW(access("f", X_OK));
    SHOW(access(".", X_OK));
    SHOW(access("missing", F_OK));
    SHOW(access("f/x", F_OK));
    SHOW(access("f", 99));
    SHOW(access("", F_OK));
    SHOW(faccessat(AT_FDCWD, "f", R_OK, 0));
    SHOW(faccessat(99, "f", R_OK, 0));
    return 0;
}
