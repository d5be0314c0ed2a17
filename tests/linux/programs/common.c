/* The parts of check.h, and the `main` that all programs share: they are linked into one file, and the first argument names one of them. */
#include "check.h"
#include <stdarg.h>

char self[PATH_MAX];
char *program;

/* The programs, by name; the list is made when they are built. */
struct program {
    const char *name;
    int (*main)();
};
extern const struct program programs[];

#define NAME(number) [number] = #number
static const char *const errors[] = {
    NAME(EPERM), NAME(ENOENT), NAME(ESRCH), NAME(EINTR), NAME(EIO), NAME(ENXIO), NAME(E2BIG), NAME(ENOEXEC), NAME(EBADF), NAME(ECHILD),
    NAME(EAGAIN), NAME(ENOMEM), NAME(EACCES), NAME(EFAULT), NAME(ENOTBLK), NAME(EBUSY), NAME(EEXIST), NAME(EXDEV), NAME(ENODEV), NAME(ENOTDIR),
    NAME(EISDIR), NAME(EINVAL), NAME(ENFILE), NAME(EMFILE), NAME(ENOTTY), NAME(ETXTBSY), NAME(EFBIG), NAME(ENOSPC), NAME(ESPIPE), NAME(EROFS),
    NAME(EMLINK), NAME(EPIPE), NAME(EDOM), NAME(ERANGE), NAME(EDEADLK), NAME(ENAMETOOLONG), NAME(ENOLCK), NAME(ENOSYS), NAME(ENOTEMPTY), NAME(ELOOP),
    NAME(ENOMSG), NAME(EIDRM), NAME(ENODATA), NAME(ETIME), NAME(EPROTO), NAME(EBADMSG), NAME(EOVERFLOW), NAME(EUSERS), NAME(ENOTSOCK),
    NAME(EDESTADDRREQ), NAME(EMSGSIZE), NAME(EPROTOTYPE), NAME(ENOPROTOOPT), NAME(EPROTONOSUPPORT), NAME(ESOCKTNOSUPPORT), NAME(EOPNOTSUPP),
    NAME(EAFNOSUPPORT), NAME(EADDRINUSE), NAME(EADDRNOTAVAIL), NAME(ENETDOWN), NAME(ENETUNREACH), NAME(ECONNABORTED), NAME(ECONNRESET), NAME(ENOBUFS),
    NAME(EISCONN), NAME(ENOTCONN), NAME(ESHUTDOWN), NAME(ETOOMANYREFS), NAME(ETIMEDOUT), NAME(ECONNREFUSED), NAME(EHOSTUNREACH), NAME(EALREADY),
    NAME(EINPROGRESS), NAME(EUCLEAN), NAME(EDQUOT), NAME(ECANCELED), NAME(EOWNERDEAD), NAME(ENOTRECOVERABLE), NAME(ENOTUNIQ),
};
static const char *const signals[] = {
    NAME(SIGHUP), NAME(SIGINT), NAME(SIGQUIT), NAME(SIGILL), NAME(SIGTRAP), NAME(SIGABRT), NAME(SIGBUS), NAME(SIGFPE), NAME(SIGKILL), NAME(SIGUSR1),
    NAME(SIGSEGV), NAME(SIGUSR2), NAME(SIGPIPE), NAME(SIGALRM), NAME(SIGTERM), NAME(SIGSTKFLT), NAME(SIGCHLD), NAME(SIGCONT), NAME(SIGSTOP),
    NAME(SIGTSTP), NAME(SIGTTIN), NAME(SIGTTOU), NAME(SIGURG), NAME(SIGXCPU), NAME(SIGXFSZ), NAME(SIGVTALRM), NAME(SIGPROF), NAME(SIGWINCH), NAME(SIGIO),
    NAME(SIGPWR), NAME(SIGSYS),
};
#define COUNT(names) ((int)(sizeof(names) / sizeof *(names)))

const char *error_name(int number)
{
    static char unknown[20];
    if (number >= 0 && number < COUNT(errors) && errors[number])
        return errors[number];
    snprintf(unknown, sizeof unknown, "error %d", number);
    return unknown;
}

