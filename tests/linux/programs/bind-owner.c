/* call: bind; covers: a socket's file is its maker's, and is made only where he may write */
#include "check.h"

static void as_other(void)
{
    struct sockaddr_un own = {AF_UNIX, "d/own"}, refused = {AF_UNIX, "refused"};
    struct stat status;
    SHOW(setgid(1000));
    SHOW(setuid(1000));
    SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&own, sizeof own));
    SHOW(stat("d/own", &status));
    say("%d %d\n", status.st_uid, status.st_gid);
    SHOW(chmod("d/own", 0777));
    SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&refused, sizeof refused));
    SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&own, sizeof own));
}

int main(void)
{
    chmod(".", 0755);
    mkdir("d", 0777);
    chmod("d", 0777);
    in_child(as_other);
    return 0;
}
