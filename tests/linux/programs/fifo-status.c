/* call: fstat; covers: a named pipe; and: open, mkfifo */
#include "check.h"

int main(void) {
    struct stat by_path, by_file;
    umask(022);
    SHOW(mkfifo("fifo-status-p", 0644));
    stat("fifo-status-p", &by_path);
    int reader = open("fifo-status-p", O_RDONLY | O_NONBLOCK), writer = open("fifo-status-p", O_WRONLY);
    for (int i = 0; i < 2; i++) {
        fstat(i ? writer : reader, &by_file);
        HOLDS(by_file.st_ino == by_path.st_ino);
        HOLDS(by_file.st_dev == by_path.st_dev);
        HOLDS(by_file.st_mode == (S_IFIFO | 0644));
        HOLDS(by_file.st_size == 0);
        char link[64], path[4096] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", i ? writer : reader);
        ssize_t size = readlink(link, path, sizeof path);
        HOLDS(size > 14 && !memcmp(path + size - 14, "/fifo-status-p", 14));
    }
    /* It is a pipe as before. */
    SHOW(write(writer, "abc", 3));
    char bytes[8];
    SHOW(read(reader, bytes, sizeof bytes));
    unlink("fifo-status-p");
    return 0;
}
