/** Tests, by the compiler, what requests of the client must have and what they may leave out. */
import { create } from "@bufbuild/protobuf";
import { expectTypeOf, test } from "vitest";
import type { Meguri, RequestOf } from "../../packages/client/src/index.ts";
import type { UploadBulkGrantRequestSchema } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import {
  ExpiredPointsPolicy,
  GrantPointsRequestSchema,
} from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { at } from "../support/servers/refusal.ts";

type Points = Meguri["points"];
type Reservations = Meguri["reservations"];

/** What a method takes. */
type Taken<Method extends (request: never) => unknown> = Parameters<Method>[0];

const account = { userId: "u" };
const event = { ...account, eventId: "e" };
const target = { type: "post", id: "t" };
const executeTime = at("2027-01-01T00:00:00Z");

test("a forgotten field that the server requires is a type error", () => {
  expectTypeOf<Taken<Points["grantPoints"]>>().not.toBeAny();
  ({ ...event, points: 1n }) satisfies Taken<Points["grantPoints"]>;
  // @ts-expect-error eventId is missing.
  ({ ...account, points: 1n }) satisfies Taken<Points["grantPoints"]>;
  // @ts-expect-error points are missing.
  event satisfies Taken<Points["grantPoints"]>;
  // @ts-expect-error eventId is undefined.
  ({ ...event, eventId: undefined, points: 1n }) satisfies Taken<Points["grantPoints"]>;
  // @ts-expect-error A field of another name.
  ({ ...event, points: 1n, point: 1n }) satisfies Taken<Points["grantPoints"]>;
  // @ts-expect-error A number is no int64.
  ({ ...event, points: 1 }) satisfies Taken<Points["grantPoints"]>;
});

test("a field with a default, and an optional one, may be left out or set", () => {
  ({}) satisfies Taken<Meguri["programs"]["listPrograms"]>;
  account satisfies Taken<Points["getBalance"]>;
  ({ ...account, programId: "p", includePending: true }) satisfies Taken<Points["getBalance"]>;
  const expiredPointsPolicy = ExpiredPointsPolicy.CURRENT_MONTH;
  const refund = { ...event, useEventId: "use", expiredPointsPolicy };
  refund satisfies Taken<Points["refundPoints"]>;
  ({ ...refund, points: 5n, holdId: "h" }) satisfies Taken<Points["refundPoints"]>;
  // @ts-expect-error Which policy is for the caller to choose.
  ({ ...event, useEventId: "use" }) satisfies Taken<Points["refundPoints"]>;
});

test("messages within, lists and oneofs have their required fields", () => {
  type React = Taken<Meguri["reactions"]["react"]>;
  const person = { userId: "u", displayName: "U" };
  ({ ...person, targetName: target }) satisfies React;
  // @ts-expect-error targetName is missing.
  person satisfies React;
  // @ts-expect-error The id of the target is missing.
  ({ ...person, targetName: { type: "post" } }) satisfies React;

  type Batch = Taken<Reservations["batchCreateReservations"]>;
  const row = { reservationId: "r", userId: "u", points: 1n };
  ({ reservations: [{ ...row, executeTime }] }) satisfies Batch;
  // @ts-expect-error executeTime is missing.
  ({ reservations: [row] }) satisfies Batch;

  type List = Taken<Reservations["listReservations"]>;
  ({ filter: { case: "userId", value: "u" } }) satisfies List;
  // @ts-expect-error No filter is chosen.
  ({ filter: { case: undefined } }) satisfies List;
  // @ts-expect-error The filter is missing.
  ({}) satisfies List;
  const prefix = { reasonPrefix: "r", executeTimeFrom: executeTime };
  // @ts-expect-error executeTimeBefore is missing.
  ({ filter: { case: "reasonFilter", value: prefix } }) satisfies Taken<
    Reservations["cancelReservations"]
  >;
});

test("streams and helpers take the same requests", () => {
  type Upload = RequestOf<typeof UploadBulkGrantRequestSchema>;
  expectTypeOf<Taken<Meguri["bulkGrants"]["uploadBulkGrant"]>>().toEqualTypeOf<
    AsyncIterable<Upload>
  >();
  ({ content: { case: "header", value: { bulkGrantId: "b" } } }) satisfies Upload;
  // @ts-expect-error bulkGrantId is missing.
  ({ content: { case: "header", value: {} } }) satisfies Upload;
  ({ bulkGrantId: "b" }) satisfies Parameters<Meguri["uploadBulkGrant"]>[0];
  // @ts-expect-error bulkGrantId is missing.
  ({}) satisfies Parameters<Meguri["uploadBulkGrant"]>[0];
});

test("a whole message is a request, and answers are those of the contract", () => {
  const message = create(GrantPointsRequestSchema, { ...event, points: 1n });
  message satisfies Taken<Points["grantPoints"]>;
  type Answer = Awaited<ReturnType<Points["grantPoints"]>>;
  expectTypeOf<Answer["availablePoints"]>().toEqualTypeOf<bigint>();
});
