/* call: setxattr, getxattr, listxattr, removexattr; covers: user attributes of a file in memory, where Linux's tmpfs has none */
#include "check.h"

#include <sys/xattr.h>

int main(void)
{
    char value[20];
    put_file("f", "");
    SHOW(setxattr("f", "user.name", "value", 5, 0));
    SHOW(getxattr("f", "user.name", value, sizeof value));
    SHOW(listxattr("f", value, sizeof value));
    SHOW(removexattr("f", "user.name"));
    SHOW(fgetxattr(77, "user.name", value, sizeof value));
    SHOW(getxattr("missing", "user.name", value, sizeof value));
    SHOW(lgetxattr("f", "nonsense", value, sizeof value));
    return 0;
}
