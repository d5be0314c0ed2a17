// Counts of what a world of processes has, and random numbers: for programs that look whether all comes back.
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLACK 256 // KiB that caches may keep.
#define WARM 24   // Rounds before the first count: pools and tables reach their size.

static uint64_t state;

__attribute__((unused)) static void seed(const char *text) { state = strtoull(text, 0, 10) * 0x9e3779b97f4a7c15ull | 1; }

__attribute__((unused)) static uint64_t number(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dull;
}

__attribute__((unused)) static uint64_t below(uint64_t end) { return (number() >> 11) % end; }

// Number of the processes that `/proc` shows, or of their threads.
static int entries(int threads) {
    int count = 0;
    char path[64];
    DIR *all = opendir("/proc"), *tasks;
    for (struct dirent *entry; all && (entry = readdir(all));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (!threads) {
            count++;
            continue;
        }
        snprintf(path, sizeof path, "/proc/%.20s/task", entry->d_name);
        tasks = opendir(path);
        for (struct dirent *task; tasks && (task = readdir(tasks));) count += task->d_name[0] != '.';
        if (tasks) closedir(tasks);
    }
    if (all) closedir(all);
    return count;
}

// KiB that nobody uses, or -1.
static long free_memory(void) {
    char text[4096];
    int file = open("/proc/meminfo", O_RDONLY);
    ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0) return -1;
    text[size] = 0;
    char *line = strstr(text, "MemFree:");
    return line ? atol(line + 8) : -1;
}

static struct { int processes, threads; long memory; } before;

static void count_before(void) {
    before.processes = entries(0);
    before.threads = entries(1);
    before.memory = free_memory();
}

// Shows the processes that there are.
static void show_processes(void) {
    char path[64], text[128];
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all && (entry = readdir(all));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%.20s/stat", entry->d_name);
        int file = open(path, O_RDONLY);
        ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
        close(file);
        if (size > 0) text[size] = 0, printf("process %.60s\n", text);
    }
    if (all) closedir(all);
}

static struct { int processes, threads; long memory; } lost;

// Waits until all has come back, half a minute at most: 1 if something has not. `reap` is called meanwhile.
static int await_all(void (*reap)(void)) {
    for (int look = 0; look < 1500; look++) {
        if (reap) reap();
        lost.processes = entries(0) - before.processes;
        lost.threads = entries(1) - before.threads;
        lost.memory = before.memory - free_memory();
        if (lost.processes <= 0 && lost.threads <= 0 && lost.memory <= SLACK) return 0;
        usleep(20000);
    }
    return 1;
}

// Waits until all has come back, and says what has not: 1 if something has not.
static int count_after(void (*reap)(void)) {
    if (await_all(reap) == 0) return 0;
    printf("%d processes, %d threads and %ld KiB are left\n", lost.processes, lost.threads, lost.memory);
    show_processes();
    return 1;
}
