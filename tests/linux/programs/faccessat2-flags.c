/* call: faccessat2; covers: effective ids, links, the empty path */
#include "check.h"

int main(void)
{
    symlink("missing", "dangling");
    put_file("f", "");
    int fd = open("f", O_RDONLY);
    SHOW(syscall(SYS_faccessat2, AT_FDCWD, "dangling", F_OK, 0));
    SHOW(syscall(SYS_faccessat2, AT_FDCWD, "dangling", F_OK, AT_SYMLINK_NOFOLLOW));
    SHOW(syscall(SYS_faccessat2, AT_FDCWD, "f", R_OK, AT_EACCESS));
    SHOW(syscall(SYS_faccessat2, fd, "", R_OK, AT_EMPTY_PATH));
    SHOW(syscall(SYS_faccessat2, fd, "", R_OK, 0));
    SHOW(syscall(SYS_faccessat2, AT_FDCWD, "f", R_OK, 0x8000));
    return 0;
}
