/* call: open; covers: O_NOFOLLOW with links at the end and on the way */
#include "check.h"

int main(void)
{
    put_file("f", "");
    mkdir("d", 0755);
    put_file("d/f", "");
    symlink("f", "link");
    symlink("d", "way");
    SHOW(open("link", O_RDONLY | O_NOFOLLOW));
    SHOW(open("f", O_RDONLY | O_NOFOLLOW));
    SHOW(open("way/f", O_RDONLY | O_NOFOLLOW));
    SHOW(open("way", O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
    SHOW(open("link", O_RDONLY | O_NOFOLLOW | O_CREAT, 0644));
    return 0;
}
