/* A guest that does what it should not: random accesses to ports, APICs, registers and addresses
   without memory, and queues of virtio devices that lie. It ends with status 42 after so many steps.

   Everything of its own lies below 4 MiB; devices may write above. The command line has seed=N,
   steps=N and cpus=N. */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;

#define MEMORY (16ul << 20)
#define SCRATCH (4ul << 20)
#define APIC 0xfee00000ul
#define IO_APIC 0xfec00000ul
#define EXIT_PORT 0xf4

struct gate { u16 low, selector, kind, middle; u32 high, none; };
struct processor { u64 seed, left, number; };

extern void fault(void), interrupt(void);
extern char other[], other_end[];

static struct gate gates[256];
static struct { u16 limit; u64 base; } __attribute__((packed)) table;
/* A fault finds its processor by its stack. */
static struct processor processors[2];
static volatile u64 running;

static u64 random(struct processor *own)
{
    own->seed ^= own->seed << 13;
    own->seed ^= own->seed >> 7;
    own->seed ^= own->seed << 17;
    return own->seed;
}

static u64 below(struct processor *own, u64 limit) { return (random(own) >> 11) % limit; }

static void out8(u16 port, u8 value) { asm volatile("outb %0, %1" :: "a"(value), "Nd"(port)); }
static void out16(u16 port, u16 value) { asm volatile("outw %0, %1" :: "a"(value), "Nd"(port)); }
static void out32(u16 port, u32 value) { asm volatile("outl %0, %1" :: "a"(value), "Nd"(port)); }

static u32 in32(u16 port)
{
    u32 value;
    asm volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static void print(const char *text)
{
    while (*text)
        out8(0x3f8, *text++);
}

/* A value that is likely to matter somewhere. */
static u64 odd(struct processor *own)
{
    u64 value = random(own);
    switch (below(own, 6)) {
    case 0: return value & 0xff;
    case 1: return 1ul << (value & 63);
    case 2: return (1ul << (value & 63)) - 1;
    case 3: return SCRATCH + (value & 0xfffff);
    case 4: return MEMORY - 8 + (value & 15);
    default: return value;
    }
}

/* Ports at which a machine ends, which it is to do at last. */
static int ends(u16 port, u16 width)
{
    static const u16 ports[] = { 0x64, 0x92, 0xcf9, 0xf4, 0x604, 0x605 };
    if (port == 0xcf8 && width == 4)
        return 0;
    for (unsigned i = 0; i < sizeof ports / sizeof *ports; i++)
        if ((u16)(ports[i] - port) < width)
            return 1;
    return 0;
}

static u16 some_port(struct processor *own)
{
    static const u16 firsts[] = { 0x20, 0x40, 0x60, 0x70, 0xa0, 0x3f8, 0x4d0, 0x600, 0xcf8 };
    u64 kind = below(own, 12);
    if (kind < 9)
        return firsts[kind] + below(own, 8);
    return random(own);
}

static void step_port(struct processor *own)
{
    u16 port = some_port(own), width = 1 << below(own, 3);
    u64 value = odd(own), kind = below(own, 8), count = 1 + below(own, 40);
    void *place = (void *)(SCRATCH + below(own, 0x1000));
    if (ends(port, width))
        return;
    if (kind == 0 && width == 1)
        asm volatile("rep insb" : "+D"(place), "+c"(count) : "d"(port) : "memory");
    else if (kind == 1 && width == 2)
        asm volatile("rep outsw" : "+S"(place), "+c"(count) : "d"(port) : "memory");
    else if (kind == 2)
        asm volatile("inb %1, %b0" : "+a"(value) : "Nd"(port));
    else if (width == 1)
        out8(port, value);
    else if (width == 2)
        out16(port, value);
    else if (kind == 3)
        in32(port);
    else
        out32(port, value);
}

/* An interrupt command that resets nobody but a processor that is not the first. */
static u64 harmless(struct processor *own, u64 command)
{
    if ((command >> 8 & 7) != 5)
        return command;
    return own->number == 0 ? (command & ~0xc0000ul) | 0xc0000 : command & ~0x700ul;
}

static void step_memory(struct processor *own)
{
    static const u64 pages[] = { APIC, APIC, IO_APIC, 0xfed00000, MEMORY, 0x80000000, 0xfffff000 };
    u64 at = pages[below(own, 7)] + (random(own) & 0xff0) + (below(own, 8) ? 0 : below(own, 16));
    u64 value = odd(own), count = below(own, 9);
    if (at >> 12 == APIC >> 12)
        value = (at & 0xff0) == 0x300 ? harmless(own, value) : value;
    at = at > 0xffffffe0 ? 0xffffffe0 : at;
    switch (below(own, 8)) {
    case 0: *(volatile u8 *)at = value; break;
    case 1: *(volatile u16 *)at = value; break;
    case 2: *(volatile u64 *)at = value; break;
    case 3: (void)*(volatile u32 *)at; break;
    case 4: if (at >> 12 != APIC >> 12) asm volatile("addl %1, (%0)" :: "r"(at), "r"((u32)value) : "memory"); break;
    case 5: if (at >> 12 != APIC >> 12) asm volatile("rep stosb" : "+D"(at), "+c"(count) : "a"(value) : "memory"); break;
    default: *(volatile u32 *)at = value;
    }
}

static void step_register(struct processor *own)
{
    static const u32 some[] = { 0x10, 0x1b, 0x277, 0x6e0, 0x4b564d00, 0x4b564d01, 0xc0000103, 0x174, 0xfe };
    u64 kind = below(own, 4), value = odd(own);
    u32 number = kind == 0 ? some[below(own, 9)] : kind < 3 ? 0x800 + below(own, 0x41) : random(own);
    u32 low, high;
    if (below(own, 3) == 0) {
        asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(number));
        return;
    }
    if (number >> 8 == 0x4b564d)        /* the clock is written there */
        value |= SCRATCH;
    if (number == 0x830)
        value = harmless(own, value);
    if (number >= 0xc0000000 && number < 0xc0000104)
        return;
    asm volatile("wrmsr" :: "c"(number), "a"((u32)value), "d"((u32)(value >> 32)));
}

