/** What a server is asked about the stored items, after which of the steps that stored them. */
import type { JsonObject } from "@bufbuild/protobuf";

/** A call with the JSON of its request. */
export interface Question {
  /** The service and the method, by their names in a client. */
  readonly method: `${string}.${string}`;
  readonly request: JsonObject;
  /** The calling service. */
  readonly caller: string;
}

/** Where in the list of steps a question belongs. */
interface Moment {
  /** The last step before it. */
  readonly step: string;
  /** The time of the test clock. */
  readonly time: string;
}

const programId = "shop";
const ownerId = "olga";
const targetName = { type: "post", id: "p-1" };

const ask = (method: Question["method"], request: JsonObject, caller = "shop"): Question => ({
  method,
  request: method.match(/^(reactions|notifications)/) ? request : { programId, ...request },
  caller,
});

const points: readonly Question[] = [
  ...["ann", "bo", "unknown"].map((userId) => ask("points.getBalance", { userId })),
  ask("points.getForecast", { userId: "ann", time: "2026-09-01T00:00:00Z" }),
  ask("points.listLedgerEntries", { userId: "ann", pageSize: 200 }),
  ask("points.listLedgerEntries", { userId: "ann", types: ["TYPE_EXPIRED"] }),
  ask("points.getLedgerEntry", { userId: "ann", number: "3" }),
  ask("points.verifyAccount", { userId: "ann" }),
  // The same request again returns the first result.
  ask(
    "points.grantPoints",
    { userId: "ann", eventId: "order-1", points: "100", reason: "an order" },
    "desk",
  ),
  ask("points.usePoints", { userId: "ann", eventId: "order-3", points: "120" }),
  ask("points.usePoints", { userId: "ann", eventId: "order-3", points: "121" }),
  ask("points.refundPoints", {
    ...{ userId: "ann", eventId: "return-3", useEventId: "order-3", points: "30" },
    expiredPointsPolicy: "EXPIRED_POINTS_POLICY_ORIGINAL_EXPIRY",
  }),
  ask("points.freezeAccount", { userId: "ann", eventId: "f", reason: "review" }),
];

const programs: readonly Question[] = [
  ask("programs.getProgram", {}),
  ask("programs.getProgram", { programId: "cafe" }),
  ask("programs.listRulesChanges", {}),
];

const reservations: readonly Question[] = [
  ...["r-ann", "r-bo", "r-cy", "r-di"].map((reservationId) =>
    ask("reservations.getReservation", { reservationId }),
  ),
  ask("reservations.listReservations", { userId: "ann" }),
  ...["PENDING", "PROCESSING", "FAILED"].map((state) =>
    ask("reservations.listReservations", { state: `STATE_${state}` }),
  ),
  ask(
    "reservations.createReservation",
    {
      ...{ reservationId: "r-di", userId: "di", points: "10", reason: "birthday" },
      executeTime: "2026-07-15T01:00:03Z",
    },
    "desk",
  ),
];

const reactions: readonly Question[] = [
  ask("reactions.batchGetReactionSummaries", { targetNames: [targetName], viewerId: "bo" }),
  ask("reactions.listTargetReactions", { targetName, kind: "like" }),
  ask("reactions.listUserReactions", { userId: "fay" }),
  ask("notifications.getUnreadCount", { ownerId }),
  ask("notifications.listNotifications", { ownerId }),
  ask("notifications.listNotifications", { ownerId, state: "STATE_READ" }),
  ask("notifications.getPreferences", { ownerId }),
  ask("notifications.listMutedPeople", { ownerId }),
  ask("notifications.listMutedTargets", { ownerId }),
  ask("notifications.getUnreadCount", { ownerId: "ann" }),
  ask("notifications.listNotifications", { ownerId: "ann" }),
];

const bulkGrants = (...ids: readonly string[]): readonly Question[] =>
  ids.flatMap((bulkGrantId) => [
    ask("bulkGrants.getBulkGrant", { bulkGrantId }),
    ask("bulkGrants.getBulkGrantSummary", { bulkGrantId }),
    ask("bulkGrants.listBulkGrantRows", { bulkGrantId }),
    ask("bulkGrants.listBulkGrantRevisions", { bulkGrantId }),
    ask("bulkGrants.listBulkGrantActions", { bulkGrantId }),
  ]);

const moments: readonly (Moment & { readonly questions: readonly Question[] })[] = [
  { step: "grant points in March", time: "2026-04-02T00:00:00Z", questions: points },
  {
    step: "retry it for another caller",
    time: "2026-07-15T01:02:00Z",
    questions: [...programs, ...points, ...reservations],
  },
  {
    step: "a person whose like is read takes it back",
    time: "2026-07-15T01:02:00Z",
    questions: reactions,
  },
  {
    step: "notify of an event of a muted person",
    time: "2026-07-15T01:02:00Z",
    questions: [ask("notifications.listMutedPeople", { ownerId })],
  },
  {
    step: "dismiss the likes that are unread again",
    time: "2026-07-15T01:02:00Z",
    questions: reactions,
  },
  { step: "read all but the latest", time: "2026-07-15T01:02:00Z", questions: reactions },
  { step: "end its purge", time: "2026-07-15T01:02:00Z", questions: reactions },
  { step: "pause it", time: "2026-07-15T01:02:00Z", questions: bulkGrants("summer") },
  {
    step: "run it with a row that fails",
    time: "2026-07-15T02:02:00Z",
    questions: bulkGrants("summer"),
  },
  {
    step: "cancel it while it runs",
    time: "2026-07-22T02:02:00Z",
    questions: [
      ...programs,
      ...["dan", "eve", "fay"].map((userId) => ask("points.getBalance", { userId })),
      ask("bulkGrants.listBulkGrants", {}),
      ask("bulkGrants.listBulkGrants", { state: "STATE_DONE" }),
      ...bulkGrants("summer", "summer-back", "copy", "large", "rejected", "small"),
    ],
  },
];

/** All questions, in the order of their moments. */
export const questions: readonly (Question & Moment)[] = moments.flatMap((moment) =>
  moment.questions.map((question) => ({ step: moment.step, time: moment.time, ...question })),
);
