/* call: statfs, fstatfs; covers: sizes that make sense, errors */
#include "check.h"

int main(void)
{
    struct statfs status;
    put_file("f", "");
    SHOW(statfs("f", &status));
    HOLDS(status.f_bsize >= 512 && status.f_namelen == 255 && status.f_bfree <= status.f_blocks);
    SHOW(fstatfs(open("f", O_RDONLY), &status));
    HOLDS(status.f_bsize >= 512);
    SHOW(statfs("missing", &status));
    SHOW(fstatfs(77, &status));
    SHOW(statfs("f", (struct statfs *)8));
    return 0;
}
