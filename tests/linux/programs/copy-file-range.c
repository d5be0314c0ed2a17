/* call: copy_file_range; covers: offsets, the same file, errors */
#include "check.h"

int main(void)
{
    off_t in = 2, out = 5;
    put_file("from", "0123456789");
    int from = open("from", O_RDWR), to = open("to", O_RDWR | O_CREAT, 0644);
    SHOW(copy_file_range(from, NULL, to, NULL, 4, 0));
    SHOW(copy_file_range(from, &in, to, &out, 3, 0));
    say("%ld %ld\n", (long)in, (long)out);
    SHOW(lseek(from, 0, SEEK_CUR));
    SHOW(lseek(to, 0, SEEK_CUR));
    SHOW(copy_file_range(from, NULL, to, NULL, 100, 0));
    SHOW(copy_file_range(from, NULL, to, NULL, 100, 0));
    SHOW(copy_file_range(from, NULL, to, NULL, 1, 1));
    SHOW(copy_file_range(77, NULL, to, NULL, 1, 0));
    SHOW(copy_file_range(to, NULL, open("from", O_RDONLY), NULL, 1, 0));
    in = 0, out = 2;
    SHOW(copy_file_range(from, &in, from, &out, 5, 0));
    SHOW(copy_file_range(open(".", O_RDONLY), NULL, to, NULL, 1, 0));
    int fd = open("to", O_RDONLY);
    char text[20] = "";
    SHOW(read(fd, text, 19));
    HOLDS(memcmp(text, "0123", 4) == 0);
    return 0;
}
