/* call: unlink; covers: a file that is open lives on; also: musl dynamic */
#include "check.h"

int main(void)
{
    char text[10] = "";
    struct stat status;
    put_file("f", "text");
    int fd = open("f", O_RDWR);
    SHOW(unlink("f"));
    SHOW(access("f", F_OK));
    SHOW(write(fd, "more", 4));
    SHOW(pread(fd, text, 9, 0));
    SHOW(fstat(fd, &status));
    say("%s links %ld\n", text, (long)status.st_nlink);
    put_file("f", "new");
    SHOW(pread(fd, text, 9, 0));
    say("%s\n", text);
    return 0;
}
