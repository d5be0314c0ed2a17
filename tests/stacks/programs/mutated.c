// Runs mutated ELF files, and counts memory and processes before and after. `mutated SEED COUNT ELF...` ends with 0 if all came back.
//
// A mutation writes random and boundary values into headers of the file: entry, program headers, interpreter, types and sizes.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD 4096     // Bytes of the file that mutations reach.
#define LATE 2        // Seconds after which a program that runs on is killed.
#include "counts.h"

static uint64_t value(void) {
    static const uint64_t edges[] = { 0, 1, 7, 0xfff, 0x1000, 0x1001, 0x400000, 0x7fffffffffff, 0x800000000000,
        0x7f0000000000, 0x7e0000000000, 0x10000000, 1ull << 40, 1ull << 63, ~0ull, ~0xfffull };
    switch (below(3)) {
    case 0: return edges[below(sizeof edges / sizeof *edges)];
    case 1: return below(1 << 24);
    default: return number();
    }
}

// Changes one field of one program header.
static void change_header(unsigned char *file, const Elf64_Ehdr *elf, const char *self) {
    if (elf->e_phnum == 0) return;
    Elf64_Phdr *header = (Elf64_Phdr *) (file + sizeof(Elf64_Ehdr)) + below(elf->e_phnum);
    if ((unsigned char *) (header + 1) > file + HEAD) return;
    switch (below(9)) {
    case 0: header->p_vaddr = value(); break;
    case 1: header->p_memsz = value(); break;
    case 2: header->p_filesz = value(); break;
    case 3: header->p_offset = value(); break;
    case 4: header->p_type = below(8); break;
    case 5: header->p_flags = below(16); break;
    case 6: header->p_align = value(); break;
    case 7: header->p_vaddr = ((Elf64_Phdr *) (file + sizeof(Elf64_Ehdr)))->p_vaddr; break;
    default: // The file is its own interpreter.
        header->p_type = PT_INTERP;
        header->p_offset = HEAD - 256;
        header->p_filesz = header->p_memsz = strlen(self) + 1;
        memcpy(file + HEAD - 256, self, strlen(self) + 1);
    }
}

static void mutate(unsigned char *file, const char *self) {
    Elf64_Ehdr *elf = (Elf64_Ehdr *) file;
    for (uint64_t count = 1 + below(3); count > 0; count--) {
        switch (below(6)) {
        case 0: elf->e_entry = value(); break;
        case 1: file[below(HEAD)] = number(); break;
        case 2: elf->e_phnum = below(40); break;
        case 3: file[below(sizeof *elf)] = number(); break;
        default: change_header(file, elf, self);
        }
    }
}

static int run(const char *path) {
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int stream = 0; stream < 3; stream++) dup2(null, stream);
        alarm(LATE);
        execl(path, path, "x", (char *) 0);
        _exit(126);
    }
    int status;
    for (int turn = 0; turn < LATE * 2000; turn++) {
        if (waitpid(child, &status, WNOHANG) == child) return 0;
        usleep(500);
    }
    kill(child, SIGKILL);
    return waitpid(child, &status, 0) == child ? 0 : -1;
}

int main(int count, char **words) {
    if (count < 4) return 2;
    const char *path = "/tmp/mutated-elf";
    int runs = atoi(words[2]);
    seed(words[1]);
    for (int turn = 0; turn < runs + WARM; turn++) {
        if (turn == WARM) count_before();
        int from = open(words[3 + turn % (count - 3)], O_RDONLY);
        struct stat facts;
        if (from < 0 || fstat(from, &facts) != 0) return 2;
        unsigned char *file = malloc(facts.st_size + HEAD);
        if (!file || read(from, file, facts.st_size) != facts.st_size) return 2;
        close(from);
        mutate(file, path);
        unlink(path);
        int to = open(path, O_WRONLY | O_CREAT, 0755);
        if (to < 0 || write(to, file, facts.st_size) != facts.st_size) return 2;
        close(to);
        free(file);
        if (run(path) != 0) {
            printf("no process any more after %d runs: %s\n", turn, strerror(errno));
            return 1;
        }
        unlink(path);
    }
    return count_after(0);
}
