/** Tests the page `/readyz`: one check for concurrent requests, and no details of the store. */
import { pino } from "pino";
import { expect, test } from "vitest";
import { createReadiness } from "../../../src/platform/probes/readiness.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { codeNamed } from "../../support/markdown.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const states = { current: "SERVING" } as const;

/** A page whose store answers as `get` does, and the lines that it has logged. */
function readinessOf(get: () => Promise<undefined>) {
  const { deps } = memoryDeps();
  const logged: string[] = [];
  const log = pino({}, { write: (line) => logged.push(line) });
  const reader = { ...deps.reader, get };
  return { logged, readyz: createReadiness({ deps: { ...deps, reader }, states, log }) };
}

test("concurrent requests share one check, later ones have their own", async () => {
  let reads = 0;
  const read = Promise.withResolvers<undefined>();
  const { readyz } = readinessOf(() => {
    reads++;
    return read.promise;
  });
  const answers = [readyz(), readyz()];
  read.resolve(undefined);
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
  expect(reads).toBe(1);
  await readyz();
  expect(reads).toBe(2);
});

test("an unexpected error is logged, and its message is not shown", async () => {
  const { readyz, logged } = readinessOf(async () => {
    throw new Error("no table test-points in account 123456789012");
  });
  expect(await readyz()).toEqual({
    status: 503,
    text: "server: ok\nstore: failed; the log says why\nclock: ok\n",
  });
  expect(logged.join()).toContain("no table test-points");
});

test("a store that throttles what the check reads answers, so the server is ready", async () => {
  const { readyz } = readinessOf(async () => {
    throw new DomainError("THROTTLED", "the store throttles these records");
  });
  expect(await readyz()).toEqual({ status: 200, text: "server: ok\nstore: ok\nclock: ok\n" });
});

test("a store without an answer is shown as in the documentation", async () => {
  const { readyz } = readinessOf(async () => {
    throw new DomainError("STORE_UNAVAILABLE", "the store gave no answer");
  });
  const text = codeNamed("docs/run/watching.md", "readyz");
  expect(await readyz()).toEqual({ status: 503, text });
});

test("what the store refuses to others than the check makes the server not ready", async () => {
  const { deps } = memoryDeps();
  const refusal = {
    ...{ code: "AccessDeniedException", operation: "TransactWriteItems", table: "points" },
    ...{ resource: "test-points", text: "arn:aws:iam::123456789012:role/meguri may not" },
  };
  const refusing = { ...deps, storeRefusals: () => [refusal] };
  const { status, text } = await createReadiness({ deps: refusing, states, log: pino({}) })();
  expect(status).toBe(503);
  expect(text).toBe(codeNamed("docs/run/watching.md", "refusedReadyz"));
});

test("a refusal is shown with its reason and metadata", async () => {
  const { readyz } = readinessOf(async () => {
    throw new DomainError("CLOCK_OFF", "the clock is off", { skew_ms: "6000" });
  });
  const { status, text } = await readyz();
  expect(status).toBe(503);
  expect(text).toContain("store: CLOCK_OFF: the clock is off, skew_ms 6000\n");
});
