# packages: gcc
cd "$(mktemp -d)"
cat >a.c <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <dlfcn.h>
#include <stdatomic.h>
static atomic_int count; static jmp_buf back; _Thread_local int own;
static void *work(void *p) { for (int i = 0; i < 10000; i++) count++; own = *(int *)p; return (void *)(long)own; }
static void bad(int n) { (void)n; siglongjmp(back, 1); }
int main(int argc, char **argv) {
    pthread_t t[8]; int ids[8]; long sum = 0; void *r;
    for (int i = 0; i < 8; i++) { ids[i] = i; pthread_create(&t[i], 0, work, &ids[i]); }
    for (int i = 0; i < 8; i++) { pthread_join(t[i], &r); sum += (long)r; }
    printf("%d %ld %.6f %s\n", count, sum, sqrt(2) * sin(1), argc > 1 ? argv[1] : "none");
    signal(SIGSEGV, bad); if (!sigsetjmp(back, 1)) *(volatile int *)8 = 1; puts("caught");
    char *m = malloc(50 << 20); memset(m, 7, 50 << 20); printf("%d\n", m[12345678]); m = realloc(m, 100); free(m);
    void *l = dlopen("./lib.so", RTLD_NOW); int (*f)(int) = l ? dlsym(l, "twice") : 0; printf("%d\n", f ? f(21) : -1);
    qsort(ids, 8, sizeof *ids, (int (*)(const void *, const void *))strcmp); return 5;
}
X
echo 'int twice(int x) { return 2 * x; }' >l.c; gcc -shared -fPIC -O2 -o lib.so l.c
for o in -O0 -O2 -O3 -Os '-O2 -flto' '-O1 -fsanitize=undefined' '-g -pg'; do gcc $o -pthread -o a a.c -lm -ldl 2>err && ./a "$o"; echo "status $?"; done; gcc -static -o s l.c -x c - <<'X' && ./s
#include <stdio.h>
int twice(int); int main(void) { printf("static %d\n", twice(4)); }
X
echo 'int main(void) { return x; }' | gcc -x c - 2>&1 | grep -c error; gcc -E -dM - </dev/null | grep -c __x86_64__; gcc -S -o - l.c | grep -c twice; nm lib.so | grep ' T twice' | cut -c18-; ar rcs lib.a s && ar t lib.a; objdump -d lib.so | grep -c '<twice>'; strip lib.so && ./a x | tail -1; ldd a | grep -c libm
