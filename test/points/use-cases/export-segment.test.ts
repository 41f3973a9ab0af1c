/** Tests one step of an export on the store in memory: its cursors, its files, and its faults. */
import { randomBytes } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { camelCased } from "../../../src/platform/contract/payload-names.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { type ExportedEntries, exportKind } from "../../../src/points/contract/exports.ts";
import type { AccountName, StoredEntry } from "../../../src/points/ports/points.ts";
import {
  type ExportedFile,
  finishExport,
  openExport,
} from "../../../src/points/use-cases/jobs/export-files.ts";
import { ledgerExport } from "../../../src/points/use-cases/jobs/export-ledger.ts";
import { exportSegment } from "../../../src/points/use-cases/jobs/export-segment.ts";
import { jobOf } from "../../support/fixtures/jobs.ts";
import {
  createMemoryFolder,
  exportPorts,
  namesIn,
  noActs,
} from "../../support/servers/export-ports.ts";

const entry = (number: number, createTime: number) => ({
  ...({ number, type: "ISSUED", createTime, effectiveTime: createTime, points: 1 } as const),
  event: { origin: "c", eventId: `e${number}` } as const,
  ...{ changes: [{ month: 24_000, points: 1 }], frozen: false, availablePoints: number },
  ...{ reason: "", caller: asService("tests") },
});
const at = (number: number, createTime = 5_000): StoredEntry => ({
  ...{ userId: "u", number },
  entry: entry(number, createTime),
});

/**
 * Dependencies whose scan has one account a page, with these entries; without entries it has not
 * changed for long. The cursor of a page is its number.
 */
function scanning(pages: readonly (readonly StoredEntry[])[]) {
  const reads: number[] = [];
  const reader = {
    async accounts(...[, , , { cursor }]: Parameters<Deps["reader"]["accounts"]>) {
      const page = Number(cursor ?? 0);
      reads.push(page);
      const next = page + 1 < pages.length ? { cursor: String(page + 1) } : {};
      const time = (pages[page] ?? []).length > 0 ? 9_999 : 0;
      return { items: [{ userId: String(page), last: 1, time }], ...next };
    },
    ledgerFrom: async ({ userId }: AccountName) => ({ items: pages[Number(userId)] ?? [] }),
  } as unknown as Deps["reader"];
  return { deps: { ...exportPorts(), reader }, reads };
}

const job = jobOf(ledgerExport, "shop", { destination: "audit", start: 1_000, end: 9_000 });
const only = { segment: 0, segments: 1 };
const name = { programId: "shop", exportId: job.jobId };

type FileDeps = Pick<Deps, "exportDestinations">;

async function linesOf({ exportDestinations }: FileDeps, file = ""): Promise<number[]> {
  const content = await exportDestinations.folder("audit", name).read(file);
  const lines = gunzipSync(content ?? Buffer.of())
    .toString()
    .trim()
    .split("\n");
  return lines.map((line) => Number(JSON.parse(line).entry.number));
}

const noErrors = (message: string, fields: object): never => {
  throw new Error(message, { cause: fields });
};

describe("a step", () => {
  test("writes what was recorded in the window, from its cursor to the end", async () => {
    const pages = [[at(1, 999), at(2, 1_000)], [at(3, 8_999), at(4, 9_000)], [at(5)]];
    const { deps, reads } = scanning(pages);
    const found = await exportSegment(deps, job, only, {}, () => true, noErrors);
    expect(found).toMatchObject({ unreadable: 0, unreadables: [], file: { entries: 3 } });
    expect(found.cursor).toBeUndefined();
    expect(await linesOf(deps, found.file?.name)).toEqual([2, 3, 5]);
    expect(reads).toEqual([0, 1, 2]);
  });

  test("ends where it has to, and the next one goes on there", async () => {
    const { deps } = scanning([[at(1)], [at(2)], [at(3)]]);
    const first = await exportSegment(deps, job, only, {}, () => false, noErrors);
    expect(first).toMatchObject({ cursor: "1", file: { entries: 1 } });
    const rest = await exportSegment(deps, job, only, { cursor: "1" }, () => true, noErrors);
    expect(await linesOf(deps, first.file?.name)).toEqual([1]);
    expect(await linesOf(deps, rest.file?.name)).toEqual([2, 3]);
  });

  test("keeps its cursor while nothing was found, and then the one before the lines", async () => {
    const { deps } = scanning([[], [], [at(1)], [], [at(2)]]);
    const cursors: unknown[] = [];
    const keep = (cursor: object) => cursors.push(cursor) < 10;
    const found = await exportSegment(deps, job, only, {}, keep, noErrors);
    expect(found.file?.entries).toBe(2);
    expect(cursors).toEqual([{ cursor: "1" }, { cursor: "2" }, { cursor: "2" }, { cursor: "2" }]);
    const again = await exportSegment(deps, job, only, { cursor: "2" }, () => true, noErrors);
    expect(await linesOf(deps, again.file?.name)).toEqual([1, 2]);
  });

  test("writes no file without an entry", async () => {
    const { deps } = scanning([[], [at(1, 1)]]);
    const found = await exportSegment(deps, job, only, {}, () => true, noErrors);
    expect(found).toEqual({ ...exportKind.nothing });
    expect(await namesIn(deps.exportDestinations.folder("audit", name))).toEqual([]);
  });

  test("names what cannot be read or expressed, whenever it was recorded", async () => {
    const newer = { userId: "n", number: 7, entry: { ...entry(7, 5_000), type: "NEWER" as never } };
    const broken = { userId: "b", number: 8, error: new Error("broken") };
    const { deps } = scanning([[at(1), broken, newer, at(2)]]);
    const errors: string[] = [];
    const found = await exportSegment(
      deps,
      job,
      only,
      {},
      () => true,
      (_, fields) => {
        const { userId, err } = fields as { userId: string; err: Error };
        errors.push(`${userId}: ${err.message}`);
      },
    );
    const unreadables = [
      { userId: "b", number: 8 },
      { userId: "n", number: 7 },
    ];
    expect(found).toMatchObject({ unreadable: 2, unreadables, file: { entries: 2 } });
    expect(errors).toEqual(["b: broken", expect.stringContaining("n: the contract does not know")]);
  });

  test("ends with the error of an outage, and leaves no file", async () => {
    const { deps } = scanning([[at(1)]]);
    const away = new DomainError("STORE_UNAVAILABLE", "away");
    const reader = { ...deps.reader, accounts: async () => Promise.reject(away) };
    const step = exportSegment({ ...deps, reader }, job, only, {}, () => true, noErrors);
    await expect(step).rejects.toBe(away);
    expect(await namesIn(deps.exportDestinations.folder("audit", name))).toEqual([]);
  });
});

