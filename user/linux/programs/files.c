/* Files, directories, names, attributes, and the errors of all of them. */
#include "check.h"
#include <dirent.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/vfs.h>

static char buffer[200000];

static void contents(void)
{
    int fd = open("one", O_RDWR | O_CREAT | O_EXCL, 0640);
    SHOW(write(fd, "hello world\n", 12));
    SHOW(open("one", O_RDWR | O_CREAT | O_EXCL, 0640));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(lseek(fd, 6, SEEK_SET));
    SHOW(read(fd, buffer, 100));
    printf("%.6s", buffer);
    SHOW(read(fd, buffer, 100));
    SHOW(pread(fd, buffer, 5, 0));
    SHOW(pwrite(fd, "J", 1, 0));
    SHOW(lseek(fd, -3, SEEK_END));
    SHOW(lseek(fd, -30, SEEK_END));
    SHOW(lseek(fd, 0, 77));
    SHOW(lseek(fd, 100000, SEEK_SET));
    SHOW(write(fd, "end", 3));
    SHOW(ftruncate(fd, 50000));
    SHOW(ftruncate(fd, -1));
    struct stat status;
    SHOW(fstat(fd, &status));
    printf("mode %o size %ld links %ld\n", status.st_mode, (long)status.st_size, (long)status.st_nlink);
    SHOW(pread(fd, buffer, 20, 49990));
    HOLDS(buffer[0] == 0 && buffer[9] == 0);
    memset(buffer, 'x', sizeof buffer);
    SHOW(pwrite(fd, buffer, sizeof buffer, 10));
    memset(buffer, 0, sizeof buffer);
    SHOW(pread(fd, buffer, sizeof buffer, 10));
    HOLDS(buffer[0] == 'x' && buffer[sizeof buffer - 1] == 'x');
    SHOW(close(fd));
    SHOW(close(fd));
    SHOW(read(fd, buffer, 1));
    fd = open("one", O_RDONLY);
    SHOW(write(fd, "x", 1));
    close(fd);
    fd = open("one", O_WRONLY | O_APPEND);
    SHOW(read(fd, buffer, 1));
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(write(fd, "tail", 4));
    SHOW(lseek(fd, 0, SEEK_CUR));
    close(fd);
    SHOW(truncate("one", 5));
    struct iovec pieces[3] = {{"ab", 2}, {"", 0}, {"cdef", 4}};
    fd = open("two", O_RDWR | O_CREAT | O_TRUNC, 0666);
    SHOW(writev(fd, pieces, 3));
    char first[3] = "", second[9] = "";
    struct iovec places[2] = {{first, 2}, {second, 8}};
    lseek(fd, 0, SEEK_SET);
    SHOW(readv(fd, places, 2));
    printf("%s %s\n", first, second);
    SHOW(writev(fd, pieces, -1));
    int source = open("one", O_RDONLY);
    SHOW(sendfile(fd, source, NULL, 100));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(close(source) | close(fd));
}

