/* Rows of `scale.c` about many pipes, and the ways to wait for one of them. */

/* Of N pipes one gets a byte, in turn; it is waited for among all, and read. */
static int (*pipes)[2], set;
static struct pollfd *polled;
static size_t turn;

static void allow_descriptors(size_t most)
{
    struct rlimit limit = {most, most};
    need(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

static void make_pipes(uint32_t flags)
{
    allow_descriptors(2 * count + 64);
    pipes = calloc(count, sizeof *pipes);
    polled = calloc(count, sizeof *polled);
    set = epoll_create1(0);
    for (size_t number = 0; number < count; number++) {
        struct epoll_event event = {.events = EPOLLIN | flags, .data.u32 = number};
        need(pipe(pipes[number]) == 0, "pipe");
        need(epoll_ctl(set, EPOLL_CTL_ADD, pipes[number][0], &event) == 0, "epoll_ctl");
        polled[number] = (struct pollfd){.fd = pipes[number][0], .events = POLLIN};
    }
}

static void prepare_pipes(void)
{
    make_pipes(0);
}

static void prepare_edges(void)
{
    make_pipes(EPOLLET);
}

/* N pipes that have been waited for once, so that whoever asks their servers has asked. */
static void prepare_idle(void)
{
    struct epoll_event event;
    make_pipes(0);
    need(epoll_wait(set, &event, 1, 1) == 0, "epoll_wait");
}

static void look_at_set(void)
{
    struct epoll_event event;
    need(epoll_wait(set, &event, 1, 0) == 0, "epoll_wait");
}

/* All N leave the set and come back. */
static void change_set(void)
{
    for (size_t number = 0; number < count; number++)
        need(epoll_ctl(set, EPOLL_CTL_DEL, pipes[number][0], NULL) == 0, "epoll_ctl");
    for (size_t number = 0; number < count; number++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};
        need(epoll_ctl(set, EPOLL_CTL_ADD, pipes[number][0], &event) == 0, "epoll_ctl");
    }
}

static void wait_in_set(void)
{
    struct epoll_event event;
    char byte;
    need(write(pipes[turn][1], "x", 1) == 1, "write");
    need(epoll_wait(set, &event, 1, 1000) == 1 && event.data.u32 == turn, "epoll_wait");
    need(read(pipes[turn][0], &byte, 1) == 1, "read");
    /* Nothing is there: whoever learns by waiting what is quiet has learnt it. */
    need(epoll_wait(set, &event, 1, 1) == 0, "epoll_wait");
    turn = (turn + 1) % count;
}

static void wait_in_poll(void)
{
    char byte;
    need(write(pipes[turn][1], "x", 1) == 1, "write");
    need(poll(polled, count, 1000) == 1 && polled[turn].revents == POLLIN, "poll");
    need(read(pipes[turn][0], &byte, 1) == 1, "read");
    need(poll(polled, count, 1) == 0, "poll");
    turn = (turn + 1) % count;
}

/* Ends that are read have numbers below 1,024, and all others higher ones. */
static void prepare_select(void)
{
    allow_descriptors(2 * FD_SETSIZE + 64);
    pipes = calloc(count, sizeof *pipes);
    for (size_t number = 0; number < count; number++) {
        need(pipe(pipes[number]) == 0, "pipe");
        int high = fcntl(pipes[number][1], F_DUPFD, FD_SETSIZE);
        need(high >= 0 && close(pipes[number][1]) == 0, "a higher number");
        pipes[number][1] = high;
    }
}

static int select_all(struct timeval limit)
{
    fd_set wanted;
    FD_ZERO(&wanted);
    for (size_t number = 0; number < count; number++)
        FD_SET(pipes[number][0], &wanted);
    int found = select(FD_SETSIZE, &wanted, NULL, NULL, &limit);
    need(found <= 0 || FD_ISSET(pipes[turn][0], &wanted), "the set");
    return found;
}

static void wait_in_select(void)
{
    char byte;
    need(write(pipes[turn][1], "x", 1) == 1, "write");
    need(select_all((struct timeval){1, 0}) == 1, "select");
    need(read(pipes[turn][0], &byte, 1) == 1, "read");
    need(select_all((struct timeval){0, 1000}) == 0, "select");
    turn = (turn + 1) % count;
}

static void use_pipes(void)
{
    int ends[2];
    char byte;
    for (size_t number = 0; number < count; number++) {
        need(pipe(ends) == 0 && write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1, "pipe");
        close(ends[0]);
        close(ends[1]);
    }
}
