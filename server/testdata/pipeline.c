/* Sends N Msgs of one event before it reads the first reply, then reads all N,
 * then asks for the last event and prints its metric. Usage: pipeline HOST PORT N */
#include <riemann/riemann-client.h>
#include <riemann/simple.h>

#include <stdio.h>
#include <stdlib.h>

static void fail(const char *what, int i)
{
	fprintf(stderr, "%s, at Msg %d\n", what, i);
	exit(1);
}

static void send_all(riemann_client_t *client, int n)
{
	for (int i = 1; i <= n; i++) {
		char service[32];
		snprintf(service, sizeof service, "c %d", i);
		riemann_event_t *event = riemann_event_create(
			RIEMANN_EVENT_FIELD_HOST, "c-host",
			RIEMANN_EVENT_FIELD_SERVICE, service,
			RIEMANN_EVENT_FIELD_METRIC_S64, (int64_t)i,
			RIEMANN_EVENT_FIELD_NONE);
		riemann_message_t *msg = riemann_message_create_with_events(event, NULL);
		if (riemann_client_send_message_oneshot(client, msg) != 0)
			fail("sending failed", i);
	}
}

static void read_all(riemann_client_t *client, int n)
{
	for (int i = 1; i <= n; i++) {
		riemann_message_t *reply = riemann_client_recv_message(client);
		if (!reply)
			fail("no reply", i);
		if (reply->ok != 1 || reply->n_events != 0)
			fail("not an acknowledgement", i);
		riemann_message_free(reply);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		fail("usage: pipeline HOST PORT N", 0);
	int n = atoi(argv[3]);
	riemann_client_t *client =
		riemann_client_create(RIEMANN_CLIENT_TCP, argv[1], atoi(argv[2]));
	if (!client)
		fail("cannot connect", 0);
	send_all(client, n);
	read_all(client, n);

	char query[64];
	snprintf(query, sizeof query, "service = \"c %d\"", n);
	riemann_message_t *found = riemann_query(client, query);
	if (!found || found->ok != 1 || found->n_events != 1)
		fail("the last event is not found", n);
	printf("%lld\n", (long long)found->events[0]->metric_sint64);
	riemann_message_free(found);
	riemann_client_free(client);
	return 0;
}
