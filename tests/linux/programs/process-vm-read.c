/* call: process_vm_readv, process_vm_writev; covers: memory of another process */
#include "check.h"

static char text[20] = "parent";
static int ends[2];

static void child(void)
{
    char byte;
    memcpy(text, "child", 6);
    reach_step(1);
    close(ends[1]);
    read(ends[0], &byte, 1);
    say("%s\n", text);
}

int main(void)
{
    char found[20] = "";
    begin_steps();
    pipe(ends);
    pid_t id = make_child(child);
    await_step(1);
    struct iovec here = {found, 20}, there = {text, 20}, bad = {(void *)8, 20};
    SHOW(process_vm_readv(id, &here, 1, &there, 1, 0));
    say("%s\n", found);
    memcpy(found, "written", 8);
    SHOW(process_vm_writev(id, &here, 1, &there, 1, 0));
    SHOW(process_vm_readv(id, &here, 1, &bad, 1, 0));
    SHOW(process_vm_readv(999999, &here, 1, &there, 1, 0));
    close(ends[1]);
    wait_for(id);
    return 0;
}
