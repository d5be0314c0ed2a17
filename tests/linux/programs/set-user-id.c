/* call: execve, chmod, prctl; covers: programs that run as their file's user and group, what they are told, what prevents it; also: dynamic */
#include "check.h"
#include <sys/auxv.h>

static const char *file = "copy";

static void copy(void)
{
    struct stat status;
    int from = open(self, O_RDONLY), to = open(file, O_CREAT | O_WRONLY | O_TRUNC, 0755);
    fstat(from, &status);
    while (sendfile(to, from, NULL, status.st_size) > 0)
        ;
    close(to);
}

static void show(void)
{
    uid_t user, effective, saved;
    gid_t group, effective_group, saved_group;
    getresuid(&user, &effective, &saved);
    getresgid(&group, &effective_group, &saved_group);
    say("%d %d %d, %d %d %d, secure %ld, told %ld %ld %ld %ld, dumpable %d\n", user, effective, saved, group, effective_group, saved_group, (long)getauxval(AT_SECURE),
        (long)getauxval(AT_UID), (long)getauxval(AT_EUID), (long)getauxval(AT_GID), (long)getauxval(AT_EGID), prctl(PR_GET_DUMPABLE));
    say("opens: %d\n", open("secret", O_RDONLY) >= 0);
    SHOW(setuid(0));
    SHOW(setuid(1000));
}

static void run(void)
{
    setresgid(1000, 1000, 1000);
    setresuid(1000, 1000, 1000);
    execl(file, file, program, "x", NULL);
    say("%s\n", error_name(errno));
}

static void run_without_privileges(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    run();
}

static void run_by_descriptor(void)
{
    int descriptor = open(file, O_RDONLY);
    setresgid(1000, 1000, 1000);
    setresuid(1000, 1000, 1000);
    char *words[] = {(char *)file, program, "x", NULL}, *environment[] = {NULL};
    syscall(SYS_execveat, descriptor, "", words, environment, AT_EMPTY_PATH);
    say("%s\n", error_name(errno));
}

static void run_as_root(void)
{
    execl(file, file, program, "x", NULL);
}

/* The saved user becomes the effective one. */
static void run_with_saved(void)
{
    setresgid(7, 8, 9);
    setresuid(1000, 1001, 0);
    execl(file, file, program, "x", NULL);
}

static void run_script(void)
{
    char text[PATH_MAX];
    snprintf(text, sizeof text, "#!%s %s\n", self, program);
    put_file("script", text);
    chown("script", 5, 6);
    chmod("script", 06755);
    setresgid(1000, 1000, 1000);
    setresuid(1000, 1000, 1000);
    execl("script", "script", NULL);
    say("%s\n", error_name(errno));
}

int main(int count, char **words)
{
    if (count > 1) {
        show();
        return 0;
    }
    put_file("secret", "");
    chmod("secret", 0600);
    copy();
    in_child(run);
    chmod(file, 04755);
    in_child(run);
    in_child(run_without_privileges);
    in_child(run_by_descriptor);
    in_child(run_as_root);
    chown(file, 5, 6);
    chmod(file, 06755);
    in_child(run);
    in_child(run_as_root);
    chmod(file, 02745);
    in_child(run);
    chmod(file, 02755);
    in_child(run);
    chmod(file, 0755);
    in_child(run_with_saved);
    in_child(run_script);
    unlink(file);
    return 0;
}
