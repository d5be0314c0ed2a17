/* call: io_setup, io_submit, io_getevents, io_destroy; covers: asynchronous reads of the older kind */
#include "check.h"

#include <linux/aio_abi.h>

int main(void)
{
    aio_context_t context = 0;
    char text[10] = "";
    put_file("f", "hello");
    int fd = open("f", O_RDONLY);
    struct iocb request = {.aio_fildes = fd, .aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (uint64_t)text, .aio_nbytes = 5}, *list[] = {&request};
    struct io_event event;
    SHOW(syscall(SYS_io_setup, 4, &context));
    SHOW(syscall(SYS_io_submit, context, 1, list));
    SHOW(syscall(SYS_io_getevents, context, 1, 1, &event, NULL));
    say("%ld %s\n", (long)event.res, text);
    SHOW(syscall(SYS_io_destroy, context));
    return 0;
}
