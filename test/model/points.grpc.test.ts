/** Compares random histories of an account, sent through gRPC to two servers, with the oracle. */

import { setTimeout as sleep } from "node:timers/promises";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { afterAll, beforeAll, test } from "vitest";
import {
  type EventName,
  EventOrigin,
  type LedgerEntry,
  LedgerEntry_TypeSchema,
} from "../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import {
  ExpiredPointsPolicy,
  ListLedgerEntriesRequest_Order,
} from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { timeOutHold } from "../../src/holds/use-cases/time-out.ts";
import { shardOf } from "../../src/platform/dynamodb/codec.ts";
import { shardCount } from "../../src/points/contract/points.ts";
import { expireDueInShard } from "../../src/points/use-cases/expire-due.ts";
import { history, play, refusal, type System } from "../support/models/points-model.ts";
import { type HoldRequest, holdsOf, isOfHold } from "../support/models/points-model-holds.ts";
import type { Answer, Line, Request, Rules } from "../support/models/points-oracle.ts";
import { toRefusal } from "../support/servers/refusal.ts";
import { composeWorker, startServer, type TestServer } from "../support/servers/server.ts";
import { playHistories } from "../support/soak.ts";

let one: TestServer;
let two: TestServer;
let worker: ReturnType<typeof composeWorker>;

beforeAll(async () => {
  one = await startServer();
  two = await startServer({ tablePrefix: one.config.tablePrefix });
  worker = composeWorker(one);
});

afterAll(async () => {
  await worker?.close();
  await two.stop();
  await one.stop();
});

test("histories equal the oracle after every step", async () => {
  const property = fc.asyncProperty(history(16), (each) => play(each, open));
  const known = [{ seed: 20_261_123, numRuns: 1 }];
  await playHistories(property, { fresh: 80, ms: 80 * 120_000, known });
});

const userId = "u";
let programs = 0;

/** Creates a program for a history. Histories run one by one, because they share the clock. */
async function open(rules: Rules, start: number): Promise<System> {
  programs += 1;
  const programId = `model-${programs}`;
  const setTime = async (time: number) => {
    await one.clock.setTime({ time: timestampFromMs(time) });
  };
  await setTime(start);
  const lifetimeMonths = rules.lifetimes[0]?.lifetimeMonths ?? 0;
  await one.programs.createProgram({
    ...{ programId, timeZone: rules.timeZone, lifetimeMonths },
    bulkRules: { requiredApprovalCount: 0 },
  });
  const account = { programId, userId };
  return {
    visible: withoutHidden,
    send: (request, which, dry) => answerTo(which === 0 ? one : two, programId, request, dry),
    // The real clock: none of these holds is due, and none is near the limits.
    wall: () => Date.now(),
    holdMs: (ms) => Math.min(Math.max(ms, 3_600_000), 80 * 86_400_000),
    pause: (ms) => sleep(ms),
    show: (asOf) => show(programId, asOf),
    async lines(from) {
      const order = ListLedgerEntriesRequest_Order.OLDEST_FIRST;
      const { entries } = await two.points.listLedgerEntries({ ...account, pageSize: 200, order });
      return entries.slice(from).map(lineOf);
    },
    setTime,
    async lengthen(months) {
      await one.programs
        .updateProgram({ program: { programId, lifetimeMonths: months } })
        .catch(toRefusal);
    },
    async sweep() {
      await expireDueInShard(
        worker.deps,
        { programId, shard: shardOf(userId, shardCount) },
        () => true,
      );
      const stored = await one.deps.reader.get({ kind: "account", id: `${programId}#${userId}` });
      return stored?.value.time;
    },
    faults: () => undefined,
    verify: async () => (await two.points.verifyAccount({ ...account })).differences,
  };
}

/** The API shows no frozen flag in an entry, and no last number in a balance. */
function withoutHidden<T extends object>(shown: T): T {
  const { frozen: _, last: _l, ...rest } = shown as T & { frozen?: boolean; last?: number };
  if ("lots" in shown) return { ...rest, frozen: (shown as { frozen?: boolean }).frozen } as never;
  if ("line" in shown) return { ...rest, line: withoutHidden(shown.line as object) } as never;
  return rest as never;
}

async function show(programId: string, asOf?: number) {
  const past = asOf !== undefined && { asOf: timestampFromMs(asOf) };
  const { balance } = await one.points.getBalance({ programId, userId, ...past });
  const {
    issuedPoints = 0n,
    usedPoints = 0n,
    expiredPoints = 0n,
    refundedPoints = 0n,
    revokedPoints = 0n,
    heldPoints = 0n,
    capturedPoints = 0n,
    releasedPoints = 0n,
  } = balance?.totals ?? {};
  return {
    balance: Number(balance?.availablePoints),
    lots: (balance?.buckets ?? []).map(({ month, points, expireTime }) => ({
      month,
      points: Number(points),
      expireTime: expireTime && timestampMs(expireTime),
    })),
    totals: {
      issuedPoints: Number(issuedPoints),
      usedPoints: Number(usedPoints),
      expiredPoints: Number(expiredPoints),
      refundedPoints: Number(refundedPoints),
      revokedPoints: Number(revokedPoints),
      heldPoints: Number(heldPoints),
      capturedPoints: Number(capturedPoints),
      releasedPoints: Number(releasedPoints),
    },
    held: Number(balance?.heldPoints),
    ...(asOf === undefined && { holds: await holdsOf(one.deps, { programId, userId }) }),
    frozen: balance?.frozen,
  };
}

