/** Calls that store bulk grants, their revisions and rows, and what became of the rows. */

import type { BulkGrant } from "../../../src/bulk-grants/rules/bulk-grant.ts";
import {
  advanceBulkGrant,
  remindOfApproval,
  reportOutcome,
} from "../../../src/bulk-grants/use-cases/advance.ts";
import {
  approveBulkGrant,
  cancelBulkGrant,
  pauseBulkGrant,
  rejectBulkGrant,
  resumeBulkGrant,
  retryBulkGrant,
} from "../../../src/bulk-grants/use-cases/commands.ts";
import { requestGrant, requestRevoke } from "../../../src/bulk-grants/use-cases/request.ts";
import { reverseBulkGrant } from "../../../src/bulk-grants/use-cases/reverse.ts";
import { finishRun, runBlocks } from "../../../src/bulk-grants/use-cases/run.ts";
import { type Submitted, submitBulkGrant } from "../../../src/bulk-grants/use-cases/submit.ts";
import {
  completeValidation,
  validateBlocks,
} from "../../../src/bulk-grants/use-cases/validate-blocks.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService, type Caller } from "../../../src/platform/words/caller.ts";
import { freezeAccount, unfreezeAccount } from "../../../src/points/use-cases/commands.ts";
import { alice, programId, shop } from "./points.ts";
import type { Recorder } from "./recorder.ts";

type Row = readonly [userId: string, points: number];

const nameOf = (bulkGrantId: string) => ({ programId, bulkGrantId });

async function* rowsOf(rows: readonly Row[]) {
  for (const [userId, points] of rows) yield { userId, points, reason: "campaign" };
}

/** Submits rows and validates them, as the workflow does. */
async function submit(
  deps: Deps,
  bulkGrantId: string,
  rows: readonly Row[],
  further: Partial<Parameters<typeof submitBulkGrant>[1]> = {},
): Promise<BulkGrant> {
  const name = nameOf(bulkGrantId);
  const submission = { ...name, submitter: alice, ...further };
  const { bulkGrant } = await submitBulkGrant(deps, submission, { rows: rowsOf(rows) });
  return validate(deps, bulkGrant);
}

async function validate(deps: Deps, bulkGrant: BulkGrant): Promise<BulkGrant> {
  const { revision, ...name } = bulkGrant;
  const range = { ...name, revision: revision.number, from: 0, to: 1 };
  await validateBlocks(deps, range, () => true);
  return completeValidation(deps, name, revision.number, () => undefined);
}

/** Starts what is approved, executes all rows and ends the run. */
async function run(deps: Deps, name: ReturnType<typeof nameOf>): Promise<void> {
  const { bulkGrant } = await advanceBulkGrant(deps, name);
  const range = { ...name, revision: bulkGrant.revision.number, run: bulkGrant.run };
  await runBlocks(
    deps,
    { ...range, from: 0, to: 1 },
    () => true,
    () => {},
  );
  await finishRun(deps, name, bulkGrant.run, async () => {});
}

const carol = { service: "desk", subject: "carol" };
const account = { programId, userId: "eve", reason: "", caller: shop, deadline: undefined };

