/* Instructions that reach a device, or an address where nothing is: those that the monitor's
   interpreter knows beside plain moves. */

#include "kernel.h"

/* Task priority: a register of the APIC that keeps what is written. */
#define PRIORITY (*(volatile u32 *)0xfee00080u)
#define NOTHING 0xf0000000u

static void exchange(void)
{
    u32 old = 0x20, sum = 0x10;
    u8 is_equal, bit;
    u64 pair = 5;
    PRIORITY = 0x20;
    asm volatile("lock cmpxchg %3, %1; sete %0" : "=q"(is_equal), "+m"(PRIORITY), "+a"(old) : "r"(0x30) : "cc");
    check(is_equal && PRIORITY == 0x30, "a comparison that holds");
    asm volatile("lock cmpxchg %3, %1; sete %0" : "=q"(is_equal), "+m"(PRIORITY), "+a"(old) : "r"(0x40) : "cc");
    check(!is_equal && old == 0x30 && PRIORITY == 0x30, "one that does not");
    asm volatile("lock xadd %1, %0" : "+m"(PRIORITY), "+r"(sum) :: "cc");
    check(sum == 0x30 && PRIORITY == 0x40, "a sum");
    asm volatile("lock btsl $4, %1; setc %0" : "=q"(bit), "+m"(PRIORITY) :: "cc");
    check(!bit && PRIORITY == 0x50, "a bit that is set");
    /* 1 KiB below it, counted in bits. */
    asm volatile("btrl %2, %1; setc %0" : "=q"(bit), "+m"(*((volatile u32 *)&PRIORITY + 0x100)) : "r"(4 - 0x2000) : "cc");
    check(bit && PRIORITY == 0x40, "a bit that is cleared");
    asm volatile("lock cmpxchg8b %1; sete %0" : "=q"(is_equal), "+m"(*(volatile u64 *)NOTHING), "+A"(pair) : "b"(1), "c"(2) : "cc");
    check(!is_equal && pair == ~0ull, "a comparison of eight bytes");
}

static void move(void)
{
    static u32 vector[8] __attribute__((aligned(16))) = { 0x20, 2, 3, 4 };
    u32 control;
    asm volatile("mov %%cr4, %0" : "=r"(control));
    asm volatile("mov %0, %%cr4" :: "r"(control | 0x200));
    asm volatile("movdqa %0, %%xmm3; movd %%xmm3, %1" :: "m"(vector[0]), "m"(PRIORITY) : "memory");
    check(PRIORITY == 0x20, "a vector's first word");
    asm volatile("movhps %2, %%xmm3; movups %%xmm3, %2; movups %%xmm3, %0; movd %1, %%xmm3; movups %%xmm3, %3"
        : "=m"(vector[0]) : "m"(PRIORITY), "m"(*(u32 *)NOTHING), "m"(vector[4]) : "memory");
    check(vector[0] == 0x20 && vector[1] == 2 && vector[2] == ~0u && vector[3] == ~0u, "half a vector");
    check(vector[4] == 0x20 && !(vector[5] | vector[6] | vector[7]), "one word");
    asm volatile("movq %1, %%mm2; movd %%mm2, %0; emms" : "=m"(vector[0]) : "m"(*(u32 *)NOTHING) : "memory");
    check(vector[0] == ~0u, "a vector of MMX");
    asm volatile("movnti %1, %0" : "=m"(PRIORITY) : "r"(0x10));
    check(PRIORITY == 0x10, "a move past the cache");
}

void use_nowhere(void)
{
    exchange();
    move();
    PRIORITY = 0;
    print("vectors and exchanges\n");
}