static void step_instruction(struct processor *own)
{
    u32 a = odd(own), b, c = random(own), d;
    switch (below(own, 12)) {
    case 0: asm volatile("vmmcall" : "+a"(a)); break;
    case 1: asm volatile("rdpmc" : "=a"(a), "=d"(d) : "c"(c)); break;
    case 2: asm volatile(".byte 0xf1"); break;
    case 3: asm volatile("int3"); break;
    case 4: asm volatile("ud2"); break;
    case 5: asm volatile("mov %0, %%dr7" :: "r"((u64)a)); break;
    case 6: asm volatile("wbinvd"); break;
    case 7: asm volatile("monitor" :: "a"(SCRATCH), "c"(0), "d"(0)); break;
    case 8: asm volatile("invlpg (%0)" :: "r"(odd(own))); break;
    case 9: asm volatile("mov %0, %%cr8" :: "r"((u64)(a & 31))); break;
    case 10: asm volatile("sti; nop; nop; cli"); break;
    default: asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    }
}

/* The ports of a virtio device in a slot, or 0. */
static u16 device(u32 slot)
{
    out32(0xcf8, 0x80000000 | slot << 11);
    if ((in32(0xcfc) & 0xffff) != 0x1af4)
        return 0;
    out32(0xcf8, 0x80000004 | slot << 11);
    out32(0xcfc, 7);
    out32(0xcf8, 0x80000010 | slot << 11);
    return in32(0xcfc) & ~3;
}

static void step_configuration(struct processor *own)
{
    u32 slot = below(own, 5), at = below(own, 64) * 4, value = odd(own);
    out32(0xcf8, 0x80000000 | slot << 11 | at);
    out32(0xcfc, at == 0x10 ? 0x1000 + (value & 0xff80) : value);
}

/* Where a queue's parts and buffers lie: mostly where they may. */
static u64 place(struct processor *own)
{
    if (below(own, 64) == 0)
        return odd(own) | SCRATCH;
    return SCRATCH + below(own, 64) * 0x1000 + (below(own, 8) ? 0 : below(own, 4096));
}

static void describe(struct processor *own, u64 at, u32 size)
{
    for (u32 i = 0; i < size; i++) {
        u8 *entry = (u8 *)(at + 16 * i);
        *(u64 *)entry = place(own);
        *(u32 *)(entry + 8) = below(own, 16) ? 16 + below(own, 8192) : random(own);
        *(u16 *)(entry + 12) = below(own, 8) ? below(own, 4) : below(own, 8);
        *(u16 *)(entry + 14) = below(own, 8) ? i + 1 : random(own);
    }
}

