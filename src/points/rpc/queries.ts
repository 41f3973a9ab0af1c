/** The handlers of the PointsService that read an account. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { BalanceSchema } from "../../gen/meguri/points/v1/balance_pb.ts";
import {
  type GetBalanceRequest,
  type GetLedgerEntryRequest,
  ListLedgerEntriesRequestSchema,
  ListLedgerEntriesRequest_Order as Order,
  type PointsService,
} from "../../gen/meguri/points/v1/points_service_pb.ts";
import { deadlineOf } from "../../platform/edge/context.ts";
import { invalid } from "../../platform/edge/errors.ts";
import { requestedPage } from "../../platform/messages/page-tokens.ts";
import { fromInstant, toOptionalInstant, toSafeInteger } from "../../platform/messages/scalars.ts";
import { formatMonth } from "../../platform/words/month.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { Deps } from "../../reservations/ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { getPastBalance } from "../use-cases/past-balance.ts";
import {
  type Balance,
  getBalance,
  getBalanceWithPending,
  getLedgerEntry,
  listLedgerEntries,
} from "../use-cases/queries.ts";
import { fromEntry, toEntryTypes, toEventName } from "./ledger-entries.ts";

type Queries = "getBalance" | "listLedgerEntries" | "getLedgerEntry";

export function pointsQueries(deps: Deps): Pick<ServiceImpl<typeof PointsService>, Queries> {
  return {
    async getBalance(request, context) {
      const balance = await balanceFor(deps, request, deadlineOf(context));
      return { balance: fromBalance(balance), final: balance.final ?? false };
    },

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

    getLedgerEntry: async (request) => ({
      entry: fromEntry(await getLedgerEntry(deps, toAccount(request), toKey(request.key))),
    }),
  };
}

/** The balance that a request asks for: of now, with or without what is pending, or of the past. */
function balanceFor(
  deps: Deps,
  request: GetBalanceRequest,
  deadline: number | undefined,
): Promise<Balance> {
  const [account, asOf] = [toAccount(request), toOptionalInstant(request.asOf, "as_of")];
  if (asOf === undefined) {
    return request.includePending
      ? getBalanceWithPending(deps, account, deadline)
      : getBalance(deps, account);
  }
  if (request.includePending) throw invalid("include_pending", "must not be set with as_of");
  return getPastBalance(deps, account, asOf, deadline);
}

/** The account that a request names. */
export const toAccount = (request: {
  readonly programId: string;
  readonly userId: string;
}): AccountName => ({ programId: toProgramId(request.programId), userId: request.userId });

const maxSafe = BigInt(Number.MAX_SAFE_INTEGER);

function toKey(key: GetLedgerEntryRequest["key"]) {
  switch (key.case) {
    case "number":
      // No ledger is that long, so a number above the limit names no entry either.
      return toSafeInteger(key.value > maxSafe ? maxSafe : key.value, "number");
    case "event":
      return toEventName(key.value);
    case undefined:
      throw invalid("key", "one of number, event is required");
  }
}

function fromBalance(balance: Balance): MessageInitShape<typeof BalanceSchema> {
  const { account, availablePoints, version, pendingPoints = 0 } = balance;
  const buckets = balance.buckets.map(({ month, points, expireTime }) => ({
    month: formatMonth(month),
    points: BigInt(points),
    expireTime: fromInstant(expireTime),
  }));
  const [oldest] = buckets;
  const { totals } = account;
  return {
    availablePoints: BigInt(availablePoints),
    buckets,
    ...(oldest && { nextExpiring: oldest }),
    totals: {
      issuedPoints: BigInt(totals.issuedPoints),
      usedPoints: BigInt(totals.usedPoints),
      expiredPoints: BigInt(totals.expiredPoints),
      refundedPoints: BigInt(totals.refundedPoints),
      revokedPoints: BigInt(totals.revokedPoints),
      heldPoints: BigInt(totals.heldPoints),
      capturedPoints: BigInt(totals.capturedPoints),
      releasedPoints: BigInt(totals.releasedPoints),
    },
    frozen: account.frozen,
    version: BigInt(version),
    heldPoints: BigInt(balance.heldPoints),
    pendingPoints: BigInt(pendingPoints),
  };
}
