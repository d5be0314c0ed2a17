/* call: rename; covers: files over files, directories over directories; also: musl dynamic */
#include "check.h"

int main(void)
{
    put_file("a", "first");
    put_file("b", "second");
    int fd = open("b", O_RDONLY);
    char text[10] = "";
    SHOW(rename("a", "b"));
    show_file("b");
    SHOW(access("a", F_OK));
    SHOW(read(fd, text, 9));
    say("%s\n", text);
    mkdir("d", 0755);
    mkdir("e", 0755);
    put_file("d/f", "");
    SHOW(rename("d", "e"));
    SHOW(access("e/f", F_OK));
    mkdir("g", 0755);
    SHOW(rename("g", "e"));
    symlink("b", "link");
    SHOW(rename("link", "moved"));
    SHOW(readlink("moved", text, 9));
    return 0;
}
