/** A consumer that follows all events over the servers, with a copy of what they tell. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultProgramId as programId } from "../../../src/platform/words/program-ids.ts";
import { consume } from "../../../test/support/events/consumer.ts";
import { EventCopy } from "../../../test/support/events/copy.ts";
import type { Calls, Server } from "../calls.ts";

/** The consumer crashes at every tenth page. */
const crashShare = 0.1;

/** Limits that the accounts of the clients cross in both directions. */
export const balanceLimits = { below: [20, 100], above: [50, 200] };

/** Gives the program its limits, before the first entry of any account. */
export async function limitBalances(calls: Calls): Promise<void> {
  const [below, above] = [balanceLimits.below.map(BigInt), balanceLimits.above.map(BigInt)];
  const program = { programId, balanceLimits: { below, above } };
  const answer = await calls.send([], ({ programs }) => programs.updateProgram({ program }));
  if (!answer) throw new Error("the program could not be given limits");
}

export interface Follower {
  readonly copy: EventCopy;
  stop(): Promise<void>;
}

/** Follows the events from the oldest one on until it is stopped, each page from any server. */
export async function followEvents(
  servers: readonly Server[],
  random: () => number,
  onSurprise: (what: string) => void,
): Promise<Follower> {
  const folder = await mkdtemp(join(tmpdir(), "meguri-chaos-events-"));
  const copy = new EventCopy();
  const over = new AbortController();
  const following = consume({
    read(request, options) {
      const server = servers[Math.floor(random() * servers.length)] as Server;
      return server("chaos").events.readEvents(request, options);
    },
    ...{ copy, cursorFile: join(folder, "cursor"), random, crashShare, over: over.signal },
  }).catch((error: unknown) => onSurprise(`the consumer of events got ${error}`));
  return {
    copy,
    async stop() {
      over.abort();
      await following;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
