/* call: open; covers: directories, missing parts, files as directories, empty and bad names; also: musl */
#include "check.h"

int main(void)
{
    put_file("f", "");
    mkdir("d", 0755);
    SHOW(open("missing", O_RDONLY));
    SHOW(open("missing/f", O_RDWR | O_CREAT, 0644));
    SHOW(open("f/x", O_RDONLY));
    SHOW(open("f/", O_RDONLY));
    SHOW(open("f/.", O_RDONLY));
    SHOW(open("d", O_WRONLY));
    SHOW(open("d", O_RDWR));
    SHOW(open("d", O_RDONLY | O_CREAT, 0644));
    SHOW(open("d/new/", O_RDWR | O_CREAT, 0644));
    SHOW(open("f", O_RDONLY | O_DIRECTORY));
    SHOW(open("", O_RDONLY));
    SHOW(open((char *)8, O_RDONLY));
    SHOW(open("d", O_RDONLY | O_TRUNC));
    return 0;
}
