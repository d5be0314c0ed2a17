/* Random system calls with boundary arguments: the library must answer each of them and stay whole. Not for Linux, where the calls would do harm.
   Arguments: seed, number of calls. */
#include "check.h"
#include <sys/mman.h>
#include <sys/time.h>

#define AREA 0x600000000000ul
#define AREA_SIZE 65536ul
#define PATH 0x610000000000ul

static uint64_t seed;

/* Calls that end the program, wait, pull its memory away, or that only report that they lack something. */
static const short left_out[] = {
    SYS_exit, SYS_exit_group, SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait, SYS_pause, SYS_nanosleep, SYS_clock_nanosleep, SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_futex, SYS_munmap,
    SYS_mprotect, SYS_mremap, SYS_brk, SYS_madvise, SYS_arch_prctl, SYS_close, SYS_close_range, SYS_dup2, SYS_dup3, SYS_fork, SYS_vfork, SYS_clone,
    SYS_clone3, SYS_execve, SYS_execveat, SYS_wait4, SYS_waitid, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_epoll_wait, SYS_epoll_pwait,
    SYS_epoll_pwait2, SYS_alarm, SYS_setitimer, SYS_set_robust_list, SYS_set_tid_address,
    SYS_timer_settime, SYS_sigaltstack,
};

static uint64_t chance(uint64_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return limit ? seed % limit : seed;
}

static uint64_t argument(void)
{
    switch (chance(16)) {
    case 0: return 0;
    case 1: return -1;
    case 2: return chance(0);
    case 3: return 1ul << chance(64);
    case 4: return (1ul << chance(64)) - 1;
    case 5: case 6: return AREA + chance(AREA_SIZE);
    case 7: return PATH;
    case 8: return chance(40);
    case 9: return AT_FDCWD;
    case 10: return 4096 * chance(64);
    case 11: return 0x7ffffffff000 - chance(8192);
    case 12: return 0x200000000000 + chance(65536); /* the library's heap */
    case 13: return 0x7e0000000000 + chance(300000); /* the library */
    case 14: return 0x7f0000000000 + chance(65536); /* its objects */
    default: return chance(8);
    }
}

static int is_left_out(long number)
{
    for (unsigned index = 0; index < sizeof left_out / sizeof *left_out; index++)
        if (left_out[index] == number)
            return 1;
    return 0;
}

/* Writes to the streams that the test's result goes through are left out, and reads from its input. */
static int spoils(long number, const uint64_t *arguments)
{
    int to_stream = number == SYS_write || number == SYS_writev || number == SYS_pwrite64 || number == SYS_pwritev || number == SYS_sendfile;
    int from_stream = number == SYS_read || number == SYS_readv || number == SYS_ioctl || number == SYS_fcntl;
    return (to_stream || from_stream) && (uint32_t)arguments[0] < 3;
}

static void prepare(uint64_t *arguments)
{
    static const char *const paths[] = {"/tmp/a", "/bin", "/dev/null", "/dev/zero", "b/../c", "/", "."};
    for (int index = 0; index < 6; index++) {
        arguments[index] = argument();
        uint64_t words[4] = {argument(), argument(), argument(), argument()};
        if (arguments[index] - AREA < AREA_SIZE - sizeof words)
            memcpy((void *)arguments[index], words, sizeof words);
    }
    if (chance(3))
        arguments[0] = 3 + chance(9);
    strcpy((char *)PATH, paths[chance(7)]);
}

static long call(long number, const uint64_t *arguments)
{
    long result;
    register uint64_t fourth __asm__("r10") = arguments[3], fifth __asm__("r8") = arguments[4], sixth __asm__("r9") = arguments[5];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

static void nothing(int signal)
{
}

/* Reads of empty pipes and counters wait: a signal ends that. */
static void interrupt_often(void)
{
    struct sigaction action = {.sa_handler = nothing};
    struct itimerval often = {{0, 2000}, {0, 2000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

int main(int count, char **words)
{
    long calls = count > 2 ? atol(words[2]) : 10000, wrong = 0;
    seed = 88172645463325252ull ^ (count > 1 ? strtoull(words[1], NULL, 0) : 1);
    mmap((void *)AREA, AREA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mmap((void *)PATH, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    interrupt_often();
    for (long done = 0; done < calls; done++) {
        uint64_t arguments[6];
        long number = chance(470);
        prepare(arguments);
        if (number == SYS_mmap)
            arguments[3] &= ~(uint64_t)(MAP_FIXED | MAP_FIXED_NOREPLACE);
        if (is_left_out(number) || spoils(number, arguments))
            continue;
        long result = call(number, arguments);
        wrong += result < -4095;
    }
    printf("%ld calls, %ld results that are none\n", calls, wrong);
    return wrong != 0;
}
