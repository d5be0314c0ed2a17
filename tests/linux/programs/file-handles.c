/* call: name_to_handle_at; covers: a handle's size is told */
#include "check.h"

int main(void)
{
    struct {
        unsigned size;
        int kind;
        char bytes[128];
    } handle = {0};
    int mount;
    put_file("f", "");
    SHOW(syscall(SYS_name_to_handle_at, AT_FDCWD, "f", &handle, &mount, 0));
    HOLDS(handle.size > 0);
    return 0;
}
