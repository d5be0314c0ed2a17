/* call: execve, wait4; covers: system and popen, by the shell */
#include "check.h"

int main(void)
{
    char line[40] = "";
    int status = system("exit 3");
    show_status(status);
    FILE *stream = popen("echo hello; exit 4", "r");
    fgets(line, sizeof line, stream);
    say("%s", line);
    show_status(pclose(stream));
    stream = popen("cat > written", "w");
    fputs("through a pipe", stream);
    show_status(pclose(stream));
    show_file("written");
    return 0;
}
