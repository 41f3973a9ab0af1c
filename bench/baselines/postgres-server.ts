/** A peer's server: the same RPC path, with the grants and reservations of postgres-ledger.ts. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { Pool } from "pg";
import { PgBoss } from "pg-boss";
import { requestHash } from "../../src/app/shared/idempotency.ts";
import { authenticateByHeader } from "../../src/auth/header.ts";
import { monthAt } from "../../src/domain/month.ts";
import { PointsService } from "../../src/gen/meguri/points/v1/points_service_pb.ts";
import { ReservationService } from "../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { admitCallers } from "../../src/rpc/server/admission.ts";
import { callerOf } from "../../src/rpc/server/context.ts";
import { interceptors } from "../../src/rpc/server/interceptors.ts";
import { toProgramId } from "../../src/rpc/shared/scalars.ts";
import { deps, serve } from "../support/plain-way.ts";
import { grantPoints as grantInPostgres, type Query, reserve } from "./postgres-ledger.ts";

const { BENCH_POSTGRES: connectionString = "" } = process.env;
const pool = new Pool({ connectionString });
const boss = await new PgBoss({ connectionString, supervise: false }).start();
const query: Query = (name, text, values) => pool.query({ name, text, values: [...values] });

const grantPoints: ServiceImpl<typeof PointsService>["grantPoints"] = async (request, context) => {
  const program = await deps.programs.get(toProgramId(request.programId));
  const { calendar: now } = await deps.clock.now();
  const points = Number(request.points);
  const { eventId, userId, reason } = request;
  const caller = callerOf(context);
  const availablePoints = await grantInPostgres(query, {
    ...{ userId, points, eventId, reason },
    month: monthAt(program.timeZone, now),
    hash: requestHash("grant", caller, { points, reason }),
    caller: caller.service,
  });
  return { availablePoints: BigInt(availablePoints), replayed: false };
};

const createReservation: ServiceImpl<typeof ReservationService>["createReservation"] = async ({
  reservationId,
  userId,
  points,
  reason,
  executeTime,
}) => {
  if (!executeTime) throw new Error("there is no execute time");
  const one = { reservationId, userId, points: Number(points), reason };
  await reserve(pool, boss, { ...one, executeTime: timestampDate(executeTime) });
  return {};
};

const options = {
  requestGate: admitCallers({ authenticate: authenticateByHeader }),
  interceptors: interceptors(deps),
};
await serve((router) => {
  router.service(PointsService, { grantPoints }, options);
  router.service(ReservationService, { createReservation }, options);
});
