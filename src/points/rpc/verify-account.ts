/** The handler of the PointsService that compares an account with its ledger. */
import type { ServiceImpl } from "@connectrpc/connect";
import type { Logger } from "pino";
import type { PointsService } from "../../gen/meguri/points/v1/points_service_pb.ts";
import { callOf, requestIdOf } from "../../platform/edge/context.ts";
import type { Deps } from "../ports/deps.ts";
import { verifyAccount } from "../use-cases/verify.ts";
import { toAccount } from "./accounts.ts";

export function accountVerification(
  deps: Deps,
  log: Logger,
): Pick<ServiceImpl<typeof PointsService>, "verifyAccount"> {
  return {
    async verifyAccount(request, context) {
      const account = toAccount(request);
      const found = await verifyAccount(deps, account, request.repair, callOf(context));
      const { differences, unreportedDifferenceCount, entryCount, repaired, restoredEntryNumbers } =
        found;
      if (repaired || restoredEntryNumbers.length > 0) {
        const { programId } = account;
        const requestId = requestIdOf(context);
        log.warn(
          { programId, requestId, repaired, restoredEntryNumbers, differences },
          "an account was repaired",
        );
      }
      return {
        differences: differences.map((difference) => ({ ...difference })),
        entryCount: BigInt(entryCount),
        repaired,
        unreportedDifferenceCount: BigInt(unreportedDifferenceCount),
        restoredEntryNumbers: restoredEntryNumbers.map(BigInt),
      };
    },
  };
}
