/* call: wait4, waitid, kill; covers: stopped and continued children */
#include "check.h"

static void child(void)
{
    for (;;)
        pause();
}

int main(void)
{
    int status;
    siginfo_t info = {0};
    pid_t id = make_child(child);
    kill(id, SIGSTOP);
    HOLDS(waitpid(id, &status, WUNTRACED) == id);
    show_status(status);
    SHOW(waitpid(id, &status, WUNTRACED | WNOHANG));
    kill(id, SIGCONT);
    HOLDS(waitpid(id, &status, WCONTINUED) == id);
    show_status(status);
    kill(id, SIGSTOP);
    SHOW(waitid(P_PID, id, &info, WSTOPPED | WNOWAIT));
    say("code %d status %s\n", info.si_code, signal_name(info.si_status));
    SHOW(waitid(P_PID, id, &info, WSTOPPED));
    kill(id, SIGKILL);
    wait_for(id);
    return 0;
}
