/* call: pipe, read, write; covers: a reader and a writer that wait for each other */
#include "check.h"

enum { TOTAL = 300000 };
static int ends[2];
static char buffer[20000];

static void writer(void)
{
    close(ends[0]);
    for (int sent = 0; sent < TOTAL; sent += sizeof buffer) {
        for (unsigned index = 0; index < sizeof buffer; index++)
            buffer[index] = (sent + index) % 251;
        if (write(ends[1], buffer, sizeof buffer) != sizeof buffer)
            say("a short write\n");
    }
}

int main(void)
{
    int total = 0, wrong = 0, got;
    pipe(ends);
    pid_t child = make_child(writer);
    close(ends[1]);
    while ((got = read(ends[0], buffer, 777)) > 0) {
        for (int index = 0; index < got; index++)
            wrong += (unsigned char)buffer[index] != (total + index) % 251;
        total += got;
    }
    say("%d bytes, %d wrong\n", total, wrong);
    wait_for(child);
    return 0;
}
