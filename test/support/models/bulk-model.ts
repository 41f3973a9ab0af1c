/** Plays random histories of bulk grants against the use cases in memory and the oracle. */
import { deepStrictEqual, fail, ok } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { getBulkGrant, listBulkGrants } from "../../../src/app/bulk-grants/queries.ts";
import { getBalance } from "../../../src/app/points/queries.ts";
import type { Deps, Reader } from "../../../src/app/ports/deps.ts";
import { createProgram } from "../../../src/app/programs/commands.ts";
import { allItems } from "../fixtures/pages.ts";
import { type Fault, memoryDeps } from "../stores/memory-store.ts";
import { approvalTimes, Oracle } from "./bulk-oracle.ts";
import type { Answer, Request } from "./bulk-requests.ts";
import { fitted, headOf, padded, picked, resolve } from "./bulk-resolve.ts";
import { type CallTemplate, type History, history, type Step, userIds } from "./bulk-templates.ts";
import { answerTo, programId, show } from "./bulk-use-cases.ts";
import { turnsOf } from "./reactions-model.ts";
import { inVirtualTime } from "./virtual-time.ts";

/** The system under test: two processes on one store. */
interface System {
  readonly processes: readonly [Deps, Deps];
  readonly deps: Deps;
  reports(): readonly string[];
  wait(ms: number): void;
  faults(faults: readonly Fault[]): void;
  race<T>(work: () => Promise<T>): Promise<T>;
}

interface Run {
  readonly system: System;
  readonly padding: number;
  oracle: Oracle;
  now: number;
  steps: number;
  /** What each digest names, and the other way round. */
  readonly digests: Map<string, string>;
}

/** All times of a history are in one month, so that no points expire. */
const start = Date.UTC(2026, 0, 2);

/** Histories on the store in memory. */
export const histories = fc.asyncProperty(history(25), fc.scheduler(), (steps, scheduler) =>
  inVirtualTime(() => play(steps, openMemory(scheduler))),
);

function openMemory(scheduler: fc.Scheduler): System {
  const { turn, race } = turnsOf(scheduler);
  const memory = memoryDeps({ time: start, random: () => 0 });
  const { deps, store, clock, reports } = memory;
  let plan: Fault[] = [];
  store.arriving = async ({ op }) => {
    await turn();
    return op === "commit" ? plan.shift() : undefined;
  };
  store.answering = turn;
  store.latencyMs = 1;
  const inTurns = (each: Deps): Deps => ({
    ...each,
    approvalTimes,
    reader: readerInTurns(each.reader, turn),
  });
  return {
    processes: [inTurns(deps), inTurns(memory.process())],
    deps,
    reports: () =>
      reports.map(({ kind, bulkGrant: { bulkGrantId, state } }) =>
        kind === "REMINDER" ? `${kind} ${bulkGrantId}` : `${kind} ${bulkGrantId} ${state}`,
      ),
    wait(ms) {
      clock.time += ms;
    },
    faults(faults) {
      plan = [...faults];
    },
    race,
  };
}

/** A reader whose reads take part in the scheduler's order, as the requests of the engine do. */
const readerInTurns = (reader: Reader, turn: () => Promise<void>): Reader => ({
  ...reader,
  async get(ref) {
    await turn();
    return reader.get(ref);
  },
  async many(refs) {
    await turn();
    return reader.many(refs);
  },
  async blockChecks(uploadId, page) {
    await turn();
    return reader.blockChecks(uploadId, page);
  },
});

async function play({ steps, padding }: History, system: System): Promise<void> {
  const oracle = new Oracle();
  const run: Run = { system, padding, oracle, now: start, steps: 0, digests: new Map() };
  const { deps } = system;
  await createProgram(deps, { programId, timeZone: "Asia/Tokyo", lifetimeMonths: 12 });
  for (const each of steps) {
    await playStep(run, each);
    run.steps += 1;
    wait(run, 1_000);
    await compare(run);
  }
}

function wait(run: Run, ms: number): void {
  run.system.wait(ms);
  run.now += ms;
}

