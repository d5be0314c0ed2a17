/* call: open; covers: files and folders of /sys, which are read and not written */
#include "check.h"

static void show(const char *path)
{
    char text[100] = "";
    int fd = open(path, O_RDONLY);
    long size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    say("%s: %ld %s", path, size, size > 0 ? text : "\n");
    if (fd >= 0) close(fd);
}

static int has(const char *folder, const char *name)
{
    int found = 0;
    DIR *all = opendir(folder);
    for (struct dirent *entry; all && (entry = readdir(all));) found |= strcmp(entry->d_name, name) == 0;
    if (all) closedir(all);
    return found;
}

int main(void)
{
    static const char *const names[] = { "addr_len", "address", "broadcast", "flags", "ifindex", "iflink", "operstate", "tx_queue_len", "type" };
    struct stat status;
    char path[100];
    for (int name = 0; name < 9; name++) {
        snprintf(path, sizeof path, "/sys/class/net/lo/%s", names[name]);
        show(path);
    }
    HOLDS(has("/sys", "class") && has("/sys", "devices") && has("/sys/class", "net") && has("/sys/class/net", "lo"));
    HOLDS(has("/sys/class/net/lo", "statistics") && has("/sys/class/net/lo/statistics", "rx_bytes"));
    HOLDS(has("/sys/devices/system/cpu", "cpu0") && has("/sys/devices/system/cpu", "online"));
    SHOW(stat("/sys/class/net/lo/mtu", &status));
    HOLDS(S_ISREG(status.st_mode));
    SHOW(stat("/sys/class/net", &status));
    HOLDS(S_ISDIR(status.st_mode));
    SHOW(open("/sys/class/net/nothing/mtu", O_RDONLY));
    SHOW(open("/sys/class/net/lo/nothing", O_RDONLY));
    SHOW(open("/sys/class/net/lo/mtu/more", O_RDONLY));
    SHOW(mkdir("/sys/class/net/folder", 0755) < 0);
    SHOW(unlink("/sys/class/net/lo/mtu") < 0);
    SHOW(chdir("/sys/class/net"));
    show("lo/ifindex");
    show("../net/lo/type");
    return 0;
}
