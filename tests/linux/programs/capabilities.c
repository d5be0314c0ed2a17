/* call: capget, capset, prctl; covers: the superuser's, dropping them, errors */
#include "check.h"

#include <linux/capability.h>

static void child(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    SHOW(syscall(SYS_capget, &header, data));
    HOLDS(data[0].effective & 1);
    data[0].effective = data[0].permitted = data[0].inheritable = data[1].effective = data[1].permitted = 0;
    SHOW(syscall(SYS_capset, &header, data));
    SHOW(setuid(5));
    data[0].permitted = 1;
    SHOW(syscall(SYS_capset, &header, data));
    header.version = 5;
    SHOW(syscall(SYS_capget, &header, data));
    say("%d\n", header.version == _LINUX_CAPABILITY_VERSION_3);
}

int main(void)
{
    SHOW(prctl(PR_CAPBSET_READ, 0));
    SHOW(prctl(PR_CAPBSET_READ, 99));
    in_child(child);
    return 0;
}
