/* call: sysinfo, getcpu, sched_getaffinity; covers: memory, processors; also: musl */
#include "check.h"

#include <sys/sysinfo.h>

int main(void)
{
    struct sysinfo facts;
    unsigned cpu = 99, node = 99;
    SHOW(sysinfo(&facts));
    HOLDS(facts.totalram > 0 && facts.freeram <= facts.totalram && facts.mem_unit > 0 && facts.uptime >= 0);
    SHOW(sysinfo((void *)8));
    SHOW(syscall(SYS_getcpu, &cpu, &node, NULL));
    HOLDS(cpu < 64 && node == 0);
    HOLDS(sysconf(_SC_NPROCESSORS_ONLN) >= 1);
    SHOW(sysconf(_SC_PAGESIZE));
    SHOW(sysconf(_SC_CLK_TCK));
    SHOW(sysconf(_SC_OPEN_MAX) > 0);
    return 0;
}
