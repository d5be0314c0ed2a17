/* call: unshare; covers: names of the system that a child has for itself */
#include "check.h"

static void child(void)
{
    struct utsname name;
    SHOW(unshare(CLONE_NEWUTS));
    sethostname("inside", 6);
    uname(&name);
    say("%s\n", name.nodename);
}

int main(void)
{
    struct utsname name;
    in_child(child);
    uname(&name);
    HOLDS(strcmp(name.nodename, "inside") != 0);
    SHOW(unshare(1));
    return 0;
}
