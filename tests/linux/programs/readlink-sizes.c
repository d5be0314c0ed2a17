/* call: readlink, readlinkat; covers: cut off, no room, no link; also: musl */
#include "check.h"

int main(void)
{
    char target[20] = "";
    put_file("f", "");
    symlink("target", "link");
    SHOW(readlink("link", target, sizeof target));
    say("%s\n", target);
    memset(target, 0, sizeof target);
    SHOW(readlink("link", target, 3));
    say("%s\n", target);
    SHOW(readlink("link", target, 0));
    SHOW(readlink("link", target, -1));
    SHOW(readlink("f", target, 20));
    SHOW(readlink("missing", target, 20));
    SHOW(readlink("link", (char *)8, 20));
    SHOW(readlinkat(open("link", O_PATH | O_NOFOLLOW), "", target, 20));
    SHOW(readlinkat(open(".", O_RDONLY), "link", target, 20));
    SHOW(readlinkat(99, "link", target, 20));
    return 0;
}
