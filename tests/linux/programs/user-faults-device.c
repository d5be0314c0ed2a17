/* call: open, ioctl; covers: user-fault files by /dev/userfaultfd, as the superuser and not */
#include "check.h"

#include <linux/userfaultfd.h>
#include <sys/sysmacros.h>

#define NEW _IO(0xaa, 0)
#define PAGE 4096L

static int device;

static void *bring(void *unused)
{
    struct uffd_msg message;
    static char bytes[PAGE] = "brought";
    int fd = *(int *)unused;
    if (read(fd, &message, sizeof message) != sizeof message) return NULL;
    note("event %#x\n", message.event);
    struct uffdio_copy copied = {.dst = message.arg.pagefault.address & -PAGE, .src = (long)bytes, .len = PAGE};
    note("copied: %d\n", ioctl(fd, UFFDIO_COPY, &copied));
    return NULL;
}

static void faulting(void)
{
    int fd = ioctl(device, NEW, O_CLOEXEC);
    HOLDS(fd >= 0);
    HOLDS(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    SHOW(ioctl(fd, UFFDIO_API, &api));
    char *start = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register area = {.range = {(long)start, PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    SHOW(ioctl(fd, UFFDIO_REGISTER, &area));
    pthread_t thread;
    pthread_create(&thread, NULL, bring, &fd);
    say("%s\n", start);
    pthread_join(thread, NULL);
    say("%s", notes);
}

static void as_user(void)
{
    setuid(1000);
    HOLDS(ioctl(device, NEW, 0) >= 0);
    SHOW(open("/dev/userfaultfd", O_RDWR));
}

int main(void)
{
    char byte;
    device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    HOLDS(device >= 0);
    struct stat status;
    fstat(device, &status);
    HOLDS(S_ISCHR(status.st_mode) && major(status.st_rdev) == 10);
    SHOW(read(device, &byte, 1));
    SHOW(write(device, &byte, 1));
    SHOW(ioctl(device, NEW, 0x1000000));
    SHOW(ioctl(device, _IO(0xaa, 1), 0));
    SHOW(ioctl(open("/dev/null", O_RDWR), NEW, 0));
    in_child(faulting);
    in_child(as_user);
    return 0;
}
