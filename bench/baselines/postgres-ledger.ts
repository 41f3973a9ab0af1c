/**
 * A peer: grants and reservations in Postgres. The row of an account is locked by its UPDATE, the
 * ledger numbers its entries, and the event id is unique in the ledger of a user.
 */
import type { ClientBase, Pool } from "pg";
import type { Db, PgBoss } from "pg-boss";

/** The queue of the due reservations. */
export const dueQueue = "due";

/** `slots` has the points by month of grant; they expire by that. */
export const tables = `
  CREATE TABLE accounts (
    user_id text PRIMARY KEY,
    points bigint NOT NULL DEFAULT 0,
    entries bigint NOT NULL DEFAULT 0,
    slots bigint[] NOT NULL DEFAULT array_fill(0::bigint, ARRAY[12])
  );
  CREATE TABLE ledger (
    user_id text NOT NULL,
    number bigint NOT NULL,
    event_id text NOT NULL,
    type text NOT NULL,
    points bigint NOT NULL,
    month integer NOT NULL,
    available_points bigint NOT NULL,
    reason text NOT NULL,
    caller text NOT NULL,
    create_time timestamptz NOT NULL,
    PRIMARY KEY (user_id, number),
    UNIQUE (user_id, event_id)
  );
  CREATE TABLE reservations (
    reservation_id text PRIMARY KEY,
    user_id text NOT NULL,
    points bigint NOT NULL,
    reason text NOT NULL,
    execute_time timestamptz NOT NULL,
    grant_time timestamptz
  );
  CREATE INDEX ON reservations (user_id, execute_time);
`;

/** One statement, so one transaction and one round trip; it finds no row for a new user. */
const grantText = `
  WITH account AS (
    UPDATE accounts
    SET points = points + $2, entries = entries + 1, slots[$3 % 12 + 1] = slots[$3 % 12 + 1] + $2
    WHERE user_id = $1
    RETURNING entries, points
  )
  INSERT INTO ledger
  SELECT $1, entries, $4, 'ISSUED', $2, $3, points, $5, $6, clock_timestamp() FROM account
  RETURNING available_points`;

const openText = "INSERT INTO accounts (user_id) VALUES ($1) ON CONFLICT DO NOTHING";

/** Executes a statement, inside a transaction or alone. */
export type Query = (
  text: string,
  values: unknown[],
) => Promise<{ readonly rows: readonly unknown[] }>;

export interface Grant {
  readonly userId: string;
  readonly points: number;
  readonly month: number;
  readonly eventId: string;
  readonly reason: string;
  readonly caller: string;
}

/** Grants, on a new account, too. The caller claims the event first; it is unique in the ledger. */
export async function grantPoints(query: Query, grant: Grant): Promise<void> {
  const { userId, points, month, eventId, reason, caller } = grant;
  for (;;) {
    const { rows } = await query(grantText, [userId, points, month, eventId, reason, caller]);
    if (rows.length > 0) return;
    await query(openText, [userId]);
  }
}

/** A reservation before its grant. */
export interface Reservation {
  readonly reservationId: string;
  readonly userId: string;
  readonly points: number;
  readonly reason: string;
  readonly executeTime: Date;
}

/** Writes a reservation and its job in one transaction, once for each id. */
export async function reserve(pool: Pool, boss: PgBoss, one: Reservation): Promise<void> {
  const { reservationId, userId, points, reason, executeTime } = one;
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rowCount } = await client.query({
      name: "reserve",
      text: `INSERT INTO reservations VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
      values: [reservationId, userId, points, reason, executeTime],
    });
    const job = { startAfter: executeTime, db: databaseOf(client) };
    if (rowCount === 1) await boss.send(dueQueue, { reservationId }, job);
    await client.query("COMMIT");
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

const databaseOf = (client: ClientBase): Db => ({
  executeSql: (text, values = []) => client.query(text, values as unknown[]),
});
