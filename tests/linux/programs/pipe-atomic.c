/* call: pipe, write; covers: writers of whole records do not mix */
#include "check.h"

enum { WRITERS = 4, RECORDS = 50, SIZE = 1000 };
static int ends[2];

static void writer(int number)
{
    char record[SIZE];
    memset(record, 'a' + number, SIZE);
    for (int count = 0; count < RECORDS; count++)
        write(ends[1], record, SIZE);
    _exit(0);
}

int main(void)
{
    int mixed = 0, total = 0, got, filled = 0;
    char record[SIZE];
    pipe(ends);
    for (int number = 0; number < WRITERS; number++)
        if (fork() == 0)
            writer(number);
    close(ends[1]);
    while ((got = read(ends[0], record + filled, SIZE - filled)) > 0) {
        filled += got;
        if (filled < SIZE)
            continue;
        for (int index = 1; index < SIZE; index++)
            mixed += record[index] != record[0];
        total++, filled = 0;
    }
    say("%d records, %d bytes mixed\n", total, mixed);
    while (wait(NULL) > 0)
        continue;
    return 0;
}
