/* call: process_vm_readv, process_vm_writev; covers: parts that are not there, limits of lists, who may, much memory */
#include "check.h"
#include <sys/mman.h>

#define MUCH (512 * 1024)
static int ends[2];
static char *pages, *much;
static pid_t target;
static char buffer[MUCH];

static void child(void)
{
    char byte;
    unsigned long sum = 0;
    close(ends[1]);
    read(ends[0], &byte, 1);
    for (int i = 0; i < MUCH; i++)
        sum = sum * 31 + (unsigned char)much[i];
    say("%lx %.7s\n", sum, pages);
}

static long get(void *to, void *from, size_t size)
{
    struct iovec here = {to, size}, there = {from, size};
    return process_vm_readv(target, &here, 1, &there, 1, 0);
}

static long put(void *to, void *from, size_t size)
{
    struct iovec here = {from, size}, there = {to, size};
    return process_vm_writev(target, &here, 1, &there, 1, 0);
}

static void stranger(void)
{
    setresgid(1000, 1000, 1000);
    setresuid(1000, 1000, 1000);
    SHOW(get(buffer, pages, 10));
    SHOW(put(pages, buffer, 10));
    target = getpid();
    SHOW(get(buffer, pages, 10));
}

int main(void)
{
    struct iovec many[1025], one = {buffer, 10}, none = {buffer, 0}, odd = {buffer, -1};
    pipe(ends);
    pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    much = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 'p', 3 * 4096);
    for (int i = 0; i < MUCH; i++)
        much[i] = i * 7;
    mprotect(pages + 4096, 4096, PROT_READ);
    mprotect(pages + 8192, 4096, PROT_NONE);
    target = make_child(child);
    nap(20);
    SHOW(get(buffer, pages, 8192));
    SHOW(get(buffer, pages + 4000, 8192));
    SHOW(get(buffer, pages + 8192, 10));
    SHOW(put(pages + 4096, "x", 1));
    SHOW(put(pages + 4090, "abcdefghijkl", 12));
    memset(pages, 'q', 10);
    SHOW(put(pages, "written", 7));
    SHOW(get(buffer, pages, 7));
    say("%.7s\n", buffer);
    SHOW(get((void *)8, pages, 10));
    SHOW(get(buffer, much, MUCH));
    HOLDS(memcmp(buffer, much, MUCH) == 0);
    memset(much, 0, MUCH);
    memset(buffer, 5, MUCH / 2);
    SHOW(put(much, buffer, MUCH));
    SHOW(get(buffer + 1, much, 100));
    /* Pieces of different sizes. */
    struct iovec here[3] = {{buffer, 3}, {buffer + 10, 0}, {buffer + 20, 9}}, there[3] = {{pages, 1}, {pages + 2, 5}, {pages + 4, 100}};
    SHOW(process_vm_readv(target, here, 3, there, 3, 0));
    say("%.3s %.9s\n", buffer, buffer + 20);
    there[1].iov_base = (void *)8;
    SHOW(process_vm_readv(target, here, 3, there, 3, 0));
    SHOW(process_vm_readv(target, &one, 1, &one, 1, 1));
    for (int i = 0; i < 1025; i++)
        many[i] = none;
    SHOW(process_vm_readv(target, many, 1025, &one, 1, 0));
    SHOW(process_vm_readv(target, &one, 1, many, 1025, 0));
    SHOW(process_vm_readv(target, &one, 1, many, 1024, 0));
    SHOW(process_vm_readv(target, &none, 1, &one, 1, 0));
    SHOW(process_vm_readv(target, &odd, 1, &one, 1, 0));
    SHOW(process_vm_readv(target, &one, 1, &odd, 1, 0));
    SHOW(process_vm_readv(target, NULL, 1, &one, 1, 0));
    SHOW(process_vm_readv(target, &one, 1, NULL, 1, 0));
    SHOW(process_vm_readv(target, &one, 0, &one, 0, 0));
    SHOW(process_vm_readv(999999, &none, 1, &one, 1, 0));
    SHOW(process_vm_readv(999999, &one, 1, &none, 1, 0));
    in_child(stranger);
    kill(target, SIGSTOP);
    nap(20);
    SHOW(get(buffer, pages, 7));
    kill(target, SIGCONT);
    close(ends[1]);
    wait_for(target);
    SHOW(get(buffer, pages, 7));
    target = getpid();
    SHOW(get(buffer, "of its own", 10));
    say("%.10s\n", buffer);
    return 0;
}
