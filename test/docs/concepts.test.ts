/** Runs the golden case and the expiry example of docs/concepts.md against a server. */
import { readFileSync } from "node:fs";
import { timestampDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Balance_Bucket } from "../../src/gen/meguri/points/v1/balance_pb.ts";
import { formatMonth, monthAt, parseMonth } from "../../src/platform/words/month.ts";
import { projectRoot } from "../support/markdown.ts";
import { at } from "../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

const text = readFileSync(`${projectRoot}docs/concepts.md`, "utf8");
const lifetime = 3;
const months = ["January", "February", "March", "April", "May"];

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

/** The instant at which a month of 2026 (0 is January) begins in Tokyo. */
const startOf = (month: number) => at(`2026-0${month + 1}-01T00:00:00+09:00`);

/** The rows of the table behind a marker, without its head. */
function rowsOf(marker: string): string[][] {
  const table = new RegExp(`<!-- ${marker} -->\\n((?:\\|.*\\n)+)`).exec(text)?.[1] ?? "";
  const rows = table.trim().split("\n").slice(2);
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

/** The state of the account as a row of the table. */
async function held(account: { programId: string; userId: string }, month: number) {
  const { balance } = await server.points.getBalance(account);
  const slots = Array.from({ length: lifetime }, (_, slot) => {
    const bucket = balance?.buckets.find(({ month: name }) => slotOf(name) === slot);
    return bucket?.points ?? 0n;
  });
  return [String(month % lifetime), slots.join(" / "), String(balance?.availablePoints)];
}

/** The number that the table gives to a month's slot: January is 0. */
const slotOf = (month: string) => (Number(month.slice(5)) - 1) % lifetime;

test("the golden case is as printed", async () => {
  const account = { programId: "golden", userId: "u" };
  await server.clock.setTime({ time: startOf(0) });
  await server.programs.createProgram({ programId: "golden", lifetimeMonths: lifetime });
  const rows = rowsOf("golden case");
  expect(rows).toHaveLength(8);
  for (const [step = "", ...printed] of rows) {
    const [, end = "", name = "", grant, use] =
      /^(end of )?(\w+)(?:: grant (\d+))?(?:: use (\d+))?/.exec(step) ?? [];
    const month = months.indexOf(name) + (end === "" ? 0 : 1);
    await server.clock.setTime({ time: startOf(month) });
    const eventId = step.replaceAll(" ", "_");
    if (grant) await server.points.grantPoints({ ...account, eventId, points: BigInt(grant) });
    if (use) await server.points.usePoints({ ...account, eventId, points: BigInt(use) });
    expect([step, ...(await held(account, month))]).toEqual([step, ...printed]);
  }
});

const steps: Readonly<Record<string, string>> = {
  November: "2026-11",
  December: "2026-12",
  January: "2027-01",
  March: "2027-03",
  October: "2027-10",
};

test("points that end early are spent, extended and expired as printed", async () => {
  const account = { programId: "early", userId: "u" };
  await server.clock.setTime({ time: at("2026-11-01T00:00:00+09:00") });
  await server.programs.createProgram({ programId: "early" });
  const rows = rowsOf("early expiry");
  expect(rows).toHaveLength(8);
  for (const [step = "", ...printed] of rows) {
    const [, end, name = ""] = /^(end of )?(\w+)/.exec(step) ?? [];
    const [, points = "0", until = ""] = /: grant (\d+)(?: until (\S+))?/.exec(step) ?? [];
    const [, use] = /: use (\d+)/.exec(step) ?? [];
    const [, of, to = ""] = /: extend the (\d+) to (\S+)/.exec(step) ?? [];
    const month = parseMonth(steps[name] ?? "") + (end ? 1 : 0);
    await server.clock.setTime({ time: at(`${formatMonth(month)}-01T00:00:00+09:00`) });
    const eventId = step.replaceAll(" ", "_");
    if (points !== "0") {
      const grant = { points: BigInt(points), expireMonth: until };
      await server.points.grantPoints({ ...account, eventId: `g${points}`, ...grant });
    }
    if (use) await server.points.usePoints({ ...account, eventId, points: BigInt(use) });
    if (of) {
      const extension = { grantEvent: { eventId: `g${of}` }, expireMonth: to };
      await server.points.extendExpiry({ ...account, eventId, ...extension });
    }
    const { balance } = await server.points.getBalance(account);
    const held = balance?.buckets.map((bucket) => `${lastMonth(bucket)}: ${bucket.points}`) ?? [];
    const shown = [held.join(", ") || "–", String(balance?.availablePoints)];
    expect([step, ...shown]).toEqual([step, ...printed]);
  }
});

/** The month at whose end the points of a bucket expire, in Tokyo. */
const lastMonth = ({ expireTime }: Balance_Bucket): string =>
  formatMonth(monthAt("Asia/Tokyo", (expireTime ? timestampMs(expireTime) : 0) - 1));

test("the past of the golden case is as printed", async () => {
  const account = { programId: "past", userId: "u" };
  const noonOf = (month: number) => at(`2026-0${month}-15T12:00:00+09:00`);
  await server.clock.setTime({ time: noonOf(1) });
  await server.programs.createProgram({ programId: "past", lifetimeMonths: lifetime });
  for (const [i, points] of [10n, 50n, 40n, 30n].entries()) {
    await server.clock.setTime({ time: noonOf(i + 1) });
    await server.points.grantPoints({ ...account, eventId: `grant-${i}`, points });
  }
  await server.points.usePoints({ ...account, eventId: "use", points: 80n });
  const rows = rowsOf("golden past");
  expect(rows).toHaveLength(6);
  for (const [time = "", ...printed] of rows) {
    const { balance } = await server.points.getBalance({ ...account, asOf: at(time) });
    const buckets = balance?.buckets.map(({ month, points }) => `${month}: ${points}`).join(", ");
    expect([time, String(balance?.availablePoints), buckets]).toEqual([time, ...printed]);
  }
});

test("points of November expire when the heading says", async () => {
  const printed = /^### Why points of November expire at "(.+)"$/m.exec(text)?.[1];
  const account = { userId: "november" };
  await server.clock.setTime({ time: at("2026-11-30T23:59:59+09:00") });
  const { entry } = await server.points.grantPoints({ ...account, eventId: "e", points: 1n });
  const expires = entry?.expireTime && timestampDate(entry.expireTime).toISOString();
  expect(expires?.replace(".000Z", "Z")).toBe(printed);
});
