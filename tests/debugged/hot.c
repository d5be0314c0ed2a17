/* A program that makes one system call so often that the library changes the place. */
#include <stdio.h>
#include <sys/stat.h>

int main(void) {
    struct stat about;
    int found = 0;
    for (int i = 0; i < 3000; i++) {
        found += stat("/", &about) == 0;
    }
    printf("found %d\n", found);
    return 3;
}
