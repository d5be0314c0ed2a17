/* call: mmap, mprotect; covers: SIGSEGV where writing is forbidden, and what it tells */
#include "check.h"

static sigjmp_buf back;
static char *pages;

static void handler(int number, siginfo_t *info, void *context)
{
    say("%s code %d offset %ld\n", signal_name(number), info->si_code, (long)((char *)info->si_addr - pages));
    siglongjmp(back, 1);
}

int main(void)
{
    pages = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle_info(SIGSEGV, handler, 0);
    if (!sigsetjmp(back, 1))
        *(volatile char *)(pages + 100) = 1;
    mprotect(pages, 4096, PROT_NONE);
    if (!sigsetjmp(back, 1))
        say("%d\n", *(volatile char *)(pages + 7));
    munmap(pages + 4096, 4096);
    if (!sigsetjmp(back, 1))
        say("%d\n", *(volatile char *)(pages + 4096));
    say("%d\n", *(volatile char *)(pages + 8192));
    return 0;
}
