/**
 * A receiver of webhooks on loopback that judges what it gets by a copy, and fails at random as
 * receivers do: it answers 500, before or after it has taken the event, closes the connection, or
 * does not answer.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { fromCloudEvent } from "./cloud-events.ts";
import type { EventCopy } from "./copy.ts";

export interface Receiver {
  readonly url: string;
  /** How many requests have ended how. */
  readonly counts: Readonly<Record<Outcome, number>>;
  /** From now on it takes every event, and answers those that wait for an answer. */
  recover(): void;
  stop(): Promise<void>;
}

type Outcome = "taken" | "refused" | "lost" | "closed" | "hung";

/** How often each failure is drawn, in shares of the requests. */
const failures: readonly (readonly [Outcome, number])[] = [
  ["refused", 0.06],
  ["lost", 0.06],
  ["closed", 0.03],
  ["hung", 0.002],
];

interface ReceiverOptions {
  readonly copy: EventCopy;
  readonly secret: string;
  readonly random: () => number;
  /** Gets what no subscription may send: a wrong signature, or a body that is no event. */
  onWrong(what: string): void;
}

export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { copy, secret, random, onWrong } = options;
  const webhook = new Webhook(secret);
  const counts = { taken: 0, refused: 0, lost: 0, closed: 0, hung: 0 };
  const hung = new Set<ServerResponse>();
  let isWell = false;

  function drawn(): Outcome {
    let left = isWell ? 1 : random();
    for (const [outcome, share] of failures) {
      left -= share;
      if (left < 0) return outcome;
    }
    return "taken";
  }

  /** Takes an event. Returns whether it was one. */
  function take(body: string, request: IncomingMessage): boolean {
    try {
      webhook.verify(body, request.headers as Record<string, string>);
      copy.add(fromCloudEvent(body));
      return true;
    } catch (error) {
      onWrong(`a webhook with ${error}: ${body}`);
      return false;
    }
  }

  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => undefined);
    // The sender has gone.
    if (body === undefined) return;
    const outcome = drawn();
    counts[outcome] += 1;
    if (outcome === "closed") return void request.socket.destroy();
    if (outcome === "hung") return void hung.add(response);
    const isGood = outcome === "refused" || take(body, request);
    response.writeHead(isGood && outcome === "taken" ? 204 : 500).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    counts,
    recover() {
      isWell = true;
      for (const response of hung) response.destroy();
      hung.clear();
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
