/* call: prctl; covers: names, dumpability, privileges, timer slack, errors */
#include "check.h"

int main(void)
{
    int value;
    SHOW(prctl(PR_GET_DUMPABLE));
    SHOW(prctl(PR_SET_DUMPABLE, 0));
    SHOW(prctl(PR_GET_DUMPABLE));
    SHOW(prctl(PR_SET_DUMPABLE, 7));
    SHOW(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    SHOW(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    SHOW(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    SHOW(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
    SHOW(prctl(PR_GET_KEEPCAPS));
    SHOW(prctl(PR_SET_KEEPCAPS, 1));
    SHOW(prctl(PR_GET_KEEPCAPS));
    SHOW(prctl(PR_GET_TIMERSLACK));
    SHOW(prctl(PR_GET_PDEATHSIG, &value));
    say("%d\n", value);
    SHOW(prctl(PR_SET_PDEATHSIG, 99));
    SHOW(prctl(99999));
    SHOW(prctl(PR_SET_NAME, (char *)8));
    return 0;
}
