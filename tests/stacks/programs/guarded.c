/* Tries to get at files that its guard does not let it have. Started in any directory with one argument: a directory with `open` (to be read and
   written), `shown` (to be read) and `closed`. Says nothing of what went as it must, and ends with 1 if something did not. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int failures;

static void expect(const char *what, long result, int expected) {
    int got = result < 0 ? errno : 0;
    if (got != expected) {
        printf("%s: %s, not %s\n", what, strerror(got), strerror(expected));
        failures++;
    }
}
#define MUST(expected, call) expect(#call, call, expected)

static void at_once(void) {
    MUST(EACCES, open("closed/secret", O_RDONLY));
    MUST(EACCES, open("closed/secret", O_PATH));
    MUST(EACCES, open("closed", O_RDONLY | O_DIRECTORY));
    MUST(EACCES, open("/", O_RDONLY | O_DIRECTORY));
    MUST(EACCES, open("shown/text", O_RDWR));
    MUST(EACCES, open("shown/text", O_WRONLY | O_APPEND));
    MUST(EACCES, open("shown/text", O_RDONLY | O_TRUNC));
    MUST(EACCES, open("shown/new", O_RDONLY | O_CREAT, 0600));
    MUST(EACCES, unlink("shown/text"));
    MUST(EACCES, mkdir("shown/new", 0700));
    MUST(EACCES, truncate("shown/text", 0));
    MUST(EACCES, chmod("shown/text", 0777));
    MUST(EACCES, mknod("shown/new", S_IFREG | 0600, 0));
    MUST(EACCES, mknod("open/device", S_IFCHR | 0600, makedev(5, 1)));
    struct stat status;
    MUST(EACCES, stat("closed/secret", &status));
    MUST(0, stat("shown/text", &status));
}

static void by_other_names(void) {
    MUST(EACCES, open("open/../closed/secret", O_RDONLY));
    MUST(EACCES, open("./open/.././/closed/./secret", O_RDONLY));
    MUST(0, symlink("../closed/secret", "open/link"));
    MUST(EACCES, open("open/link", O_RDONLY));
    MUST(0, symlink("..", "open/up"));
    MUST(EACCES, open("open/up/closed/secret", O_RDONLY));
    MUST(EACCES, open("open/up/open/up/closed/new", O_WRONLY | O_CREAT, 0600));
    MUST(0, symlink("../shown/fresh", "open/dangling"));
    MUST(EACCES, open("open/dangling", O_WRONLY | O_CREAT, 0600));
    MUST(EACCES, link("closed/secret", "open/hard"));
    MUST(EACCES, link("shown/text", "open/hard"));
    MUST(EACCES, linkat(AT_FDCWD, "open/link", AT_FDCWD, "open/hard", AT_SYMLINK_FOLLOW));
    MUST(EACCES, rename("closed/secret", "open/taken"));
    MUST(EACCES, rename("shown", "open/shown"));
    MUST(EACCES, rename("open", "other"));
    MUST(EACCES, rename("open/mine", "shown/mine"));
    MUST(EACCES, rename("open/mine", "shown/text"));
    MUST(0, rename("open/mine", "open/yours"));
    MUST(0, link("open/yours", "open/mine"));
}

static void by_handles(void) {
    int directory = open("open/inner", O_RDONLY | O_DIRECTORY);
    MUST(0, directory);
    MUST(EACCES, openat(directory, "../../closed/secret", O_RDONLY));
    MUST(EACCES, renameat(directory, "../mine", directory, "../../shown/mine"));
    MUST(0, rename("open/inner", "open/moved"));
    MUST(0, openat(directory, "fresh", O_RDWR | O_CREAT, 0600));
    struct stat status;
    MUST(0, stat("open/moved/fresh", &status));
    MUST(EACCES, openat(directory, "../../closed/secret", O_RDONLY));
    MUST(0, fchdir(directory));
    MUST(EACCES, open("../../closed/secret", O_RDONLY));
    MUST(EACCES, open("../../shown/text", O_RDWR));
    MUST(0, chdir("../.."));
}

static void by_what_was_opened(void) {
    char text[16] = "";
    int file = open("shown/text", O_RDONLY);
    MUST(0, file);
    MUST(0, read(file, text, sizeof text - 1));
    if (strcmp(text, "shown\n") != 0) {
        printf("what was read is %s\n", text);
        failures++;
    }
    MUST(EBADF, write(file, "x", 1));
    MUST(EACCES, fchmod(file, 0777));
    MUST(EACCES, fchown(file, 1, 1));
    MUST(EACCES, futimens(file, NULL));
    MUST(0, lseek(file, 0, SEEK_SET));
    char *contents = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    expect("mmap", contents == MAP_FAILED ? -1 : 0, 0);
    MUST(ENOTDIR, openat(file, "x", O_RDONLY));
    int own = open("open/own", O_RDWR | O_CREAT, 0600);
    MUST(0, own);
    MUST(0, write(own, "x", 1));
    MUST(0, fchmod(own, 0644));
    MUST(0, ftruncate(own, 100));
}

int main(int count, char **arguments) {
    if (count != 2 || chdir(arguments[1]) != 0) {
        printf("cannot enter the directory: %s\n", strerror(errno));
        return 2;
    }
    at_once();
    by_other_names();
    by_handles();
    by_what_was_opened();
    printf("%d failures\n", failures);
    return failures != 0;
}
