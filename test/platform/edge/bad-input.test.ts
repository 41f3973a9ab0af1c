/**
 * Tests every field of every request with values that break its rule: the refusal names the field,
 * and nothing is written. The tables are compared with the descriptors, so that none is left out.
 */
import { inspect } from "node:util";
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescOneof,
  getOption,
} from "@bufbuild/protobuf";
import { oneof } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Reservation_State } from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { createRequestValidator } from "../../../src/platform/edge/validator.ts";
import { messagesOf, services } from "../../support/fixtures/descriptors.ts";
import {
  executeTime,
  goodRequests as good,
  goodParts,
  type Init,
  newReservation,
  newRow,
  notificationId,
  reservation,
  target,
  tier,
  watch,
} from "../../support/fixtures/good-requests.ts";
import { callRpc, type Rpc, rpcs } from "../../support/servers/any-rpc.ts";
import { at, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";
import { dump } from "../../support/stores/dump.ts";

const text = (length: number) => "x".repeat(length);
const unprintable = ["a#b", "a b", "a\n", "é", "\u0000", "巡り"];
const badPrograms = ["A", "-a", "a_b", "a#b", "a.b", " ", "ä", text(33)];
const badExportIds = ["", "-a", "A", "a/b", "..", ".", "a.b", "a\u0000", text(65)];
const badIds64 = ["", text(65), ...unprintable];
const badIds128 = ["", text(129), ...unprintable];
const badIds256 = ["", text(257), ...unprintable];
const badBulkGrantIds = [
  ...["", text(129), "あ".repeat(43), "a#b", "a\n", "\u0000", " a", "a ", "\u3000"],
  ...["が".normalize("NFD"), "e\u0301", "a\u202eb", "\u212b"],
];
const badReasons = [text(129), "あ".repeat(43)];
const badPoints = [0n, -1n, 1_000_000_001n, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)];
const badTotals = [-1n, 10n ** 15n + 1n, 2n ** 63n - 1n, -(2n ** 63n)];
const nineLimits = Array.from({ length: 9 }, (_, i) => BigInt(i + 1));
const nanos = [-1, 1_000_000_000, 2_147_483_647, -2_147_483_648];
const badDigests = [text(42), text(44), `${text(42)}=`, `${text(42)}/`];
const badEncodings = ["sjis", "SHIFT_JIS", "utf8"];
const badTimes = [
  {},
  { seconds: 0n, nanos: 999_999_999 },
  ...nanos.map((each) => ({ seconds: 1_800_000_000n, nanos: each })),
  { seconds: -1n, nanos: 999_999_999 },
  { seconds: 253_402_300_800n },
  { seconds: 2n ** 63n - 1n },
  { seconds: -(2n ** 63n) },
];
const badLifetimes = [-1, 37, 2_147_483_647];
const badPageSizes = [-1, -2_147_483_648];
const badNames = [text(21), "A", "-a", "_a", "a.b", " ", ...unprintable];
const invisible = ["\n", "\u0000", "\u2028", "\u202e\u2066", "\u200b", "\u3164", " \u2800"];
const badVersions = [0n, -1n, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)];
const badMonths = ["2027-13", "2027-1", "27-01", "2027-01-01", " 2027-01", "Jan-27", text(64)];
const badTokens = ["x", "%", text(2_049), Buffer.from("1{}").toString("base64url")];

const badKindNames = [
  ...[text(65), "あ".repeat(22), "a#b", "a b", "~a", "a\n", "\u0000", "\u3000", "\u200b"],
  ...["e\u0301", "a\ufe0f", "a\u3164", "a\u200db", "👍\u200d", "👍\ufe0e", "__proto__", "\u202ea"],
];

/** Lists of kinds, of which a field takes at most `max`. */
const badKinds = (max: number) => [
  Array.from({ length: max + 1 }, (_, i) => `k${i}`),
  ["like", "like"],
  ...["", ...badKindNames].map((kind) => [kind]),
];

