/* A program whose variables are watched: by instructions, by a call, and on its stack. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

volatile int counter, other;
char text[8];

__attribute__((noinline)) void count(int n) {
    other = n;
    counter = n / 10;
}

__attribute__((noinline)) int local(int n) {
    volatile int mine = n;
    for (int i = 0; i < 3; i++) {
        mine += i;
    }
    return mine;
}

int main(void) {
    int ends[2];
    for (int i = 0; i < 40; i++) {
        count(i);
    }
    if (pipe(ends) != 0 || write(ends[1], "hello", 5) != 5 || read(ends[0], text, 5) != 5) {
        return 1;
    }
    memset(text, 'x', 4);
    printf("%s %d %d\n", text, counter, local(7));
    return 0;
}
