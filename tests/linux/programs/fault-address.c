/* call: rt_sigaction; covers: si_addr, and a handler that repairs and returns */
#include "check.h"

static char *page;

static void handler(int number, siginfo_t *info, void *context)
{
    say("%s code %d offset %ld\n", signal_name(number), info->si_code, (long)((char *)info->si_addr - page));
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

int main(void)
{
    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle_info(SIGSEGV, handler, 0);
    page[123] = 5;
    say("%d\n", page[123]);
    return 0;
}