/** By message and field: what the field must not be. */
const bad: Record<string, readonly unknown[]> = {
  "*.program_id": badPrograms,
  "*.user_id": badIds128,
  "*.event_id": badIds128,
  "*.reason": badReasons,
  "*.cause": badReasons,
  "*.reason_prefix": badReasons,
  "*.cursor": badTokens,
  // Beside the program of a good request.
  "*.all_programs": [true],
  "*.start_time": badTimes,
  "*.max_wait": [{ seconds: -1n }, { seconds: 31n }, { seconds: 0n, nanos: -1 }],
  "*.types": [["points.Used"], [""], [text(65)], ["points.used", "points.used"]],
  "*.include": [[0], [4], [-1], [1, 1]],
  "*.points": badPoints,
  "*.page_size": badPageSizes,
  "*.page_token": badTokens,
  "*.create_time_from": badTimes,
  "*.create_time_before": badTimes,
  "*.execute_time_from": badTimes,
  "*.execute_time_before": badTimes,
  "*.reservation_id": badIds64,
  "*.job_id": badIds64,
  "*.since": [...badTimes, at("2099-01-01T00:00:00Z")],
  "*.hold_id": ["a/b", ...badIds64],
  "HoldPointsRequest.until": [
    ...badTimes,
    undefined,
    at("2020-01-01T00:00:00Z"),
    at("2099-01-01T00:00:00Z"),
  ],
  "HoldPointsRequest.expired_points_policy": [3, -1],
  "CapturePointsRequest.event_id": badIds64,
  "ListHoldsRequest.state": [5, -1],
  "ListActsRequest.subject": badReasons,
  "*.execute_time": [...badTimes, undefined, at("2099-01-01T00:00:00Z")],
  // Too far ahead is the result of one reservation, not a refusal of the call.
  "NewReservation.execute_time": [...badTimes, undefined],
  "BatchCreateReservationsRequest.reservations": [
    [],
    Array.from({ length: 101 }, () => newReservation),
  ],
  // ReasonFilter has rules for its own fields, and the oneof has the rule that it is required.
  "CancelReservationsRequest.reason_filter": [],
  "ReasonFilter.reason_prefix": ["", ...badReasons],
  "ReasonFilter.execute_time_from": [...badTimes, undefined],
  "ReasonFilter.execute_time_before": [...badTimes, undefined],
  "*.expire_month": badMonths,
  "ExtendExpiryRequest.expire_month": ["", ...badMonths],
  "CreateReservationRequest.expire_month": ["", ...badMonths],
  "NewReservation.expire_month": ["", ...badMonths],
  "*.expire_after_months": [0, -1, 37],
  "*.use_event_id": badIds128,
  "*.owner_id": badIds128,
  "*.viewer_id": badIds128.slice(1),
  "*.kind": badKindNames,
  "*.target_name": [undefined],
  "*.title": [text(4_097), "あ".repeat(1_366), ...invisible],
  "*.link": [text(201), "あ".repeat(67)],
  "*.display_name": ["", text(4_097), "あ".repeat(1_366), ...invisible],
  "*.version": badVersions,
  "*.notification_id": ["", text(1_281), "x", notificationId.slice(1), `${notificationId}=`],
  "*.preferences": [undefined, { ownerId: "o" }],
  "*.program": [undefined],
  "*.muted_kinds": badKinds(8),
  "*.muted_event_kinds": badKinds(8),
  "*.kinds": badKinds(16),
  "*.reaction_kinds": badKinds(16),
  "*.event_kinds": badKinds(16),
  "*.cool_down": [{ seconds: -1n }, { nanos: -1 }, { seconds: 2_592_000n, nanos: 1 }],
  "*.regroup_after": [{}, { seconds: 59n, nanos: 999_999_999 }, { seconds: 31_622_401n }],
  "*.etag": [text(65)],
  "UpdateProgramRequest.update_mask": [{ paths: ["time_zone"] }, { paths: ["notices", "other"] }],
  "*.update_mask": [{ paths: ["owner_id"] }, { paths: ["all_muted", "other"] }],
  "*.watches": [
    [],
    [watch, { ownerId: "p" }, watch],
    Array.from({ length: 101 }, (_, i) => ({ ownerId: `o${i}` })),
  ],
  "Watch.known_version": [-1n, -(2n ** 63n)],
  "ListActsRequest.user_id": badIds128.slice(1),
  // An event may have no actor, and its label may be empty.
  "NotifyRequest.user_id": badIds128.slice(1),
  "NotifyRequest.display_name": [text(4_097), "あ".repeat(1_366), ...invisible],
  "NotifyRequest.event_id": badIds64,
  "RetractEventRequest.event_id": badIds64,
  "NotifyRequest.data": [new Uint8Array(257)],
  "*.owner_ids": [
    Array.from({ length: 101 }, (_, i) => `o${i}`),
    ["o", "o"],
    ...badIds128.map((owner) => [owner]),
  ],
  "NotifyRequest.kind": ["", ...badKindNames],
  "TargetName.type": ["", ...badNames],
  "TargetName.id": badIds256,
  "BatchGetReactionSummariesRequest.target_names": [[], Array.from({ length: 101 }, () => target)],
  "ListNotificationsRequest.state": [3, -1],
  "CreateProgramRequest.program_id": ["", ...badPrograms],
  "GetProgramRequest.program_id": ["", ...badPrograms],
  "Program.program_id": ["", ...badPrograms],
  "CreateProgramRequest.time_zone": [
    text(65),
    "Mars/Base",
    "+09:00",
    "Asia/Tokio",
    "UTC+9",
    "US/Pacific-New",
    "SystemV/PST8",
    "JST",
    "Etc/Unknown",
    "\u0000",
  ],
  "CreateProgramRequest.lifetime_months": badLifetimes,
  "Program.lifetime_months": [0, ...badLifetimes],
  "Program.reservation_shard_count": [-1, 1, 15, 17, 128, 257],
  "BalanceLimits.below": [[0n], [-1n], [10n ** 15n + 1n], [1n, 1n], nineLimits],
  "BalanceLimits.above": [[-1n], [10n ** 15n + 1n], [1n, 1n], nineLimits],
  "Notices.expiry_days": [-1, 28],
  "BulkRules.max_points_per_row": badPoints.slice(1),
  "BulkRules.max_total_points": badTotals,
  "BulkRules.tiers": [
    Array.from({ length: 6 }, (_, i) => ({ ...tier, maxTotalPoints: BigInt(i + 1) })),
  ],
  "BulkRules.required_approval_count": [-1, 0, 3],
  "BulkRules.sources": [
    [""],
    ["a/b"],
    ["A"],
    ["a", "a"],
    Array.from({ length: 17 }, (_, i) => `s${i}`),
  ],
  "BulkRules.lowering_delay": [
    ...nanos.map((each) => ({ seconds: 1n, nanos: each })),
    { seconds: -1n },
    { seconds: 2_592_001n },
  ],
  "ApprovalTier.max_total_points": [0n, ...badTotals],
  "ApprovalTier.required_approval_count": [undefined, -1, 3],
  "ExportLedgerRequest.job_id": badExportIds,
  "GetLedgerExportRequest.job_id": badExportIds,
  "*.destination": ["", "Audit", "a/b", "../a", text(33)],
  "ExportLedgerRequest.create_time_before": [...badTimes, undefined],
  "RefundPointsRequest.expired_points_policy": [0, 3, -1],
  "*.grant_event": [undefined],
  "EventName.origin": [6, -1],
  "EventName.event_id": ["", text(258), "あ".repeat(86), "a#b", "a\n", "\u0000"],
  "ListLedgerEntriesRequest.order": [3, -1],
  "ListLedgerEntriesRequest.types": [[0], [12], [1, 1], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1]],
  "GetLedgerEntryRequest.number": [0n, -1n],
  // EventName has rules for its own fields, and the oneof has the rule that it is required.
  "GetLedgerEntryRequest.event": [],
  "ListReservationsRequest.state": [0, Reservation_State.DONE, Reservation_State.CANCELLED, 6, -1],
  "GetForecastRequest.time": [
    ...badTimes,
    undefined,
    at("2020-01-01T00:00:00Z"),
    at("2099-01-01T00:00:00Z"),
  ],
  "GetBalanceRequest.as_of": [...badTimes, at("2099-01-01T00:00:00Z")],
  "*.bulk_grant_id": badBulkGrantIds,
  "*.reversed_bulk_grant_id": badBulkGrantIds,
  "*.replaced_revision": [-1, -2_147_483_648],
  "GetBulkGrantSummaryRequest.revision": [-1, 1_000_000],
  "ListBulkGrantRowsRequest.revision": [-1, -2_147_483_648],
  "*.digest": ["", ...badDigests],
  // Empty means whatever revision is current.
  "RejectBulkGrantRequest.digest": badDigests,
  // Unset means as soon as it is approved.
  "Header.execute_time": badTimes,
  ...{ "Header.encoding": badEncodings, "CheckSheetRequest.encoding": badEncodings },
  "SubmitBulkGrantRequest.encoding": badEncodings,
  "ReverseBulkGrantRequest.execute_time": badTimes,
  "SubmitBulkGrantRequest.execute_time": badTimes,
  "ListBulkGrantsRequest.state": [10, -1],
  "ListBulkGrantRowsRequest.state": [7, -1],
  // Header has rules for its own fields, and the oneof has the rule that it is required.
  "UploadBulkGrantRequest.header": [],
  "UploadBulkGrantRequest.end": [],
  "UploadBulkGrantRequest.csv_chunk": [Buffer.alloc(60_001)],
  "UploadBulkGrantRequest.rows": [],
  "CheckSheetRequest.csv": [Buffer.alloc(2 * 2 ** 20 + 1)],
  "CheckSheetRequest.rows": [],
  "SubmitBulkGrantRequest.csv": [Buffer.alloc(4 * 2 ** 20 + 1)],
  "SubmitBulkGrantRequest.rows": [],
  // Far too long; anything else is a problem of the row.
  "NewRow.user_id": [text(257)],
  "NewRow.points": [],
  "NewRow.reason": [text(2_049)],
  "NewRow.expire_month": [text(65)],
  "NewRows.rows": [Array.from({ length: 501 }, () => newRow)],
  "SetTimeRequest.time": [...badTimes, undefined, at("9990-01-01T00:00:00Z")],
  "AdvanceRequest.duration": [
    ...nanos.map((each) => ({ seconds: 1n, nanos: each })),
    undefined,
    {},
    { seconds: -1n },
    { seconds: 3_155_760_001n },
    { seconds: 2n ** 63n - 1n },
  ],
};