async function playStep(run: Run, step: Step): Promise<void> {
  switch (step.step) {
    case "one": {
      const request = resolve(run, step.call);
      if (request) await one(run, request, step.process);
      return;
    }
    case "follow":
      return follow(run, picked(run, step.pick) ?? "none", step.times);
    case "campaign":
      return campaign(run, step);
    case "together":
      return together(run, withoutDoubt(step.calls.map((call) => fitted(run, call))));
    case "attempts": {
      const part = { from: 0, count: 9, limit: 9, diesAfter: undefined, stale: false };
      const id = picked(run, step.pick);
      if (!id) return;
      const attempt: CallTemplate = { op: "blocks", id, part };
      return together(run, [attempt, attempt, ...(step.call ? [step.call] : [])]);
    }
    case "rules":
      await one(run, { op: "rules", rules: step.rules }, 0);
      return;
    case "wait":
      return wait(run, step.ms);
    case "faults":
      return run.system.faults(step.faults);
  }
}

async function one(run: Run, request: Request, process: number): Promise<Answer> {
  const answer = await answerTo(run.system.processes[process as 0 | 1], request);
  deepStrictEqual(answer, run.oracle.apply(request, run.now), JSON.stringify(request));
  return answer;
}

/** Does what the workflow does. */
async function follow(run: Run, id: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const before = headOf(run, id);
    const advanced = await one(run, { op: "advance", id }, 0);
    if (!("step" in advanced)) return;
    const { step, head } = advanced;
    if (head.state === "RUNNING" && before?.state !== "RUNNING") continue;
    const { revision, run: number } = head;
    const blocks = { id, revision, from: 0, to: run.oracle.blockCount(id), limit: 99 };
    if (step === "VALIDATE") {
      await one(run, { op: "validate", ...blocks }, 1);
      await one(run, { op: "complete", id, revision }, 0);
    } else if (step === "RUN") {
      await one(run, { op: "run", run: number, ...blocks }, 1);
      await one(run, { op: "finish", id, run: number }, 0);
    } else if (step === "FINISH") await one(run, { op: "finish", id, run: number }, 0);
    else if (step === "REPORT") await one(run, { op: "report", id }, 1);
    else {
      if (step === "AWAIT_APPROVAL") await one(run, { op: "remind", id }, 1);
      return;
    }
  }
}

/** The first steps of a campaign by the book, in which a user may be frozen before the run. */
async function campaign(
  run: Run,
  { id, rows, length, frozen, reverses }: Extract<Step, { readonly step: "campaign" }>,
): Promise<void> {
  const submission = { id, by: "ann", executeTime: undefined };
  const submit: Request =
    reverses === undefined
      ? { op: "submit", rows: padded(run, rows), ...submission }
      : { op: "reverse", reverses, ...submission };
  const approve = (by: string) =>
    one(run, { op: "approve", id, by, revision: run.oracle.revisionOf(id) }, 0);
  const steps: (() => Promise<unknown>)[] = [
    () => one(run, submit, 0),
    () => follow(run, id, 1),
    () => approve("ben"),
    () => approve("cho"),
    () => follow(run, id, 1),
    async () => frozen && one(run, { op: "freeze", userId: frozen }, 0),
    () => follow(run, id, 2),
  ];
  for (const step of steps.slice(0, length)) await step();
  if (frozen && length === steps.length) await one(run, { op: "unfreeze", userId: frozen }, 1);
}

/**
 * Leaves out calls whose concurrent results no order of whole blocks explains: of several works on
 * blocks all but the first, and beside it the end of a run, before which the workflow waits for it.
 */
function withoutDoubt(calls: readonly CallTemplate[]): CallTemplate[] {
  const work = calls.find(({ op }) => op === "blocks");
  if (work?.op !== "blocks") return [...calls];
  const others = calls.filter(({ op }) => op !== "blocks" && op !== "finish");
  return [...others, { ...work, part: { ...work.part, diesAfter: undefined } }];
}

