/* call: setxattr, getxattr, listxattr, removexattr; covers: what a user who is not the superuser may do with attributes; capabilities of files */
#include "check.h"

#include <sys/xattr.h>

static char value[100];

static void as_user(void)
{
    SHOW(setresuid(1000, 1000, 1000));
    SHOW(getxattr("f", "trusted.a", value, sizeof value));
    SHOW(setxattr("f", "trusted.a", "2", 1, 0));
    SHOW(removexattr("f", "trusted.a"));
    SHOW(listxattr("f", value, sizeof value));
    SHOW(getxattr("f", "security.a", value, sizeof value));
    SHOW(getxattr("hidden/f", "security.a", value, sizeof value));
}

int main(void)
{
    static const unsigned char capable[20] = { 0, 0, 0, 2, 1 }, wrong[20] = { 0, 0, 0, 9, 1 };
    put_file("f", "");
    mkdir("hidden", 0700), put_file("hidden/f", "");
    SHOW(setxattr("f", "trusted.a", "1", 1, 0));
    SHOW(setxattr("f", "security.a", "1", 1, 0));
    in_child(as_user);
    SHOW(getxattr("f", "trusted.a", value, sizeof value));
    SHOW(setxattr("f", "security.capability", wrong, sizeof wrong, 0));
    SHOW(setxattr("f", "security.capability", capable, 19, 0));
    SHOW(setxattr("f", "security.capability", capable, sizeof capable, 0));
    SHOW(getxattr("f", "security.capability", value, sizeof value));
    SHOW(removexattr("f", "security.capability"));
    return 0;
}
