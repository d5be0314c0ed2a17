# packages: findutils
cd "$(mktemp -d)"
mkdir -p a/b/c d; for i in 1 2 3; do echo $i >a/f$i; echo $i >a/b/g$i.txt; done; ln -s ../a d/up; chmod 600 a/f1; touch -d 2000-01-01 a/f2
find . | sort; find . -name '*.txt' -size -2 | sort; find . -type l -printf '%p -> %l\n'; find -L d -name 'g*' | sort; find a -maxdepth 1 -type f -newer a/f2 | sort
find . -perm 600 -type f; find . -type f -exec cat {} + | sort | tr -d '\n'; echo; find . -type f -print0 | xargs -0 -n2 echo | wc -l; find a -depth -name 'g*' -delete; find a | sort; find . -empty | sort
seq 1 2000 | xargs -P 4 -n 100 sh -c 'echo $#' | sort | uniq -c; find . -regex '.*/f[12]' | sort; find / -maxdepth 1 -name etc
