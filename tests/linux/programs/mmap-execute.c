/* call: mmap, mprotect; covers: code that is written and run, and code that may not run */
#include "check.h"

static sigjmp_buf back;

static void handler(int number, siginfo_t *info, void *context)
{
    say("%s code %d\n", signal_name(number), info->si_code);
    siglongjmp(back, 1);
}

int main(void)
{
    unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    handle_info(SIGSEGV, handler, 0);
    if (!sigsetjmp(back, 1))
        say("%d\n", ((int (*)(void))page)());
    SHOW(mprotect(page, 4096, PROT_READ | PROT_EXEC));
    say("%d\n", ((int (*)(void))page)());
    return 0;
}
