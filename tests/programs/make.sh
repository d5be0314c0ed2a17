# packages: make, gcc
cd "$(mktemp -d)"
for i in 1 2 3 4 5 6 7 8; do printf '#include "all.h"\nint f%d(void) { return %d; }\n' $i $i >f$i.c; done; for i in 1 2 3 4 5 6 7 8; do echo "int f$i(void);"; done >all.h
cat >main.c <<'X'
#include <stdio.h>
#include "all.h"
int main(void) { printf("%d\n", f1() + f2() + f3() + f4() + f5() + f6() + f7() + f8()); return 0; }
X
printf 'OBJS := $(patsubst %%.c,%%.o,$(sort $(wildcard *.c)))\nprog: $(OBJS)\n\t$(CC) -o $@ $^\n%%.o: %%.c all.h\n\t@echo cc $<; $(CC) -O1 -c -o $@ $<\n.PHONY: clean\nclean:\n\trm -f *.o prog\nshow:\n\t@echo $(words $(OBJS)) $(shell echo from the shell)\n' >Makefile
make -j4 | sort; ./prog; make; touch -d '1 minute' f3.c; make -n | grep -c echo; make show; make nonesuch 2>&1 | sed 's/make[^:]*/make/'; make clean; ls; make -j2 --output-sync prog >/dev/null && ./prog
