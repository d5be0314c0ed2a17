/* call: epoll_ctl; covers: named pipes, edges, the writer's close told to a reader that waits, one thread for both ends */
#include "check.h"

#define ALL (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

static int writer = -1;
static volatile int is_read;

static void *open_to_write(void *none)
{
    writer = open("fifo", O_WRONLY);
    return none;
}

static void watch(int set, int file, int number)
{
    struct epoll_event event = {.events = ALL, .data.u32 = number};
    fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, file, &event));
}

/* What the set tells of the reading end. */
static void told(int set, int most)
{
    struct epoll_event events[4];
    unsigned seen = 0;
    int count;
    while ((count = epoll_wait(set, events, 4, most)) > 0)
        for (int i = 0; i < count; i++)
            seen |= events[i].data.u32 == 1 ? events[i].events : 0;
    say("reader:%s%s%s\n", seen & EPOLLIN ? " in" : "", seen & EPOLLHUP ? " hup" : "", seen & EPOLLERR ? " err" : "");
}

/* Waits for what the reading end has to tell; the other may tell of room as often as it likes. */
static void next_of_reader(int set)
{
    struct epoll_event event;
    int count;
    do {
        count = epoll_wait(set, &event, 1, 1000);
    } while (count == 1 && event.data.u32 != 1);
    say("%d%s%s\n", count, event.events & EPOLLIN ? " in" : "", event.events & EPOLLHUP ? " hup" : "");
}

static void *write_and_close(void *none)
{
    nap(20);
    write(writer, "one", 3);
    while (!is_read)
        nap(1);
    nap(20);
    close(writer);
    return none;
}

/* Two ends of which that one waits for the other which is opened first. */
static void meet(int writer_first)
{
    pthread_t thread;
    char text[8];
    pthread_create(&thread, NULL, open_to_write, NULL);
    if (writer_first)
        nap(20);
    int reader = open("fifo", O_RDONLY), set = epoll_create1(0);
    pthread_join(thread, NULL);
    watch(set, reader, 1);
    watch(set, writer, 2);
    told(set, 0);
    SHOW(read(reader, text, sizeof text));
    is_read = 0;
    pthread_create(&thread, NULL, write_and_close, NULL);
    next_of_reader(set);
    SHOW(read(reader, text, sizeof text));
    SHOW(read(reader, text, sizeof text));
    is_read = 1;
    next_of_reader(set);
    SHOW(read(reader, text, sizeof text));
    pthread_join(thread, NULL);
    close(reader);
    close(set);
}

int main(void)
{
    mkfifo("fifo", 0600);
    meet(0);
    meet(1);
    return 0;
}
