/* call: execve; covers: what a program finds at its start */
#include "check.h"

#include <sys/auxv.h>

int main(void)
{
    HOLDS(getauxval(AT_PAGESZ) == 4096);
    HOLDS(getauxval(AT_PHDR) != 0 && getauxval(AT_PHNUM) > 0 && getauxval(AT_PHENT) == 56);
    HOLDS(getauxval(AT_ENTRY) != 0);
    HOLDS(getauxval(AT_RANDOM) != 0);
    HOLDS(getauxval(AT_CLKTCK) == 100);
    say("%ld %ld %ld %ld secure %ld\n", getauxval(AT_UID), getauxval(AT_EUID), getauxval(AT_GID), getauxval(AT_EGID), getauxval(AT_SECURE));
    say("%s\n", getauxval(AT_PLATFORM) ? (char *)getauxval(AT_PLATFORM) : "no platform");
    HOLDS(getauxval(AT_EXECFN) && strcmp((char *)getauxval(AT_EXECFN), self) == 0);
    HOLDS(getauxval(AT_HWCAP) != 0);
    return 0;
}
