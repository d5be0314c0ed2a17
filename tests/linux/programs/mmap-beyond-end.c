/* call: mmap; covers: SIGBUS behind the end of a file */
#include "check.h"

static sigjmp_buf back;

static void handler(int number, siginfo_t *info, void *context)
{
    say("%s code %d\n", signal_name(number), info->si_code);
    siglongjmp(back, 1);
}

int main(void)
{
    put_file("f", "hello");
    char *pages = mmap(NULL, 2 * 4096, PROT_READ, MAP_SHARED, open("f", O_RDONLY), 0);
    handle_info(SIGBUS, handler, 0);
    if (!sigsetjmp(back, 1))
        say("%d\n", pages[4095]);
    if (!sigsetjmp(back, 1))
        say("%d\n", pages[4096]);
    return 0;
}