/** Sends concurrent requests: an order of them, block by block, must explain all answers. */
async function together(run: Run, calls: readonly CallTemplate[]): Promise<void> {
  const requests = calls.flatMap((call) => resolve(run, call) ?? []);
  const { processes } = run.system;
  const answers = await run.system.race(() =>
    Promise.all(requests.map((request, i) => answerTo(processes[(i % 2) as 0 | 1], request))),
  );
  const ids = new Set([...run.oracle.ids, ...requests.flatMap((each) => idsOf(each))]);
  const shown = new Map<string, unknown>();
  for (const id of [...ids].sort()) {
    const found = await show(run.system.deps, id, 500).catch(() => undefined);
    if (found) shown.set(id, found);
  }
  const reports = run.system.reports();
  const accounts = await accountsOf(run.system.deps, userIds);
  const isExplainedBy = (oracle: Oracle) =>
    isDeepStrictEqual(
      [
        oracle.ids.sort().map((id) => [id, oracle.shown(id)]),
        oracle.reports,
        userIds.map((userId) => [userId, oracle.accountOf(userId)]),
      ],
      [[...shown], reports, accounts],
    );
  const sequences = requests.map((request, i) => ({
    steps: blocksOf(request),
    answer: answers[i],
  }));
  const after = explain(run.oracle, sequences, run.now, isExplainedBy);
  if (!after) {
    for (const request of requests) run.oracle.apply(request, run.now);
    const inOrder = run.oracle.ids.sort().map((id) => run.oracle.shown(id));
    const seen = { requests, answers, shown: [...shown], inOrder };
    fail(`no order explains it: ${JSON.stringify(seen, undefined, 1)}`);
  }
  run.oracle = after;
}

const idsOf = (request: Request): string[] => ("id" in request ? [request.id] : []);

/** Work on several blocks as work on each. */
function blocksOf(request: Request): Request[] {
  if (request.op !== "validate" && request.op !== "run") return [request];
  const end = Math.min(request.to, request.from + request.limit);
  return Array.from({ length: end - request.from }, (_, i) => ({
    ...request,
    from: request.from + i,
    to: request.from + i + 1,
  }));
}

interface Sequence {
  readonly steps: readonly Request[];
  readonly answer: Answer | undefined;
}

/** Returns the oracle after an order of all steps that explains the answers, if there is one. */
function explain(
  oracle: Oracle,
  sequences: readonly Sequence[],
  now: number,
  isExplainedBy: (oracle: Oracle) => boolean,
): Oracle | undefined {
  if (sequences.every(({ steps }) => steps.length === 0)) {
    return isExplainedBy(oracle) ? oracle : undefined;
  }
  for (const [i, { steps, answer }] of sequences.entries()) {
    const [step, ...rest] = steps;
    if (!step) continue;
    const next = oracle.clone();
    const expected = next.apply(step, now);
    const isWork = step.op === "validate" || step.op === "run";
    if (!isWork && !isDeepStrictEqual(answer, expected)) continue;
    const left = sequences.with(i, { steps: rest, answer });
    const found = explain(next, left, now, isExplainedBy);
    if (found) return found;
  }
  return undefined;
}

/** Compares everything that is shown, and every balance. */
async function compare(run: Run): Promise<void> {
  const { deps, reports } = run.system;
  const { oracle } = run;
  const pageSize = [1, 3, 250, 1_000][run.steps % 4] as number;
  for (const id of oracle.ids) {
    const size = run.padding > 0 ? Math.max(pageSize, 100) : pageSize;
    deepStrictEqual(await show(deps, id, size), oracle.shown(id));
    await checkDigest(run, id);
  }
  const users = [...new Set([...userIds, ...oracle.userIds])];
  const expected = users.map((userId) => [userId, oracle.accountOf(userId)]);
  deepStrictEqual(await accountsOf(deps, users), expected);
  deepStrictEqual(reports(), oracle.reports);
  const filter = { programId, state: undefined, start: undefined, end: undefined };
  const listed = await allItems((page) => listBulkGrants(deps, filter, page), 2);
  deepStrictEqual(listed.map(({ bulkGrantId }) => bulkGrantId).sort(), oracle.ids.sort());
}

/** The points of users, and whether their accounts are frozen. */
const accountsOf = (deps: Deps, users: readonly string[]) =>
  Promise.all(
    users.map(async (userId) => {
      const { availablePoints: balance, account } = await getBalance(deps, { programId, userId });
      return [userId, { balance, frozen: account.frozen }];
    }),
  );

/** A digest names one revision of one sheet, and the other way round. */
async function checkDigest({ system, oracle, digests }: Run, id: string): Promise<void> {
  const { bulkGrant } = await getBulkGrant(system.deps, { programId, bulkGrantId: id });
  const { digest } = bulkGrant.revision;
  const meaning = oracle.meaningOf(id);
  for (const [key, value] of [
    [digest, meaning],
    [meaning, digest],
  ] as const) {
    deepStrictEqual(digests.get(key) ?? value, value);
    digests.set(key, value);
  }
  ok(digest.length === 43);
}
