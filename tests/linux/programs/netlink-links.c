/* call: sendto, recvmsg, bind, getsockname; covers: interfaces and addresses, asked of the system by netlink as the C library does */
#include "check.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>

static int plug;
static char text[8192];

static void ask(int type, int flags, int family, int index)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg link;
    } question = {{sizeof question, type, NLM_F_REQUEST | flags, 77, 0}, {.ifi_family = family, .ifi_index = index}};
    struct sockaddr_nl system = {.nl_family = AF_NETLINK};
    SHOW(sendto(plug, &question, sizeof question, 0, (void *)&system, sizeof system));
}

/* Reads answers up to the end of them; how many were of this type. */
static int answers(int type)
{
    int count = 0;
    for (;;) {
        struct sockaddr_nl from = {0};
        struct iovec piece = {text, sizeof text};
        struct msghdr message = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &piece, .msg_iovlen = 1};
        int size = recvmsg(plug, &message, 0);
        if (size <= 0 || from.nl_family != AF_NETLINK || from.nl_pid != 0 || message.msg_namelen != sizeof from)
            return -1;
        for (struct nlmsghdr *header = (void *)text; NLMSG_OK(header, size); header = NLMSG_NEXT(header, size)) {
            if (header->nlmsg_seq != 77)
                return -2;
            if (header->nlmsg_type == NLMSG_DONE)
                return count;
            if (header->nlmsg_type == NLMSG_ERROR) {
                say("error %s\n", error_name(-((struct nlmsgerr *)NLMSG_DATA(header))->error));
                return count;
            }
            count += header->nlmsg_type == type;
            if (!(header->nlmsg_flags & NLM_F_MULTI))
                return count;
        }
    }
}

int main(void)
{
    alarm(20);
    struct sockaddr_nl own = {.nl_family = AF_NETLINK};
    socklen_t size = sizeof own;
    struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING};
    ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &up);
    plug = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    SHOW(bind(plug, (void *)&own, sizeof own));
    SHOW(getsockname(plug, (void *)&own, &size));
    HOLDS(size == sizeof own && own.nl_family == AF_NETLINK && own.nl_pid == (unsigned)getpid());

    ask(RTM_GETLINK, NLM_F_DUMP, AF_UNSPEC, 0);
    HOLDS(answers(RTM_NEWLINK) >= 1);
    ask(RTM_GETADDR, NLM_F_DUMP, AF_INET, 0);
    HOLDS(answers(RTM_NEWADDR) >= 1);
    ask(RTM_GETLINK, 0, AF_UNSPEC, 1);
    say("%d links\n", answers(RTM_NEWLINK));
    ask(RTM_GETLINK, 0, AF_UNSPEC, 4000);
    say("%d links\n", answers(RTM_NEWLINK));
    SHOW(recv(plug, text, sizeof text, MSG_DONTWAIT));

    char name[IF_NAMESIZE] = "";
    say("%u %s\n", if_nametoindex("lo"), if_indextoname(1, name) ? name : "none");
    struct if_nameindex *names = if_nameindex();
    HOLDS(names && names->if_index == 1 && !strcmp(names->if_name, "lo"));
    struct ifaddrs *all = 0;
    SHOW(getifaddrs(&all));
    for (struct ifaddrs *one = all; one; one = one->ifa_next)
        if (!strcmp(one->ifa_name, "lo") && one->ifa_addr && one->ifa_addr->sa_family == AF_INET)
            say("%s, mask %s, flags %d\n", inet_ntoa(((struct sockaddr_in *)one->ifa_addr)->sin_addr),
                ((struct sockaddr_in *)one->ifa_netmask)->sin_addr.s_addr == htonl(0xff000000) ? "of a byte" : "another", one->ifa_flags & (IFF_UP | IFF_LOOPBACK));
    return 0;
}
