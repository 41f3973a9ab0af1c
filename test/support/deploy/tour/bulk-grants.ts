/** Calls every RPC of bulk grants, from sheets that are approved, refused and reversed. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect } from "vitest";
import { BulkGrant_State as State } from "../../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { submitLines } from "../../fixtures/bulk-grant-calls.ts";
import { eventually } from "../../fixtures/waiting.ts";
import { firstOf, type TourClients } from "./called.ts";

const name = (bulkGrantId: string) => ({ programId: "default", bulkGrantId });
const because = (bulkGrantId: string) => ({ ...name(bulkGrantId), reason: "r" });

type Drained = AsyncIterable<unknown>;
async function drain(messages: Drained): Promise<void> {
  for await (const _ of messages);
}

/** One bulk grant from its sheet to its failed rows, and each call that reads it. */
export async function tourBulkGrant(submitter: TourClients, approver: TourClients) {
  const { bulkGrants, points } = submitter;
  const isIn = stateWaiter(submitter);
  const rows = ["ann", "bob"].map((userId) => ({ userId, points: 5n, reason: "r" }));
  const content = { case: "rows" as const, value: { rows } };
  await bulkGrants.checkSheet({ ...name("spring"), content });
  // The second upload has the same rows, so those that it has stored are deleted again.
  for (let i = 0; i < 2; i++) {
    await submitLines(submitter, name("spring"), "ann,5,r", "bob,5,r", "ivy,5,r");
  }
  await isIn("spring", State.AWAITING_APPROVAL);
  await points.freezeAccount({ programId: "default", userId: "ivy", eventId: "z", reason: "r" });
  await firstOf(bulkGrants.watchBulkGrant(name("spring")));
  await approve(approver, "spring");
  await isIn("spring", State.DONE_WITH_FAILURES);
  await bulkGrants.getBulkGrantSummary(name("spring"));
  await bulkGrants.listBulkGrants({ programId: "default" });
  await bulkGrants.listBulkGrants({ programId: "default", state: State.DONE });
  await bulkGrants.listBulkGrantRows(name("spring"));
  await bulkGrants.listBulkGrantActions(name("spring"));
  await bulkGrants.listBulkGrantRevisions(name("spring"));
  await drain(bulkGrants.exportFailedBulkGrantRows(name("spring")));
  await drain(bulkGrants.exportBulkGrantAudit(name("spring")));
  await bulkGrants.retryBulkGrant(because("spring"));
  await isIn("spring", State.DONE_WITH_FAILURES);
  const reversed = { reversedBulkGrantId: "spring" };
  await bulkGrants.reverseBulkGrant({ ...name("back"), ...reversed });
  await approve(approver, "back");
  await isIn("back", State.DONE);
}

/** Bulk grants that are held up, cancelled and rejected. */
export async function tourHeldUp(submitter: TourClients, approver: TourClients): Promise<void> {
  const { bulkGrants } = submitter;
  const isIn = stateWaiter(submitter);
  const rows = [{ userId: "ann", points: 7n, reason: "r" }];
  const content = { case: "rows" as const, value: { rows } };
  const executeTime = timestampFromMs(Date.now() + 3_600_000);
  await bulkGrants.submitBulkGrant({ ...name("summer"), content, executeTime });
  await approve(approver, "summer");
  await bulkGrants.pauseBulkGrant(because("summer"));
  await bulkGrants.resumeBulkGrant(because("summer"));
  await bulkGrants.cancelBulkGrant(because("summer"));
  await isIn("summer", State.CANCELLED);
  await bulkGrants.submitBulkGrant({ ...name("asked"), content });
  await isIn("asked", State.AWAITING_APPROVAL);
  await approver.bulkGrants.rejectBulkGrant(because("asked"));
}

/** The requests for one user: points, and the revoke of another grant. */
export async function tourRequests(submitter: TourClients, approver: TourClients): Promise<void> {
  const { bulkGrants, points } = submitter;
  const isIn = stateWaiter(submitter);
  const member = { userId: "kim", reason: "late parcel" };
  await points.grantPoints({ ...member, programId: "default", eventId: "order", points: 9n });
  await bulkGrants.requestGrant({ ...name("parcel"), ...member, points: 5n });
  await bulkGrants.requestRevoke({
    ...{ ...name("parcel-back"), ...member },
    grantEvent: { eventId: "order" },
  });
  for (const id of ["parcel", "parcel-back"]) {
    await approve(approver, id);
    await isIn(id, State.DONE);
  }
}

/** Approves a bulk grant as soon as it waits for that. */
export async function approve(approver: TourClients, bulkGrantId: string): Promise<void> {
  const { digest } = await stateWaiter(approver)(bulkGrantId, State.AWAITING_APPROVAL);
  await approver.bulkGrants.approveBulkGrant({ ...because(bulkGrantId), digest });
}

const stateWaiter =
  ({ bulkGrants }: TourClients) =>
  (bulkGrantId: string, state: State) =>
    eventually(async () => {
      const { bulkGrant } = await bulkGrants.getBulkGrant(name(bulkGrantId));
      expect(bulkGrant?.state).toBe(state);
      return { digest: bulkGrant?.digest ?? "" };
    });
