/** VerifyAccount finds whatever does not agree, and repairs the account from its ledger. */
import {
  type AttributeValue,
  DeleteItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type ProgramVerification,
  ProgramVerification_State as State,
} from "../../src/gen/meguri/points/v1/program_verification_pb.ts";
import { at, refusalOf } from "../support/refusal.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await server.clock.setTime({ time: at("2026-05-10T00:00:00Z") });
});
afterAll(() => server.stop());

let users = 0;

/** An account with the entries: 100 granted, 30 used, 20 granted. */
async function newAccount() {
  const userId = `user-${++users}`;
  const { points } = server;
  await points.grantPoints({ userId, eventId: "g1", points: 100n });
  await points.usePoints({ userId, eventId: "u1", points: 30n });
  await points.grantPoints({ userId, eventId: "g2", points: 20n });
  const keyOf = (sk: string) => ({ pk: { S: `A#default#${userId}` }, sk: { S: sk } });
  return {
    userId,
    /** Writes one attribute of an item behind the server's back. */
    tamper: (sk: string, path: string, value: AttributeValue) =>
      server.dynamo.send(
        new UpdateItemCommand({
          TableName: server.table("points"),
          Key: keyOf(sk),
          UpdateExpression: `SET ${path.replace(/^\w+/, "#a")} = :v`,
          ExpressionAttributeNames: { "#a": /^\w+/.exec(path)?.[0] as string },
          ExpressionAttributeValues: { ":v": value },
        }),
      ),
    remove: (sk: string) =>
      server.dynamo.send(
        new DeleteItemCommand({ TableName: server.table("points"), Key: keyOf(sk) }),
      ),
    async verify(repair = false) {
      const found = await points.verifyAccount({ userId, repair });
      const lines = found.differences.map(
        ({ field, expected, actual }) => `${field}: ${expected}, not ${actual}`,
      );
      return { lines: lines.sort(), entries: Number(found.entryCount), repaired: found.repaired };
    },
    available: async () => Number((await points.getBalance({ userId })).balance?.available),
  };
}

/** The fifth month's slot in a ring of twelve. */
const slot = (12 * 2026 + 4) % 12;

test("an untouched account is clean, and repairing it changes nothing", async () => {
  const { userId, verify } = await newAccount();
  const clean = { lines: [], entries: 3, repaired: false };
  expect(await verify()).toEqual(clean);
  expect(await verify(true)).toEqual(clean);
  expect((await server.points.getBalance({ userId })).balance?.version).toBe(3n);
});

test("wrong points, totals, number and flag are told and repaired", async () => {
  const { tamper, verify, available, userId } = await newAccount();
  await tamper("A", `s[${slot}]`, { N: "1000" });
  await tamper("A", "T[1]", { N: "31" });
  await tamper("A", "n", { N: "7" });
  await tamper("A", "f", { BOOL: true });
  const lines = [
    "balance: 90, not 1000",
    "buckets[2026-05]: 90, not 1000",
    "frozen: false, not true",
    "last: 3, not 7",
    "totals.used: 30, not 31",
  ];
  expect(await verify()).toEqual({ lines, entries: 3, repaired: false });
  expect(await available()).toBe(1000);
  expect(await verify(true)).toEqual({ lines, entries: 3, repaired: true });
  expect(await available()).toBe(90);
  expect(await verify()).toEqual({ lines: [], entries: 3, repaired: false });
  const next = await server.points.usePoints({ userId, eventId: "u2", points: 90n });
  expect([next.entry?.number, next.balance]).toEqual([4n, 0n]);
});

test("points in a month that never had any are told and repaired", async () => {
  const { tamper, verify } = await newAccount();
  await tamper("A", `s[${(slot + 11) % 12}]`, { N: "5" });
  const found = await verify(true);
  expect(found.lines).toEqual(["balance: 90, not 95", "buckets[2026-04]: 0, not 5"]);
  expect((await verify()).lines).toEqual([]);
});

test("an account that is gone is rebuilt", async () => {
  const { remove, verify, available, userId } = await newAccount();
  await remove("A");
  expect(await available()).toBe(0);
  expect(await verify()).toEqual({ lines: ["last: 3, not 0"], entries: 3, repaired: false });
  expect((await verify(true)).repaired).toBe(true);
  expect(await available()).toBe(90);
  expect(await verify()).toEqual({ lines: [], entries: 3, repaired: false });
  const again = await server.points.grantPoints({ userId, eventId: "g1", points: 100n });
  expect(again.replayed).toBe(true);
});

test("a balance in the ledger that does not follow is told, with nothing to repair", async () => {
  const { tamper, verify } = await newAccount();
  await tamper("L#000000000002", "b", { N: "71" });
  const found = { lines: ["entries[2].balance: 70, not 71"], entries: 3, repaired: false };
  expect(await verify()).toEqual(found);
  expect(await verify(true)).toEqual(found);
});

test("a changed change is told by the balances after it and by the account", async () => {
  const { tamper, verify } = await newAccount();
  await tamper("L#000000000002", "c[1]", { N: "-29" });
  expect((await verify()).lines).toEqual([
    "balance: 91, not 90",
    "buckets[2026-05]: 91, not 90",
    "entries[2].balance: 71, not 70",
    "entries[3].balance: 91, not 90",
  ]);
});

test("a missing entry and a time that goes back are told", async () => {
  const missing = await newAccount();
  await missing.remove("L#000000000002");
  const { lines } = await missing.verify();
  expect(lines).toContain("entries[3].number: 2, not 3");
  const back = await newAccount();
  await back.tamper("L#000000000003", "t", { N: "1" });
  expect((await back.verify()).lines.join()).toContain("entries[3].create_time");
});

test("the verification of a program starts, and can be read", async () => {
  const { points, workflows } = server;
  const none = points.getProgramVerification({});
  expect(await refusalOf(none)).toMatchObject({
    code: "NotFound",
    reason: "VERIFICATION_NOT_FOUND",
  });
  const { verification } = await points.verifyProgram({});
  const running: Partial<ProgramVerification> = {
    programId: "default",
    state: State.RUNNING,
    workflowId: "verify-program/default",
  };
  expect(verification).toMatchObject(running);
  expect(workflows.asked).toContain("startVerification default");
  expect((await points.getProgramVerification({})).verification).toEqual(verification);
});
