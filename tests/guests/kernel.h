/* Common part of the files of the kernel that multiboot loaders start. */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

void print(const char *text);
/* Ends the machine, if something is not right. */
void check(int is_right, const char *name);
void use_nowhere(void);
