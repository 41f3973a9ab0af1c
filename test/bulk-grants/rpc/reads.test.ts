/** Tests the lists of bulk grants and of their rows, the export of failed rows, and streams. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BulkGrantRow_State as RowState,
  BulkGrant_State as State,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import {
  WatchBulkGrantResponse_End_Cause as Cause,
  type WatchBulkGrantResponse,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_service_pb.ts";
import {
  completeCheck,
  sheet,
  submitLines,
  uploadCsv,
} from "../../support/fixtures/bulk-grant-calls.ts";
import { allResponses } from "../../support/fixtures/pages.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { at, refusalOf } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

describe("ListBulkGrants", () => {
  const programId = "listed";

  // The first is rejected, the second invalid.
  beforeAll(async () => {
    await server.programs.createProgram({ programId });
    await server.points.freezeAccount({ programId, userId: "cold", eventId: "f" });
    for (let i = 1; i <= 5; i++) {
      const line = i === 2 ? "cold,1," : `u,${i},`;
      await submitLines(server, { programId, bulkGrantId: `b${i}` }, line);
      if (i <= 3) await completeCheck(server, `b${i}`, programId);
    }
    await server.bulkGrants.rejectBulkGrant({ programId, bulkGrantId: "b1" });
  });

  const list = async (request: Parameters<typeof server.bulkGrants.listBulkGrants>[0]) => {
    const found = await allResponses((pageToken) =>
      server.bulkGrants.listBulkGrants({ programId, pageSize: 2, ...request, pageToken }),
    );
    return found.flatMap(({ bulkGrants }) => bulkGrants.map(({ bulkGrantId }) => bulkGrantId));
  };

  test("has the newest first, in pages", async () => {
    expect(await list({})).toEqual(["b5", "b4", "b3", "b2", "b1"]);
    expect(await list({ programId: "default" })).toEqual([]);
  });

  test("selects by state and by create time", async () => {
    expect(await list({ state: State.VALIDATING })).toEqual(["b5", "b4"]);
    expect(await list({ state: State.AWAITING_APPROVAL })).toEqual(["b3"]);
    expect(await list({ state: State.INVALID })).toEqual(["b2"]);
    expect(await list({ state: State.REJECTED })).toEqual(["b1"]);
    expect(await list({ state: State.DONE })).toEqual([]);
    const { bulkGrants } = await server.bulkGrants.listBulkGrants({ programId });
    const times = bulkGrants.map(({ createTime }) => createTime as Timestamp);
    const [b5, b4, , b2] = times as [Timestamp, Timestamp, Timestamp, Timestamp, Timestamp];
    expect(await list({ createTimeFrom: b2, createTimeBefore: b4 })).toEqual(["b3", "b2"]);
    expect(await list({ state: State.VALIDATING, createTimeFrom: b5 })).toEqual(["b5"]);
  });

  test("takes a token only for the same list", async () => {
    const { bulkGrants } = server;
    const first = await bulkGrants.listBulkGrants({ programId, pageSize: 2 });
    const pageToken = first.nextPageToken;
    for (const other of [
      { programId: "default", pageToken },
      { programId, state: State.VALIDATING, pageToken },
      { programId, createTimeFrom: at("2026-11-01T00:00:00Z"), pageToken },
      { programId, pageToken: `${pageToken}AAAA` },
      { programId, pageToken: "x" },
    ]) {
      const refusal = await refusalOf(bulkGrants.listBulkGrants(other));
      expect(refusal.fields).toEqual(["page_token"]);
    }
  });
});

describe("the rows of an invalid sheet", () => {
  const bulkGrantId = "rows";
  const lines = Array.from({ length: 1_400 }, (_, i) =>
    i % 100 === 99 ? `u${i},x${i},=1+1` : `u${i},${i + 1},r`,
  );
  const wrong = lines.flatMap((line, i) => (line.includes("=") ? [i + 2] : []));

  beforeAll(async () => {
    await submitLines(server, { bulkGrantId }, ...lines);
    const { state, invalidCount } = await completeCheck(server, bulkGrantId);
    expect([state, invalidCount]).toEqual([State.INVALID, wrong.length]);
  });

  const list = (state: RowState, pageSize: number) =>
    allResponses((pageToken) =>
      server.bulkGrants.listBulkGrantRows({ bulkGrantId, state, pageSize, pageToken }),
    );

  test("are listed in their order, all or by state, in pages of any size", async () => {
    const all = (await list(RowState.UNSPECIFIED, 150)).flatMap(({ rows }) => rows);
    expect(all.map(({ line }) => line)).toEqual(lines.map((_, i) => i + 2));
    for (const pageSize of [1, 7, 200]) {
      const pages = await list(RowState.INVALID, pageSize);
      const found = pages.flatMap(({ rows }) => rows);
      expect(found.map(({ line }) => line)).toEqual(wrong);
      for (const { rows } of pages) expect(rows.length).toBeLessThanOrEqual(pageSize);
    }
    const [first] = (await list(RowState.INVALID, 1))[0]?.rows ?? [];
    expect(first).toMatchObject({
      line: 101,
      userId: "u99",
      points: 0n,
      rawPoints: "x99",
      reason: "=1+1",
      problems: [{ line: 101, userId: "u99", code: "POINTS_MALFORMED" }],
    });
  });

  const exported = async () => {
    const chunks: Uint8Array[] = [];
    for await (const { csvChunk } of server.bulkGrants.exportFailedBulkGrantRows({ bulkGrantId })) {
      chunks.push(csvChunk);
    }
    return Buffer.concat(chunks).toString();
  };

  test("are exported as a sheet that can be corrected and sent again", async () => {
    const csv = await exported();
    const [head, ...rows] = csv.trimEnd().split("\r\n");
    const names = "user_id points reason bulk_grant_id revision line error_code error".split(" ");
    expect(head).toBe(`\ufeff${names.map((name) => `"${name}"`).join(",")}`);
    expect(rows).toHaveLength(lines.length);
    expect(rows[0]).toMatch(/^"u0","1","r","rows","1","2","NOT_RUN",/);
    expect(rows[99]).toMatch(/^"u99","x99","'=1\+1","rows","1","101","POINTS_MALFORMED",/);
    const { bulkGrant } = await uploadCsv(server, { bulkGrantId }, csv.replaceAll(',"x', ',"'));
    expect(bulkGrant).toMatchObject({ revision: 2, rowCount: lines.length });
    const { rows: stored } = await server.bulkGrants.listBulkGrantRows({ bulkGrantId });
    expect(stored[0]).toMatchObject({ userId: "u0", points: 1n, state: RowState.PENDING });
    const { state } = await completeCheck(server, bulkGrantId);
    expect(state).toBe(State.AWAITING_APPROVAL);
    const last = (await list(RowState.PENDING, 200)).flatMap(({ rows }) => rows)[99];
    expect(last).toMatchObject({ userId: "u99", points: 99n, reason: "=1+1" });
  });

  test("of an earlier revision have no further page", async () => {
    const first = await server.bulkGrants.listBulkGrantRows({ bulkGrantId, pageSize: 5 });
    const pageToken = first.nextPageToken;
    await server.bulkGrants.rejectBulkGrant({ bulkGrantId });
    await uploadCsv(server, { bulkGrantId }, sheet(...lines.slice(0, 50)));
    const call = server.bulkGrants.listBulkGrantRows({ bulkGrantId, pageToken });
    expect((await refusalOf(call)).fields).toEqual(["page_token"]);
  });

  test("of an unknown bulk grant are refused", async () => {
    const stream = server.bulkGrants.exportFailedBulkGrantRows({ bulkGrantId: "none" });
    const read = stream[Symbol.asyncIterator]().next();
    expect((await refusalOf(read)).reason).toBe("BULK_GRANT_NOT_FOUND");
  });
});

describe("WatchBulkGrant", () => {
  /** Collects the messages of a stream until its end. */
  function watch(of: Pick<TestServer, "bulkGrants">, bulkGrantId: string) {
    const messages: WatchBulkGrantResponse["content"][] = [];
    const ended = (async () => {
      for await (const { content } of of.bulkGrants.watchBulkGrant({ bulkGrantId })) {
        messages.push(content);
      }
    })();
    const states = () =>
      messages.flatMap(({ case: name, value }) =>
        name === "update" ? [value.bulkGrant?.state] : [],
      );
    return { messages, states, ended };
  }

  const end = (cause: Cause) => ({ case: "end", value: { cause } });

  test("sends the bulk grant at once and its changes, and ends when nothing is left", async () => {
    await submitLines(server, { bulkGrantId: "watched" }, "w1,5,");
    const { messages, states, ended } = watch(server, "watched");
    await eventually(async () => expect(states()).toEqual([State.VALIDATING]));
    await completeCheck(server, "watched");
    await eventually(async () => expect(states().at(-1)).toBe(State.AWAITING_APPROVAL));
    await server.bulkGrants.rejectBulkGrant({ bulkGrantId: "watched" });
    await ended;
    expect(states().at(-1)).toBe(State.REJECTED);
    expect(messages.at(-1)).toMatchObject(end(Cause.FINAL));
    expect(messages[0]?.value).toMatchObject({ progress: { grantedCount: 0, failedCount: 0 } });
  });

  test("of an unknown bulk grant is refused", async () => {
    const stream = server.bulkGrants.watchBulkGrant({ bulkGrantId: "none" });
    const read = stream[Symbol.asyncIterator]().next();
    expect((await refusalOf(read)).reason).toBe("BULK_GRANT_NOT_FOUND");
  });

  test("ends with its cause when the server drains, and an export is complete", async () => {
    const { tablePrefix } = server.config;
    const draining = await startServer({ testClock: false, tablePrefix });
    await submitLines(server, { bulkGrantId: "drained" }, "d1,5,", "d2,x,");
    await completeCheck(server, "drained");
    await submitLines(server, { bulkGrantId: "waits" }, "d1,5,");
    const { messages, states, ended } = watch(draining, "waits");
    await eventually(async () => expect(states()).toHaveLength(1));
    const drained = draining.server.drain();
    const chunks: string[] = [];
    const rows = draining.bulkGrants.exportFailedBulkGrantRows({ bulkGrantId: "drained" });
    for await (const { csvChunk } of rows) chunks.push(Buffer.from(csvChunk).toString());
    expect(chunks.join("")).toContain('"d2","x",');
    await ended;
    const last = messages.at(-1);
    expect(last).toMatchObject(end(Cause.DRAINING));
    expect(last?.case === "end" && last.value.reopenDelay?.seconds).toBeGreaterThanOrEqual(1n);
    await drained;
  });
});
