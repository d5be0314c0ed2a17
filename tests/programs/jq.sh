# packages: jq, bc, file, m4, bison, flex, gcc
cd "$(mktemp -d)"
seq 1 1000 | jq -s 'add, (map(select(. % 7 == 0)) | length), (group_by(. % 3) | map(length))' -c; echo '{"a":[{"b":1},{"b":2}],"s":"é"}' | jq -r '.a[].b, (.s|ascii_downcase), (.a|tojson), ([paths]|length)'; jq -n 'def f(n): if n<2 then n else f(n-1)+f(n-2) end; f(15), ("2015-03-05T23:51:47Z"|fromdate), ([limit(5;repeat(1))]|add)' -c; echo '{' | jq . 2>&1 | head -1; echo $?
echo 'scale=40; 4*a(1); 2^100; sqrt(2)' | bc -l; printf 'GIF89a' >g; seq 3 >t; file g t /bin/sh | sed 's/, BuildID.*//'; echo 'define(`x'"'"',`$1-$2'"'"')x(a,b) eval(2**10) len(abc)' | m4
cat >c.y <<'X'
%{
#include <stdio.h>
int yylex(void); void yyerror(const char *s) { puts(s); }
%}
%token N
%left '+'
%left '*'
%%
s: | s e '\n' { printf("%d\n", $2); };
e: N | e '+' e { $$ = $1 + $3; } | e '*' e { $$ = $1 * $3; } | '(' e ')' { $$ = $2; };
%%
int main(void) { return yyparse(); }
X
printf '%%{\n#include "c.tab.h"\n#include <stdlib.h>\n%%}\n%%option noyywrap\n%%%%\n[0-9]+ { yylval = atoi(yytext); return N; }\n[ ] ;\n.|\\n return yytext[0];\n' >c.l; bison -d c.y && flex c.l && gcc -o calc c.tab.c lex.yy.c 2>/dev/null && printf '1+2*3\n(4+5)*6\n' | ./calc; echo 1+ | ./calc; echo $?
