/**
 * A property of reading that stops at any point and goes on from what was stored: no change is
 * lost, none is stored twice, and all of a shard comes before those that continue it.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { streamedTables } from "../../../src/events/ports/changes.ts";
import type { FakeStream } from "../../support/streams/fake-stream.ts";
import { startFakeStreams } from "../../support/streams/fake-streams.ts";
import {
  createStreamReader,
  keysOf,
  nothingStored,
  store,
} from "../../support/streams/stream-reader.ts";

const prefix = "fake-";

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ op: fc.constant("write"), shard: fc.nat(20) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant("split"),
      shard: fc.nat(20),
      count: fc.integer({ min: 1, max: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("read"),
      takes: fc.nat(12),
      isStored: fc.boolean(),
      expires: fc.boolean(),
    }),
  },
);

/** What was written, and where. */
class Written {
  readonly keys: string[] = [];
  /** By shard, the keys in it, and its parent. */
  readonly shards = new Map<string, { parent?: string; readonly keys: string[] }>();
  readonly #stream: FakeStream;
  #open: string[];

  constructor(stream: FakeStream) {
    this.#stream = stream;
    this.#open = [...stream.shards];
    for (const id of this.#open) this.shards.set(id, { keys: [] });
  }

  write(shard: number): void {
    const id = this.#openShard(shard);
    const key = `${this.keys.length}`;
    this.#stream.write(id, { keys: { pk: { S: key } }, after: {} });
    this.keys.push(key);
    this.shards.get(id)?.keys.push(key);
  }

  split(shard: number, count: number): void {
    const parent = this.#openShard(shard);
    const children = this.#stream.split(parent, count);
    for (const id of children) this.shards.set(id, { parent, keys: [] });
    this.#open = [...this.#open.filter((id) => id !== parent), ...children];
  }

  /** The keys of a shard behind those of all that it continues. */
  lineage(id: string): string[] {
    const { parent, keys = [] } = this.shards.get(id) ?? {};
    return parent === undefined ? keys : [...this.lineage(parent), ...keys];
  }

  #openShard = (shard: number) => this.#open[shard % this.#open.length] as string;
}

test("a reader that stops anywhere goes on without a loss", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
      const fake = await startFakeStreams(streamedTables.map((table) => `${prefix}${table}`));
      const reader = createStreamReader({ endpoint: fake.endpoint, prefix });
      const points = fake.table(`${prefix}points`);
      const written = new Written(points);
      const stored = nothingStored();
      const isAllStored = () => expect(stored.changes).toHaveLength(written.keys.length);
      try {
        for (const each of steps) {
          if (each.op === "write") written.write(each.shard);
          if ("count" in each) written.split(each.shard, each.count);
          if (!("takes" in each)) continue;
          if (each.expires) points.expireIterators();
          let takes = 0;
          const killed = new Error("killed");
          const reading = reader.readUntil(stored, isAllStored, (to, taken) => {
            const isLast = takes++ === each.takes;
            if (!isLast || each.isStored) store(to, taken);
            if (isLast) throw killed;
          });
          await reading.catch((error: unknown) => expect(error).toBe(killed));
        }
        await reader.readUntil(stored, isAllStored);
        const keys = keysOf(stored.changes);
        expect(keys.toSorted()).toEqual(written.keys.toSorted());
        for (const id of written.shards.keys()) {
          const lineage = written.lineage(id);
          expect(keys.filter((key) => lineage.includes(key))).toEqual(lineage);
        }
        expect(stored.gaps).toEqual([]);
      } finally {
        reader.close();
        await fake.stop();
      }
    }),
    { numRuns: 8 },
  );
});
