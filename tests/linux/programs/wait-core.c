/* call: wait4, setrlimit; covers: the flag of a core dump is not there when the limit is 0 */
#include "check.h"

static void child(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    abort();
}

int main(void)
{
    int status;
    pid_t id = make_child(child);
    waitpid(id, &status, 0);
    show_status(status);
    say("core %d\n", WCOREDUMP(status) != 0);
    return 0;
}
