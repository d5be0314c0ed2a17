/* call: ptrace, wait4; covers: a child that is traced, its registers, one step */
#include "check.h"

#include <sys/ptrace.h>
#include <sys/user.h>

static void child(void)
{
    SHOW(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    raise(SIGSTOP);
    _exit(4);
}

int main(void)
{
    int status;
    struct user_regs_struct registers;
    pid_t id = make_child(child);
    waitpid(id, &status, 0);
    show_status(status);
    SHOW(ptrace(PTRACE_GETREGS, id, NULL, &registers));
    HOLDS(registers.rip != 0);
    SHOW(ptrace(PTRACE_SINGLESTEP, id, NULL, NULL));
    waitpid(id, &status, 0);
    show_status(status);
    SHOW(ptrace(PTRACE_CONT, id, NULL, NULL));
    wait_for(id);
    return 0;
}
