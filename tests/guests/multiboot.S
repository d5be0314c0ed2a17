/* Head and entries of a multiboot kernel: MULTIBOOT is the version of the protocol, FLAT is there if
   the header has addresses because the file has no others, FLAGS are required of a loader. */
    .section .head, "a"
#if MULTIBOOT == 1
#ifdef FLAT
#define BITS (FLAGS | 1 << 16)
#else
#define BITS FLAGS
#endif
    .align 4
header:
    .long 0x1badb002, BITS, -(0x1badb002 + BITS)
#ifdef FLAT
    .long header, image, 0, image_end, start
#endif
#else
    .align 8
header:
    .long 0xe85250d6, 0, header_end - header, -(0xe85250d6 + header_end - header)
    .short 1, 0                 /* sizes of memory and its map are wanted */
    .long 16, 4, 6
#ifdef FLAT
    .short 2, 0                 /* addresses */
    .long 24, header, image, 0, image_end
    .short 3, 0                 /* entry */
    .long 12, start, 0
#endif
    .short 5, FLAGS >> 2 & 1 ^ 1    /* a framebuffer, required by the bit of the other protocol */
    .long 20, 0, 0, 0, 0
    .short 0, 0
    .long 8
header_end:
#endif

    .text
    .globl start
start:
    mov %cr0, %ecx              /* the mode in which it was started */
    mov $stack_end, %esp
    push %ecx
    push %ebx
    push %eax
    lgdt table
    ljmp $8, $1f
1:  mov $0x10, %ecx
    mov %ecx, %ds
    mov %ecx, %es
    mov %ecx, %ss
    call begin

    .align 8
descriptors:
    .quad 0, 0x00cf9b000000ffff, 0x00cf93000000ffff
table:
    .word 23
    .long descriptors

/* A page fault, whose error code lies below the registers. */
    .globl fault
fault:
    pusha
    call page_fault
    popa
    add $4, %esp
    iret

    .globl timer
timer:
    pusha
    call tick
    popa
    iret

    .globl other
other:
    call wrong

    .bss
    .align 16
    .skip 0x4000
stack_end:

    .section .note.GNU-stack, "", @progbits
