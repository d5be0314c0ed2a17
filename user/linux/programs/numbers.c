/* Floating point, sorting, formatted input and output, time zones: what a C library does by itself. */
#include "check.h"
#include <math.h>
#include <time.h>

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

int main(int arguments, char **words, char **environment)
{
    double numbers[1000], sum = 0;
    for (int index = 0; index < 1000; index++)
        numbers[index] = sin(index) * exp(index / 300.0);
    qsort(numbers, 1000, sizeof *numbers, compare);
    for (int index = 0; index < 1000; index++)
        sum += numbers[index] * index;
    printf("%.12g %.12g %.12g %a\n", numbers[0], numbers[999], sum, sqrt(2.0));
    printf("%Lf %e %s\n", 1.0L / 3, 1e300 * 1e10, 0.1 + 0.2 == 0.3 ? "equal" : "not equal");
    char line[100];
    double value;
    int whole;
    SHOW(sscanf("12 0x1.8p3 word", "%d %lf %99s", &whole, &value, line));
    printf("%d %g %s\n", whole, value, line);
    time_t date = 1234567890;
    strftime(line, sizeof line, "%Y-%m-%d %H:%M:%S", gmtime(&date));
    printf("%s\n", line);
    printf("%d arguments, first %s\n", arguments, arguments > 1 ? words[1] : "none");
    int variables = 0;
    while (environment[variables])
        variables++;
    HOLDS(variables >= 0);
    fprintf(stderr, "to the other stream\n");
    return 42;
}
