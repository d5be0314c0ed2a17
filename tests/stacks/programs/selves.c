// Runs a program that is its own interpreter, below a monitor or by itself, and kills every second run at a random moment. `selves SEED COUNT
// ELF [MONITOR [OPTION]...]` ends with 0 if all memory and processes came back.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "counts.h"

#define NAME_AT 4000  // Offset of the interpreter's name in the file. The text there is not run.
#define PATH "/tmp/selves-elf"

// Copies a program, whose first program header then names the copy as its interpreter.
static int make(const char *from) {
    int source = open(from, O_RDONLY), target = open(PATH, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    struct stat facts;
    if (source < 0 || target < 0 || fstat(source, &facts) != 0 || facts.st_size < NAME_AT + (off_t) sizeof PATH) return 1;
    unsigned char *file = malloc(facts.st_size);
    if (!file || read(source, file, facts.st_size) != facts.st_size) return 1;
    Elf64_Phdr *first = (Elf64_Phdr *) (file + ((Elf64_Ehdr *) file)->e_phoff);
    int named = 0;
    // A header that loads nothing gives way, so that the copy has all that it loads.
    for (int number = 0; number < ((Elf64_Ehdr *) file)->e_phnum && !named; number++) {
        if (first[number].p_type == PT_LOAD || first[number].p_type == PT_TLS) continue;
        first[number].p_type = PT_INTERP;
        first[number].p_offset = NAME_AT;
        first[number].p_filesz = first[number].p_memsz = sizeof PATH;
        named = 1;
    }
    memcpy(file + NAME_AT, PATH, sizeof PATH);
    int bad = !named || write(target, file, facts.st_size) != facts.st_size;
    close(source), close(target), free(file);
    return bad;
}

static void reap(void) {
    while (waitpid(-1, 0, WNOHANG) > 0) {}
}

// Runs the words, and kills that at a random moment if `early`.
static int run(char **words, int early) {
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int stream = 0; stream < 3; stream++) dup2(null, stream);
        execvp(words[0], words);
        _exit(126);
    }
    int status;
    if (early) usleep(below(1 << (4 + below(12)))), kill(child, SIGKILL);
    return waitpid(child, &status, 0) == child ? 0 : -1;
}

int main(int count, char **words) {
    if (count < 4 || count > 20 || make(words[3]) != 0) return 2;
    char *command[20] = {0};
    int rounds = atoi(words[2]), length = count - 4;
    for (int word = 0; word < length; word++) command[word] = words[4 + word];
    command[length] = PATH;
    seed(words[1]);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int round = 0; round < rounds + WARM; round++) {
        if (round == WARM) reap(), usleep(100000), reap(), count_before();
        if (run(command, round % 2) != 0) {
            printf("no process any more after %d rounds: %s\n", round, strerror(errno));
            return 1;
        }
        reap();
    }
    return count_after(reap);
}