/** Fields that take anything. */
const free = new Set([
  "Program.notices",
  "Program.bulk_rules",
  "CreateProgramRequest.bulk_rules",
  // An update ignores what it cannot change.
  "Program.time_zone",
  "Program.lifetime_changes",
  "Program.create_time",
  "Program.reservation_pause",
  "Program.rules_change",
  "Notices.reserved_grants",
  "UsePointsRequest.allow_partial",
  "HoldPointsRequest.allow_partial",
  "HoldPointsRequest.validate_only",
  "CapturePointsRequest.more_captures_follow",
  "CapturePointsRequest.validate_only",
  "ReleaseHoldRequest.validate_only",
  "GrantPointsRequest.validate_only",
  "UsePointsRequest.validate_only",
  "RefundPointsRequest.validate_only",
  "RevokePointsRequest.validate_only",
  "ExtendExpiryRequest.validate_only",
  "FreezeAccountRequest.validate_only",
  "UnfreezeAccountRequest.validate_only",
  "GetBalanceRequest.include_pending",
  "CreateReservationRequest.validate_only",
  "CreateReservationRequest.allow_past_execute_time",
  "BatchCreateReservationsRequest.validate_only",
  "BatchCreateReservationsRequest.allow_past_execute_time",
  "CancelReservationRequest.validate_only",
  "RescheduleReservationRequest.validate_only",
  "RescheduleReservationRequest.allow_past_execute_time",
  "ChangeReservationPointsRequest.validate_only",
  "RetryReservationRequest.validate_only",
  "Header.validate_only",
  "Header.skip_zero",
  "SubmitBulkGrantRequest.skip_zero",
  "CheckSheetRequest.skip_zero",
  "CancelReservationsRequest.validate_only",
  "VerifyAccountRequest.repair",
  "VerifyProgramRequest.repair",
  "SetTargetMutedRequest.muted",
  "SetPersonMutedRequest.muted",
  "ReactRequest.exclusive",
  "ReactRequest.suppress_notification",
  "BatchGetReactionSummariesRequest.include_latest_actors",
]);

