/*
 * The message protocol: who waits for whom, and who ends whose wait. A server, two clients, one port.
 *
 * Each inline is one entry of the kernel, which is atomic: all locks, or a short course that does the same. What a message carries is left out but for a number, by which a reply is known.
 * `message` in doc/models/README.md says how it is checked, and how MUTATION breaks it.
 */

#ifndef MUTATION
#define MUTATION 0
#endif

#define THREADS 3
#define SERVER 0
#define NOBODY 9
#define is_client(t) ((t) != SERVER)

mtype = { none, send, receive, reply };	/* what a thread waits for */
mtype = { ok, gone, timed_out };	/* how its call ended */

typedef Thread {
	bool exists;
	bool stopped;
	mtype wait;
	bool on_senders;	/* rings of the port */
	bool on_receivers;
	bool awaits;		/* its message was taken: it stands at ipc_receive_reply */
	byte server;		/* who owes it a reply */
	byte client;		/* whom it owes one */
	byte sent;		/* number of its last message */
	byte holds;		/* number of the message that it has received */
	byte answered;		/* number of the message that was answered */
	mtype status;
};

Thread thread[THREADS];
bool port = true;
byte number;

/* Undoes a wait: the call will be made again. */
inline wait_cancel(t) {
	thread[t].on_senders = false;
	thread[t].on_receivers = false;
	thread[t].wait = none
}

/* Ends a wait with a status. */
inline wait_end(t, how) {
	wait_cancel(t);
	thread[t].status = how
}

inline connect(c, s) {
	thread[c].server = s;
	thread[c].awaits = true;
	thread[s].client = c;
	thread[s].holds = thread[c].sent
}

inline disconnect(c) {
	if
	:: thread[c].server != NOBODY ->
		thread[thread[c].server].client = NOBODY;
		thread[c].server = NOBODY
	:: else
	fi;
	thread[c].awaits = false
}

/* A client that nobody will answer gets `Gone`: now, or when it makes the call that it stands at. */
inline client_fail(c) {
	disconnect(c);
	if
	:: thread[c].wait == reply -> wait_end(c, gone)
	:: else
	fi
}

/* The invariants, after every entry. */
inline check() {
	for (i : 0 .. THREADS - 1) {
		assert(!(thread[i].on_senders && thread[i].on_receivers));
		assert(thread[i].on_senders == (thread[i].wait == send));
		assert(thread[i].on_receivers == (thread[i].wait == receive));
		/* Bonds are of two. */
		assert(thread[i].server == NOBODY || thread[thread[i].server].client == i);
		assert(thread[i].client == NOBODY || thread[thread[i].client].server == i);
		/* Who waits can still be answered. */
		assert(thread[i].wait != reply || thread[i].server != NOBODY);
		assert(thread[i].wait != send || port);
		assert(thread[i].wait != receive || port);
		assert(thread[i].exists || (thread[i].wait == none && thread[i].server == NOBODY && thread[i].client == NOBODY));
	}
	assert(!(thread[SERVER].on_receivers && (thread[1].on_senders || thread[2].on_senders)));
	i = 0
}

#define runs(t) (thread[t].exists && !thread[t].stopped && thread[t].wait == none)

/* ipc_call: gives the message to a receiver, or waits to. */
inline ipc_call(t) {
	number = number + 1;
	thread[t].sent = number;
	thread[t].answered = 0;
	if
	:: !port -> thread[t].status = gone
	:: port && thread[SERVER].on_receivers ->
		thread[t].wait = reply;
		connect(t, SERVER);
		wait_end(SERVER, ok)
	:: port && !thread[SERVER].on_receivers ->
		thread[t].wait = send;
		thread[t].on_senders = true
	fi
}

/* A client that was stopped and started makes the call that it stands at. */
inline ipc_receive_reply(t) {
	if
	:: thread[t].server != NOBODY -> thread[t].wait = reply
	:: else -> thread[t].awaits = false; thread[t].status = gone
	fi
}

/* The first sender, or whoever comes. A client whose reply is forgotten gets `Gone`. */
inline ipc_receive(t) {
	if
	:: thread[t].client != NOBODY -> c = thread[t].client; client_fail(c); c = 0
	:: else
	fi;
	if
	:: !port -> thread[t].status = gone
	:: port && thread[1].on_senders -> thread[1].on_senders = false; thread[1].wait = reply; connect(1, t); thread[t].status = ok
	:: port && thread[2].on_senders -> thread[2].on_senders = false; thread[2].wait = reply; connect(2, t); thread[t].status = ok
	:: port && !thread[1].on_senders && !thread[2].on_senders -> thread[t].wait = receive; thread[t].on_receivers = true
	fi
}

