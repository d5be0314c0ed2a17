/* Head and entries of the hostile guest: what Linux's boot protocol asks of a kernel with a 64-bit
   entry, the start of another processor, and what faults and interrupts do. */
    .section .head, "ax"
    .org 0x1f1
    .byte 1                     /* sectors of 16-bit code behind the first */
    .org 0x1fe
    .word 0xaa55
    .byte 0xeb, 0x66            /* end of the header: 0x268 */
    .ascii "HdrS"
    .word 0x20c                 /* version of the protocol */
    .org 0x211
    .byte 1                     /* loaded above 1 MiB */
    .org 0x22c
    .long 0x7fffffff            /* end of an initial file system */
    .org 0x236
    .word 1                     /* 64-bit entry */
    .long 2047                  /* length of the command line */
    .org 0x258
    .quad 0x100000              /* address */
    .long 0x200000              /* memory that it needs */
    .org 0x600

    .code64
    .globl entry
entry:                          /* rsi: the zero page */
    mov $stacks + 0x10000, %rsp
    mov %rsi, %rdi
    call begin

/* Start of another processor. It is copied to 0x10000. */
    .globl other, other_end
    .code16
other:
    cli
    mov $0x1000, %ax
    mov %ax, %ds
    lgdtl descriptors - other
    mov $0x20, %eax
    mov %eax, %cr4
    mov $0x9000, %eax           /* the loader's page tables */
    mov %eax, %cr3
    mov $0xc0000080, %ecx
    mov $0x100, %eax
    xor %edx, %edx
    wrmsr
    mov $0x80010031, %eax
    mov %eax, %cr0
    ljmpl $0x10, $other_long
descriptors:
    .word 47                    /* the loader's descriptors */
    .long 0x500
other_end:

    .code64
other_long:
    mov $0x18, %eax
    mov %eax, %ds
    mov %eax, %es
    mov %eax, %ss
    mov $stacks + 0x20000, %rsp
    call begin_other

/* A fault: the processor goes on with its next step, on a stack that is empty again. */
    .globl fault
fault:
    dec %rsp                    /* a stack's end is the next one's start */
    or $0xffff, %rsp
    inc %rsp
    cld
    call again

/* An interrupt. A line that stays up, of a controller that needs no end of it, interrupts again and
   again before any other instruction, as on real hardware. So one of 256 masks the controllers. */
    .globl interrupt
interrupt:
    push %rax
    lock incb interrupts(%rip)
    jnz 1f
    mov $0xff, %al
    out %al, $0x21
    out %al, $0xa1
1:  pop %rax
    iretq

    .local interrupts
    .comm interrupts, 1, 1
