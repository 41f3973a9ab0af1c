/** A peer's server: the same RPC path, with the reservations of postgres-ledger.ts. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { Pool } from "pg";
import { PgBoss } from "pg-boss";
import { ReservationService } from "../../src/gen/meguri/reservations/v1/reservation_service_pb.ts";
import { authenticateByHeader } from "../../src/platform/auth/header.ts";
import { admitCallers } from "../../src/platform/edge/admission.ts";
import { interceptors } from "../../src/platform/edge/interceptors.ts";
import { deps, serve } from "../support/plain-way.ts";
import { reserve } from "./postgres-ledger.ts";

const { BENCH_POSTGRES: connectionString = "" } = process.env;
const pool = new Pool({ connectionString });
const boss = await new PgBoss({ connectionString, supervise: false }).start();

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
  router.service(ReservationService, { createReservation }, options);
});