async function answerTo(
  server: TestServer,
  programId: string,
  request: Request,
  dry: boolean,
): Promise<Answer> {
  try {
    if (isOfHold(request)) return await answerForHold(server, programId, request, dry);
    const answer = await send(server, programId, request, dry);
    const { entry, availablePoints: balance, replayed } = answer;
    return { line: lineOf(entry as LedgerEntry), balance: Number(balance), replayed };
  } catch (error) {
    const { reason, metadata, retries } = toRefusal(error);
    if (retries) throw error;
    const left =
      metadata.available_points ?? metadata.refundable_points ?? metadata.capturable_points;
    return { refused: reason, ...(left !== undefined && { left: Number(left) }) };
  }
}

/** Timeouts are the work of a worker, so no RPC has them. */
async function answerForHold(
  server: TestServer,
  programId: string,
  request: HoldRequest,
  dry: boolean,
): Promise<Answer> {
  if (request.op !== "timeout") {
    const answer = await sendHold(server, programId, request, dry);
    const { entry, availablePoints: balance, replayed } = answer;
    return { line: lineOf(entry as LedgerEntry), balance: Number(balance), replayed };
  }
  // None is due.
  const name = { programId, userId, holdId: request.hold };
  return timeOutHold(server.deps, name).then(({ hold }) => ({ refused: hold.state }), refusal);
}

function sendHold(
  { holds }: TestServer,
  programId: string,
  request: Exclude<HoldRequest, { readonly op: "timeout" }>,
  validateOnly: boolean,
) {
  const { id, reason, cause } = request;
  const input = { programId, userId, reason, cause, validateOnly };
  switch (request.op) {
    case "hold":
      return holds.holdPoints({
        ...{ ...input, holdId: id, points: BigInt(request.points) },
        until: timestampFromMs(request.until),
        allowPartial: request.partial,
        expiredPointsPolicy: ExpiredPointsPolicy[request.policy],
      });
    case "capture":
      return holds.capturePoints({
        ...{ ...input, holdId: request.hold, eventId: id },
        ...(request.points !== undefined && { points: BigInt(request.points) }),
        moreCapturesFollow: request.more,
      });
    case "release":
      return holds.releaseHold({ ...input, holdId: request.hold });
  }
}

function send(
  { points }: TestServer,
  programId: string,
  request: Exclude<Request, HoldRequest>,
  validateOnly: boolean,
) {
  const { id: eventId, reason, cause } = request;
  const input = { programId, userId, eventId, reason, cause, validateOnly };
  switch (request.op) {
    case "grant":
      return points.grantPoints({
        ...input,
        points: BigInt(request.points),
        expireMonth: request.ends ?? "",
      });
    case "use":
      return points.usePoints({
        ...input,
        points: BigInt(request.points),
        allowPartial: request.partial,
      });
    case "refund":
      return points.refundPoints({
        ...input,
        useEventId: request.use,
        ...(request.hold !== undefined && { holdId: request.hold }),
        ...(request.points !== undefined && { points: BigInt(request.points) }),
        expiredPointsPolicy: ExpiredPointsPolicy[request.policy],
      });
    case "revoke":
      return points.revokePoints({
        ...input,
        grantEvent: { origin: EventOrigin.CALLER, eventId: request.grant },
      });
    case "extend":
      return points.extendExpiry({
        ...input,
        grantEvent: { origin: EventOrigin.CALLER, eventId: request.grant },
        expireMonth: request.ends,
      });
    case "freeze":
      return points.freezeAccount(input);
    case "unfreeze":
      return points.unfreezeAccount(input);
  }
}

const prefixes: Partial<Record<EventOrigin, string>> = {
  [EventOrigin.CALLER]: "c",
  [EventOrigin.EXPIRY]: "x",
  [EventOrigin.HOLD]: "h",
};

const nameOf = (event: EventName | undefined) =>
  `${(event && prefixes[event.origin]) ?? "?"}:${event?.eventId}`;

const lineOf = (entry: LedgerEntry): Line =>
  withoutHidden({
    number: Number(entry.number),
    type: LedgerEntry_TypeSchema.value[entry.type]?.localName ?? "",
    event: nameOf(entry.event),
    createTime: entry.createTime ? timestampMs(entry.createTime) : 0,
    effectiveTime: entry.effectiveTime ? timestampMs(entry.effectiveTime) : 0,
    points: Number(entry.points),
    changes: entry.monthChanges.map(({ month, points }) => [month, Number(points)] as const),
    frozen: false,
    balance: Number(entry.availablePoints),
    reason: entry.reason,
    cause: entry.cause,
    expireTime: entry.expireTime && timestampMs(entry.expireTime),
    related: entry.relatedEvent && nameOf(entry.relatedEvent),
  });
