/* call: rename; covers: kinds that do not fit, into itself, missing names; also: musl */
#include "check.h"

int main(void)
{
    put_file("f", "");
    mkdir("d", 0755);
    mkdir("d/e", 0755);
    SHOW(rename("f", "d"));
    SHOW(rename("d", "f"));
    SHOW(rename("d", "d/e"));
    SHOW(rename("d", "d/new"));
    SHOW(rename("d/e", "d"));
    SHOW(rename("missing", "x"));
    SHOW(rename("f", "missing/x"));
    SHOW(rename("f", "f/x"));
    SHOW(rename("", "x"));
    SHOW(rename("f", ""));
    SHOW(rename("d/.", "x"));
    SHOW(rename("d", "."));
    SHOW(rename("..", "x"));
    return 0;
}
