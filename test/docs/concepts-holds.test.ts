/** Plays the table of holds in docs/concepts.md against a server. */
import { readFileSync } from "node:fs";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ExpiredPointsPolicy as Policy } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { holdRef } from "../../src/holds/ports/records.ts";
import type { Hold } from "../../src/holds/rules/hold.ts";
import { timeOutHold } from "../../src/holds/use-cases/time-out.ts";
import { changeRecord } from "../../src/platform/work/change-record.ts";
import { projectRoot } from "../support/markdown.ts";
import { at } from "../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

const text = readFileSync(`${projectRoot}docs/concepts.md`, "utf8");
const months = ["January", "February", "March", "April", "May"];
const account = { programId: "holds", userId: "u" };

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at("2026-01-10T00:00:00Z") });
  await server.programs.createProgram({ programId: account.programId, lifetimeMonths: 3 });
});
afterAll(() => server.stop());

/** The rows of the table behind the marker, without its head. */
function rows(): string[][] {
  const table = /<!-- holds -->\n((?:\|.*\n)+)/.exec(text)?.[1] ?? "";
  const lines = table.trim().split("\n").slice(2);
  return lines.map((line) => line.slice(2, -2).split(" | "));
}

/** Does what a worker does when the time of a hold has come. */
async function timeOut(holdId: string): Promise<void> {
  const name = { programId: account.programId, holdId };
  await changeRecord(server.deps, { ref: holdRef(name) }, (found) => ({
    ...(found as Hold),
    until: Date.now() - 1,
  }));
  await timeOutHold(server.deps, { ...account, holdId });
}

const eventIdOf = (step: string) => step.replaceAll(" ", "_").slice(0, 64);

async function play(step: string): Promise<void> {
  const [, what = "", number = "0"] = /: (grant|hold|capture|refund) (\d+)/.exec(step) ?? [];
  const [, holdId = ""] = /`(\w)`/.exec(step) ?? [];
  const points = BigInt(number);
  const eventId = eventIdOf(step);
  const hold = { ...account, holdId };
  if (what === "grant") await server.points.grantPoints({ ...account, eventId, points });
  if (what === "hold") {
    const isCurrent = step.includes("for the current month");
    const until = timestampFromMs(Date.now() + 3_600_000);
    const expiredPointsPolicy = isCurrent ? Policy.CURRENT_MONTH : Policy.UNSPECIFIED;
    await server.holds.holdPoints({ ...hold, points, until, expiredPointsPolicy });
  }
  if (what === "capture") {
    const moreCapturesFollow = step.includes("more follow");
    await server.holds.capturePoints({ ...hold, eventId, points, moreCapturesFollow });
  }
  if (what === "refund") {
    const capture = rows().find(([each]) => each?.includes("capture 20 of `a`"))?.[0] ?? "";
    const useEventId = eventIdOf(capture);
    const expiredPointsPolicy = Policy.CURRENT_MONTH;
    await server.points.refundPoints({ ...hold, eventId, useEventId, points, expiredPointsPolicy });
  }
  if (step.endsWith("times out")) await timeOut(holdId);
}

test("the table of holds is as printed", async () => {
  expect(rows()).toHaveLength(9);
  for (const [step = "", ...printed] of rows()) {
    const month = months.indexOf(step.split(":")[0] ?? "") + 1;
    await server.clock.setTime({ time: at(`2026-0${month}-10T00:00:00Z`) });
    await play(step);
    const { balance } = await server.points.getBalance(account);
    const buckets = balance?.buckets.map(
      (bucket) => `${months[Number(bucket.month.slice(5)) - 1]} ${bucket.points}`,
    );
    const shown = [buckets?.join(", ") || "–", balance?.heldPoints, balance?.availablePoints];
    expect([step, ...shown.map(String)]).toEqual([step, ...printed]);
  }
});
