/** Notes which RPCs of the contract have been answered without an error. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clients } from "../../servers/server.ts";

export type TourClients = Omit<Clients, "clock" | "health">;

/** The RPCs that were answered, by their names in the contract. */
export type Called = Set<string>;

/** Clients that note what is answered: each method, and of streams the first message. */
export const noting = (clients: Clients, called: Called): TourClients =>
  Object.fromEntries(
    Object.entries(clients).map(([name, client]) => [name, notingClient(client, called)]),
  ) as unknown as TourClients;

type Method = (...args: unknown[]) => Promise<unknown> | AsyncIterable<unknown>;

function notingClient(client: object, called: Called): object {
  const methods = Object.entries(client as Readonly<Record<string, Method>>);
  return Object.fromEntries(
    methods.map(([name, method]) => {
      const note = () => called.add(name.charAt(0).toUpperCase() + name.slice(1));
      return [
        name,
        (...args: unknown[]) => {
          const answer = method(...args);
          if (Symbol.asyncIterator in answer) return notingFirst(answer, note);
          return patiently(answer, () => method(...args) as Promise<unknown>).then((value) => {
            note();
            return value;
          });
        },
      ];
    }),
  );
}

/** Sends a call again while the store gives no answer, as clients do on a busy machine. */
const patiently = (answer: Promise<unknown>, again: () => Promise<unknown>): Promise<unknown> =>
  answer.catch((error) => {
    if (ConnectError.from(error).code !== Code.Unavailable) throw error;
    return patiently(again(), again);
  });

async function* notingFirst(messages: AsyncIterable<unknown>, note: () => void) {
  for await (const message of messages) {
    note();
    yield message;
  }
}

/** The first message of a stream, which ends with it. */
export async function firstOf<T>(messages: AsyncIterable<T>): Promise<T> {
  for await (const message of messages) return message;
  throw new Error("the stream has no message");
}
