/* call: uname, sethostname, setdomainname; covers: what a program asks of its system */
#include "check.h"

int main(void)
{
    struct utsname name;
    SHOW(uname(&name));
    say("%s %s\n", name.sysname, name.machine);
    HOLDS(name.release[0] >= '5' && strchr(name.release, '.'));
    SHOW(uname((void *)8));
    SHOW(sethostname("a-name", 6));
    uname(&name);
    say("%s\n", name.nodename);
    SHOW(sethostname("a-name", 65));
    SHOW(sethostname("a-name", -1));
    return 0;
}
