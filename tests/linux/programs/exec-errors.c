/* call: execve; covers: missing, directories, no rights, damaged files; also: musl */
#include "check.h"

static void try(const char *path)
{
    char *words[] = {"x", NULL};
    execve(path, words, words + 1);
    say("%s: %s\n", path, error_name(errno));
}

int main(void)
{
    put_file("plain", "text");
    put_file("text", "just text\n");
    put_file("empty", "");
    put_file("elf", "\177ELF and nothing else");
    put_file("script", "#!/missing/interpreter\n");
    put_file("odd", "#!\n");
    chmod("text", 0755), chmod("empty", 0755), chmod("elf", 0755), chmod("script", 0755), chmod("odd", 0755);
    mkdir("d", 0755);
    symlink("loop", "loop");
    const char *paths[] = {"missing", "plain", "text", "empty", "elf", "script", "odd", "d", "text/x", "loop", ""};
    for (unsigned index = 0; index < sizeof paths / sizeof *paths; index++)
        try(paths[index]);
    SHOW(execve((char *)8, NULL, NULL));
    SHOW(execve("text", (char **)8, NULL));
    return 0;
}
