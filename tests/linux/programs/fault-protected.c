/* call: mprotect, rt_sigaction; covers: handlers that let a page be used and return, as garbage collectors do: address, code, error, threads at once, another stack, jumps; also: musl dynamic */
#include "check.h"

#include <ucontext.h>

#define PAGE 4096L
#define PAGES 16

static char *heap;
static volatile int faults;
static volatile int on_stack;
static char stack[65536];

static void allow(int number, siginfo_t *info, void *context)
{
    ucontext_t *state = context;
    char *page = (char *)((long)info->si_addr & -PAGE);
    char here;
    on_stack = &here >= stack && &here < stack + sizeof stack;
    if (number != SIGSEGV || info->si_code != SEGV_ACCERR || page < heap || page >= heap + PAGES * PAGE) _exit(9);
    if (state->uc_mcontext.gregs[REG_CR2] != (long)info->si_addr || state->uc_mcontext.gregs[REG_TRAPNO] != 14) _exit(8);
    __atomic_add_fetch(&faults, 1, __ATOMIC_SEQ_CST);
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE)) _exit(7);
}

static void tell(int number, siginfo_t *info, void *context)
{
    ucontext_t *state = context;
    say("%s code %d at %ld error %llx\n", signal_name(number), info->si_code, (long)info->si_addr - (long)heap, state->uc_mcontext.gregs[REG_ERR]);
    mprotect(heap, PAGES * PAGE, PROT_READ | PROT_WRITE);
}

static sigjmp_buf place;

static void leave(int number, siginfo_t *info, void *context)
{
    (void)context;
    say("%s code %d\n", signal_name(number), info->si_code);
    siglongjmp(place, 1);
}

static void *worker(void *number)
{
    for (int round = 0; round < PAGES; round++) heap[(round + 5 * (long)number) % PAGES * PAGE + (long)number] = 1;
    return NULL;
}

int main(void)
{
    heap = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle_info(SIGSEGV, tell, 0);
    mprotect(heap, PAGES * PAGE, PROT_READ);
    heap[5] = 1;
    mprotect(heap, PAGES * PAGE, PROT_NONE);
    heap[PAGE] = 1;
    mprotect(heap, PAGES * PAGE, PROT_NONE);
    SHOW(((volatile char *)heap)[5]);
    mprotect(heap, PAGES * PAGE, PROT_NONE);
    int ends[2];
    if (pipe(ends)) return 1;
    SHOW(write(ends[1], heap, 1));
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    handle_info(SIGSEGV, allow, SA_ONSTACK);
    for (int i = 0; i < PAGES; i++) heap[i * PAGE] = i;
    say("%d faults, on the other stack: %d\n", faults, on_stack);
    handle_info(SIGSEGV, allow, 0);
    for (int round = 0; round < 5; round++) {
        mprotect(heap, PAGES * PAGE, round % 2 ? PROT_NONE : PROT_READ);
        pthread_t threads[4];
        for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, worker, (void *)i);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    }
    say("at least one fault a page: %d\n", faults >= 6 * PAGES);
    handle_info(SIGSEGV, leave, 0);
    for (volatile int round = 0; round < 2; round++)
        if (sigsetjmp(place, 1) == 0) *(volatile char *)(round ? heap + PAGES * PAGE + 0x10000000 : NULL) = 1;
    munmap(heap, PAGES * PAGE);
    if (sigsetjmp(place, 1) == 0) heap[3] = 1;
    return 0;
}
