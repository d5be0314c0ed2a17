/* call: getdents64, openat, newfstatat; covers: terminals stand in /dev/pts, by absolute and relative names */
#include "check.h"

/* Which of two names of terminals and of what makes them are in the folder. */
static void list(const char *number)
{
    DIR *folder = opendir("/dev/pts");
    struct dirent *entry;
    int numbers = 0, makers = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        numbers += strcmp(entry->d_name, number) == 0 && entry->d_type == DT_CHR;
        makers += strcmp(entry->d_name, "ptmx") == 0 && entry->d_type == DT_CHR;
    }
    say("%d %d\n", numbers, makers);
    closedir(folder);
}

int main(void)
{
    struct stat first, second;
    char path[32] = "/dev/pts/";
    int master = posix_openpt(O_RDWR | O_NOCTTY), place = strlen(path);
    const char *number = path + place;
    unlockpt(master);
    ptsname_r(master, path, sizeof path);
    list(number);
    SHOW(stat("/dev/pts", &first));
    say("%o\n", first.st_mode & S_IFMT);
    int folder = open("/dev/pts", O_RDONLY | O_DIRECTORY), slave = openat(folder, number, O_RDWR | O_NOCTTY);
    SHOW(write(slave, "x", 1));
    SHOW(fstatat(folder, number, &first, AT_SYMLINK_NOFOLLOW));
    SHOW(stat(path, &second));
    HOLDS(first.st_rdev == second.st_rdev && first.st_ino == second.st_ino);
    SHOW(strcmp(ttyname(slave), path));
    SHOW(chdir("/dev/pts"));
    SHOW(access(number, R_OK));
    int other = open("../pts/ptmx", O_RDWR | O_NOCTTY);
    HOLDS(other >= 0);
    SHOW(open("77", O_RDWR));
    SHOW(openat(folder, "no", O_RDONLY));
    close(slave);
    close(master);
    list(number);
    SHOW(fstatat(folder, number, &first, 0));
    return 0;
}
