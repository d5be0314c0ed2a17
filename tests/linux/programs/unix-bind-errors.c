/* call: bind, listen, connect; covers: names in use, bad families, bad lengths */
#include "check.h"

int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "name"}, missing = {.sun_family = AF_UNIX, .sun_path = "missing/name"};
    struct sockaddr_un other = {.sun_family = AF_INET, .sun_path = "x"}, file = {.sun_family = AF_UNIX, .sun_path = "file"};
    struct stat status;
    put_file("file", "");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);
    SHOW(bind(fd, (struct sockaddr *)&other, sizeof other));
    SHOW(bind(fd, (struct sockaddr *)&missing, sizeof missing));
    SHOW(bind(fd, (struct sockaddr *)&file, sizeof file));
    SHOW(bind(fd, (struct sockaddr *)&address, 1));
    SHOW(bind(fd, (struct sockaddr *)&address, 500));
    SHOW(bind(fd, (struct sockaddr *)&address, sizeof address));
    stat("name", &status);
    say("%o\n", status.st_mode);
    SHOW(bind(fd, (struct sockaddr *)&missing, sizeof missing));
    SHOW(bind(second, (struct sockaddr *)&address, sizeof address));
    SHOW(listen(second, 1));
    SHOW(listen(0, 1));
    SHOW(listen(77, 1));
    SHOW(bind(77, (struct sockaddr *)&address, sizeof address));
    return 0;
}