inline ipc_reply(t) {
	c = thread[t].client;
	/* The one that is owed it, and for the message that was received. */
	assert(thread[c].server == t && thread[c].sent == thread[t].holds && thread[c].answered == 0);
	thread[c].answered = thread[t].holds;
#if MUTATION == 1
	/* The bond outlives the reply. */
#else
	disconnect(c);
#endif
	if
	:: thread[c].wait == reply -> wait_end(c, ok)
	:: else -> thread[c].status = ok
	fi;
	c = 0
}

/* thread_stop undoes a wait, but that for a reply: its message was taken. */
inline thread_stop(t) {
	thread[t].stopped = true;
#if MUTATION == 2
	/* It stays on its ring. */
	thread[t].wait = none
#else
	if
	:: thread[t].wait == send || thread[t].wait == receive -> wait_cancel(t)
	:: thread[t].wait == reply -> thread[t].wait = none
	:: else
	fi
#endif
}

inline thread_destroy(t) {
	wait_end(t, gone);
	disconnect(t);
#if MUTATION == 3
	/* Its client is forgotten. */
	thread[t].client = NOBODY;
#else
	if
	:: thread[t].client != NOBODY -> c = thread[t].client; client_fail(c); c = 0
	:: else
	fi;
#endif
	thread[t].exists = false
}

inline port_destroy() {
	port = false;
	for (i : 0 .. THREADS - 1) {
		if
		:: thread[i].on_senders || thread[i].on_receivers -> wait_end(i, gone)
		:: else
		fi
	}
}

/* A deadline passes. */
inline time_out(t) {
	if
	:: thread[t].wait == reply -> disconnect(t)
	:: else
	fi;
	wait_end(t, timed_out)
}

/* Makes two calls. However they end, it goes on. */
proctype call_twice(byte me) {
	byte i, c, calls;
	do
	:: calls < 2 ->
		atomic { !thread[me].exists || runs(me) ->
			if
			:: !thread[me].exists -> calls = 2
			:: thread[me].exists && !thread[me].awaits -> ipc_call(me); calls++
			:: thread[me].exists && thread[me].awaits -> ipc_receive_reply(me)
			fi;
			check()
		}
	:: else -> break
	od;
	/* The last one ends too. */
	do
	:: atomic { !thread[me].exists || runs(me) ->
		if
		:: thread[me].exists && thread[me].awaits -> ipc_receive_reply(me); check()
		:: else -> break
		fi }
	od
}

/* Receives and answers; sometimes it forgets to answer. */
proctype serve() {
	byte i, c;
end:	do
	:: atomic { runs(SERVER) && port && thread[SERVER].client != NOBODY -> ipc_reply(SERVER); check() }
	:: atomic { runs(SERVER) && port -> ipc_receive(SERVER); check() }
	:: atomic { runs(SERVER) && !port && thread[SERVER].client != NOBODY -> ipc_reply(SERVER); check() }
	:: !thread[SERVER].exists -> break
	od
}

/* Somebody who does as he likes with all of them, a few times, and starts again whom he has stopped. */
proctype meddle() {
	byte i, c, t, acts;
	do
	:: acts < 3 ->
		acts++;
		select(t : 0 .. THREADS - 1);
		if
		:: atomic { thread[t].exists && !thread[t].stopped -> thread_stop(t); check(); t = 0 }
		:: atomic { thread[t].exists -> thread_destroy(t); check(); t = 0 }
		:: atomic { thread[t].exists && thread[t].wait != none -> time_out(t); check(); t = 0 }
		:: atomic { port -> port_destroy(); check(); t = 0 }
		:: t = 0
		fi
	:: atomic { thread[0].stopped -> thread[0].stopped = false }
	:: atomic { thread[1].stopped -> thread[1].stopped = false }
	:: atomic { thread[2].stopped -> thread[2].stopped = false }
	:: acts >= 3 && !thread[0].stopped && !thread[1].stopped && !thread[2].stopped -> break
	od;
	/* A server that has gone leaves its port to its parent, who destroys it. */
	atomic {
		if
		:: port && !thread[SERVER].exists -> port_destroy(); check()
		:: else
		fi
	}
}

init {
	byte i;
	atomic {
		for (i : 0 .. THREADS - 1) {
			thread[i].exists = true;
			thread[i].wait = none;
			thread[i].server = NOBODY;
			thread[i].client = NOBODY;
			thread[i].status = ok
		}
		i = 0;
		run serve();
		run call_twice(1);
		run call_twice(2);
		run meddle()
	}
}
