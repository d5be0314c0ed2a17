/* A process that makes another, which becomes this program again, with an argument. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int in_child(int n) {
    __asm__ volatile("" : "+r"(n)); /* A call that is not left out. */
    return n + 1;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        return in_child(4);
    }
    pid_t child = fork();
    if (child == 0) {
        in_child(1);
        execl(argv[0], argv[0], "again", NULL);
        return 1;
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("the child's status is %d\n", WEXITSTATUS(status));
    return WEXITSTATUS(status);
}
