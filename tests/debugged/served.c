/* Memory whose pages this program would bring itself: while it stands still nobody does. Native calls
 * make it, in slots that the library for Linux programs has not used. */
#include <stdio.h>

enum { PORT_CREATE = 40, REGION_CREATE = 16, MAPPING_CREATE = 22, READ_WRITE = 3, PAGE = 4096 };

#define OBJECTS 0x7f0000000000UL
#define SOURCE 0x600000000000UL
#define TARGET 0x610000000000UL

/* Returns the status of a native call; 0 is success. */
static unsigned long call(unsigned long number, const unsigned long a[7]) {
    register unsigned long r8 __asm__("r8") = a[3], r9 __asm__("r9") = a[4], r10 __asm__("r10") = a[5], r12 __asm__("r12") = a[6];
    unsigned long status = 0x4e610000UL + number, rdx = a[2];
    __asm__ volatile("xor %%r13d, %%r13d; syscall" : "+a"(status), "+d"(rdx), "+r"(r8) : "D"(a[0]), "S"(a[1]), "r"(r9), "r"(r10), "r"(r12) : "rcx", "r11", "r13", "memory");
    return status;
}

int value = 7;

__attribute__((noinline)) int look(int ready) {
    __asm__ volatile("" : "+r"(ready));
    return ready;
}

int main(void) {
    int ready = 0;
    /* The last objects that fit before the end of the library's page of objects. */
    for (unsigned long slots = OBJECTS + 0x800; slots < OBJECTS + 0x200000 && !ready; slots += 0x800) {
        unsigned long port = slots, region = slots + 256, mapping = slots + 512;
        ready = !call(PORT_CREATE, (unsigned long[7]){port}) && !call(REGION_CREATE, (unsigned long[7]){region, 0, SOURCE, PAGE, READ_WRITE, port}) &&
            !call(MAPPING_CREATE, (unsigned long[7]){mapping, 0, TARGET, PAGE, region, 0, READ_WRITE});
    }
    printf("ready %d\n", look(ready));
    return 0;
}
