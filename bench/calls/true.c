/* A program that ends at once; with a word it is idle until it is killed. */
#include <unistd.h>

int main(int count, char **words)
{
    if (count > 1)
        pause();
    return 0;
}