static void names(void)
{
    char link_target[20] = "";
    struct stat status;
    SHOW(mkdir("d", 0755));
    SHOW(mkdir("d", 0755));
    SHOW(mkdir("missing/d", 0755));
    SHOW(open("missing", O_RDONLY));
    SHOW(open("one/x", O_RDONLY));
    SHOW(open("d", O_WRONLY));
    SHOW(open("", O_RDONLY));
    SHOW(open("one", O_RDONLY | O_DIRECTORY));
    SHOW(symlink("../one", "d/s"));
    SHOW(readlink("d/s", link_target, 20));
    printf("%s\n", link_target);
    SHOW(readlink("d/s", link_target, 3));
    SHOW(readlink("one", link_target, 20));
    SHOW(readlink("d/s", link_target, 0));
    SHOW(open("d/s", O_RDONLY | O_NOFOLLOW));
    SHOW(lstat("d/s", &status));
    HOLDS(S_ISLNK(status.st_mode) && status.st_size == 6);
    SHOW(stat("d/s", &status));
    HOLDS(S_ISREG(status.st_mode));
    SHOW(symlink("loop", "loop"));
    SHOW(open("loop", O_RDONLY));
    SHOW(link("one", "d/hard"));
    SHOW(link("d", "d2"));
    SHOW(stat("one", &status));
    HOLDS(status.st_nlink == 2);
    SHOW(rename("d/hard", "hard"));
    SHOW(rename("hard", "d"));
    SHOW(rename("d", "hard"));
    SHOW(rename("d", "d/inside"));
    SHOW(rename("missing", "x"));
    SHOW(rmdir("d"));
    SHOW(rmdir("one"));
    SHOW(unlink("d"));
    SHOW(unlink("missing"));
    SHOW(unlink("d/s"));
    SHOW(unlink("loop"));
    SHOW(unlink("hard"));
    SHOW(chdir("d"));
    SHOW(access("../one", R_OK));
    SHOW(access("../missing", R_OK));
    SHOW(chdir("../one"));
    SHOW(chdir(".."));
    SHOW(rmdir("d"));
    static char longest[5000];
    memset(longest, 'n', 300);
    SHOW(open(longest, O_RDONLY));
    memset(longest, 'n', sizeof longest - 1);
    SHOW(open(longest, O_RDONLY));
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void listing(void)
{
    char name[20], *found[600];
    int count = 0;
    mkdir("many", 0755);
    for (int number = 0; number < 300; number++) {
        snprintf(name, sizeof name, "many/file%d", number);
        close(open(name, O_CREAT | O_WRONLY, 0644));
    }
    DIR *directory = opendir("many");
    for (struct dirent *entry; (entry = readdir(directory));)
        found[count++] = strdup(entry->d_name);
    printf("%d entries\n", count);
    qsort(found, count, sizeof *found, by_name);
    printf("%s %s %s %s\n", found[0], found[1], found[2], found[count - 1]);
    rewinddir(directory);
    readdir(directory), readdir(directory);
    long place = telldir(directory);
    char *third = strdup(readdir(directory)->d_name);
    while (readdir(directory))
        continue;
    seekdir(directory, place);
    HOLDS(strcmp(third, readdir(directory)->d_name) == 0);
    closedir(directory);
    for (int number = 0; number < count; number++)
        if (found[number][0] != '.') {
            snprintf(name, sizeof name, "many/%s", found[number]);
            unlink(name);
        }
    SHOW(rmdir("many"));
    SHOW(opendir("one") == NULL);
}

static void attributes(void)
{
    struct stat status;
    uint16_t extended[128]; /* musl has no struct statx */
    struct statfs system;
    struct timespec times[2] = {{1000000000, 5}, {1234567890, 987654321}};
    umask(027);
    close(open("three", O_CREAT | O_WRONLY, 0777));
    stat("three", &status);
    printf("%o\n", status.st_mode);
    SHOW(chmod("three", 04711));
    SHOW(chown("three", 12, 34));
    SHOW(utimensat(AT_FDCWD, "three", times, 0));
    SHOW(stat("three", &status));
    printf("%o %d %d %ld.%09ld %ld.%09ld\n", status.st_mode, status.st_uid, status.st_gid, (long)status.st_atim.tv_sec, status.st_atim.tv_nsec,
           (long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    SHOW(syscall(SYS_statx, AT_FDCWD, "three", 0, 0x7ff, extended));
    printf("mode %o group %d\n", extended[14], extended[12]);
    SHOW(chmod("missing", 0));
    SHOW(statfs("three", &system));
    HOLDS(system.f_namelen == 255 && system.f_blocks > 0);
    SHOW(fstat(77, &status));
    SHOW(fcntl(77, F_GETFD));
    int fd = open("three", O_RDONLY | O_CLOEXEC);
    SHOW(fcntl(fd, F_GETFD));
    SHOW(fcntl(fd, F_GETFL) & O_ACCMODE);
    SHOW(fcntl(fd, F_SETFL, O_NONBLOCK));
    SHOW(fcntl(fd, F_GETFL) & O_NONBLOCK);
    SHOW(fcntl(fd, F_DUPFD, 20));
    SHOW(dup2(fd, 30));
    SHOW(dup2(fd, fd) == fd);
    SHOW(dup3(fd, fd, 0));
    SHOW(dup2(77, 30));
    SHOW(fcntl(30, F_GETFD));
    SHOW(fchmod(30, 0600));
    SHOW(isatty(fd));
    SHOW(unlink("three") | unlink("two") | unlink("one"));
}

int main(int count, char **words)
{
    char path[200];
    start_in(count, words);
    SHOW(mkdir("files.test", 0755));
    SHOW(chdir("files.test"));
    HOLDS(getcwd(path, sizeof path) && strstr(path, "files.test"));
    SHOW(getcwd(path, 3) == NULL);
    contents();
    names();
    listing();
    attributes();
    SHOW(chdir(".."));
    SHOW(rmdir("files.test"));
    return 0;
}
