/* call: pidfd_getfd; covers: files of a child, which both use then, and who may */
#include "check.h"

static int ends[2], through[2];

static void child(void)
{
    char bytes[8] = "";
    int file = open("f", O_RDWR | O_APPEND);
    close(ends[1]);
    close(through[1]);
    dup2(file, 50);
    reach_step(1);
    read(ends[0], bytes, 1);
    SHOW(read(through[0], bytes, 8));
    say("%s %ld\n", bytes, (long)lseek(file, 0, SEEK_CUR));
}

static int target;

static void stranger(void)
{
    setresgid(1000, 1000, 1000);
    setresuid(1000, 1000, 1000);
    SHOW(syscall(SYS_pidfd_getfd, target, 50, 0));
}

int main(void)
{
    char bytes[4] = "";
    begin_steps();
    put_file("f", "abcdef");
    pipe(ends);
    pipe(through);
    pid_t id = make_child(child);
    await_step(1);
    target = syscall(SYS_pidfd_open, id, 0);
    int file = syscall(SYS_pidfd_getfd, target, 50, 0);
    HOLDS(file >= 0 && fcntl(file, F_GETFD) == FD_CLOEXEC);
    say("%o\n", fcntl(file, F_GETFL) & (O_ACCMODE | O_APPEND));
    SHOW(read(file, bytes, 3));
    say("%s\n", bytes);
    SHOW(syscall(SYS_pidfd_getfd, target, 51, 0));
    SHOW(syscall(SYS_pidfd_getfd, target, 50, 1));
    int end = syscall(SYS_pidfd_getfd, target, through[0], 0);
    HOLDS(end >= 0);
    write(through[1], "one", 3);
    SHOW(read(end, bytes, 3));
    write(through[1], "two", 3);
    in_child(stranger);
    close(ends[1]);
    wait_for(id);
    SHOW(syscall(SYS_pidfd_getfd, target, 50, 0));
    return 0;
}
