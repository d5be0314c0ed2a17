/* call: fcntl; covers: leases of files that are open to write, and of what has none */
#include "check.h"

int main(void)
{
    int writer = open("f", O_RDWR | O_CREAT, 0644), file = open("f", O_RDONLY);
    int null = open("/dev/null", O_RDONLY), directory = open(".", O_RDONLY | O_DIRECTORY);
    SHOW(fcntl(file, F_GETLEASE));
    SHOW(fcntl(file, F_SETLEASE, F_RDLCK));
    SHOW(fcntl(file, F_SETLEASE, F_WRLCK));
    SHOW(fcntl(file, F_SETLEASE, F_UNLCK));
    SHOW(fcntl(file, F_SETLEASE, 3));
    SHOW(fcntl(null, F_SETLEASE, F_UNLCK));
    SHOW(fcntl(directory, F_SETLEASE, F_UNLCK));
    SHOW(fcntl(file, F_GETLEASE));
    SHOW(writer < 0);
    return 0;
}
