/** Tests that the benchmarks' ledger in Postgres, where it is installed, keeps what ours keeps. */
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Grant,
  grantPoints,
  type Query,
  tables,
} from "../../bench/baselines/postgres-ledger.ts";
import { findPostgres, type Postgres, startPostgres } from "../../bench/support/postgres.ts";

describe.skipIf(!(await findPostgres()))("the ledger in Postgres", () => {
  let postgres: Postgres;
  let pool: Pool;
  const query: Query = (name, text, values) => pool.query({ name, text, values: [...values] });
  const grantOf = (userId: string, eventId: string, hash = "h"): Grant => ({
    ...{ userId, eventId, hash, points: 5, month: 24_322, reason: "test", caller: "test" },
  });

  beforeAll(async () => {
    postgres = await startPostgres();
    pool = new Pool({ connectionString: postgres.url });
    await pool.query(tables);
  });

  afterAll(async () => {
    await pool?.end();
    await postgres?.stop();
  });

  test("numbers the concurrent grants of an account without gaps", async () => {
    const events = Array.from({ length: 50 }, (_, i) => `e-${i}`);
    const balances = await Promise.all(
      events.map((eventId) => grantPoints(query, grantOf("busy", eventId))),
    );
    const expected = events.map((_, i) => 5 * (i + 1));
    expect(balances.toSorted((a, b) => a - b)).toEqual(expected);
    const { rows } = await pool.query(
      "SELECT number, available_points FROM ledger WHERE user_id = 'busy' ORDER BY number",
    );
    expect(rows.map(({ number }) => Number(number))).toEqual(events.map((_, i) => i + 1));
    expect(rows.map((row) => Number(row.available_points))).toEqual(expected);
    const slots = "SELECT (SELECT sum(s) FROM unnest(slots) s)::int AS sum FROM accounts";
    expect((await pool.query(slots)).rows).toEqual([{ sum: 250 }]);
  });

  test("grants once for an event, and refuses another request for it", async () => {
    expect(await grantPoints(query, grantOf("once", "e"))).toBe(5);
    expect(await grantPoints(query, grantOf("once", "e"))).toBe(5);
    await expect(grantPoints(query, grantOf("once", "e", "other"))).rejects.toThrow("was used");
    const { rows } = await pool.query("SELECT points FROM accounts WHERE user_id = 'once'");
    expect(rows).toEqual([{ points: "5" }]);
  });
});
