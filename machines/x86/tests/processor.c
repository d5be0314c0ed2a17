/* Carries out instructions on this machine's processor, for `processor.rs`: cases come from the
 * standard input, and go to the standard output with what has become of them. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* A case. The order is that of `Case` in `processor.rs`. */
struct state {
    uint8_t code[16];
    /* All but the stack pointer and RDI, which is the address of the memory. */
    uint64_t registers[16];
    uint64_t flags;
    uint8_t memory[32] __attribute__((aligned(16)));
};

/* Loads the registers, calls the code, and stores them. */
void carry_out(struct state *state, void *code);
__asm__(
    ".text\n.globl carry_out\ncarry_out:\n"
    "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; push %rdi; push %rsi\n"
    "mov %rdi, %rax\n"
    "mov 40(%rax), %rbx; mov 24(%rax), %rcx; mov 32(%rax), %rdx; mov 56(%rax), %rbp; mov 64(%rax), %rsi\n"
    "mov 80(%rax), %r8; mov 88(%rax), %r9; mov 96(%rax), %r10; mov 104(%rax), %r11\n"
    "mov 112(%rax), %r12; mov 120(%rax), %r13; mov 128(%rax), %r14; mov 136(%rax), %r15\n"
    "lea 160(%rax), %rdi\n"
    "push 144(%rax); mov 16(%rax), %rax; popf\n"
    "call *(%rsp)\n"
    "pushf; push %rax; mov 24(%rsp), %rax\n"
    "mov %rbx, 40(%rax); mov %rcx, 24(%rax); mov %rdx, 32(%rax); mov %rbp, 56(%rax); mov %rsi, 64(%rax)\n"
    "mov %r8, 80(%rax); mov %r9, 88(%rax); mov %r10, 96(%rax); mov %r11, 104(%rax)\n"
    "mov %r12, 112(%rax); mov %r13, 120(%rax); mov %r14, 128(%rax); mov %r15, 136(%rax)\n"
    "pop 16(%rax); pop 144(%rax); cld\n"
    "pop %rsi; pop %rdi; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
    "ret\n");

int main(void) {
    uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static struct state state;
    if (code == MAP_FAILED) return 1;
    while (fread(&state, sizeof state, 1, stdin) == 1) {
        /* Behind the instruction only returns follow. */
        memset(code, 0xc3, 64);
        memcpy(code, state.code, sizeof state.code);
        carry_out(&state, code);
        if (fwrite(&state, sizeof state, 1, stdout) != 1) return 1;
    }
    return fflush(stdout) != 0;
}
