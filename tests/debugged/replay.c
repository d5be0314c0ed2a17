/* A program that spoils a list at a place that differs from run to run, and finds that out late. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct node {
    struct node *next;
    int value;
};

struct node nodes[8];
int spoiled, sum;

__attribute__((noinline)) void spoil(int at) {
    spoiled = at;
    nodes[at].next = (struct node *)8;
}

__attribute__((noinline)) void add(struct node *node) {
    sum += node->value;
}

int main(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < 7; i++) {
        nodes[i].next = &nodes[i + 1];
        nodes[i].value = i;
    }
    puts("built");
    fflush(stdout);
    spoil(2 + now.tv_nsec / 1000 % 5);
    write(1, "spoiled\n", 8);
    for (struct node *node = nodes; node; node = node->next) {
        add(node);
    }
    return 1;
}