/** What no message for people has: expressions, rule ids, and words of protovalidate. */
const forMachines = /[\^$\\`]|regex|oneof|\[\w+\.\w+\]|value (is|must)|undefined/;

const keyOf = (message: DescMessage, field: DescField) => `${message.name}.${field.name}`;

/** The bad values of a field; undefined when the table has none. */
function badValues(message: DescMessage, field: DescField): readonly unknown[] | undefined {
  const key = keyOf(message, field);
  return free.has(key) ? [] : (bad[key] ?? bad[`*.${field.name}`]);
}

/** `request` with one field, or one of a oneof, set to `value`. */
const withField = (request: Init, field: DescField, value: unknown): Init =>
  field.oneof
    ? { ...request, [field.oneof.localName]: { case: field.localName, value } }
    : { ...request, [field.localName]: value };

/** A good message with one field bad, each in turn, also those of its parts. */
function* badFields(message: DescMessage, init: Init): Generator<[path: string, bad: Init]> {
  for (const field of message.fields) {
    for (const value of badValues(message, field) ?? []) {
      yield [field.name, withField(init, field, value)];
    }
    const part = goodParts.get(field.message?.typeName);
    if (!part) continue;
    for (const [path, wrong] of badFields(field.message as DescMessage, part)) {
      const wrongField = field.fieldKind === "list" ? [part, wrong] : wrong;
      yield [`${field.name}.${path}`, withField(init, field, wrongField)];
    }
  }
}

/** Every bad request of an RPC, with the path that the refusal must name. */
function* badRequests(method: DescMethod): Generator<[path: string, request: Init]> {
  const request = good[method.name] as Init;
  yield* badFields(method.input, request);
  for (const { localName, name } of method.input.oneofs.filter(isRequired)) {
    const { [localName]: _, ...rest } = request;
    yield [name, rest];
  }
}

const isRequired = (each: DescOneof): boolean => getOption(each, oneof).required;

const validator = createRequestValidator();

let server: MemoryServer;
/** What is stored before the bad requests, and after each of them. */
let stored: string[];

beforeAll(async () => {
  server = await startMemoryServer();
  await server.points.grantPoints({ userId: "u", eventId: "given", points: 5n });
  const reserved = { ...reservation, userId: "u", points: 1n, executeTime };
  await server.reservations.createReservation(reserved);
  await server.reactions.registerTarget({ targetName: target, ownerId: "o" });
  await server.reactions.react({ targetName: target, userId: "u", displayName: "U" });
  stored = await dump(server);
});
afterAll(() => server.stop());

const call = (rpc: Rpc, request: Init, transport = server.handlers) =>
  callRpc(rpc, transport, request, { headers: { "meguri-caller": "tests" } });

describe("this test", () => {
  test("has a good request of every RPC, which the rules accept", () => {
    expect(Object.keys(good).sort()).toEqual(rpcs.map(({ name }) => name).sort());
    for (const { method } of rpcs) {
      const message = create(method.input, good[method.name]);
      expect(validator.validate(method.input, message), method.name).toMatchObject({
        kind: "valid",
      });
    }
  });

  test("has bad values for every field", () => {
    const inputs = rpcs.map(({ method }) => method.input);
    const tested = messagesOf(services.map(({ file }) => file)).filter(
      (message) => inputs.includes(message) || goodParts.has(message.typeName),
    );
    const missing = tested.flatMap((message) =>
      message.fields
        .filter((field) => !badValues(message, field))
        .map((field) => keyOf(message, field)),
    );
    expect(missing).toEqual([]);
  });
});

describe("the rules", () => {
  const messages = messagesOf(services.map(({ file }) => file));

  test.each(messages.map((message) => [message.typeName, message]))("of %s compile", (_, desc) => {
    expect(validator.validate(desc, create(desc)).kind).not.toBe("error");
  });
});

describe.each(rpcs)("$name", (rpc) => {
  test("refuses every bad value by the field's path and writes nothing", async () => {
    for (const [path, request] of badRequests(rpc.method)) {
      const refusal = await refusalOf(call(rpc, request));
      const what = `${path} of ${print(request)}`;
      expect(refusal, what).toMatchObject({ code: "InvalidArgument", reason: "INVALID_REQUEST" });
      const paths = refusal.fields.map((field) => field.replace(/\[\d+\]/g, ""));
      expect(paths, what).toContain(path);
      expect(refusal.message, what).not.toMatch(forMachines);
    }
    expect(await dump(server)).toEqual(stored);
  });
});

test("each method refuses its first bad value over gRPC as its handler does", async () => {
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const sessionManager = new Http2SessionManager(baseUrl);
  const overGrpc = createGrpcTransport({ baseUrl, sessionManager });
  for (const rpc of rpcs) {
    const [first] = badRequests(rpc.method);
    if (!first) continue;
    const [path, request] = first;
    const refusal = await refusalOf(call(rpc, request, overGrpc));
    expect(refusal, `${rpc.name}: ${path}`).toEqual(await refusalOf(call(rpc, request)));
  }
  expect(await dump(server)).toEqual(stored);
  sessionManager.abort();
});

describe("many violations at once", () => {
  test("are listed up to a number that fits into the answer", async () => {
    const reservations = Array.from({ length: 100 }, () => ({}));
    const call = server.reservations.batchCreateReservations({ reservations });
    const refusal = await refusalOf(call);
    expect(refusal.reason).toBe("INVALID_REQUEST");
    expect(refusal.fields).toHaveLength(10);
  });
});

/** Without most of its bytes: one value is a sheet of 4 MB. */
const print = (value: unknown) => inspect(value, { depth: null, breakLength: Infinity });
