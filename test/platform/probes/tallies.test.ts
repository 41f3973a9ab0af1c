/** Tests the metrics of commits, retries and the clock on the page of a server with a bad store. */
import { afterAll, afterEach, beforeAll, expect, inject, test } from "vitest";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { type DynamoProxy, startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { readPage } from "../../support/servers/operators.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

let proxy: DynamoProxy;
let server: TestServer;
beforeAll(async () => {
  proxy = await startDynamoProxy({ upstream: inject("dynamodbEndpoint") });
  server = await startServer({ testClock: false, dynamoEndpoint: proxy.endpoint });
});
afterEach(() => {
  proxy.faults({});
  proxy.dateSkew(undefined);
});
afterAll(async () => {
  await server?.stop();
  await proxy?.stop();
});

/** A sample of the page; 0 when there is none. */
async function sample(name: string): Promise<number> {
  const { text } = await readPage(server.operatorsPort, "/metrics");
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length) ?? 0);
}

const commits = (result: string) => sample(`meguri_commits_total{result="${result}"}`);

test.each([
  ["conflict", { conflict: 1 }],
  ["throttled", { throttle: 1 }],
  ["ambiguous", { lostAnswer: 1 }],
] as const)(
  "a commit that is %s counts as that, and as committed at the end",
  async (kind, plan) => {
    const before = { failed: await commits(kind), committed: await commits("committed") };
    proxy.faults({ ...plan, operations: ["TransactWriteItems"] });
    const granted = server.points.grantPoints({ userId: kind, eventId: "e", points: 1n });
    await eventually(async () => expect(await commits(kind)).toBeGreaterThan(before.failed));
    expect(await commits("committed")).toBe(before.committed);
    expect(await sample("meguri_queued_calls")).toBe(1);
    proxy.faults({});
    await granted;
    expect(await commits("committed")).toBe(before.committed + 1);
    expect(await sample("meguri_queued_calls")).toBe(0);
  },
);

test("a batch that waits to send its request again is on the page", async () => {
  proxy.faults({ throttle: 1, operations: ["TransactWriteItems"] });
  const granted = server.points.grantPoints({ userId: "waiting", eventId: "e", points: 1n });
  await eventually(async () => expect(await sample("meguri_retries_waiting")).toBe(1));
  proxy.faults({});
  await granted;
  expect(await sample("meguri_retries_waiting")).toBe(0);
});

test("a commit that the store refuses counts as refused", async () => {
  const { deps, store } = memoryDeps();
  store.arriving = ({ op }) => {
    if (op === "commit") throw new DomainError("LIMIT_EXCEEDED", "the partition is full");
    return undefined;
  };
  const program = { programId: "p", timeZone: "Asia/Tokyo", lifetimeMonths: 12 };
  await expect(createProgram(deps, program)).rejects.toThrow("full");
  const { values } = await deps.tallies.commits.results.get();
  expect(values).toEqual([{ labels: { result: "refused" }, value: 1 }]);
});

test("a clock that is ahead of the store's has a positive offset", async () => {
  proxy.dateSkew(-4_000);
  await eventually(async () => {
    await server.points.getBalance({ userId: "u" });
    expect(await sample("meguri_clock_offset_seconds")).toBeGreaterThan(2);
  });
});