describe("the steps of a process", () => {
  /** Steps over pages of one entry; `written` lets the files of all of them be written. */
  function createSteps() {
    const text = randomBytes(300_000).toString("base64");
    const { exportFormat, exportDestinations } = exportPorts();
    const { promise, resolve: written } = Promise.withResolvers<void>();
    const folder = { ...createMemoryFolder(), write: () => promise };
    const reads = { atOnce: 0, most: 0 };
    const step = (pages: number, { isLong = false } = {}) => {
      const { deps } = scanning(Array.from({ length: pages }, () => [at(1)]));
      const reader = {
        ...deps.reader,
        async accounts(...args: Parameters<Deps["reader"]["accounts"]>) {
          reads.atOnce += 1;
          reads.most = Math.max(reads.most, reads.atOnce);
          await new Promise(setImmediate);
          reads.atOnce -= 1;
          return deps.reader.accounts(...args);
        },
      } as Deps["reader"];
      const limited = isLong
        ? { exportDestinations, exportFormat: { ...exportFormat, line: () => text } }
        : { exportDestinations: { folder: () => folder }, exportFormat };
      return exportSegment({ ...limited, reader }, job, only, {}, () => true, noErrors);
    };
    return { step, reads, written };
  }

  test("read few pages at a time, and a short one does not wait for long ones", async () => {
    const { step, reads, written } = createSteps();
    written();
    let ended = 0;
    const long = Array.from({ length: 100 }, () => step(20).finally(() => (ended += 1)));
    await step(2);
    expect(ended).toBe(0);
    expect(await Promise.all(long)).toHaveLength(100);
    expect(reads.most).toBe(8);
  });

  test("share the memory of their files", async () => {
    const { step, written } = createSteps();
    const waiting = Array.from({ length: 127 }, () => step(1));
    const { cursor, file } = await step(5, { isLong: true });
    expect({ cursor, entries: file?.entries }).toEqual({ cursor: "2", entries: 2 });
    written();
    await Promise.all(waiting);
    expect((await step(5, { isLong: true })).cursor).toBeUndefined();
  });

  test("are not more than it can hold; a further one is tried again", async () => {
    const { step, written } = createSteps();
    const waiting = Array.from({ length: 128 }, () => step(1));
    await expect(step(1)).rejects.toMatchObject({ reason: "OVERLOADED", retryable: true });
    written();
    await Promise.all(waiting);
    await step(1);
  });
});

describe("a file gets its name", () => {
  test("once, however many attempts have written one or renamed it", async () => {
    const { deps } = scanning([[at(1)], [at(2)]]);
    const step = () => exportSegment(deps, job, only, {}, () => true, noErrors);
    const [killed, counted] = [await step(), await step()];
    expect(killed.file?.name).not.toBe(counted.file?.name);
    const files = [counted.file ?? expect.fail()];
    for (const _ of [1, 2]) await finishExport(deps, job, counted, { files, acts: noActs });
    const part = "part-0-000001.jsonl.gz";
    expect(await linesOf(deps, part)).toEqual([1, 2]);
    const folder = deps.exportDestinations.folder("audit", name);
    expect((await namesIn(folder)).toSorted()).toEqual(["manifest.json", part]);
  });

  test("by its segment, and by its place there", async () => {
    const { deps } = scanning([[at(1)]]);
    const files: ExportedFile[] = [];
    for (const segment of [1, 0, 1]) {
      const { file } = await exportSegment(
        deps,
        job,
        { ...only, segment },
        {},
        () => true,
        noErrors,
      );
      files.push(file ?? expect.fail());
    }
    await finishExport(deps, job, camelCased<ExportedEntries>(exportKind.nothing), {
      files,
      acts: noActs,
    });
    const folder = deps.exportDestinations.folder("audit", name);
    expect((await namesIn(folder)).toSorted()).toEqual([
      "manifest.json",
      ...["part-0-000001.jsonl.gz", "part-1-000001.jsonl.gz", "part-1-000002.jsonl.gz"],
    ]);
  });

  test("not when a run that has ended early has left it", async () => {
    const { deps } = scanning([[at(1)]]);
    await exportSegment(deps, job, only, {}, () => true, noErrors);
    expect(await openExport(deps, job)).toBeUndefined();
    expect(await namesIn(deps.exportDestinations.folder("audit", name))).toEqual([]);
  });
});
