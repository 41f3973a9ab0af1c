/**
 * Tests that no neighbour hurts another: attacks at full strength on a server process that verifies
 * tokens, beside a good client whose calls all succeed. How long they take is a figure of
 * `npm run bench -- --only hostile`.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { methodsWithoutClock } from "../support/fixtures/descriptors.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { fight } from "../support/hostile/attack.ts";
import { attacks, frameAttacks } from "../support/hostile/attacks.ts";
import { sendInput } from "../support/hostile/calls.ts";
import { eventAttacks } from "../support/hostile/event-attacks.ts";
import { createGoodClient, type GoodClient } from "../support/hostile/good-client.ts";
import { largestInputs } from "../support/hostile/largest-inputs.ts";
import { startTarget, type Target } from "../support/hostile/target.ts";
import { openSession } from "../support/servers/raw-grpc.ts";
import { inForm, isLong } from "../support/soak.ts";

const fightMs = inForm({ short: 1_000, long: 3_000 });
/** The short form has one attack by calls, one by connections, one by frames and one by streams. */
const played = inForm({
  short: [
    "calls with forged tokens",
    "unfinished bodies with a token",
    "rapid resets",
    "watchers of the whole log",
  ],
  long: Object.keys({ ...attacks, ...frameAttacks, ...eventAttacks }),
});
/** Every fifth method in the short form. */
const methods = methodsWithoutClock.filter((_, i) => isLong || i % 5 === 0);
const maxGrowthBytes = 100 * 2 ** 20;

let target: Target;
let client: GoodClient;
let restingBytes: number;

beforeAll(async () => {
  target = await startTarget(inject("dynamodbEndpoint"));
  client = createGoodClient(target, await target.tokenOf("good"));
  // Code and caches grow with the first full load; what grows after that is a leak.
  await fight(target, client, "calls above the rate", fightMs);
  restingBytes = (await target.collect()).heldBytes;
});
afterAll(async () => {
  client?.close();
  await target?.stop();
});

const expectMemoryBack = () =>
  eventually(async () => {
    const { heldBytes } = await target.collect();
    expect(heldBytes - restingBytes).toBeLessThan(maxGrowthBytes);
  });

test.each(played)("%s fail none of another caller's calls", async (attack) => {
  const { during, sent } = await fight(target, client, attack, fightMs);
  console.info(`${attack}: sent ${JSON.stringify(sent)}`);
  expect(Object.keys(sent)).not.toEqual([]);
  expect(during.failures).toEqual([]);
  expect(during.latencies).not.toEqual([]);
  await expectMemoryBack();
});

describe.each(methods)("the largest inputs of $name", (method) => {
  test.each(["with", "without"])("%s a token never end as INTERNAL or UNKNOWN", async (kind) => {
    const token = kind === "with" ? await target.tokenOf(method.name) : undefined;
    const session = await openSession(target.port);
    for (const input of largestInputs(method)) {
      const answer = await sendInput(target, session, method, input, token);
      expect(answer, input.name).not.toMatch(/^(status (2|13)|HTTP 500|ECONNREFUSED)$/);
    }
    session.destroy();
  });
});
