/** The handlers of the PointsService that export ledgers. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type LedgerExportSchema,
  LedgerExport_State as State,
} from "../../gen/meguri/points/v1/ledger_export_pb.ts";
import type { PointsService } from "../../gen/meguri/points/v1/points_service_pb.ts";
import { callerOf } from "../../platform/edge/context.ts";
import { fromCaller } from "../../platform/messages/callers.ts";
import { fromInstant, toInstant, toOptionalInstant } from "../../platform/messages/scalars.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { Deps } from "../ports/deps.ts";
import type { LedgerExport } from "../ports/exports.ts";
import { exportLedger, getLedgerExport } from "../use-cases/export-ledger.ts";
import { fromUnreadables } from "./export-format.ts";

type Exports = "exportLedger" | "getLedgerExport";

export function ledgerExports(deps: Deps): Pick<ServiceImpl<typeof PointsService>, Exports> {
  return {
    async exportLedger(request, context) {
      const { programId, exportId, destination, createTimeFrom, createTimeBefore } = request;
      const found = await exportLedger(deps, {
        caller: callerOf(context),
        programId: toProgramId(programId),
        exportId,
        destination,
        window: {
          start: toOptionalInstant(createTimeFrom, "create_time_from"),
          end: toInstant(createTimeBefore as Timestamp, "create_time_before"),
        },
      });
      return { ledgerExport: fromExport(found) };
    },

    async getLedgerExport({ programId, exportId }) {
      const name = { programId: toProgramId(programId), exportId };
      return { ledgerExport: fromExport(await getLedgerExport(deps, name)) };
    },
  };
}

const states: Readonly<Record<LedgerExport["state"], State>> = {
  RUNNING: State.RUNNING,
  DONE: State.DONE,
  FAILED: State.FAILED,
};

function fromExport(found: LedgerExport): MessageInitShape<typeof LedgerExportSchema> {
  const { programId, exportId, destination, window, workflowId } = found;
  return {
    programId,
    exportId,
    state: states[found.state],
    workflowId,
    startTime: fromInstant(found.startTime),
    destination,
    folder: `${programId}/${exportId}`,
    caller: fromCaller(found.caller),
    ...(window.start !== undefined && { createTimeFrom: fromInstant(window.start) }),
    createTimeBefore: fromInstant(window.end),
    entryCount: BigInt(found.entries),
    partCount: BigInt(found.parts),
    byteCount: BigInt(found.bytes),
    unreadableEntryCount: BigInt(found.unreadable),
    unreadableEntries: fromUnreadables(found.unreadables),
  };
}
