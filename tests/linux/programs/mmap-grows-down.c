/* call: mmap; covers: MAP_GROWSDOWN: touches below, by a call, far below, neighbours, mprotect with PROT_GROWSDOWN */
#include "check.h"

#define PAGE 4096L
#define SPACE (2048 * PAGE)

static char *space, *top;

/* Pages that grow downward, at the upper end of free addresses. */
static void begin(void)
{
    space = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(space, SPACE);
    top = space + SPACE - PAGE;
    HOLDS(mmap(top, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0) == top);
    top[0] = 't';
}

static sigjmp_buf back;

static void caught(int number)
{
    siglongjmp(back, number);
}

static int touch(volatile char *at)
{
    signal(SIGSEGV, caught);
    int number = sigsetjmp(back, 1);
    if (number == 0) *at = 'x';
    return number;
}

static void touched(void)
{
    begin();
    SHOW(touch(top - 1));
    SHOW(touch(top - 40 * PAGE));
    say("%d %c %c\n", top[-39 * PAGE], top[-1], top[0]);
    SHOW(touch(top + PAGE));
    SHOW(munmap(top - 40 * PAGE, 41 * PAGE));
    SHOW(touch(top));
}

static void by_a_call(void)
{
    begin();
    int file = open("/dev/zero", O_RDONLY);
    SHOW(read(file, top - 3 * PAGE, 4 * PAGE));
    say("%d\n", top[0]);
}

static void neighbour(void)
{
    begin();
    HOLDS(mmap(top - 600 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == top - 600 * PAGE);
    SHOW(touch(top - 300 * PAGE));
    SHOW(touch(top - 400 * PAGE));
    SHOW(touch(top - 601 * PAGE));
}

static void protected(void)
{
    begin();
    SHOW(touch(top - 2 * PAGE));
    SHOW(mprotect(top, PAGE, PROT_READ | PROT_GROWSDOWN));
    SHOW(touch(top - PAGE));
    char *other = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(mprotect(other, PAGE, PROT_READ | PROT_GROWSDOWN));
}

int main(void)
{
    SHOW(touch(NULL));
    in_child(touched);
    in_child(by_a_call);
    in_child(neighbour);
    in_child(protected);
    return 0;
}
