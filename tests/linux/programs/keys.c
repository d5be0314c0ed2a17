/* call: add_key, keyctl; covers: a key in the session's ring */
#include "check.h"

int main(void)
{
    HOLDS(syscall(SYS_add_key, "user", "name", "value", 5, -2) > 0);
    return 0;
}
