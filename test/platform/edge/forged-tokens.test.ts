/** Tests that page tokens which no list returned are refused, whatever their cursor contains. */
import { createHash } from "node:crypto";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { encodeId } from "../../../src/feed/rpc/notifications/ids.ts";
import { BulkGrant_State } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import * as bulkGrants from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import {
  BlockPersonRequestSchema,
  ListMutedPeopleRequestSchema,
  ListMutedTargetsRequestSchema,
  ListNotificationActorsRequestSchema,
  ListNotificationsRequestSchema,
  MarkAllNotificationsReadRequestSchema,
  ListNotificationsRequest_State as NotificationState,
} from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import * as points from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ListProgramsRequestSchema } from "../../../src/gen/meguri/programs/v1/program_service_pb.ts";
import {
  ListTargetReactionsRequestSchema,
  ListUserReactionsRequestSchema,
} from "../../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import { Reservation_State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import * as reservations from "../../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { submitLines } from "../../support/fixtures/bulk-grant-calls.ts";
import { at, refusalOf } from "../../support/servers/refusal.ts";
import { composeWorker, startServer, type TestServer } from "../../support/servers/server.ts";

let server: TestServer;
const target = { type: "post", id: "t" };
const executeTime = at("2029-01-01T00:00:00Z");

beforeAll(async () => {
  server = await startServer({ testClock: false });
  const reservation = { reservationId: "r", userId: "u", points: 1n, executeTime };
  await server.points.grantPoints({ userId: "u", eventId: "g", points: 5n });
  await server.reservations.createReservation(reservation);
  await submitLines(server, { bulkGrantId: "b" }, "u,1,", "v,2,");
  await server.reactions.registerTarget({ targetName: target, ownerId: "o" });
  await server.reactions.react({ targetName: target, userId: "u", displayName: "U" });
  await server.notifications.setPersonMuted({ ownerId: "o", userId: "m", muted: true });
});
afterAll(() => server.stop());

/** A page token with a valid digest, which a caller can compute who knows the source. */
function forge<D extends DescMessage>(schema: D, list: MessageInitShape<D>, cursor: string) {
  const parameters = toBinary(schema, create(schema, list), { writeUnknownFields: false });
  const digest = createHash("sha256")
    .update(`${schema.typeName}\n${parameters.length}\n`)
    .update(parameters)
    .update(cursor)
    .digest("base64url");
  return Buffer.from(`1${digest.slice(0, 16)}${cursor}`).toString("base64url");
}

/** Cursors that no list returns. */
const cursors = [
  "",
  "0",
  "null",
  "true",
  '"x"',
  "[]",
  "{",
  "{}",
  "99999999999999999999",
  "1e3",
  " 1",
  "１",
  "~",
  // Of rows: no row, a row beyond the last one, another revision.
  "1:",
  "1:x",
  "1:-1",
  "1:1.5",
  "1:1e0",
  "1:2",
  "0:0",
  "2:0",
  "1:0:0",
  "\u0000",
  '{"pk":5}',
  '{"pk":null}',
  '{"pk":"x"}',
  '{"pk":{}}',
  '{"pk":{"Q":"x"}}',
  '{"pk":{"S":5},"sk":{"S":"x"}}',
  '{"pk":{"S":"P"},"sk":{"S":""}}',
  '{"pk":{"S":""},"sk":{"S":"x"}}',
  '{"pk":{"S":"P"},"sk":{"N":"x"}}',
  '{"pk":{"S":"P"},"sk":{"L":[5]}}',
  '{"pk":{"S":"P"},"sk":{"NULL":true}}',
  '{"pk":{"B":"xx"},"sk":{"S":"a"}}',
  '{"pk":{"B":"eA=="},"sk":{"S":"a"}}',
  '{"pk":{"S":"P","N":"1"},"sk":{"S":"x"}}',
  // A key without its sort key, one with another attribute, and the key of another item.
  '{"pk":{"S":"P"}}',
  '{"pk":{"S":"P"},"sk":{"S":"x"},"z":{"S":"1"}}',
  '{"pk":{"S":"A#default#u"},"sk":{"S":"A"}}',
  // Of reservations in a state: too long, without an id, after the window.
  "000001861920000000#r",
  "001861920000000#",
  "999999999999999#r",
  // Of the reservations that a reason cancels: no state, another state, a bad cursor in it.
  "PENDING",
  "DONE ",
  "PENDING x",
  "FAILED 999999999999999#r",
  // Of the notifications that a block goes through: no list, another list, a bad cursor in one.
  "UNREAD",
  "ALL ",
  "UNREAD x",
  'READ {"pk":{"S":"P"},"sk":{"S":"x"}}',
  // Of notifications in both states: no version that a key can hold.
  "-1",
  "1.5",
];

/** Every list with a name and a call that sends a cursor. */
const lists: [string, (cursor: string) => Promise<unknown>][] = [];

function list<D extends DescMessage>(
  name: string,
  schema: D,
  parameters: MessageInitShape<D>,
  ask: (request: never) => Promise<unknown>,
): void {
  lists.push([
    name,
    (cursor) =>
      ask({ ...parameters, pageToken: forge(schema, parameters, cursor) } as unknown as never),
  ]);
}

