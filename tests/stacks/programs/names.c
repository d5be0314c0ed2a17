/* Two threads that make calls about names, positions and directories: both go on, until each has made some rounds. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rounds that the slower thread makes before both end. */
#define ROUNDS 100

static atomic_long rounds[2];

static void check(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

/* One round: each kind of call once, on names of the thread's own. */
static void *work(void *number)
{
    long me = (long)number;
    char folder[64], first[80], second[80], target[80];
    struct stat status;
    snprintf(folder, sizeof folder, "/tmp/names-%ld", me);
    snprintf(first, sizeof first, "%s/first", folder);
    snprintf(second, sizeof second, "%s/second", folder);
    int file = open("/bin/busybox", O_RDONLY);
    check(file >= 0, "open");
    while (rounds[0] < ROUNDS || rounds[1] < ROUNDS) {
        check(mkdir(folder, 0755) == 0, "mkdir");
        check(symlink("/nowhere", first) == 0, "symlink");
        check(lstat(first, &status) == 0 && S_ISLNK(status.st_mode), "lstat");
        check(readlink(first, target, sizeof target) == 8, "readlink");
        check(rename(first, second) == 0, "rename");
        check(lseek(file, 77, SEEK_SET) == 77, "lseek");
        DIR *list = opendir(folder);
        int names = 0;
        for (struct dirent *entry; (entry = readdir(list));)
            names++;
        check(names == 3, "readdir");
        closedir(list);
        check(unlink(second) == 0, "unlink");
        check(rmdir(folder) == 0, "rmdir");
        check(stat("/bin", &status) == 0, "stat");
        rounds[me]++;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    for (long number = 0; number < 2; number++)
        check(pthread_create(&threads[number], NULL, work, (void *)number) == 0, "pthread_create");
    for (int number = 0; number < 2; number++)
        pthread_join(threads[number], NULL);
    return 0;
}
