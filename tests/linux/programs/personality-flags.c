/* call: personality; covers: what is asked, set and told */
#include "check.h"

#include <sys/personality.h>

int main(void)
{
    SHOW(personality(0xffffffff));
    SHOW(personality(ADDR_NO_RANDOMIZE));
    SHOW(personality(0xffffffff));
    SHOW(personality(0));
    return 0;
}
