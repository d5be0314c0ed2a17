/* call: setxattr, getxattr, listxattr, removexattr; covers: attributes that the superuser gives a file: made, changed, listed, removed; what names and sizes are refused */
#include "check.h"

#include <sys/xattr.h>

static char value[70000], name[400];

int main(void)
{
    put_file("f", "");
    SHOW(listxattr("f", value, sizeof value));
    SHOW(setxattr("f", "trusted.name", "value", 5, XATTR_REPLACE));
    SHOW(setxattr("f", "trusted.name", "value", 5, XATTR_CREATE));
    SHOW(setxattr("f", "trusted.name", "value", 5, XATTR_CREATE));
    SHOW(getxattr("f", "trusted.name", value, sizeof value));
    say("%.5s\n", value);
    SHOW(getxattr("f", "trusted.name", NULL, 0));
    SHOW(getxattr("f", "trusted.name", value, 4));
    SHOW(getxattr("f", "trusted.name", (char *)1, 5));
    SHOW(setxattr("f", "trusted.name", "other", 5, XATTR_REPLACE));
    SHOW(setxattr("f", "trusted.name", "third one", 9, 0));
    SHOW(getxattr("f", "trusted.name", value, sizeof value));
    say("%.9s\n", value);
    SHOW(listxattr("f", value, sizeof value));
    say("%s\n", value);
    SHOW(listxattr("f", NULL, 0));
    SHOW(listxattr("f", value, 12));
    SHOW(setxattr("f", "trusted.none", "", 0, 0));
    SHOW(getxattr("f", "trusted.none", value, sizeof value));
    SHOW(removexattr("f", "trusted.none"));
    SHOW(removexattr("f", "trusted.none"));
    SHOW(getxattr("f", "trusted.none", value, sizeof value));
    memset(value, 'v', sizeof value);
    SHOW(setxattr("f", "trusted.large", value, 65536, 0));
    SHOW(setxattr("f", "trusted.large", value, 65537, 0));
    memset(value, 0, sizeof value);
    SHOW(getxattr("f", "trusted.large", value, sizeof value));
    HOLDS(value[0] == 'v' && value[65535] == 'v' && value[65536] == 0);
    SHOW(getxattr("f", "trusted.large", value, 65535));
    memset(name, 'n', sizeof name - 1), memcpy(name, "trusted.", 8);
    SHOW(setxattr("f", name, "", 0, 0));
    name[255] = 0;
    SHOW(setxattr("f", name, "1", 1, 0));
    SHOW(getxattr("f", name, value, 1));
    SHOW(setxattr("f", "", "", 0, 0));
    SHOW(setxattr("f", "trusted.", "", 0, 0));
    SHOW(setxattr("f", "nonsense", "", 0, 0));
    SHOW(getxattr("f", "nonsense", value, sizeof value));
    SHOW(setxattr("f", "trusted.name", "", 0, 4));
    SHOW(setxattr("f", "trusted.name", (char *)1, 5, 0));
    SHOW(setxattr("f", (char *)1, "", 0, 0));
    SHOW(getxattr("missing", "trusted.name", value, sizeof value));
    SHOW(listxattr("missing", value, sizeof value));
    return 0;
}
