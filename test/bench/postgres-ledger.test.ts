/** Tests that the benchmarks' ledger in Postgres, where it is installed, keeps what ours keeps. */
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { grantPoints, type Query, tables } from "../../bench/baselines/postgres-ledger.ts";
import { findPostgres, type Postgres, startPostgres } from "../../bench/support/postgres.ts";

describe.skipIf(!(await findPostgres()))("the ledger in Postgres", () => {
  let postgres: Postgres;
  let pool: Pool;
  const query: Query = (text, values) => pool.query(text, values);
  const grantOf = (eventId: string) => ({
    ...{ userId: "busy", eventId, points: 5, month: 24_322, reason: "test", caller: "test" },
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
    await Promise.all(events.map((eventId) => grantPoints(query, grantOf(eventId))));
    const { rows } = await pool.query(
      "SELECT number, available_points FROM ledger WHERE user_id = 'busy' ORDER BY number",
    );
    expect(rows.map(({ number }) => Number(number))).toEqual(events.map((_, i) => i + 1));
    expect(rows.map((row) => Number(row.available_points))).toEqual(
      events.map((_, i) => 5 * (i + 1)),
    );
    const slots = "SELECT (SELECT sum(s) FROM unnest(slots) s)::int AS sum FROM accounts";
    expect((await pool.query(slots)).rows).toEqual([{ sum: 250 }]);
  });

  test("grants no event twice", async () => {
    await expect(grantPoints(query, grantOf("e-0"))).rejects.toThrow("unique");
  });
});
