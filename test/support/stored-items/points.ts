/** Calls that store programs, accounts, ledger entries, event keys and the test clock. */

import { refundPoints } from "../../../src/holds/use-cases/refund.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { setTime } from "../../../src/platform/work/test-clock.ts";
import { shardCount } from "../../../src/points/contract/points.ts";
import { type BulkRules, defaultBulkRules } from "../../../src/points/rules/bulk-rules.ts";
import { snapshotInterval } from "../../../src/points/rules/past.ts";
import {
  freezeAccount,
  grantPoints,
  revokePoints,
  unfreezeAccount,
  usePoints,
} from "../../../src/points/use-cases/commands.ts";
import { expireDueInShard } from "../../../src/points/use-cases/expire-due.ts";
import { createProgram, updateProgram } from "../../../src/points/use-cases/programs/commands.ts";
import { recordMonthEnd } from "../../../src/points/use-cases/programs/month-ends.ts";
import { getProgram, withRules } from "../../../src/points/use-cases/programs/queries.ts";
import {
  approveRulesChange,
  rejectRulesChange,
} from "../../../src/points/use-cases/programs/rule-changes.ts";
import {
  pauseProgramReservations,
  resumeProgramReservations,
} from "../../../src/reservations/use-cases/pause.ts";
import { unattended } from "../fixtures/bulk-rules.ts";
import type { Recorder } from "./recorder.ts";

const deadline = undefined;
export const programId = "shop";
export const shop = asService("shop");
/** A person who calls through a service. */
export const alice = { service: "desk", subject: "alice" };

export async function storePrograms({ deps, step }: Recorder): Promise<void> {
  const program = { programId, caller: shop, deadline };
  await step("create a program", () =>
    createProgram(deps, {
      ...{ programId, timeZone: "Asia/Tokyo", lifetimeMonths: 3 },
      bulkRules: { proposer: shop, rules: { ...defaultBulkRules, sources: bulkRules.sources } },
    }),
  );
  await step("spread its reservations over more shards", () =>
    updateProgram(deps, { ...program, reservationShardCount: 64 }),
  );
  await step("propose notices, and rules for bulk grants", () =>
    updateProgram(deps, { ...program, rules: { notices, bulkRules }, reason: "spring" }),
  );
  await step("reject them", () => decideRules(deps, rejectRulesChange));
  await step("propose stricter rules instead", () =>
    updateProgram(deps, { ...program, rules: { notices, bulkRules: stricter } }),
  );
  await step("approve those", () => decideRules(deps, approveRulesChange));
  await step("pause the reservations of a program", () =>
    pauseProgramReservations(deps, { ...program, caller: alice, reason: "stocktaking" }),
  );
  await step("resume them", () =>
    resumeProgramReservations(deps, { ...program, caller: shop, reason: "" }),
  );
  await step("keep the outcome of a month end", () =>
    recordMonthEnd(deps, programId, { month: 24_322, failedCount: 1 }),
  );
  const cafe = { programId: "cafe", caller: shop, deadline };
  await step("lengthen the lifetime of another program, with limits of balances", async () => {
    await createProgram(deps, {
      ...{ ...cafe, timeZone: "UTC", lifetimeMonths: 12 },
      bulkRules: { proposer: shop, rules: unattended.to.bulkRules },
    });
    await updateProgram(deps, { ...cafe, rules: { lifetimeMonths: 24 } });
    await updateProgram(deps, { ...cafe, balanceLimits: { below: [100], above: [0, 10_000] } });
  });
}

const bulkRules: BulkRules = {
  ...{ maxPointsPerRow: 1_000, maxTotalPoints: 5_000, requiredApprovalCount: 2 },
  tiers: [
    { maxTotalPoints: 100, requiredApprovalCount: 0 },
    { maxTotalPoints: 1_000, requiredApprovalCount: 1 },
  ],
  sources: ["nightly"],
  loweringDelayMs: 3_600_000,
  userIdPattern: "",
  refusedWarnings: [],
};

const stricter: BulkRules = {
  ...bulkRules,
  userIdPattern: "[a-z0-9-]+",
  refusedWarnings: ["IDS_CHANGED", "LAST_ROW_IS_SUM"],
  tiers: [{ maxTotalPoints: 1_000, requiredApprovalCount: 1 }],
};

const notices = { expiryDays: 7, reservedGrants: true };

/** Alice decides about the latest change of the rules. */
async function decideRules(deps: Deps, decide: typeof approveRulesChange): Promise<void> {
  const { ruleChange } = await withRules(deps, await getProgram(deps, programId));
  const digest = ruleChange?.digest ?? "";
  await decide(deps, { programId, digest, caller: alice, reason: "checked" });
}

export async function storePoints({ deps, clock, step }: Recorder): Promise<void> {
  const call = (eventId: string) => ({
    programId,
    userId: "ann",
    eventId,
    reason: "",
    caller: shop,
    deadline,
  });
  await step("grant points", () =>
    grantPoints(deps, { ...call("order-1"), caller: alice, reason: "an order", points: 100 }),
  );
  clock.time = Date.UTC(2026, 1, 15);
  await step("grant points in February", () =>
    grantPoints(deps, { ...call("order-2"), points: 50 }),
  );
  clock.time = Date.UTC(2026, 2, 15);
  await step("use points of both months", () =>
    usePoints(deps, { ...call("order-3"), points: 120, allowPartial: false }),
  );
  await step("use what there is", () =>
    usePoints(deps, { ...call("order-4"), points: 1_000, allowPartial: true }),
  );
  await step("refund a part of a use", () =>
    refundPoints(deps, {
      ...call("return-3"),
      useEventId: "order-3",
      points: 30,
      expiredPointsPolicy: "ORIGINAL_EXPIRY",
    }),
  );
  await step("revoke a grant", () =>
    revokePoints(deps, { ...call("void-2"), grant: { origin: "c", eventId: "order-2" } }),
  );
  await step("freeze an account", () => freezeAccount(deps, { ...call("f"), reason: "review" }));
  await step("unfreeze it", () => unfreezeAccount(deps, call("u")));
  await step("freeze an unknown account", () =>
    freezeAccount(deps, { ...call("f"), userId: "bo" }),
  );
  await step("grant points in March", () => grantPoints(deps, { ...call("order-5"), points: 7 }));
  clock.time = Date.UTC(2026, 3, 30, 15);
  await step("end April by the sweep", async () => {
    for (let shard = 0; shard < shardCount; shard++) {
      await expireDueInShard(deps, { programId, shard }, () => true);
    }
  });
  clock.time = Date.UTC(2026, 6, 15);
  await step("refund points that have expired, and expire those of March before", () =>
    refundPoints(deps, {
      ...call("return-4"),
      useEventId: "order-4",
      points: undefined,
      expiredPointsPolicy: "ORIGINAL_EXPIRY",
    }),
  );
  await step("move expired points to the current month", () =>
    refundPoints(deps, {
      ...call("return-5"),
      useEventId: "order-3",
      points: undefined,
      expiredPointsPolicy: "CURRENT_MONTH",
    }),
  );
  await step("set the test clock", () => setTime(deps, Date.UTC(2026, 11, 24)));
}

/** As many grants as one of their entries needs to have a snapshot. */
export async function storeSnapshot({ deps, step }: Recorder): Promise<void> {
  await step("grant points 32 times at once", () =>
    Promise.all(
      Array.from({ length: snapshotInterval }, (_, i) =>
        grantPoints(deps, {
          programId,
          userId: "ivy",
          eventId: `e${i}`,
          reason: "",
          caller: shop,
          deadline,
          points: 1,
        }),
      ),
    ),
  );
}
