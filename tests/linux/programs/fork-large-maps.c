/* call: fork, mprotect, madvise, mremap; covers: changes of the map where parent and child have large memory in common; also: musl dynamic */
#include "check.h"

#define SIZE (6L << 20)

static char *memory;
static sigjmp_buf back;

static void fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    say("%s %d at %ld\n", signal_name(number), info->si_code, (long)((char *)info->si_addr - memory));
    siglongjmp(back, 1);
}

static void try_to_write(char *at)
{
    if (sigsetjmp(back, 1) == 0) {
        *at = 'x';
        say("written\n");
    }
}

/* How many of the pages begin with the character. */
static int pages(char *from, char *to, char what)
{
    int count = 0;
    for (; from < to; from += 4096)
        count += *from == what;
    return count;
}

static void *thread(void *argument)
{
    long first = (long)argument;
    for (int round = 0; round < 3; round++)
        for (char *at = memory + first * 4096; at < memory + SIZE; at += 4 * 4096)
            *at += 1;
    return NULL;
}

static void threads(void)
{
    pthread_t all[4];
    for (long index = 0; index < 4; index++)
        pthread_create(&all[index], NULL, thread, (void *)index);
    for (int index = 0; index < 4; index++)
        pthread_join(all[index], NULL);
    say("threads: %d of %ld\n", pages(memory, memory + SIZE, 'd'), SIZE / 4096);
}

static void protections(void)
{
    SHOW(mprotect(memory + (1 << 20), 1 << 20, PROT_READ));
    try_to_write(memory + (1 << 20) + 5000);
    SHOW(mprotect(memory + (1 << 20), 1 << 20, PROT_READ | PROT_WRITE));
    try_to_write(memory + (1 << 20) + 5000);
    SHOW(mprotect(memory, 4096, PROT_NONE));
    try_to_write(memory);
    SHOW(mprotect(memory, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
    try_to_write(memory);
    memory[0] = 'a';
    say("%d\n", pages(memory, memory + SIZE, 'a'));
}

static void changes(void)
{
    SHOW(madvise(memory + (2 << 20), 1 << 20, MADV_DONTNEED));
    say("%d zero\n", pages(memory, memory + SIZE, 0));
    memory[(2 << 20) + 4096 * 3] = 'a';
    char *moved = mremap(memory + (3 << 20), 1 << 20, 2 << 20, MREMAP_MAYMOVE);
    say("%d moved\n", pages(moved, moved + (2 << 20), 'a'));
    memset(moved, 'm', 2 << 20);
    SHOW(munmap(memory + (4 << 20), 8192));
    try_to_write(memory + (4 << 20) + 8192);
    try_to_write(memory + (4 << 20) + 8191);
    char *fresh = mmap(memory + (5 << 20), 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    say("%d zero\n", pages(fresh, fresh + 65536 * 2, 0));
}

static void child(void)
{
    handle_info(SIGSEGV, fault, 0);
    protections();
    changes();
    in_child(protections);
}

static void other(void)
{
    threads();
    say("advice: %d wiped\n", pages(memory, memory + SIZE, 0));
}

static void borrower(void)
{
    pid_t child = vfork();
    if (child == 0) {
        memory[SIZE - 4096] = 'v';
        _exit(0);
    }
    wait_for(child);
    say("%c\n", memory[SIZE - 4096]);
}

static void wiped(void)
{
    say("%d wiped, %d not\n", pages(memory, memory + SIZE, 0), pages(memory, memory + SIZE, 'a'));
}

int main(void)
{
    begin_steps();
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (char *at = memory; at < memory + SIZE; at += 4096)
        memset(at, 'a', 3000);
    in_child(child);
    say("parent: %d\n", pages(memory, memory + SIZE, 'a'));
    in_child(other);
    in_child(borrower);
    pid_t waiting = fork();
    if (waiting == 0) {
        await_step(1);
        say("child: %d\n", pages(memory, memory + SIZE, 'a'));
        _exit(0);
    }
    borrower();
    memory[SIZE - 4096] = 'a';
    threads();
    reach_step(1);
    wait_for(waiting);
    for (char *at = memory; at < memory + SIZE; at += 4096)
        *at = 'a';
    SHOW(madvise(memory + (1 << 20), 2 << 20, MADV_WIPEONFORK));
    in_child(wiped);
    say("parent: %d\n", pages(memory, memory + SIZE, 'a'));
    return 0;
}
