/* call: execve, sigaltstack, timer_create, shmat; covers: nothing of the old program's memory, stacks, timers, handlers and registers is left; also: musl dynamic */
#include "check.h"
#include <fenv.h>
#include <sys/shm.h>

static char area[3 * 4096];
static char filled[200000];

static void ignore_it(int number) { (void)number; }

/* Whether all of a range is zeros. */
static int is_clear(const char *start, size_t size)
{
    while (size && !*start)
        start++, size--;
    return !size;
}

/* What lies below the stack pointer, where nobody has written yet. */
static int is_stack_clear(void)
{
    char *here = __builtin_frame_address(0);
    return is_clear(here - 64 * 1024, 24 * 1024);
}

static void show_again(char **words)
{
    stack_t stack;
    struct shmid_ds segment;
    struct sigaction action;
    struct itimerspec left;
    unsigned char present;
    int clear = is_stack_clear();
    say("stack %d, data %d\n", clear, is_clear(filled, sizeof filled) && is_clear(area, sizeof area));
    say("rounding %d, exceptions %d\n", fegetround() == FE_TONEAREST, fetestexcept(FE_ALL_EXCEPT));
    sigaltstack(NULL, &stack);
    say("alternate stack %s\n", stack.ss_flags & SS_DISABLE ? "none" : "there");
    sigaction(SIGUSR1, NULL, &action);
    say("handler %s, flags %d\n", action.sa_handler == SIG_DFL ? "default" : "other", action.sa_flags & SA_SIGINFO);
    sigaction(SIGUSR2, NULL, &action);
    say("ignored %d\n", action.sa_handler == SIG_IGN);
    say("segment: %d\n", shmctl(atoi(words[2]), IPC_STAT, &segment) == 0 ? (int)segment.shm_nattch : -1);
    say("timer: %s\n", timer_gettime((timer_t)(intptr_t)atol(words[3]), &left) ? error_name(errno) : "there");
    void *old = (void *)(uintptr_t)strtoull(words[4], NULL, 16);
    say("mapped: %s\n", mincore(old, 4096, &present) ? error_name(errno) : "there");
    say("locked: %s\n", munlockall() ? error_name(errno) : "none");
    char *more = sbrk(4096 * 50);
    /* A C library may keep the break for itself. */
    say("break clear: %d\n", more == (char *)-1 || is_clear(more, 4096 * 50));
    char *fresh = mmap(NULL, 300000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("fresh clear: %d\n", is_clear(fresh, 300000));
}

static void spoil(char *from, size_t size)
{
    memset(from, 0x5a, size);
    __asm__ volatile("" : : "r"(from) : "memory");
}

static void spoil_stack(void)
{
    char deep[100000];
    spoil(deep, sizeof deep);
}

int main(int count, char **words)
{
    if (count > 2) {
        show_again(words);
        return 0;
    }
    static char number[20], timer_name[20], address[20];
    stack_t stack = {.ss_sp = area, .ss_size = sizeof area};
    struct sigaction handled = {.sa_handler = ignore_it, .sa_flags = SA_RESTART | SA_SIGINFO};
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    timer_t timer;
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &handled, NULL);
    signal(SIGUSR2, SIG_IGN);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    int segment = shmget(IPC_PRIVATE, 4096, 0600);
    shmat(segment, NULL, 0);
    char *mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    spoil(mapped, 1 << 20);
    mlock(mapped, 4096);
    char *more = sbrk(300000);
    if (more != (char *)-1)
        spoil(more, 300000);
    spoil(filled, sizeof filled);
    spoil_stack();
    fesetround(FE_UPWARD);
    feraiseexcept(FE_DIVBYZERO);
    snprintf(number, sizeof number, "%d", segment);
    snprintf(timer_name, sizeof timer_name, "%ld", (long)(intptr_t)timer);
    snprintf(address, sizeof address, "%llx", (unsigned long long)(uintptr_t)mapped);
    /* A child becomes it, and then the process itself. */
    pid_t child = fork();
    if (child)
        wait_for(child);
    execl(self, self, program, "again", number, timer_name, address, (char *)NULL);
    return 1;
}
