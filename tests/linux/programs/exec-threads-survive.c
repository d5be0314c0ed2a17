/* call: execve; covers: a failing execve stops no thread, frees no robust futex, closes nothing */
#include "check.h"
#include <stdatomic.h>

static atomic_int turns, is_over;
static pthread_mutex_t held;

static void *run(void *argument)
{
    pthread_mutex_lock(&held);
    while (!is_over)
        turns++, sched_yield();
    pthread_mutex_unlock(&held);
    return argument;
}

/* The thread goes on, and still has its mutex. */
static void try(const char *path, char **words)
{
    int closing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    execve(path, words, words + 1);
    say("%s: %s\n", path, error_name(errno));
    int seen = turns;
    while (turns < seen + 3)
        sched_yield();
    HOLDS(pthread_mutex_trylock(&held) == EBUSY);
    HOLDS(fcntl(closing, F_GETFD) == FD_CLOEXEC);
    close(closing);
}

int main(void)
{
    static char long_word[1 << 18];
    memset(long_word, 'x', sizeof long_word - 1);
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&held, &kind);
    put_file("text", "just text\n");
    put_file("script", "#!/missing/interpreter\n");
    put_file("elf", "\177ELF and nothing else");
    chmod("text", 0755), chmod("script", 0755), chmod("elf", 0755);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    while (turns == 0)
        sched_yield();
    char *words[] = {"x", NULL}, *much[] = {"x", long_word, NULL};
    const char *paths[] = {"missing", "text", "script", "elf", "/"};
    for (unsigned index = 0; index < sizeof paths / sizeof *paths; index++)
        try(paths[index], words);
    execve("/bin/sh", much, words + 1);
    say("too long: %s\n", error_name(errno));
    try("missing", words);
    is_over = 1;
    HOLDS(pthread_join(thread, NULL) == 0);
    return 0;
}
