/** Tests the lines about a store that hangs, is away or throttles: at the begin and at the end. */
import { pino } from "pino";
import { expect, inject, onTestFinished, test } from "vitest";
import { readConfig } from "../../../src/platform/config/config.ts";
import type { StoreRefusal } from "../../../src/platform/ports/store-refusals.ts";
import { createStoreCheck } from "../../../src/platform/work/store-watch.ts";
import { programRef } from "../../../src/points/ports/records.ts";
import { startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { composeAs } from "../../support/deploy/compose-as.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { noWorkflows } from "../../support/servers/no-workflows.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

/** A log, and its lines as level, text and milliseconds. */
function keptLog() {
  const lines: (readonly [level: number, text: string, ms: number | undefined])[] = [];
  const kept: object[] = [];
  const stream = {
    write(line: string) {
      const { level, msg, ms } = JSON.parse(line);
      lines.push([level, msg, ms]);
      kept.push(JSON.parse(line));
    },
  };
  return { lines, kept, log: pino({}, stream) };
}

function watch() {
  const { lines, kept, log } = keptLog();
  const store = { silenceMs: 0, refusals: [] as readonly StoreRefusal[] };
  const { tallies } = memoryDeps().deps;
  const check = createStoreCheck(
    {
      tallies,
      storeSilenceMs: () => store.silenceMs,
      storeRefusals: () => store.refusals,
    },
    log,
  );
  const count = (result: string) =>
    tallies.store.requests.inc({ operation: "GetItem", table: "points", result });
  return { lines, kept, store, check, count };
}

test("a store that hangs is told of once, and when it answers again", async () => {
  const { lines, store, check, count } = watch();
  await check(0);
  store.silenceMs = 3_000;
  for (let now = 1_000; now < 9_000; now += 1_000) await check(now);
  expect(lines).toEqual([[40, "the store gives no answer", undefined]]);
  store.silenceMs = 0;
  await check(9_000);
  expect(lines).toHaveLength(1);
  count("ok");
  await check(10_000);
  await check(11_000);
  expect(lines.slice(1)).toEqual([[30, "the store answers again", 9_000]]);
});

test("a store that refuses connections is away, but not one that answers others", async () => {
  const { lines, check, count } = watch();
  count("unanswered");
  count("ok");
  await check(1_000);
  expect(lines).toEqual([]);
  count("unanswered");
  await check(2_000);
  expect(lines).toEqual([[40, "the store gives no answer", undefined]]);
});

test("a store that throttles is told of once, until it has not for ten seconds", async () => {
  const { lines, check, count } = watch();
  for (const now of [1_000, 5_000, 14_000]) {
    count("throttled");
    await check(now);
  }
  await check(23_000);
  expect(lines).toEqual([[40, "the store throttles requests", undefined]]);
  await check(24_000);
  expect(lines.slice(1)).toEqual([[30, "the store throttles no longer", 23_000]]);
});

test("what is refused is told of once for each kind, and when it is over", async () => {
  const { lines, kept, store, check } = watch();
  const rest = { code: "AccessDeniedException", table: "points", text: "role r may not" };
  const [get, scan] = ["GetItem", "Scan"].map((operation) => ({
    ...{ ...rest, operation, resource: "meguri-points" },
  })) as [StoreRefusal, StoreRefusal];
  store.refusals = [get];
  await check(1_000);
  store.refusals = [get, scan];
  await check(2_000);
  store.refusals = [scan];
  await check(5_000);
  const refuses = "the store refuses requests";
  expect(lines).toEqual([
    [50, refuses, undefined],
    [50, refuses, undefined],
    [30, "the store refuses them no longer", 4_000],
  ]);
  const logged = { code: rest.code, operation: "GetItem", table: "meguri-points" };
  expect(kept[0]).toMatchObject({ ...logged, text: rest.text });
  expect(kept[2]).toMatchObject(logged);
});

test("a process whose store hangs writes when that begins and when it is over", async () => {
  const proxy = await startDynamoProxy({ upstream: inject("dynamodbEndpoint") });
  onTestFinished(() => proxy.stop());
  const { lines, log } = keptLog();
  const env = { MEGURI_DYNAMODB_ENDPOINT: proxy.endpoint, AWS_REGION: "local" };
  const { deps, close } = composeAs(["server"], readConfig(env, "server"), noWorkflows, log);
  onTestFinished(close);
  // There is no table: the store answers with an error, which has a line of its own.
  const read = () => deps.reader.get(programRef("default")).catch(() => {});
  const linesOfHanging = () => lines.filter((line) => line[0] !== 50);
  const toldOf = (expected: unknown[]) =>
    eventually(async () => {
      void read();
      expect(linesOfHanging()).toEqual(expected);
    });
  const begins = [40, "the store gives no answer", undefined];
  proxy.faults({ delay: 1, delayMs: [600_000, 600_000] });
  await toldOf([begins]);
  proxy.faults({});
  await toldOf([begins, [30, "the store answers again", expect.any(Number)]]);
  expect(linesOfHanging()[1]?.[2]).toBeGreaterThan(0);
  expect(lines).toContainEqual([50, "the store refuses requests", undefined]);
});
