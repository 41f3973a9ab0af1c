/**
 * Says what an event tells of from its data alone: which record, which of its changes, and which
 * types it may have. So the ids, subjects and types that Meguri gives to events can be checked.
 */

import type { DescEnum } from "@bufbuild/protobuf";
import type { StreamedTable } from "../../../src/events/ports/changes.ts";
import { BulkGrant_State as BulkState } from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import {
  BalanceCrossed_DirectionSchema as DirectionSchema,
  type Event,
} from "../../../src/gen/meguri/events/v1/event_pb.ts";
import {
  Hold_State as HoldState,
  Hold_StateSchema as HoldStateSchema,
} from "../../../src/gen/meguri/holds/v1/hold_pb.ts";
import { LedgerEntry_TypeSchema as EntryTypeSchema } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import {
  Reservation_State as State,
  Reservation_StateSchema as StateSchema,
} from "../../../src/gen/meguri/reservations/v1/reservation_pb.ts";

/** One change of one record. */
export interface Change {
  /** The table of the record, whose gaps may hide changes. */
  readonly table: StreamedTable;
  /** Names the record, such as `reservation default/r-1`. */
  readonly record: string;
  /** Grows with each change of the record. */
  readonly number: number;
  /** Tells changes of the same record and number apart. */
  readonly part: string;
  /**
   * Whether each number has its change, so that a missing one is lost; or several changes share the
   * number of another one; or the numbers only say which change is the latest.
   */
  readonly order: "each" | "shared" | "any";
  /** The types that its event may have. */
  readonly types: readonly string[];
}

type Data = Event["data"];

/** The name of a value of an enum as the types of events have it. */
const nameIn = (desc: DescEnum, value: number | undefined): string | undefined =>
  desc.value[value ?? 0]?.localName.toLowerCase();

/** The change of which an event tells; undefined for one that tells of the events themselves. */
export function changeOf({ data }: Event): Change | undefined {
  switch (data.case) {
    case "entryRecorded":
    case "balanceCrossed":
      return changeOfAccount(data);
    case "reservationChanged":
    case "holdChanged":
      return changeOfPromise(data);
    case "bulkGrantChanged": {
      const { programId, bulkGrantId, recordVersion, state } = data.value;
      const types = finalStates.has(state) ? ["bulk_grant.ended"] : [];
      return version(
        "bulk",
        `bulk grant ${programId}/${bulkGrantId}`,
        recordVersion,
        "bulk_grant.changed",
        ...types,
      );
    }
    case "targetChanged": {
      const { target, recordVersion } = data.value;
      const { type: kind, id } = target?.targetName ?? {};
      const type = target?.deleteTime ? "target.deleted" : "target.changed";
      return version("reactions", `target ${kind}/${id}`, recordVersion, type);
    }
    case "programChanged": {
      const { programId, recordVersion } = data.value;
      return version("points", `program ${programId}`, recordVersion, "program.changed");
    }
    case "notificationChanged":
      return changeOfLine(data.value);
    default:
      return undefined;
  }
}

const version = (
  table: StreamedTable,
  record: string,
  recordVersion: bigint,
  ...types: readonly string[]
): Change => ({
  ...{ table, record, number: Number(recordVersion), part: "", order: "each" },
  types,
});

function changeOfAccount(
  data: Extract<Data, { case: "entryRecorded" | "balanceCrossed" }>,
): Change {
  const { programId, userId } = data.value;
  const record = `account ${programId}/${userId}`;
  if (data.case === "entryRecorded") {
    const { number = 0n, type } = data.value.entry ?? {};
    return version("points", record, number, `points.${nameIn(EntryTypeSchema, type)}`);
  }
  const { entryNumber, limitPoints, direction } = data.value;
  return {
    ...{ table: "points", record, number: Number(entryNumber), order: "shared" },
    part: `${nameIn(DirectionSchema, direction)} ${limitPoints}`,
    types: ["points.balance_crossed"],
  };
}

/** The change of a reservation or of a hold. */
function changeOfPromise(
  data: Extract<Data, { case: "reservationChanged" | "holdChanged" }>,
): Change {
  const { recordVersion } = data.value;
  if (data.case === "reservationChanged") {
    const { programId, reservationId, state } = data.value.reservation ?? {};
    const begun = recordVersion === 1n ? "created" : "changed";
    const name = state === State.PENDING ? begun : nameIn(StateSchema, state);
    return version(
      "reservations",
      `reservation ${programId}/${reservationId}`,
      recordVersion,
      `reservation.${name}`,
    );
  }
  const { programId, holdId, state } = data.value.hold ?? {};
  const begun = recordVersion === 1n ? "created" : "captured";
  const name = state === HoldState.HELD ? begun : nameIn(HoldStateSchema, state);
  return version("reservations", `hold ${programId}/${holdId}`, recordVersion, `hold.${name}`);
}

/** The states after which nothing more is done unless people do something. */
const finalStates: ReadonlySet<BulkState> = new Set([
  BulkState.INVALID,
  BulkState.REJECTED,
  BulkState.DONE,
  BulkState.DONE_WITH_FAILURES,
  BulkState.CANCELLED,
]);

/** A notification. Its numbers have holes, and its changes may come in any order. */
function changeOfLine(line: Extract<Data, { case: "notificationChanged" }>["value"]): Change {
  const { ownerId, notificationId, recordVersion, actorCount, readTime } = line;
  const isGone = actorCount === 0n;
  const live = readTime
    ? ["notification.read", "notification.changed"]
    : ["notification.began", "notification.joined", "notification.changed"];
  return {
    table: "notifications",
    record: `notification ${ownerId} ${notificationId}`,
    number: Number(recordVersion),
    part: isGone ? "gone" : "",
    order: "any",
    types: isGone ? ["notification.dismissed"] : live,
  };
}
