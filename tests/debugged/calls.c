/* System calls: some of which are made so often that the library makes them without the kernel. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) void often(int times) {
    for (int i = 0; i < times; i++) {
        getppid();
        dup2(1, 1);
    }
}

int main(void) {
    often(5000);
    often(2);
    write(1, "done\n", 5);
    return 4;
}
