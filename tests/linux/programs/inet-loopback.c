/* call: socket, bind, connect; covers: TCP and UDP through the loopback device */
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    char text[10] = "";
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    SHOW(bind(listener, (struct sockaddr *)&address, sizeof address));
    SHOW(listen(listener, 1));
    SHOW(getsockname(listener, (struct sockaddr *)&address, &size));
    SHOW(connect(client, (struct sockaddr *)&address, sizeof address));
    int fd = accept(listener, NULL, NULL);
    SHOW(write(client, "hello", 5));
    SHOW(read(fd, text, 9));
    return 0;
}
