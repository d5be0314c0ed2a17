/* call: rename; covers: two names of one file, the same name */
#include "check.h"

int main(void)
{
    put_file("a", "text");
    link("a", "b");
    SHOW(rename("a", "b"));
    SHOW(access("a", F_OK));
    SHOW(access("b", F_OK));
    SHOW(rename("a", "a"));
    SHOW(rename("a", "./a"));
    show_file("a");
    return 0;
}
