/* call: prctl; covers: a name for each thread */
#include "check.h"

static void *start(void *argument)
{
    char name[20] = "";
    prctl(PR_SET_NAME, "a name that is much too long");
    prctl(PR_GET_NAME, name);
    say("%s\n", name);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    char name[20] = "";
    SHOW(prctl(PR_SET_NAME, "first"));
    pthread_create(&thread, NULL, start, NULL);
    pthread_join(thread, NULL);
    SHOW(prctl(PR_GET_NAME, name));
    say("%s\n", name);
    return 0;
}
