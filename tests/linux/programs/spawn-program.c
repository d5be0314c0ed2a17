/* call: vfork, clone, execve; covers: posix_spawn with file actions and attributes; also: musl dynamic */
#include "check.h"

#include <spawn.h>

int main(int count, char **words)
{
    if (count > 1) {
        sigset_t set;
        sigprocmask(SIG_BLOCK, NULL, &set);
        say("in a group of its own: %d, blocked: %d\n", getpgrp() == getpid(), sigismember(&set, SIGUSR1));
        return 8;
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t set;
    char *arguments[] = {self, program, "again", NULL}, *none[] = {NULL};
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "out", O_WRONLY | O_CREAT, 0644);
    posix_spawnattr_init(&attributes);
    sigemptyset(&set), sigaddset(&set, SIGUSR1);
    posix_spawnattr_setsigmask(&attributes, &set);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    SHOW(posix_spawn(&child, self, &actions, &attributes, arguments, none));
    wait_for(child);
    show_file("out");
    say("%s\n", error_name(posix_spawn(&child, "missing", NULL, NULL, arguments, none)));
    return 0;
}