/** A campaign that is corrected, approved by two people, run, retried, corrected and reversed. */
export async function storeCampaign({ deps, clock, step }: Recorder): Promise<void> {
  const name = nameOf("summer");
  const rows: Row[] = [
    ["dan", 600],
    ["eve", 600],
  ];
  let digest = "";
  const submitted = async (work: Promise<BulkGrant>) => {
    digest = (await work).revision.digest;
  };
  const approve = (caller: Caller, reason = "") =>
    approveBulkGrant(deps, { ...name, caller, reason, digest });
  await step("submit a sheet with bad rows", () =>
    submit(deps, "summer", [
      ["", 5],
      ["dan", 0],
      ["bo", 10],
      ["cy", 7],
      ["cy", 8],
    ]),
  );
  await step("correct it, for a later time", () =>
    submitted(submit(deps, "summer", rows, { executeTime: clock.time + 3_600_000 })),
  );
  await step("approve it", () => approve(carol));
  await step("approve it once more", () => approve(shop, "as agreed"));
  await step("pause it", () => pauseBulkGrant(deps, { ...name, caller: carol, reason: "wait" }));
  await step("resume it", () => resumeBulkGrant(deps, { ...name, caller: alice, reason: "" }));
  await step("freeze the account of a row", () =>
    freezeAccount(deps, { ...account, eventId: "f-1" }),
  );
  clock.time += 3_600_000;
  await step("run it with a row that fails", () => run(deps, name));
  await step("report it", () => reportOutcome(deps, name));
  await step("retry what has failed", async () => {
    await retryBulkGrant(deps, { ...name, caller: alice, reason: "try again" });
    await run(deps, name);
  });
  await step("unfreeze the account of the row", () =>
    unfreezeAccount(deps, { ...account, eventId: "f-2" }),
  );
  await step("submit rows of which one is granted already", () =>
    submitted(submit(deps, "summer", [...rows, ["fay", 1]], { replacedRevision: 2 })),
  );
  await step("run the next revision", async () => {
    await approve(carol);
    await approve(shop);
    await run(deps, name);
  });
  await step("submit the same rows again, which changes nothing", () =>
    submit(deps, "summer", [...rows, ["fay", 1]]),
  );
  const reversal = nameOf("summer-back");
  await step("submit the reversal", async () => {
    const { bulkGrant } = await reverseBulkGrant(deps, {
      ...reversal,
      submitter: shop,
      reversedBulkGrantId: "summer",
    });
    await submitted(validate(deps, bulkGrant));
  });
  await step("run the reversal", async () => {
    for (const caller of [alice, carol]) {
      await approveBulkGrant(deps, { ...reversal, caller, reason: "", digest });
    }
    await run(deps, reversal);
  });
}

/** Bulk grants that end before all rows are granted. */
export async function storeEndedBulkGrants({ deps, clock, step }: Recorder): Promise<void> {
  const request = { caller: carol, reason: "not now" };
  const large: Row[] = ["a", "b", "c", "d", "e", "f"].map((userId) => [userId, 1_000]);
  await step("submit more points than a bulk grant may have", () => submit(deps, "large", large));
  await step("submit a file with the rows of another bulk grant", () =>
    submit(
      deps,
      "copy",
      [
        ["dan", 600],
        ["eve", 600],
      ],
      {
        source: "nightly/copy.csv@1",
        submitter: asService("nightly"),
        starter: { service: "temporal", subject: "schedule/nightly" },
        title: "夜間バッチ",
      },
    ),
  );
  clock.time += 86_400_000;
  await step("remind of its approval", () => remindOfApproval(deps, nameOf("copy")));
  await step("submit one to be rejected", () => submit(deps, "rejected", [["dan", 500]]));
  await step("reject it", () => rejectBulkGrant(deps, { ...nameOf("rejected"), ...request }));
  clock.time += 6 * 86_400_000;
  await step("let the other one expire", () => advanceBulkGrant(deps, nameOf("copy")));
  await step("start one that needs no approval", async () => {
    await submit(deps, "small", [["dan", 5]]);
    await advanceBulkGrant(deps, nameOf("small"));
  });
  await step("cancel it while it runs", () =>
    cancelBulkGrant(deps, { ...nameOf("small"), ...request }),
  );
  await step("end its run", () => finishRun(deps, nameOf("small"), 1, async () => {}));
}

/** Requests for one user, without a sheet. */
export async function storeRequests({ deps, step }: Recorder): Promise<void> {
  const of = { programId, userId: "gil", submitter: alice, reason: "late parcel" };
  const complete = async (asked: Promise<Submitted>) => {
    const { state, revision, bulkGrantId } = await validate(deps, (await asked).bulkGrant);
    const name = nameOf(bulkGrantId);
    const approval = { ...name, caller: carol, reason: "", digest: revision.digest };
    if (state === "AWAITING_APPROVAL") await approveBulkGrant(deps, approval);
    await run(deps, name);
  };
  const request = { ...of, bulkGrantId: "parcel", points: 5, cause: "ticket-7" };
  await step("request points", () => complete(requestGrant(deps, request)));
  const grant = { origin: "b", eventId: "parcel_gil" } as const;
  const back = { ...of, bulkGrantId: "parcel-back", grant };
  await step("request their revoke", () => complete(requestRevoke(deps, back)));
}
