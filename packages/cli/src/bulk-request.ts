/** Requests for one user, which wait for other people as bulk grants do. */
import {
  type BulkGrant,
  RequestGrantResponseSchema,
  RequestRevokeResponseSchema,
} from "@meguri/client/bulk-grants";
import type { GrantPointsRequest, RevokePointsRequest } from "@meguri/client/points";
import { aboutBulkGrant, reportSubmission } from "./bulk-text.ts";
import type { InputLine } from "./options.ts";
import { line } from "./output.ts";
import type { Session } from "./session.ts";

/** Turns a change into a request for it. */
export const asRequest: InputLine = [
  "--request: request it, so that others approve it where the program wants that; the event " +
    "id names the request",
  { conflicts: "dryRun" },
];

/** Requests what the call would grant. */
export async function requestGrant(session: Session, change: GrantPointsRequest): Promise<void> {
  const { eventId: bulkGrantId, programId, userId, points, reason, cause, expireMonth } = change;
  const request = { bulkGrantId, programId, userId, points, reason, cause, expireMonth };
  const answer = await session.meguri.bulkGrants.requestGrant(request, session.call);
  await session.out.message(RequestGrantResponseSchema, answer, () => about(answer));
  await report(session, answer);
}

/** Requests what the call would revoke. */
export async function requestRevoke(session: Session, change: RevokePointsRequest): Promise<void> {
  const { eventId: bulkGrantId, programId, userId, grantEvent, reason, cause } = change;
  if (grantEvent === undefined) return;
  const request = { bulkGrantId, programId, userId, grantEvent, reason, cause };
  const answer = await session.meguri.bulkGrants.requestRevoke(request, session.call);
  await session.out.message(RequestRevokeResponseSchema, answer, () => about(answer));
  await report(session, answer);
}

interface Requested {
  readonly bulkGrant?: BulkGrant | undefined;
  readonly replayed: boolean;
}

const about = ({ bulkGrant }: Requested): string => line(aboutBulkGrant(bulkGrant));

const report = (session: Session, { bulkGrant, replayed }: Requested): Promise<boolean> =>
  reportSubmission(session, { bulkGrant, replayed, revision: bulkGrant?.revision ?? 0 });
