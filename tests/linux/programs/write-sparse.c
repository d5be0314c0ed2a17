/* call: write, lseek; covers: holes read as zeros */
#include "check.h"

int main(void)
{
    char buffer[10000];
    struct stat status;
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    SHOW(lseek(fd, 9000, SEEK_SET));
    SHOW(write(fd, "end", 3));
    SHOW(pread(fd, buffer, sizeof buffer, 0));
    int sum = 0;
    for (int index = 0; index < 9000; index++)
        sum += buffer[index];
    say("sum %d\n", sum);
    fstat(fd, &status);
    say("size %ld\n", (long)status.st_size);
    return 0;
}