/* Messages of 9P and heads of requests of disks, in all buffers. */
static void fill(struct processor *own)
{
    static const u8 kinds[] = { 100, 104, 110, 12, 14, 16, 20, 22, 24, 26, 40, 70, 72, 74, 76, 116, 118, 120, 122 };
    for (u64 at = SCRATCH; at < SCRATCH + 64 * 0x1000; at += 0x1000) {
        u8 *bytes = (u8 *)at;
        for (u32 i = 0; i < 64; i++)
            bytes[i] = below(own, 3) ? 0 : random(own) & 7;
        if (below(own, 2)) {
            *(u32 *)bytes = 16 + below(own, 64);
            bytes[4] = below(own, 8) ? kinds[below(own, sizeof kinds)] : random(own);
        } else {
            *(u32 *)bytes = below(own, 10);
            *(u64 *)(bytes + 8) = below(own, 16);
        }
    }
}

static void step_virtio(struct processor *own)
{
    u16 io = device(1 + below(own, 4));
    u64 descriptors = place(own) & ~0xful, requests = place(own) & ~1ul, completions = place(own) & ~3ul;
    u32 size = 1 << below(own, 8);
    if (io == 0 || ends(io, 0x80))
        return;
    if (below(own, 3) == 0) {
        out32(io + below(own, 0x80), odd(own));
        return;
    }
    fill(own);
    out8(io + 20, 0);
    out8(io + 20, 3);
    out32(io + 8, 1);
    out32(io + 12, 1);
    out8(io + 20, 11);
    out16(io + 22, below(own, 16) == 0);
    out16(io + 24, below(own, 16) ? size : random(own));
    out32(io + 32, descriptors);
    out32(io + 40, requests);
    out32(io + 48, completions);
    out16(io + 28, 1);
    out8(io + 20, 15);
    if (descriptors > MEMORY - 0x1000 || requests > MEMORY - 0x1000)
        return;
    for (u32 turn = 0; turn < 4; turn++) {
        describe(own, descriptors, size);
        for (u32 i = 0; i < size; i++)
            *(u16 *)(requests + 4 + 2 * i) = below(own, 16) ? below(own, size) : random(own);
        *(u16 *)(requests + 2) += below(own, 16) ? 1 + below(own, size) : random(own);
        out16(io + 0x38, below(own, 8) == 0);
    }
}

static void run(struct processor *own)
{
    static void (*const steps[])(struct processor *) = {
        step_port, step_memory, step_register, step_instruction, step_virtio, step_configuration,
    };
    asm volatile("cli");
    while (own->left != 0) {
        own->left--;
        u64 kind = below(own, 16);
        steps[kind < 4 ? 0 : kind < 8 ? 1 : kind < 11 ? 2 : kind < 13 ? 3 : kind < 14 ? 4 : 5](own);
    }
    __atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
    while (own->number != 0)
        asm volatile("cli; pause");
    print("steps done\n");
    out8(EXIT_PORT, 42);
    for (;;)
        asm volatile("pause");
}

/* A processor goes on behind a fault. */
void again(void)
{
    extern char stacks[];
    u64 own;
    asm volatile("mov %%rsp, %0" : "=r"(own));
    run(&processors[(own - (u64)stacks) >> 16 & 1]);
}

static u64 option(const char *line, const char *name, u64 otherwise)
{
    for (; *line; line++) {
        u64 at = 0, value = 0;
        while (name[at] && line[at] == name[at])
            at++;
        if (name[at])
            continue;
        for (line += at; *line >= '0' && *line <= '9'; line++)
            value = value * 10 + (*line - '0');
        return value;
    }
    return otherwise;
}

static void begin_any(struct processor *own)
{
    asm volatile("lidt %0" :: "m"(table));
    run(own);
}

void begin_other(void)
{
    begin_any(&processors[1]);
}

void begin(u8 *zero_page)
{
    const char *line = (const char *)(u64)*(u32 *)(zero_page + 0x228);
    u64 seed = option(line, "seed=", 1), steps = option(line, "steps=", 1000);
    for (u32 i = 0; i < 256; i++) {
        u64 at = (u64)(i < 32 ? fault : interrupt);
        gates[i] = (struct gate){ at, 0x10, 0x8e00, at >> 16, at >> 32, 0 };
    }
    table.limit = sizeof gates - 1;
    table.base = (u64)gates;
    for (u64 i = 0; i < 2; i++)
        processors[i] = (struct processor){ (seed + i) * 0x9e3779b97f4a7c15ul | 1, steps, i };
    running = option(line, "cpus=", 1);
    if (running == 2) {
        for (u32 i = 0; other + i < other_end; i++)
            ((volatile u8 *)0x10000)[i] = other[i];
        *(volatile u32 *)(APIC + 0x310) = 1 << 24;
        *(volatile u32 *)(APIC + 0x300) = 0x4500;
        *(volatile u32 *)(APIC + 0x300) = 0x4610;
    }
    print("hostile guest begins\n");
    begin_any(&processors[0]);
}
