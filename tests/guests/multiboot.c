/* A 32-bit kernel that a multiboot loader starts. It prints what it was told of, translates addresses
   as the word paging= of its command line says (none, two, pae), takes a page fault and interrupts of
   a timer, reaches devices in uncommon ways (nowhere.c), and turns its machine off. */

#include "kernel.h"

#define APIC 0xfee00000u
#define WINDOW 0xc0000000u      /* shows the page at 4 MiB, and the next one after a fault */
#define SHOWN 0x400000u
#define TICKS 3
#define WRONG_PORT 0xf4
#define POWER_PORT 0x604

struct gate { u16 low, selector, kind, high; };

extern void fault(void), timer(void), other(void);

static struct gate gates[64];
static struct { u16 limit; u32 base; } __attribute__((packed)) table;
static union { u32 two[1024]; u64 pae[512]; } tables[4] __attribute__((aligned(4096)));
static int is_pae;
static volatile u32 ticks, faults;

static void out8(u16 port, u8 value) { asm volatile("outb %0, %1" :: "a"(value), "Nd"(port)); }
static void out16(u16 port, u16 value) { asm volatile("outw %0, %1" :: "a"(value), "Nd"(port)); }

void print(const char *text)
{
    while (*text)
        out8(0x3f8, *text++);
}

static void print_number(u64 value)
{
    u32 digit = 16;
    while (digit > 1 && !(value >> 4 * (digit - 1)))
        digit--;
    while (digit--)
        out8(0x3f8, "0123456789abcdef"[value >> 4 * digit & 15]);
}

static void print_line(const char *name, u32 count, const u64 *values)
{
    print(name);
    for (u32 i = 0; i < count; i++) {
        print(" ");
        print_number(values[i]);
    }
    print("\n");
}

#define PRINT(name, ...) print_line(name, sizeof((u64[]){ __VA_ARGS__ }) / 8, (u64[]){ __VA_ARGS__ })

static void print_text(const char *name, const char *text)
{
    print(name);
    print(text);
    print("\n");
}

void wrong(void)
{
    print("an exception that nobody wanted\n");
    out8(WRONG_PORT, 1);
    for (;;)
        asm volatile("hlt");
}

void check(int is_right, const char *name)
{
    if (is_right)
        return;
    print_text("wrong: ", name);
    wrong();
}

static u32 word(const u8 *at) { return *(const u32 *)at; }
static u64 wide(const u8 *at) { return *(const u64 *)at; }

static void module(u32 start, u32 end, const char *text)
{
    u64 sum = 0;
    for (const u8 *at = (const u8 *)start; at < (const u8 *)end; at++)
        sum += *at;
    print_text("module: ", text);
    PRINT("size, sum:", end - start, sum);
    check(start % 4096 == 0, "a module's page");
}

static u8 sum_of(const u8 *bytes, u32 size)
{
    u8 sum = 0;
    while (size--)
        sum += *bytes++;
    return sum;
}

/* Prints the structure of the first protocol; returns the command line. */
static const char *structure(const u8 *told)
{
    const u8 *map = (const u8 *)word(told + 48), *end = map + word(told + 44);
    check((word(told) & 0x245) == 0x245, "flags");
    print_text("loader: ", (const char *)word(told + 64));
    PRINT("memory:", word(told + 4), word(told + 8));
    for (; map < end; map += word(map) + 4)
        PRINT("range:", wide(map + 4), wide(map + 12), word(map + 20));
    for (u32 i = 0; word(told) & 8 && i < word(told + 20); i++) {
        const u8 *entry = (const u8 *)word(told + 24) + 16 * i;
        module(word(entry), word(entry + 4), (const char *)word(entry + 8));
    }
    return (const char *)word(told + 16);
}

/* Prints the tags of the second protocol; returns the command line. */
static const char *tags(const u8 *told)
{
    const char *line = 0;
    const u8 *tag = told + 8;
    u32 size = 0;
    for (; word(tag); tag += (size + 7) & ~7u) {
        size = word(tag + 4);
        switch (word(tag)) {
        case 1: line = (const char *)tag + 8; break;
        case 2: print_text("loader: ", (const char *)tag + 8); break;
        case 3: module(word(tag + 8), word(tag + 12), (const char *)tag + 16); break;
        case 4: PRINT("memory:", word(tag + 8), word(tag + 12)); break;
        case 6:
            for (u32 at = 16; at < size; at += word(tag + 8))
                PRINT("range:", wide(tag + at), wide(tag + at + 8), word(tag + at + 16));
            break;
        case 14: check(sum_of(tag + 8, 20) == 0, "an old root pointer"); break;
        case 15:
            check(size == 44 && sum_of(tag + 8, 36) == 0, "a root pointer");
            check(word((const u8 *)(u32)wide(tag + 8 + 24)) == *(u32 *)"XSDT", "tables");
            print("tables of ACPI\n");
            break;
        }
    }
    check(tag + 8 == told + word(told), "a size");
    return line;
}

