/* Calls that are made so often that the places where they are made are rewritten: what they give stays the same, whatever happens there. Says of each place whether its code is another. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OFTEN = 5000 };

/* `name(a, b, c)` makes a call; `inside_name` is its `syscall`, to be entered with any number in rax. */
#define PLACE(name, number)                                                                          \
    long name(long a, long b, long c);                                                               \
    long inside_##name(void);                                                                        \
    __asm__(".balign 16\n" #name ": mov $" #number ", %eax\ninside_" #name ": syscall\nret\n")
PLACE(get_group, 121);
PLACE(get_parent, 110);
PLACE(read_some, 0);
PLACE(from_threads, 121);
PLACE(from_vfork, 121);

/* Loads with 7 bytes. */
long long_load(long a, long b, long c);
__asm__(".balign 16\nnop\nlong_load: .byte 0x48, 0xc7, 0xc0, 121, 0, 0, 0\nsyscall\nret\n");

/* A call between flags, the red zone and registers that a call must leave: 0 if all are as they were. */
long careful(void);
__asm__(".balign 16\ncareful: push %rbx\npush %rbp\n"
        "movabs $0x1122334455667788, %rbx\nmov %rbx, %rbp\nmov %rbx, -8(%rsp)\nmov %rbx, -128(%rsp)\n"
        "mov %rbx, %r8\nmov %rbx, %r9\nmov %rbx, %r10\nmov %rbx, %rdi\nmov %rbx, %rdx\nmov $0, %esi\n"
        "stc\nstd\n"
        "mov $121, %eax\nsyscall\n"
        "1: pushf\npop %rax\ncld\nand $0x401, %eax\nxor $0x401, %eax\nand $0x401, %r11d\nxor $0x401, %r11d\nor %r11, %rax\n"
        "lea 1b(%rip), %r11\nxor %r11, %rcx\nor %rcx, %rax\n"
        "cmp %rbx, -128(%rsp)\njne 2f\n"
        "xor %rbx, %rbp\nor %rbp, %rax\nxor %rbx, %r8\nor %r8, %rax\nxor %rbx, %r9\nor %r9, %rax\nxor %rbx, %r10\nor %r10, %rax\n"
        "xor %rbx, %rdi\nor %rdi, %rax\nxor %rbx, %rdx\nor %rdx, %rax\npop %rbp\npop %rbx\nret\n"
        "2: pop %rbp\npop %rbx\nmov $-1, %rax\nret\n");

/* Whether a function has a jump where a number was loaded before `syscall`. */
static int is_other(const void *function)
{
    const unsigned char *code = function;
    for (int i = 5; i < 120; i++)
        if (code[i] == 0x0f && code[i + 1] == 5)
            return code[i - 5] == 0xe9 || (i >= 7 && code[i - 7] == 0xe9);
    return -1;
}

static void library(void)
{
    int wrong = 0;
    umask(022);
    for (int i = 0; i < OFTEN; i++)
        wrong += umask(022) != 022;
    printf("of the C library: wrong %d, rewritten %d\n", wrong, is_other((void *)umask));
}

static int use(long (*place)(long, long, long), long expected)
{
    int wrong = 0;
    for (int i = 0; i < OFTEN; i++)
        wrong += place(0, 0, 0) != expected;
    return wrong;
}

static void own(void)
{
    long group = getpgid(0);
    int wrong = use(get_group, group);
    printf("any call: wrong %d, rewritten %d\n", wrong, is_other(get_group));
    wrong = use(get_parent, getppid());
    printf("an answer that is known: wrong %d, rewritten %d\n", wrong, is_other(get_parent));
    wrong = use(long_load, group);
    printf("a long load: wrong %d, rewritten %d\n", wrong, is_other(long_load));
    long result;
    __asm__ volatile("call inside_get_group" : "=a"(result) : "a"(39L) : "rcx", "r11", "memory");
    printf("jumped at: %d\n", result == getpid());
    wrong = 0;
    for (int i = 0; i < OFTEN; i++)
        wrong += careful() != 0;
    printf("registers: wrong %d, rewritten %d\n", wrong, is_other(careful));
    long page = (long)get_group & -4096L;
    int changed = mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) | mprotect((void *)page, 8192, PROT_READ | PROT_EXEC);
    printf("mprotect: %d, then wrong %d\n", changed, use(get_group, group));
}

/* Code that the program has made itself. */
static void made(void)
{
    static const unsigned char code[] = {0xb8, 121, 0, 0, 0, 0x0f, 5, 0xc3};
    unsigned char *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(place, code, sizeof code);
    mprotect(place, 4096, PROT_READ | PROT_EXEC);
    int wrong = use((long (*)(long, long, long))place, getpgid(0));
    printf("made by the program: wrong %d, rewritten %d\n", wrong, memcmp(place, code, sizeof code) != 0);
}

/* Shared with a child that waits for the signal of its parent. */
static volatile int *rings;

static void ring(int number)
{
    (void)number;
    ++*rings;
}

static void signals(void)
{
    struct sigaction action = {.sa_handler = ring, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}}, once = {{0, 0}, {0, 20000}};
    int wrong = 0, ends[2];
    long group = getpgid(0);
    char text[9] = "";
    rings = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (*rings < 30)
        wrong += get_group(0, 0, 0) != group || get_parent(0, 0, 0) != getppid();
    setitimer(ITIMER_REAL, &never, NULL);
    printf("signals: wrong %d\n", wrong);
    pipe(ends);
    int zero = open("/dev/zero", O_RDONLY);
    wrong = 0;
    for (int i = 0; i < OFTEN; i++)
        wrong += read_some(zero, (long)text, 1) != 1;
    *rings = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        while (*rings == 0)
            usleep(1000);
        usleep(20000);
        write(ends[1], "late", 4);
        _exit(0);
    }
    setitimer(ITIMER_REAL, &once, NULL);
    long count = read_some(ends[0], (long)text, 8);
    printf("made again: wrong %d, rewritten %d, %ld %s, rang %d\n", wrong, is_other(read_some), count, text, *rings);
    waitpid(child, NULL, 0);
}

static void *thread(void *group)
{
    long wrong = 0;
    for (int i = 0; i < OFTEN; i++)
        wrong += from_threads(0, 0, 0) != *(long *)group;
    return (void *)wrong;
}

static void threads(void)
{
    pthread_t all[3];
    long group = getpgid(0), wrong = 0;
    for (int i = 0; i < 3; i++)
        pthread_create(all + i, NULL, thread, &group);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(all[i], &result);
        wrong += (long)result;
    }
    printf("threads: wrong %ld, rewritten %d\n", wrong, is_other(from_threads));
}

static void children(void)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(use(get_group, getpgid(0)) + use(get_parent, getppid()) + use(long_load, getpgid(0)));
    waitpid(child, &status, 0);
    printf("a child: %x\n", status);
    child = vfork();
    if (child == 0) {
        use(from_vfork, 0);
        _exit(is_other(from_vfork));
    }
    waitpid(child, &status, 0);
    int wrong = use(from_vfork, getpgid(0));
    printf("a child with this memory: %x, wrong %d, rewritten %d\n", status, wrong, is_other(from_vfork));
}

int main(int count, char **arguments)
{
    library();
    own();
    made();
    if (count > 1) {
        signals();
        threads();
        children();
    }
    return 0;
}
