/** Who is signed in, and a client of Meguri that calls with a fresh token of this person. */
import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { NotificationService } from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";

/** The answer of `/session`. */
interface Session {
  readonly name: string;
  /** Where Meguri serves browsers. */
  readonly meguriUrl: string;
  readonly token: string;
  /** How long the token is valid, in seconds. */
  readonly tokenLifetime: number;
}

export type NotificationClient = Client<typeof NotificationService>;

interface SignedIn {
  readonly name: string;
  readonly notifications: NotificationClient;
}

/** How long before its end a token is replaced. */
const replacedBeforeMs = 60_000;

export async function signIn(personId: string): Promise<SignedIn> {
  let session = await fetchSession(personId);
  const transport = createConnectTransport({
    baseUrl: session.meguriUrl,
    interceptors: [
      (next) => async (request) => {
        if (performance.now() > session.replacedAt) session = await fetchSession(personId);
        request.header.set("authorization", `Bearer ${session.token}`);
        return next(request);
      },
    ],
  });
  return { name: session.name, notifications: createClient(NotificationService, transport) };
}

/** A real service knows the person by a cookie. The example lets the page say who it is. */
async function fetchSession(personId: string): Promise<Session & { replacedAt: number }> {
  const response = await fetch(`/session?person=${encodeURIComponent(personId)}`);
  if (!response.ok) throw new Error(await response.text());
  const session: Session = await response.json();
  const remainingMs = session.tokenLifetime * 1_000 - replacedBeforeMs;
  return { ...session, replacedAt: performance.now() + remainingMs };
}