/* Maps a page at the window or at the APIC, whose tables are the second and the third. */
static void map(u32 number, u32 linear, u32 physical)
{
    if (is_pae)
        tables[number].pae[linear >> 12 & 511] = physical | 3;
    else
        tables[number].two[linear >> 12 & 1023] = physical | 3;
}

static void begin_paging(void)
{
    static u64 pointers[4] __attribute__((aligned(32)));
    u32 control;
    for (u32 i = 0; i < 4; i++)
        tables[0].pae[i] = i << 21 | 0x83;
    if (is_pae) {
        pointers[0] = (u32)&tables[0] | 1;
        pointers[3] = (u32)&tables[3] | 1;
        tables[3].pae[WINDOW >> 21 & 511] = (u32)&tables[1] | 3;
        tables[3].pae[APIC >> 21 & 511] = (u32)&tables[2] | 3;
    } else {
        for (u32 i = 0; i < 8; i++)
            tables[0].two[i] = i < 2 ? i << 22 | 0x83 : 0;
        tables[0].two[WINDOW >> 22] = (u32)&tables[1] | 3;
        tables[0].two[APIC >> 22] = (u32)&tables[2] | 3;
    }
    map(1, WINDOW, SHOWN);
    map(2, APIC, APIC);
    asm volatile("mov %0, %%cr4" :: "r"(is_pae ? 0x20 : 0x10));
    asm volatile("mov %0, %%cr3" :: "r"(is_pae ? (u32)pointers : (u32)&tables[0]));
    asm volatile("mov %%cr0, %0" : "=r"(control));
    asm volatile("mov %0, %%cr0" :: "r"(control | 0x80010000) : "memory");
}

/* The second page of the window comes when it is missed. */
void page_fault(void)
{
    u32 address;
    asm volatile("mov %%cr2, %0" : "=r"(address));
    check(address == WINDOW + 0x1004, "the address of a fault");
    map(1, WINDOW + 0x1000, SHOWN + 0x1000);
    faults++;
}

void tick(void)
{
    ticks++;
    out8(0x20, 0x20);
}

static void use_paging(void)
{
    *(volatile u32 *)SHOWN = 0x1234567;
    *(volatile u32 *)(SHOWN + 0x1004) = 0x89abcdef;
    begin_paging();
    check(*(volatile u32 *)WINDOW == 0x1234567, "a page in the window");
    check(*(volatile u32 *)(WINDOW + 0x1004) == 0x89abcdef && faults == 1, "a page after a fault");
    *(volatile u32 *)(WINDOW + 8) = 42;
    check(*(volatile u32 *)(SHOWN + 8) == 42, "a write");
    print(is_pae ? "pages by three levels\n" : "pages by two levels\n");
}

static void use_interrupts(void)
{
    const u8 chips[][2] = { { 0x20, 0x11 }, { 0x21, 0x20 }, { 0x21, 4 }, { 0x21, 1 }, { 0x21, 0xfe }, { 0xa0, 0x11 }, { 0xa1, 0x28 }, { 0xa1, 2 }, { 0xa1, 1 }, { 0xa1, 0xff } };
    for (u32 i = 0; i < sizeof chips / 2; i++)
        out8(chips[i][0], chips[i][1]);
    out8(0x43, 0x34);
    out8(0x40, 0x9c);
    out8(0x40, 0x2e);
    while (ticks < TICKS)
        asm volatile("sti; hlt; cli" ::: "memory");
    print("interrupts of a timer\n");
}

static int has(const char *line, const char *word)
{
    for (; *line; line++) {
        u32 at = 0;
        while (word[at] && line[at] == word[at])
            at++;
        if (!word[at])
            return 1;
    }
    return 0;
}

void begin(u32 magic, const u8 *told, u32 control)
{
    u32 number = MULTIBOOT == 1 ? 0x2badb002 : 0x36d76289;
    const char *line;
    for (u32 i = 0; i < 64; i++) {
        u32 at = (u32)(i == 14 ? fault : i == 0x20 ? timer : other);
        gates[i] = (struct gate){ at, 8, 0x8e00, at >> 16 };
    }
    table.limit = sizeof gates - 1;
    table.base = (u32)gates;
    asm volatile("lidt %0" :: "m"(table));
    check(magic == number, "the number of the loader");
    check((control & 0x80000001) == 1, "the mode");
    line = MULTIBOOT == 1 ? structure(told) : tags(told);
    print_text("line: ", line);
    use_nowhere();
    is_pae = has(line, "paging=pae");
    if (!has(line, "paging=none"))
        use_paging();
    check(*(volatile u32 *)(APIC + 0x30) != ~0u, "the APIC");
    use_interrupts();
    out16(POWER_PORT, 0x2000);
    for (;;)
        asm volatile("hlt");
}
