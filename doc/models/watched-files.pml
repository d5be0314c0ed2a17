/*
 * A thread that waits for one of two files: their servers are asked to tell, and an agent hears of it. Each file gets something at some time, so that the thread must not sleep for ever.
 *
 * The library's lock guards all but what servers have. It is free while a server is asked. `watched-files` in doc/models/README.md says what MUTATION breaks.
 */

#ifndef MUTATION
#define MUTATION 0
#endif

#define FILES 2

bool locked;
bool has[FILES];	/* the server: there is something to read */
bool watched[FILES];	/* the server: it will tell */
bool told[FILES];	/* a notification that the agent has not received */
byte count[FILES];	/* the library: notifications of a file so far */
bool known[FILES];	/* the library: the server has been asked ... */
byte asked[FILES];	/* ... when there were so many */
bool awaits;		/* the agent is to wake the thread */
byte word;		/* number of wakes */

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* Something comes; it is told once. */
proctype server(byte file) {
	atomic {
		has[file] = true;
		told[file] = told[file] || watched[file];
		watched[file] = false
	}
}

inline hear(file) {
	lock();
	count[file]++;
	if
	:: awaits -> word++
	:: else
	fi;
	unlock()
}

proctype agent() {
end:	do
	:: atomic { told[0] -> told[0] = false }; hear(0)
	:: atomic { told[1] -> told[1] = false }; hear(1)
	od
}

/* Asks a server to tell, unless it was asked and has not told since. */
inline watch(file) {
	if
	:: known[file] && asked[file] == count[file]
	:: else ->
		before = count[file];
		unlock();
		atomic {
			if
			:: has[file] -> ready = true; answer = true
			:: else -> watched[file] = true; answer = false
			fi
		};
		lock();
		if
		:: answer
		:: else ->
			known[file] = true;
			asked[file] = before
		fi
	fi
}

proctype thread() {
	byte seen, before;
	bool ready, answer, done;
	lock();
	do
	:: unlock();
		done = has[0] || has[1];
		lock();
		if
		:: done -> break
		:: else
		fi;
#if MUTATION == 2
		/* The agent wakes only who sleeps already. */
#else
		awaits = true;
#endif
		seen = word;
		ready = false;
		watch(0);
		watch(1);
#if MUTATION == 1
		/* What came while servers were asked counts as seen. */
		seen = word;
#endif
		awaits = true;
		if
		:: ready
		:: else ->
			unlock();
			word != seen;
			lock()
		fi;
		awaits = false
	od;
	unlock()
}

init {
	atomic {
		run thread();
		run agent();
		run server(0);
		run server(1)
	}
}