const char *signal_name(int number)
{
    static char other[20];
    if (number >= 0 && number < COUNT(signals) && signals[number])
        return signals[number];
    if (number >= SIGRTMIN && number <= SIGRTMAX)
        snprintf(other, sizeof other, "SIGRTMIN+%d", number - SIGRTMIN);
    else
        snprintf(other, sizeof other, "signal %d", number);
    return other;
}

char notes[4096];

void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t used = strlen(notes);
    vsnprintf(notes + used, sizeof notes - used, format, arguments);
    va_end(arguments);
}

void say(const char *format, ...)
{
    char text[4096];
    int saved = errno;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof text - 1)
        length = sizeof text - 1;
    if (write(1, text, length) != length)
        _exit(98);
    errno = saved;
}

void show_result(const char *call, long result)
{
    if (result == -1)
        say("%s = -1 %s\n", call, error_name(errno));
    else
        say("%s = %ld\n", call, result);
}

void show_status(int status)
{
    if (WIFEXITED(status))
        say("exited with %d\n", WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        say("killed by %s\n", signal_name(WTERMSIG(status)));
    else if (WIFSTOPPED(status))
        say("stopped by %s\n", signal_name(WSTOPSIG(status)));
    else if (WIFCONTINUED(status))
        say("continued\n");
    else
        say("status %#x\n", status);
}

void wait_for(pid_t child)
{
    int status = 0;
    pid_t found;
    do
        found = waitpid(child, &status, 0);
    while (found == -1 && errno == EINTR);
    if (found == child)
        show_status(status);
    else
        say("waitpid: %s\n", error_name(errno));
}

pid_t make_child(void (*function)(void))
{
    pid_t child = fork();
    if (child == 0) {
        function();
        _exit(0);
    }
    if (child == -1) {
        say("fork: %s\n", error_name(errno));
        _exit(97);
    }
    return child;
}

void in_child(void (*function)(void))
{
    wait_for(make_child(function));
}

void put_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd == -1 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        say("cannot write %s: %s\n", path, error_name(errno));
    close(fd);
}

void show_file(const char *path)
{
    char text[1000];
    int fd = open(path, O_RDONLY);
    ssize_t length = fd == -1 ? -1 : read(fd, text, sizeof text - 1);
    if (length == -1)
        say("%s: %s\n", path, error_name(errno));
    else
        say("%s: \"%.*s\"\n", path, (int)length, text);
    close(fd);
}

void nap(int milliseconds)
{
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    while (nanosleep(&left, &left) == -1 && errno == EINTR)
        continue;
}

static volatile int *reached;

void begin_steps(void)
{
    reached = mmap(NULL, sizeof *reached, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (reached == MAP_FAILED)
        _exit(94);
}

void reach_step(int step)
{
    __atomic_store_n(reached, step, __ATOMIC_SEQ_CST);
}

void await_step(int step)
{
    while (__atomic_load_n(reached, __ATOMIC_SEQ_CST) < step)
        nap(1);
}

long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    if (sigaction(number, &action, NULL) == -1)
        say("sigaction of %s: %s\n", signal_name(number), error_name(errno));
}

void handle_info(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};
    if (sigaction(number, &action, NULL) == -1)
        say("sigaction of %s: %s\n", signal_name(number), error_name(errno));
}

void again(char *argument)
{
    execl(self, self, program, argument, (char *)NULL);
}

/* Each program starts in a fresh directory, which a second start of it finds again. */
static void enter_directory(void)
{
    char path[PATH_MAX];
    const char *kind = strrchr(self, '/');
    snprintf(path, sizeof path, "/tmp/%s-%s", program, kind ? kind + 1 : self);
    mkdir(path, 0755);
    if (chdir(path) == -1) {
        say("%s: %s\n", path, error_name(errno));
        _exit(99);
    }
}

int main(int count, char **words, char **environment)
{
    const struct program *found = programs;
    if (count < 2)
        return 96;
    while (found->name && strcmp(found->name, words[1]) != 0)
        found++;
    if (!found->name)
        return 95;
    snprintf(self, sizeof self, "%s", words[0]);
    program = words[1];
    umask(022);
    if (count < 3)
        enter_directory();
    return found->main(count - 1, words + 1, environment);
}
