/* call: sethostname, setdomainname, uname; covers: who may, what all processes and /proc see, short and bad names; also: musl */
#include "check.h"

static void show(void)
{
    struct utsname name;
    uname(&name);
    say("%s %s\n", name.nodename, ((char *)&name) + 5 * 65);
    show_file("/proc/sys/kernel/hostname");
    show_file("/proc/sys/kernel/domainname");
}

static void child(void)
{
    show();
    SHOW(sethostname("of-a-child", 10));
    setresuid(1000, 1000, 1000);
    SHOW(sethostname("x", 1));
    SHOW(setdomainname("x", 100));
    SHOW(sethostname(NULL, -1));
}

int main(void)
{
    char long_name[65];
    memset(long_name, 'n', 65);
    SHOW(sethostname("first", 5));
    SHOW(setdomainname("a.domain", 8));
    in_child(child);
    show();
    SHOW(sethostname(long_name, 64));
    show();
    SHOW(sethostname(long_name, 65));
    SHOW(setdomainname((void *)8, 3));
    SHOW(setdomainname(NULL, -1));
    SHOW(sethostname("short\0er", 8));
    show();
    SHOW(sethostname("", 0));
    show();
    return 0;
}
