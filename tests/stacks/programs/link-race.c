/* Two sides of a race about what a path means. Each is started with a directory that has `turn` (a
   directory with `file`), `link` (a symbolic link to `closed`), `closed` (with `file` and
   `deep/file`) and `open`.

   `swap`, which no guard holds, exchanges `turn` and `link` until `stop` exists. `try N`, which its
   guard lets use `turn` and `open` alone, uses paths through `turn` N times in each way that leads
   anywhere, and goes on until a path was caught in the middle. It ends with 1 if it got or changed
   anything below `closed`. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int failures, caught;

static void swap(void) {
    while (access("stop", F_OK) != 0) {
        syscall(SYS_renameat2, AT_FDCWD, "turn", AT_FDCWD, "link", 2);
        sched_yield();
    }
    /* In the end `turn` is the directory again. */
    struct stat status;
    if (lstat("turn", &status) == 0 && S_ISLNK(status.st_mode)) syscall(SYS_renameat2, AT_FDCWD, "turn", AT_FDCWD, "link", 2);
}

static void fault(const char *what) {
    if (failures++ < 10) printf("%s\n", what);
}

/* Notes that a path was caught between judgement and use. */
static long noted(long result) {
    if (result < 0 && errno == ELOOP) caught++;
    return result;
}

static void look(int file, const char *how) {
    char bytes[16] = "";
    if (noted(file) < 0) return;
    if (read(file, bytes, sizeof bytes) > 0 && bytes[0] == 'c') fault(how);
    close(file);
}

static void use(int directory) {
    struct stat status;
    look(open("turn/file", O_RDONLY), "opened");
    look(open("turn/deep/../file", O_RDONLY), "opened by a way up");
    look(openat(directory, "../turn/file", O_RDWR), "opened from a directory");
    look(open("turn/deep/file", O_RDONLY), "opened deep");
    if (noted(stat("turn/file", &status)) == 0 && status.st_size == 7) fault("found");
    if (noted(truncate("turn/file", 5)) == 0) noted(truncate("turn/file", 5));
    noted(chmod("turn/file", 0600));
    if (noted(link("turn/file", "open/hard")) == 0) {
        look(open("open/hard", O_RDONLY), "linked");
        unlink("open/hard");
    }
    if (noted(rename("turn/file", "open/file")) == 0) {
        look(open("open/file", O_RDONLY), "moved");
        noted(rename("open/file", "turn/file"));
        rename("open/file", "turn/file");
    }
    if (noted(mkdir("turn/new", 0700)) == 0) noted(rmdir("turn/new"));
    look(open("turn/fresh", O_RDWR | O_CREAT, 0600), "made");
    noted(unlink("turn/fresh"));
    noted(symlink("../closed", "turn/way"));
    noted(unlink("turn/way"));
    int watcher = inotify_init1(IN_NONBLOCK);
    if (watcher >= 0) {
        noted(inotify_add_watch(watcher, "turn/deep", IN_ALL_EVENTS));
        close(watcher);
    }
}

int main(int count, char **words) {
    if (count < 3 || chdir(words[1]) != 0) return 2;
    if (strcmp(words[2], "swap") == 0) {
        swap();
        return 0;
    }
    int directory = open("open", O_RDONLY | O_DIRECTORY);
    /* How often one is caught is by chance, so it goes on until it was. */
    for (int times = count > 3 ? atoi(words[3]) : 1; times > 0 || caught == 0; times--) use(directory);
    fprintf(stderr, "%d caught\n", caught);
    return failures != 0;
}
