/* A program with one thread, whose variables and calls are looked at. */
#include <stdio.h>

int counter;

__attribute__((noinline)) int twice(int n) {
    counter++;
    return 2 * n;
}

int main(int argc, char **argv) {
    int sum = argc - 1;
    for (int i = 0; i < 3; i++) {
        sum += twice(i);
    }
    printf("sum %d\n", sum);
    return sum;
}