list("programs", ListProgramsRequestSchema, {}, (r) => server.programs.listPrograms(r));
for (const userId of ["u", "nobody"]) {
  list(`entries of ${userId}`, points.ListLedgerEntriesRequestSchema, { userId }, (r) =>
    server.points.listLedgerEntries(r),
  );
}
const { PENDING, PROCESSING, FAILED } = Reservation_State;
const end = at("2029-02-01T00:00:00Z");
const createWindow = { createTimeFrom: executeTime, createTimeBefore: end };
const executeWindow = { executeTimeFrom: executeTime, executeTimeBefore: end };
for (const filter of [
  { case: "userId", value: "u" } as const,
  ...[PENDING, PROCESSING, FAILED].map((value) => ({ case: "state", value }) as const),
]) {
  for (const executeTimeBefore of [executeWindow.executeTimeBefore, executeTime]) {
    const empty = executeTimeBefore === executeTime ? " in no time" : "";
    const parameters = { filter, ...executeWindow, executeTimeBefore };
    const name = `reservations, ${filter.case} ${filter.value}${empty}`;
    list(name, reservations.ListReservationsRequestSchema, parameters, (r) =>
      server.reservations.listReservations(r),
    );
  }
}
const ofReason = { reasonPrefix: "r", ...executeWindow };
for (const filter of [
  { case: "userId", value: "u" } as const,
  { case: "reasonFilter", value: ofReason } as const,
]) {
  const parameters = { filter, validateOnly: true };
  const schema = reservations.CancelReservationsRequestSchema;
  list(`cancelled reservations, ${filter.case}`, schema, parameters, (r) =>
    server.reservations.cancelReservations(r),
  );
}
list("reactors", ListTargetReactionsRequestSchema, { targetName: target, kind: "like" }, (r) =>
  server.reactions.listTargetReactions(r),
);
list("reactions of a user", ListUserReactionsRequestSchema, { userId: "u" }, (r) =>
  server.reactions.listUserReactions(r),
);
const { UNSPECIFIED, UNREAD, READ } = NotificationState;
for (const state of [UNSPECIFIED, UNREAD, READ]) {
  list(`notifications ${state}`, ListNotificationsRequestSchema, { ownerId: "o", state }, (r) =>
    server.notifications.listNotifications(r),
  );
}
const notificationId = encodeId({ ownerId: "o", kind: "like", target, generation: 1 });
list("actors", ListNotificationActorsRequestSchema, { ownerId: "o", notificationId }, (r) =>
  server.notifications.listNotificationActors(r),
);
list("marks", MarkAllNotificationsReadRequestSchema, { ownerId: "o", version: 1n }, (r) =>
  server.notifications.markAllNotificationsRead(r),
);
list("a block", BlockPersonRequestSchema, { ownerId: "o", userId: "w" }, (r) =>
  server.notifications.blockPerson(r),
);
list("muted targets", ListMutedTargetsRequestSchema, { ownerId: "o" }, (r) =>
  server.notifications.listMutedTargets(r),
);
list("muted people", ListMutedPeopleRequestSchema, { ownerId: "o" }, (r) =>
  server.notifications.listMutedPeople(r),
);

const { UNSPECIFIED: ANY, VALIDATING } = BulkGrant_State;
for (const state of [ANY, VALIDATING]) {
  list(
    `bulk grants ${state}`,
    bulkGrants.ListBulkGrantsRequestSchema,
    { state, ...createWindow },
    (r) => server.bulkGrants.listBulkGrants(r),
  );
}
const rowsOf = { bulkGrantId: "b" };
list("rows of a bulk grant", bulkGrants.ListBulkGrantRowsRequestSchema, rowsOf, (r) =>
  server.bulkGrants.listBulkGrantRows(r),
);
list("actions of a bulk grant", bulkGrants.ListBulkGrantActionsRequestSchema, rowsOf, (r) =>
  server.bulkGrants.listBulkGrantActions(r),
);
list("revisions of a bulk grant", bulkGrants.ListBulkGrantRevisionsRequestSchema, rowsOf, (r) =>
  server.bulkGrants.listBulkGrantRevisions(r),
);

test.each(lists)("%s: no forged token is accepted", async (_, ask) => {
  for (const cursor of cursors) {
    const { code, reason, fields } = await refusalOf(ask(cursor));
    expect([code, reason, fields], JSON.stringify(cursor)).toEqual([
      "InvalidArgument",
      "INVALID_REQUEST",
      ["page_token"],
    ]);
  }
});

test("the scans of accounts refuse such cursors, too, which workflows pass on", async () => {
  const { deps, close } = composeWorker(server);
  onTestFinished(close);
  const { reader } = deps;
  for (const cursor of ["null", "[]", '{"pk":5}', '{"pk":{"B":"xx"}}', '{"pk":{"S":"P"}}']) {
    const page = { size: 10, cursor };
    const refused = { reason: "INVALID_REQUEST", metadata: { field: "page_token" } };
    await expect(reader.accounts("default", 0, 1, page)).rejects.toMatchObject(refused);
    await expect(reader.dueAccounts("default", 0, 0, page)).rejects.toMatchObject(refused);
  }
});
