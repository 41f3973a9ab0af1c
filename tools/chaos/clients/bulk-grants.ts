/** A client that submits bulk grants, approves, rejects or cancels them, and awaits their end. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type BulkGrant,
  BulkGrant_State as State,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import type { Clients } from "../../../test/support/servers/server.ts";
import type { Calls } from "../calls.ts";
import type { Attempt, BulkOp, BulkRecord, Sent } from "../record.ts";
import { accounts } from "./points.ts";

const sharedRows = 8;
const ownRows = 52;
const members = 200;

/** So often that a submission is seldom given up, after which nothing would follow. */
const tries = 30;
const pauseMs = 1_000;
const pollMs = 1_000;

type Open = BulkRecord & { readonly sent: Sent<{ readonly op: BulkOp }>[] };

/** Runs one bulk grant after the other until it shall stop. */
export async function grantInBulk(calls: Calls, name: string, records: BulkRecord[]) {
  for (let i = 0; !calls.over.aborted; i++) {
    const later = calls.random() < 0.3 ? Date.now() + 8_000 : undefined;
    const record: Open = {
      id: `${name}-${i}`,
      rows: rowsOf(calls),
      executeTime: later,
      sent: [],
    };
    records.push(record);
    await runOne(calls, record);
    await calls.pause(pauseMs);
  }
}

/** Rows for some of the accounts that all clients change, and for members of its own. */
function rowsOf({ random }: Calls): BulkRecord["rows"] {
  const from = (name: string, all: number, count: number) => {
    const first = Math.floor(random() * all);
    return Array.from({ length: count }, (_, i) => ({
      userId: `${name}-${(first + i) % all}`,
      points: 1 + Math.floor(random() * 20),
    }));
  };
  return [...from("user", accounts, sharedRows), ...from("member", members, ownRows)];
}

async function runOne(calls: Calls, record: Open): Promise<void> {
  const { random } = calls;
  if (!(await submit(calls, record))) return;
  const checked = await until(calls, record, ({ state }) => state !== State.VALIDATING);
  if (checked?.state !== State.AWAITING_APPROVAL) return;
  const drawn = random();
  if (drawn < 0.1) return change(calls, record, "reject", checked.digest);
  if (drawn < 0.2) return change(calls, record, "cancel", checked.digest);
  await change(calls, record, "approve", checked.digest);
  if (random() < 0.3) {
    await calls.pause(4_000);
    await change(calls, record, "cancel", checked.digest);
  }
  await until(calls, record, ({ endTime }) => endTime !== undefined);
}

async function submit(calls: Calls, record: Open): Promise<boolean> {
  const attempts: Attempt[] = [];
  record.sent.push({ request: { op: "submit" }, attempts });
  const { id: bulkGrantId, executeTime } = record;
  const rows = record.rows.map(({ userId, points }) => ({ userId, points: BigInt(points) }));
  const request = {
    bulkGrantId,
    content: { case: "rows" as const, value: { rows } },
    ...(executeTime !== undefined && { executeTime: timestampFromMs(executeTime) }),
  };
  const submitted = await calls.send(
    attempts,
    ({ bulkGrants }) => bulkGrants.submitBulkGrant(request).then(({ revision }) => revision),
    { tries },
  );
  return submitted !== undefined;
}

/** Approves as another person than the submitter; the rest is the submitter's. */
async function change(
  calls: Calls,
  record: Open,
  op: Exclude<BulkOp, "submit">,
  digest: string,
): Promise<void> {
  const attempts: Attempt[] = [];
  record.sent.push({ request: { op }, attempts });
  const caller = op === "cancel" ? "chaos" : "approver";
  const options = { caller, tries };
  await calls.send(attempts, (clients) => send(clients, op, record.id, digest), options);
}

async function send(
  { bulkGrants }: Clients,
  op: Exclude<BulkOp, "submit">,
  bulkGrantId: string,
  digest: string,
): Promise<object> {
  if (op === "approve") return bulkGrants.approveBulkGrant({ bulkGrantId, digest });
  if (op === "reject") return bulkGrants.rejectBulkGrant({ bulkGrantId });
  return bulkGrants.cancelBulkGrant({ bulkGrantId });
}

/** Reads the bulk grant until it is as wanted; undefined when the client shall stop before. */
async function until(
  calls: Calls,
  { id: bulkGrantId }: BulkRecord,
  isReached: (bulkGrant: BulkGrant) => boolean,
): Promise<BulkGrant | undefined> {
  while (!calls.over.aborted) {
    const { answer } = await calls.once(({ bulkGrants }) =>
      bulkGrants.getBulkGrant({ bulkGrantId }),
    );
    if (answer?.bulkGrant && isReached(answer.bulkGrant)) return answer.bulkGrant;
    await calls.pause(pollMs);
  }
  return undefined;
}
