/** The handler of the PointsService that lists a ledger. */
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ListLedgerEntriesRequestSchema,
  ListLedgerEntriesRequest_Order as Order,
  type PointsService,
} from "../../gen/meguri/points/v1/points_service_pb.ts";
import { requestedPage } from "../../platform/messages/page-tokens.ts";
import { toOptionalInstant } from "../../platform/messages/scalars.ts";
import type { Deps } from "../ports/deps.ts";
import { listLedgerEntries } from "../use-cases/queries.ts";
import { toAccount } from "./accounts.ts";
import { fromEntry, toEntryTypes } from "./ledger-entries.ts";

export function ledgers(deps: Deps): Pick<ServiceImpl<typeof PointsService>, "listLedgerEntries"> {
  return {
    async listLedgerEntries(request) {
      const { page, next } = requestedPage(ListLedgerEntriesRequestSchema, request);
      const query = {
        newestFirst: request.order !== Order.OLDEST_FIRST,
        types: toEntryTypes(request.types),
        window: {
          start: toOptionalInstant(request.createTimeFrom, "create_time_from"),
          end: toOptionalInstant(request.createTimeBefore, "create_time_before"),
        },
      };
      const found = await listLedgerEntries(deps, toAccount(request), query, page);
      return { entries: found.items.map(fromEntry), nextPageToken: next(found) };
    },
  };
}
