/* call: ioctl; covers: what sockets tell of the loopback interface */
#include "check.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>

static int plug;
static struct ifreq of(const char *name)
{
    struct ifreq request = {0};
    strcpy(request.ifr_name, name);
    return request;
}

static void show(const char *what, unsigned long number)
{
    struct ifreq request = of("lo"), other = of("none0");
    SHOW(ioctl(plug, number, &request));
    SHOW(ioctl(plug, number, &other));
    say("%s: %d %s\n", what, request.ifr_addr.sa_family, inet_ntoa(((struct sockaddr_in *)&request.ifr_addr)->sin_addr));
}

int main(void)
{
    struct ifreq request = of("lo"), list[8];
    struct ifconf all = {.ifc_len = 0};
    int has = 0;
    plug = socket(AF_INET, SOCK_DGRAM, 0);
    request.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
    SHOW(ioctl(plug, SIOCSIFFLAGS, &request));
    SHOW(ioctl(plug, SIOCGIFFLAGS, &request));
    HOLDS((request.ifr_flags & (IFF_UP | IFF_LOOPBACK | IFF_RUNNING)) == (IFF_UP | IFF_LOOPBACK | IFF_RUNNING));
    show("address", SIOCGIFADDR);
    show("mask", SIOCGIFNETMASK);
    SHOW(ioctl(plug, SIOCGIFHWADDR, &request));
    HOLDS(request.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK);
    SHOW(ioctl(plug, SIOCGIFMTU, &request));
    say("largest packet %d\n", request.ifr_mtu);
    SHOW(ioctl(plug, SIOCGIFINDEX, &request));
    say("number %d\n", request.ifr_ifindex);
    strcpy(request.ifr_name, "?");
    SHOW(ioctl(plug, SIOCGIFNAME, &request));
    say("name %s\n", request.ifr_name);
    request.ifr_ifindex = 4000;
    SHOW(ioctl(plug, SIOCGIFNAME, &request));
    SHOW(ioctl(plug, SIOCGIFADDR, 16));

    SHOW(ioctl(plug, SIOCGIFCONF, &all));
    HOLDS(all.ifc_len >= (int)sizeof request);
    all = (struct ifconf){.ifc_len = sizeof list, .ifc_req = list};
    SHOW(ioctl(plug, SIOCGIFCONF, &all));
    for (int i = 0; i < all.ifc_len / (int)sizeof request; i++)
        has |= !strcmp(list[i].ifr_name, "lo") && ((struct sockaddr_in *)&list[i].ifr_addr)->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
    HOLDS(has);
    all = (struct ifconf){.ifc_len = 8, .ifc_req = list};
    SHOW(ioctl(plug, SIOCGIFCONF, &all));
    say("%d bytes\n", all.ifc_len);
    return 0;
}
